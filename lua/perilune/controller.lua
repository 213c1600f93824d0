-- The builder: perilune.controller("name", {...}):For(...):Owns(...):Reconcile(f). It collects the
-- declarations of the script and passes one complete description to the core.

local host = require("perilune.host")
local check = require("perilune.check")
local channel = require("perilune.channel")
local log = require("perilune.log")
local predicate = require("perilune.predicate")
local ref = require("perilune.ref")
local result = require("perilune.result")

local format = string.format
local fail = check.fail
local M = {}

-- Controllers that this load declares, in order. Each load has its own Lua state, so these are
-- empty when it begins.
local begun, by_name = {}, {}
local tasks = {}
local endings = {} -- functions that are called when all main chunks have run
local clusters = {} -- declared by this load: {name =, secret =, at = {file =, line =}}
local indexes = {} -- declared by this load: {kind=, name=, file=, line=}

local rate_limiter = {
  base = check.positive_duration,
  max = check.positive_duration,
  fast = check.positive_duration,
  slow = check.positive_duration,
  fast_attempts = check.integer(1),
  qps = check.number(1e-9),
  burst = check.integer(1),
  max_wait = check.positive_duration,
}

local controller_options = {
  max_concurrent_reconciles = check.integer(1),
  reconcile_timeout = check.positive_duration,
  rate_limiter = function(what, value)
    local limiter = check.options(what, value, rate_limiter)
    local by_attempts = limiter.fast or limiter.slow or limiter.fast_attempts
    if by_attempts and not (limiter.fast and limiter.slow and limiter.fast_attempts) then
      fail("%s: fast, slow and fast_attempts go together", what)
    elseif by_attempts and (limiter.base or limiter.max) then
      fail("%s takes base and max, or fast, slow and fast_attempts, not both", what)
    elseif limiter.burst and not limiter.qps then
      fail("%s: burst needs qps, the rate after the burst", what)
    end
    return limiter
  end,
  max_retries = check.integer(0),
  resync_period = check.positive_duration,
  leader_election = check.boolean,
  on_reload = check.one_of("enqueue", "none"),
  cache_sync_timeout = check.positive_duration,
}

local verbs = check.array_of(check.verb)

local function finalizers(what, value)
  local out = check.array_of(check.string)(what, value)
  for _, name in ipairs(out) do
    if not host.is_name(name, "qualified") then
      fail('%s: %q is not a finalizer name such as "example.com/cleanup"', what, name)
    end
  end
  return out
end

-- Checkers of the options that every source has, and of those that a role adds.
local function source_options(extra)
  local out = {
    namespaces = function(what, value)
      return require("perilune.scope").namespaces(what, value)
    end,
    labels = check.selector,
    fields = check.fields,
    metadata_only = check.boolean,
    managed_fields = check.boolean,
    shared = check.boolean,
    cluster = function(what, value)
      return require("perilune.cluster").check(what, value)
    end,
  }
  for name, checker in pairs(extra) do
    out[name] = checker
  end
  return out
end

local predicates = check.array_of(predicate.of)

local watches_options = source_options({ predicates = predicates, writes = verbs })
local role_options = {
  ["for"] = source_options({ predicates = predicates, writes = verbs, finalizers = finalizers }),
  owns = source_options({ predicates = predicates, writes = verbs,
    match_every_owner = check.boolean }),
  watches = watches_options,
  reads = source_options({ writes = verbs }),
}

local Controller = {}
Controller.__index = function(self, name)
  local method = Controller[name]
  if method == nil then
    fail("controller %q has no method %q; %s", self.name, tostring(name),
      check.nearest(name, Controller.methods))
  end
  return method
end
Controller.__newindex = function(self, name)
  fail("controller %q: %s can't be assigned; options go into perilune.controller(name, {...})",
    self.name, tostring(name))
end
Controller.__metatable = "perilune.controller"

