-- Events in a world since its beginning, or since world:forget(): requests of hosts, their runs,
-- their log. The C half keeps them until they are taken, which each query does.

local host = require("perilune.host")
local world = require("perilune.world")
local check = require("perilune.check")
local ref = require("perilune.ref")

local fail = check.fail
local M = {}

-- Kinds that hosts write for themselves. Writes of these are left out, unless a query names the
-- kind.
local OWN = { ["v1/Event"] = true, ["events.k8s.io/v1/Event"] = true,
  ["coordination.k8s.io/v1/Lease"] = true }

-- ---- paths ----

-- "/apis/apps/v1/namespaces/default/deployments/blog/status": base, namespace, plural, name, rest.
local function split_path(path)
  local base, rest = path:match("^(/api/[^/]+)/(.+)$")
  if not base then
    base, rest = path:match("^(/apis/[^/]+/[^/]+)/(.+)$")
  end
  if not base then
    return nil
  end
  local ns, below = rest:match("^namespaces/([^/]+)/(.+)$")
  local plural, name, sub = (below or rest):match("^([^/]+)/?([^/]*)/?(.*)$")
  return base, ns, plural, name ~= "" and name or nil, sub ~= "" and sub or nil
end

local function is_apply(seen)
  return seen.method == "PATCH" and seen.query:find("fieldManager=", 1, true)
    and seen.query:find("force=", 1, true) ~= nil
end

local function key_of(ns, name, body)
  if not name and type(body) == "table" and type(body.metadata) == "table" then
    name = body.metadata.name
  end
  return name and ref.key(ns, name) or ns
end

local function describe(self, seen)
  local base, ns, plural, name, sub = split_path(seen.path)
  local body = #seen.body > 0 and host.json_decode(seen.body) or nil
  return { verb = is_apply(seen) and "apply" or seen.verb, method = seen.method, host = seen.host,
    kind = base and self:kind_at(base, plural), key = base and key_of(ns, name, body) or nil,
    path = seen.path, query = seen.query, subresource = sub, body = body, status = seen.status,
    lost = seen.lost or nil, at = seen.at }
end

-- ---- taking ----

