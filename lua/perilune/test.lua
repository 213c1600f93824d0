-- The module that specs require: worlds in which controllers run on an embedded API server and a
-- separate clock. The C half (perilune.world) steps a world. This half acts as a user of its
-- server: it converts objects and references to requests, and answers to objects and errors.

local host = require("perilune.host")
local world = require("perilune.world")
local actors = require("perilune.test_actors")
local check = require("perilune.check")
local commands = require("perilune.test_commands")
local errors = require("perilune.errors")
local faults = require("perilune.test_faults")
local files = require("perilune.test_files")
local flips = require("perilune.test_flips")
local methods = require("perilune.test_methods")
local kinds = require("perilune.test_kinds")
local record = require("perilune.test_record")
local ref = require("perilune.ref")

local fail, format = check.fail, string.format
local DEFAULT_LIMIT, START = 3600, "2026-01-01T00:00:00Z"

local World = {}

local M = { worlds = {}, seed = 1 }

-- ---- requests ----

local function path_segment(text)
  return (text:gsub("[^%w%-%._~:]", function(c)
    return format("%%%02X", c:byte())
  end))
end

local function raise_status(status, about)
  local details = type(status.details) == "table" and status.details or {}
  error(errors.new({ type = "api", code = status.code, reason = status.reason,
    message = status.message, verb = about.verb, kind = about.kind, key = about.key,
    causes = details.causes }), 0)
end

-- Sends a request and decodes the answer. about: {verb=, kind=, key=} for errors. A rule that is
-- broken ends the call, though the server has answered. An explored world
-- has when_unanswered: it returns true when the host was down and is back, and then the request is
-- sent again.
local function ask(self, method, target, o, about)
  if self.judged and method ~= "GET" then
    fail("always %q: a rule may only read, so it can't %s %s; do this in the test",
      self.judged, about.verb, about.kind)
  end
  world.renew()
  local body = o.body ~= nil and host.json_encode(o.body) or nil
  local status, text, rule = world.request(self.handle, method, target,
    body and (o.content_type or "application/json") or nil, body)
  if rule then
    fail("%s", text)
  elseif not status then
    error(errors.new({ type = "timeout", message = text, verb = about.verb, kind = about.kind,
      key = about.key }), 0)
  end
  if status == 500 and self.when_unanswered and self.when_unanswered() then
    return ask(self, method, target, o, about)
  end
  local answer = host.json_decode(text)
  if status >= 400 then
    if type(answer) ~= "table" then
      answer = { code = status, reason = "Unknown", message = text }
    end
    answer.code = answer.code or status
    raise_status(answer, about)
  end
  return answer
end

-- ---- requests of a user ----

local function path_to(self, kind, ns, name, subresource)
  local resource = kinds.resource_of(self, kind)
  local path = resource.path
  if resource.namespaced and (ns or name) then
    path = path .. "/namespaces/" .. path_segment(ns or "default")
  end
  path = path .. "/" .. resource.plural
  if name then
    path = path .. "/" .. path_segment(name)
  end
  return subresource and path .. "/" .. subresource or path
end