local function require_open(self, method)
  if getmetatable(self) ~= "perilune.controller" then
    fail("call it with a colon: controller:%s(...)", method)
  elseif self.complete then
    fail("controller %q: %s after Reconcile, which completes a controller", self.name, method)
  end
end

-- The places where sources and rights were declared, for describe.
local places = setmetatable({}, { __mode = "k" })

local function note_place(declared)
  local file, line = host.where()
  places[declared] = file and { file = file, line = line }
  return declared
end

local function note_source(self, source, role, kind)
  source.role = role
  source.kind = kind
  note_place(source)
  self.sources[#self.sources + 1] = source
  return source
end

local function add_source(self, role, method, kind, options)
  local what = format("controller %q: %s", self.name, method)
  check.kind(what, kind)
  what = format("%s(%q)", what, kind)
  local source = note_source(self, check.options(what, options, role_options[role]), role, kind)
  if source.namespaces then
    require("perilune.scope").check(what, source)
  end
  return source
end

local standard = { orphan = true, foregroundDeletion = true, kubernetes = true }

-- Kinds of the API server, whose groups have no dot, take no other finalizers without a domain.
-- Custom resources do, with a warning.
local function check_standard(what, source)
  if host.kind(source.kind).group:find(".", 1, true) then
    return
  end
  for _, name in ipairs(source.finalizers or {}) do
    if not name:find("/", 1, true) and not standard[name] then
      fail('%s: finalizers: the API server refuses %q: name is neither a standard finalizer name '
        .. 'nor is it fully qualified, as in "example.com/%s"', what, name, name)
    end
  end
end

function Controller.For(self, kind, options, ...)
  require_open(self, "For")
  check.no_more("For", ...)
  for _, source in ipairs(self.sources) do
    if source.role == "for" then
      fail("controller %q: For is called twice (%q, then %q); use Owns or Watches for the second",
        self.name, source.kind, tostring(kind))
    end
  end
  local source = add_source(self, "for", "For", kind, options)
  check_standard(format("controller %q: For(%q)", self.name, kind), source)
  source.map = "self"
  return self
end

function Controller.Owns(self, kind, options, ...)
  require_open(self, "Owns")
  check.no_more("Owns", ...)
  add_source(self, "owns", "Owns", kind, options)
  return self
end

-- Converts the results of a script's map function to a flat array: namespace or false, name, ...
local function flatten(map, kind, mapped)
  local out = {}
  check.blame(map)
  if mapped == nil then
    return out
  end
  if type(mapped) == "table" and (host.is_array(mapped) or next(mapped) == nil) then
    for i = 1, #mapped do
      local ns, name = ref.parse(format("map of %s: result[%d]", kind, i), mapped[i])
      out[#out + 1], out[#out + 2] = ns or false, name
    end
    return out
  elseif type(mapped) == "table" and type((next(mapped))) == "number" then
    fail("map of %s: the result is an array with holes or names", kind)
  end
  local ns, name = ref.parse(format("map of %s: result", kind), mapped)
  out[1], out[2] = ns or false, name
  return out
end

local function check_map(self, method, map)
  if map ~= "self" and type(map) ~= "function" then
    fail('controller %q: %s needs a function(object, event) or "self" as second '
      .. "argument, not %s", self.name, method, check.describe(map))
  end
end

local function set_map(source, map)
  if map == "self" then
    source.map = "self"
    return
  end
  source.blame = map
  source.map = function(object, event)
    return flatten(map, source.kind == "*" and "WatchesKinds" or source.kind, (map(object, event)))
  end
end

function Controller.Watches(self, kind, map, options, ...)
  require_open(self, "Watches")
  check.no_more("Watches", ...)
  check_map(self, format("Watches(%q)", tostring(kind)), map)
  set_map(add_source(self, "watches", "Watches", kind, options), map)
  return self
end

function Controller.WatchesKinds(self, selects, map, options, ...)
  require_open(self, "WatchesKinds")
  check.no_more("WatchesKinds", ...)
  local family = require("perilune.family")
  local what = format("controller %q: WatchesKinds", self.name)
  check.func(what .. ": the first argument", selects)
  check_map(self, "WatchesKinds", map)
  family.check_cluster(what, options)
  local o = check.options(what, options, family.options(watches_options))
  local narrow, source = family.split(o)
  note_source(self, source, "watches", "*")
  set_map(source, map)
  self.families[#self.families + 1] =
    { selects = selects, narrow = narrow, source = #self.sources - 1 }
  return self
end

function Controller.Reads(self, kind, options, ...)
  require_open(self, "Reads")
  check.no_more("Reads", ...)
  add_source(self, "reads", "Reads", kind, options)
  return self
end

-- Checks a kind; "*" stands for every kind.
function M.writable(what, kind)
  return kind == "*" and kind or check.kind(what, kind)
end

function Controller.Writes(self, kind, list, options, ...)
  require_open(self, "Writes")
  check.no_more("Writes", ...)
  local o = check.options("Writes", options, { cluster = role_options.reads.cluster })
  local what = format("controller %q: Writes", self.name)
  self.writes[#self.writes + 1] = note_place({
    kind = M.writable(what, kind),
    verbs = verbs(format("%s(%q)", what, tostring(kind)), list),
    cluster = o.cluster,
  })
  return self
end

function Controller.WatchesChannel(self, name, ...)
  require_open(self, "WatchesChannel")
  check.no_more("WatchesChannel", ...)
  channel.check_name(format("controller %q: WatchesChannel", self.name), name)
  for _, other in ipairs(self.channels) do
    if other == name then
      fail("controller %q: WatchesChannel(%q) is called twice", self.name, name)
    end
  end
  self.channels[#self.channels + 1] = name
  channel.watch(name)
  return self
end

function Controller.WithEventFilter(self, ...)
  require_open(self, "WithEventFilter")
  if select("#", ...) == 0 then
    fail("controller %q: WithEventFilter needs at least one predicate", self.name)
  end
  for i = 1, select("#", ...) do
    self.filters[#self.filters + 1] =
      predicate.of(format("controller %q: WithEventFilter", self.name), (select(i, ...)))
  end
  return self
end

-- One predicate from the filters and then the source's own predicates; nil if there are none.
local function combined_predicate(self, source)
  local all = {}
  for _, filter in ipairs(self.filters) do
    all[#all + 1] = filter
  end
  for _, own in ipairs(source.predicates or {}) do
    all[#all + 1] = own
  end
  return predicate.all_of(all)
end

local function describe(self, reconcile)
  local spec = self.options
  spec.name, spec.file, spec.line = self.name, self.file, self.line
  spec.sources, spec.writes = self.sources, self.writes
  spec.channels = #self.channels > 0 and self.channels or nil
  for _, source in ipairs(self.sources) do
    if source.role ~= "reads" then
      source.predicate = combined_predicate(self, source)
    end
    source.predicates = nil
  end
  spec.blame = reconcile
  spec.reconcile = function(request, context)
    context.log = log
    return result.of(reconcile, reconcile(request, context))
  end
  return spec
end

function Controller.Reconcile(self, reconcile, ...)
  require_open(self, "Reconcile")
  check.no_more("Reconcile", ...)
  check.func(format("controller %q: the argument of Reconcile", self.name), reconcile)
  if host.leaving then
    local leaving = require("perilune.leaving")
    self.complete, self.families = true, {}
    if not leaving.finalizers(self.sources) then
      return self
    end
    reconcile = leaving.wrap(self.sources, reconcile)
  end
  local ok, message = pcall(host.controller, describe(self, reconcile))
  if not ok then
    local own = format("controller %q", self.name)
    message = tostring(message)
    fail("%s", message:find(own, 1, true) and message or own .. ": " .. message)
  end
  self.complete = true
  if #self.families > 0 then
    require("perilune.family").declare(self)
  end
  return self
end

Controller.methods = {}
for _, name in ipairs({ "For", "Owns", "Watches", "WatchesKinds", "Reads", "Writes",
  "WatchesChannel", "WithEventFilter", "Reconcile" }) do
  Controller.methods[name] = true
end

-- Controllers and tasks share their names, because metrics and logs distinguish them by name.
local function check_name(what, name)
  if not host.is_name(name, "dns-label") then
    fail("%s name %q must be a DNS-1123 label: lower-case letters, digits and '-', "
      .. "at most 63, starting and ending with a letter or digit", what, name)
  end
  local other = by_name[name]
  if other then
    fail("%s name %q is used twice; first at %s:%d", what, name, other.file, other.line)
  end
end

-- Checks and takes the name of a task.
function M.begin_task(name)
  check_name("task", name)
  local file, line = host.where()
  local self = { name = name, sources = {}, file = file or "?", line = line or 0 }
  by_name[name] = self
  tasks[#tasks + 1] = self
  return self
end

M.verbs = verbs

function M.new(name, options, ...)
  check.no_more("perilune.controller", ...)
  if host.phase() ~= "load" then
    fail("perilune.controller can only be called while the script is loaded")
  end
  check.string("the name of a controller", name)
  check_name("controller", name)
  local file, line = host.where()
  local self = setmetatable({
    name = name,
    options = check.options(format("controller %q", name), options, controller_options),
    sources = {},
    writes = {},
    channels = {},
    families = {},
    filters = {},
    complete = false,
    file = file or "?",
    line = line or 0,
  }, Controller)
  by_name[name] = self
  begun[#begun + 1] = self
  return self
end

function M.note_index(kind, name)
  local file, line = host.where()
  indexes[#indexes + 1] = { kind = kind, name = name, file = file or "?", line = line or 0 }
end

local function place(one, self)
  return places[one] or { file = self.file, line = self.line }
end

-- The groups to which a source that follows kinds is restricted; nil: all groups.
local function groups_of(self, source)
  for _, family in ipairs(rawget(self, "families") or {}) do
    if family.source == source - 1 then
      return family.narrow.group
    end
  end
end

-- The declarations of a controller or task as plain data, for commands such as `perilune rbac`.
local function described(self, is_task)
  local hook = rawget(self, "hook")
  local out = { name = self.name, task = is_task, at = { file = self.file, line = self.line },
    hook = hook and { sort = hook.sort, kinds = hook.kinds },
    sources = host.array({}), writes = host.array({}) }
  for i, source in ipairs(self.sources) do
    out.sources[i] = { role = source.role, kind = source.kind, at = place(source, self),
      namespaces = source.namespaces, writes = source.writes, finalizers = source.finalizers,
      metadata_only = source.metadata_only, cluster = source.cluster, groups = groups_of(self, i) }
  end
  for i, write in ipairs(self.writes or {}) do
    out.writes[i] = { kind = write.kind, verbs = write.verbs, at = place(write, self),
      cluster = write.cluster }
  end
  return out
end

-- All of them as JSON; called after finish.
function M.describe()
  local out = { controllers = host.array({}) }
  for _, self in ipairs(begun) do
    out.controllers[#out.controllers + 1] = described(self, false)
  end
  for _, self in ipairs(tasks) do
    out.controllers[#out.controllers + 1] = described(self, true)
  end
  out.clusters = host.array(clusters)
  return host.json_encode(out)
end

-- Adds a webhook, which has name, file, line, sources and writes: it needs caches and rights, too.
function M.note_hook(self)
  tasks[#tasks + 1] = self
end

function M.note_cluster(cluster)
  clusters[#clusters + 1] = cluster
end

function M.at_end(f)
  endings[#endings + 1] = f
end

-- Called when all main chunks have run.
function M.finish()
  for _, f in ipairs(endings) do
    f()
  end
  for _, self in ipairs(begun) do
    if not self.complete then
      error(format("%s:%d: controller %q has no Reconcile", self.file, self.line, self.name), 0)
    end
  end
  if #begun + #tasks > 0 then
    require("perilune.index").check(indexes, { begun, tasks })
  end
  channel.finish()
end

return M