local function take_log(self)
  for line in world.logged():gmatch("[^\n]+") do
    local entry = host.json_decode(line)
    if type(entry) == "table" then
      entry.ts = nil
      self.log[#self.log + 1] = entry
    end
  end
end

-- Returns the requests that were taken.
function M.collect(self)
  local all = world.seen(self.handle)
  for _, seen in ipairs(all) do
    if seen.host ~= "user" then
      self.asked[#self.asked + 1] = describe(self, seen)
    end
  end
  for _, run in ipairs(world.runs(self.handle)) do
    self.ran[#self.ran + 1] = run
  end
  take_log(self)
  return all
end

local function begin_again(self)
  self.asked, self.ran, self.log = {}, {}, {}
  world.logged()
end

-- controllers: name -> true, of all that hosts of this world have had. had_events: uid -> count,
-- had_metrics: series -> value, as they were when the world was told to forget.
function M.begin(self)
  self.controllers, self.had_events, self.had_metrics = {}, {}, {}
  begin_again(self)
end

-- ---- queries ----

local function filter(list, passes)
  local out = {}
  for _, entry in ipairs(list) do
    if passes(entry) then
      out[#out + 1] = entry
    end
  end
  return out
end

local VERBS = { POST = true, PUT = true, PATCH = true, DELETE = true }
local write_options = { kind = check.kind, key = check.text, verb = check.one_of("create",
  "update", "patch", "apply", "delete", "deletecollection", "exec") }
local request_options = { kind = check.kind, key = check.text, verb = check.one_of("get", "list",
  "watch", "create", "update", "patch", "apply", "delete", "deletecollection", "exec") }

-- Requests of hosts that fit the options. A kind has to be one of the server's.
local function requests_of(self, o, passes)
  if o.kind then
    self:resource_name(o.kind)
  end
  M.collect(self)
  return filter(self.asked, function(entry)
    return (not o.kind or entry.kind == o.kind) and (not o.verb or entry.verb == o.verb)
      and (not o.key or entry.key == o.key) and passes(entry)
  end)
end

local LEVELS = { debug = 1, info = 2, warn = 3, error = 4 }

local function labels_of(text)
  local out = {}
  for name, value in text:gmatch('([%w_]+)="([^"]*)"') do
    out[name] = value
  end
  return out
end

local function has_labels(have, want)
  for name, value in pairs(want) do
    if have[name] ~= tostring(value) then
      return false
    end
  end
  return true
end

-- ---- metrics ----

-- Whether a metric counts up, so that a world can forget what it has counted.
local COUNTS = { counter = true, histogram = true }

-- The page of the main host: an array of {id =, name =, labels =, value =, type =}.
local function read_metrics(self)
  local series, form = {}, nil
  for line in world.metrics(self.handle, "main"):gmatch("[^\n]+") do
    form = line:match("^# TYPE %S+ (%S+)$") or form
    local name, text, value = line:match("^([%w_:]+)(%b{}) (%S+)$")
    if not name then
      name, value = line:match("^([%w_:]+) (%S+)$")
    end
    if name then
      series[#series + 1] = { id = line:match("^(.*) "), name = name,
        labels = labels_of(text or ""), value = tonumber(value), type = form }
    end
  end
  return series
end

local function forget_metrics(self)
  self.had_metrics = {}
  if world.runs_host(self.handle, "main") then
    for _, one in ipairs(read_metrics(self)) do
      self.had_metrics[one.id] = COUNTS[one.type] and one.value or nil
    end
  end
end

-- What a series has counted since the world was told to forget. A host that has started since then
-- began at zero.
local function counted(self, one)
  local had = self.had_metrics[one.id] or 0
  return one.value >= had and one.value - had or one.value
end

-- ---- events ----

local function times_of(event)
  return event.series and event.series.count or event.count or 1
end

local function forget_events(self)
  self.had_events = {}
  for _, event in ipairs(self:list("v1/Event")) do
    self.had_events[event.metadata.uid] = times_of(event)
  end
end

function M.install(World)
  function World:forget()
    M.collect(self)
    begin_again(self)
    forget_events(self)
    forget_metrics(self)
    world.forget_why(self.handle)
    return self
  end

  -- Writes of hosts: {verb=, kind=, key=, subresource=, body=, status=}.
  function World:writes(o)
    o = check.options("writes", o, write_options)
    return requests_of(self, o, function(entry)
      return (VERBS[entry.method] or entry.verb == "exec") and (o.kind or not OWN[entry.kind])
        and (entry.lost or entry.status < 400 and entry.status > 0)
    end)
  end

  -- All requests of hosts, also reads and those that failed; as World:writes.
  function World:requests(o)
    o = check.options("requests", o, request_options)
    return requests_of(self, o, function() return true end)
  end

  -- Of a controller or task that a host of this world has, or has had; any name before there was
  -- a host.
  function World:runs(controller)
    M.collect(self)
    local known = self.controllers
    if controller ~= nil and not known[check.text("runs", controller)] and next(known) then
      fail("runs: there is no controller %q; %s", controller, check.nearest(controller, known))
    end
    return filter(self.ran, function(run)
      return not controller or run.controller == controller
    end)
  end

  -- Lines of at least that level: {level=, msg=, ...}.
  function World:logs(level)
    local least = 1
    if level ~= nil then
      check.one_of("debug", "info", "warn", "error")("logs", level)
      least = LEVELS[level]
    end
    M.collect(self)
    return filter(self.log, function(entry)
      return (LEVELS[entry.level] or 0) >= least
    end)
  end

  -- The sum of all series with these labels, or nil.
  function World:metrics(name, labels)
    check.text("metrics", name)
    labels = labels == nil and {} or check.table("metrics: the labels", labels)
    local sum
    for _, one in ipairs(read_metrics(self)) do
      if one.name == name and has_labels(one.labels, labels) then
        sum = (sum or 0) + counted(self, one)
      end
    end
    return sum
  end

  -- The Events about an object: {type=, reason=, message=, count=}.
  function World:events(kind, reference)
    self:resource_name(check.kind("events", kind))
    local ns, name = ref.parse("events", reference)
    local out = {}
    for _, event in ipairs(self:list("v1/Event")) do
      local about = event.involvedObject or {}
      local count = times_of(event) - (self.had_events[event.metadata.uid] or 0)
      if about.name == name and about.namespace == ns and about.kind == kind:match("[^/]+$")
        and count > 0 then
        out[#out + 1] = { type = event.type, reason = event.reason, message = event.message,
          count = count }
      end
    end
    return out
  end

  -- The history of a key, as lines of `perilune why`.
  function World:why(kind, reference)
    self:resource_name(check.kind("why", kind))
    local ns, name = ref.parse("why", reference)
    local out = {}
    for i, entry in ipairs(world.why(self.handle, "main", ref.key(ns, name))) do
      out[i] = entry.controller .. ": " .. entry.what .. " " .. entry.detail
    end
    return out
  end
end

return M