local function query_of(parameters)
  local parts = {}
  for _, pair in ipairs(parameters) do
    if pair[2] ~= nil then
      parts[#parts + 1] = pair[1] .. "=" .. host.url_escape(tostring(pair[2]))
    end
  end
  return #parts > 0 and "?" .. table.concat(parts, "&") or ""
end

local function about(verb, kind, ns, name)
  return { verb = verb, kind = kind, key = name and ref.key(ns, name) }
end

local function named(what, object)
  local kind = ref.kind_of(what, object)
  local ns, name = ref.parse(what, object)
  return kind, ns, name
end

local function each_object(self, what, value, act)
  local results = {}
  for i, object in ipairs(files.objects(what, value, self.folder)) do
    results[i] = act(self, object)
  end
  return unpack(results)
end

local function apply_one(self, object)
  local kind, ns, name = named("apply", object)
  return ask(self, "PATCH", path_to(self, kind, ns, name) .. "?fieldManager=test&force=true",
    { body = object, content_type = "application/apply-patch+yaml" },
    about("apply", kind, ns, name))
end

-- Like kubectl apply --server-side, for a file, an object or YAML text. Returns the stored object.
function World:apply(value)
  return each_object(self, "apply", value, apply_one)
end

local function create_one(self, object)
  local kind = ref.kind_of("create", object)
  local metadata = type(object.metadata) == "table" and object.metadata or {}
  local path = path_to(self, kind, metadata.namespace or "default")
  return ask(self, "POST", path .. "?fieldManager=test", { body = object },
    about("create", kind, metadata.namespace, metadata.name))
end

function World:create(value)
  return each_object(self, "create", value, create_one)
end

function World:update(object)
  local kind, ns, name = named("update", object)
  return ask(self, "PUT", path_to(self, kind, ns, name) .. "?fieldManager=test",
    { body = object }, about("update", kind, ns, name))
end

local PATCHES = { merge = "application/merge-patch+json", json = "application/json-patch+json",
  strategic = "application/strategic-merge-patch+json" }

-- Reads the arguments (object, ...) or (kind, reference, ...). Returns kind, namespace, name, and
-- the rest, of which there are at most `most`.
local function target_of(what, most, value, ...)
  if type(value) == "table" then
    check.no_more(what, select(most + 1, ...))
    local kind, ns, name = named(what, value)
    return kind, ns, name, ...
  end
  check.no_more(what, select(most + 2, ...))
  local kind = check.kind(what, value)
  local ns, name = ref.parse(what, (...))
  return kind, ns, name, select(2, ...)
end

local patch_options = { type = check.one_of("merge", "json", "strategic"),
  subresource = check.text }

local function patch(self, what, subresource, ...)
  local kind, ns, name, body, o = target_of(what, 2, ...)
  o = check.options(what, o, patch_options)
  check.table("the patch", body)
  if subresource == "status" then
    check.status_patch(what, body)
  end
  return ask(self, "PATCH", path_to(self, kind, ns, name, o.subresource or subresource)
    .. "?fieldManager=test", { body = body, content_type = PATCHES[o.type or "merge"] },
    about("patch", kind, ns, name))
end

function World:patch(...)
  return patch(self, "patch", nil, ...)
end

function World:patch_status(...)
  return patch(self, "patch_status", "status", ...)
end

local delete_options = { propagation = check.one_of("Background", "Foreground", "Orphan"),
  grace_period = check.integer(0), uid = check.text, resource_version = check.text }

function World:delete(...)
  local kind, ns, name, o = target_of("delete", 1, ...)
  o = check.options("delete", o, delete_options)
  local preconditions = (o.uid or o.resource_version)
    and { uid = o.uid, resourceVersion = o.resource_version } or nil
  ask(self, "DELETE", path_to(self, kind, ns, name), { body = { apiVersion = "v1",
    kind = "DeleteOptions", propagationPolicy = o.propagation, gracePeriodSeconds = o.grace_period,
    preconditions = preconditions } }, about("delete", kind, ns, name))
end

-- Returns nil if there is no such object.
function World:get(...)
  local kind, ns, name = target_of("get", 0, ...)
  local ok, found = pcall(ask, self, "GET", path_to(self, kind, ns, name), {},
    about("get", kind, ns, name))
  if ok then
    return found
  elseif errors.tests.is_not_found(found) then
    return nil
  end
  error(found, 0)
end

local list_options = { namespace = check.text, labels = check.selector, fields = check.fields }

function World:list(kind, o)
  check.kind("list", kind)
  o = check.options("list", o, list_options)
  local resource = kinds.resource_of(self, kind)
  local path = resource.path
  if o.namespace and resource.namespaced then
    path = path .. "/namespaces/" .. path_segment(o.namespace)
  end
  local list = ask(self, "GET", path .. "/" .. resource.plural .. query_of({
    { "labelSelector", o.labels }, { "fieldSelector", o.fields } }), {}, about("list", kind))
  local api_version = kind:match("^(.*)/[^/]+$")
  for _, object in ipairs(list.items) do
    object.apiVersion, object.kind = api_version, kind:match("[^/]+$")
  end
  return list.items
end

-- ---- time ----

local function must(self, ok, message)
  world.renew()
  if self.explored then -- such a scenario rarely looks, and decoding all requests takes long
    return ok and self or fail("%s", message)
  end
  local seen = record.collect(self)
  if not ok then
    local endless = message:find("it does not settle", 1, true)
    fail("%s%s", message, endless and flips.text(flips.of(seen)) or "")
  end
  return self
end

local settle_options = { limit = check.delay, whole = check.boolean }

-- Runs until no work is under way and nothing is due within the limit.
function World:settle(o)
  o = check.options("settle", o, settle_options)
  actors.settles(self, true)
  return must(self, world.settle(self.handle, o.limit or DEFAULT_LIMIT))
end

function World:advance(duration)
  actors.settles(self, false)
  return must(self, world.advance(self.handle, check.delay("advance", duration)))
end

-- Seconds since 1970.
function World:now()
  return world.now(self.handle)
end

-- Does one step; false: nothing will ever happen.
function World:step()
  world.renew()
  local some, message = world.step(self.handle)
  if some == nil then
    fail("%s", message)
  end
  return some
end

-- ---- the host ----

-- The paths of the scripts, an array for JSON.
local function scripts_of(self, o)
  return host.array(files.paths("scripts", o.scripts or rawget(self, "scripts"), self.folder))
end

-- A host has loaded its scripts. Those that did not load are not remembered.
local function loaded(self, o)
  self.scripts = o.scripts or rawget(self, "scripts")
  world.controllers(self.handle, self.controllers)
  return self
end

local function start_host(self, name, o)
  local ok, message = world.start(self.handle, host.json_encode({ name = name,
    paths = scripts_of(self, o), config = rawget(self, "config"),
    namespaces = rawget(self, "namespaces"), elects = self.elects, skew = o.skew }))
  if ok then
    ok, message = world.sync(self.handle, name)
  end
  must(self, ok, message)
  return loaded(self, o)
end

local start_options = { scripts = files.checker }
local replica_options = { skew = check.seconds }

function World:start(o)
  return start_host(self, "main", check.options("start", o, start_options))
end

function World:reload(o)
  o = check.options("reload", o, start_options)
  must(self, world.reload(self.handle, "main", host.json_encode(scripts_of(self, o))))
  return loaded(self, o)
end

function World:stop()
  return must(self, world.stop(self.handle, "main"))
end

function World:crash()
  return must(self, world.crash(self.handle, "main"))
end

local Replica = {}

function Replica:stop()
  return must(self.world, world.stop(self.world.handle, self.name))
end

function Replica:crash()
  return must(self.world, world.crash(self.world.handle, self.name))
end

function Replica:start()
  return start_host(self.world, self.name, {})
end

local replica_class = methods.class("a replica", Replica)

-- Starts another host with the same scripts on the same server. `skew`: how far its wall clock is
-- ahead of the world's clock; negative: behind.
function World:replica(name, o)
  start_host(self, check.text("replica", name), check.options("replica", o, replica_options))
  return setmetatable({ world = self, name = name }, replica_class.metatable)
end

kinds.install(World)
record.install(World)
faults.install(World)
commands.install(World)

local world_class = methods.class("a world", World)

-- ---- worlds ----

local CLOCK_END = 9e9 -- seconds before or after 1970: the clock counts nanoseconds in 64 bits

local function check_time(what, value)
  check.string(what, value)
  local seconds = host.time_parse(value)
  if not seconds then
    fail('%s must be a time such as "%s", not %q', what, START, value)
  elseif math.abs(seconds) >= CLOCK_END then
    fail("%s: %s: the clock of a world goes from 1685 to 2254", what, value)
  end
  return seconds
end

local FLAGS = { ["leader-elect"] = check.boolean, namespace = files.texts }

local function check_flags(what, value)
  return check.options(what, check.table(what, value), FLAGS)
end

local world_options = { scripts = files.checker, manifests = files.checker, config = check.table,
  flags = check_flags, start = check.boolean, time = check_time, seed = check.integer(1) }

M.world_options = world_options

local function close(self)
  if not self.closed then
    self.closed = true
    world.close(self.handle)
  end
end

-- Closes all worlds but the first `count`.
function M.close_worlds(count)
  for i = #M.worlds, count + 1, -1 do
    close(M.worlds[i])
    M.worlds[i] = nil
  end
end

local function begin(self, o)
  for _, object in ipairs(files.manifests(o.manifests, self.folder)) do
    local ok, e = pcall(apply_one, self, object)
    local place = files.place(object)
    if not ok and place and type(e) == "table" and type(e.message) == "string" then
      e.message = place .. ": " .. e.message
    end
    if not ok then
      error(e, 0)
    end
  end
  if o.start ~= false and rawget(self, "scripts") ~= nil then
    start_host(self, "main", {})
  end
end

-- more: for the explorer: the folder of the spec, a chooser, whether executed lines are recorded,
-- the server's first version, and whether documents share no values (host/world/world.h).
function M.open(what, o, more)
  more = more or {}
  o = check.options(what, o, world_options)
  local flags = o.flags or {}
  local self = setmetatable({ kinds = {}, folder = more.folder or files.spec_folder(),
    scripts = o.scripts, config = o.config, explored = more.choose ~= nil, closed = false,
    when_unanswered = false, judged = false, elects = flags["leader-elect"] or false,
    namespaces = flags.namespace and host.array(flags.namespace) or nil },
    world_class.metatable)
  world.renew()
  faults.prepare(self)
  self.handle = world.open(o.time or check_time("time", START), o.seed or M.seed,
    faults.chooser(self, more.choose), more.lines, more.version, more.unshared)
  M.worlds[#M.worlds + 1] = self
  record.begin(self)
  faults.begin(self)
  commands.begin(self)
  begin(self, o)
  return self
end

M.api = {
  world = function(o)
    return M.open("test.world", o)
  end,
  explore = function(...)
    return require("perilune.explore.declare").declare(...)
  end,
  keep = function(...)
    return require("perilune.explore.declare").keep(...)
  end,
}

require("perilune.test_asserts").install(methods.checker(world_class))

M.api = setmetatable({}, { __index = check.frozen("perilune.test", M.api) })
package.loaded["perilune.test_state"] = M

return M.api
