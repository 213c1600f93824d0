-- Functions of a world that only the explorer needs: its objects without a counted request, watches
-- that are held back or cut, writes of other clients that are no steps. And the worlds of `perilune
-- test --explore`, whose points an executor answers.

local check = require("perilune.check")
local host = require("perilune.host")
local native = require("perilune.world")
local declare = require("perilune.explore.declare")
local flips = require("perilune.test_flips")
local flats = require("perilune.explore.flat")

local format = string.format
local M = {}

local DEFAULT_LIMIT = 3600 -- seconds that settle lets pass
local LATER = 86400 * 40 + 3661 -- seconds by which another reference run is later
local LATER_VERSION = 1000003 -- its server's first version
local PACE = 0.001 -- seconds that a write takes
local RUNS_OF_A_KEY = 1000 -- after which it counts as one that never settles; an exploration settles often

-- ---- kinds ----

-- "apps/v1" -> plural -> kind; kept for the process, since all scenarios have the same manifests.
local kinds = {}

local function path_of(group_version)
  return group_version:find("/", 1, true) and "/apis/" .. group_version or "/api/" .. group_version
end

-- Each world asks once, even if the answer is known already: another number of requests would
-- change the server's random numbers, and so the names that it generates.
local function load(world, group_version)
  local asked = rawget(world, "asked_kinds") or {}
  world.asked_kinds = asked
  if asked[group_version] then
    return kinds[group_version]
  end
  asked[group_version] = true
  local status, text = native.request(world.handle, "GET", path_of(group_version), nil, nil)
  local found = kinds[group_version]
  if found then
    return found
  end
  found = {}
  for _, resource in ipairs(status == 200 and host.json_decode(text).resources or {}) do
    if not resource.name:find("/", 1, true) then
      found[resource.name] = resource.kind
    end
  end
  kinds[group_version] = found
  return found
end

-- "apps/v1/Deployment" of "apps/v1/deployments".
function M.kind_of(world, resource)
  local known = rawget(world, "kind_names") or {}
  world.kind_names = known
  if not known[resource] then
    local group_version, plural = resource:match("^(.*)/([^/]+)$")
    local kind = group_version and load(world, group_version)[plural]
    known[resource] = kind and group_version .. "/" .. kind or resource
  end
  return known[resource]
end

-- ---- objects ----

local Extended = {}

-- Adds a kind that anybody has written, or that is watched: its objects can differ.
local function remember(world, resource)
  if resource ~= "" and not world.resources[resource] then
    world.resources[resource] = true
    table.insert(world.resources, resource)
  end
end

-- The objects of a kind that the server stores in another version than the one that was written.
local function requested(world, group_version, plural, kind)
  local status, text = native.request(world.handle, "GET", path_of(group_version) .. "/" .. plural, nil, nil)
  local out = {}
  for i, item in ipairs(status == 200 and host.json_decode(text).items or {}) do
    item.apiVersion, item.kind = group_version, kind
    out[i] = flats.record(item)
  end
  return out
end

-- Records of the objects as flats.record makes them. An object is read once for each of its versions, and
-- objects that are alike only once.
local function list(world, resource)
  local group_version, plural = resource:match("^(.*)/([^/]+)$")
  local kind = M.kind_of(world, resource):match("[^/]+$")
  if flats.left_out[kind] then
    return {}
  end
  local names, texts = native.objects(world.handle, resource, world.records)
  if not names then
    return requested(world, group_version, plural, kind)
  end
  local n, out = 0, {}
  for i, name in ipairs(names) do
    if not world.records[name] then
      n = n + 1
      world.records[name] = flats.record_of(texts[n], name:match("^%S+"))
    end
    out[i] = world.records[name]
  end
  return out
end

-- Records of all objects that the scenario or a controller may have made.
function Extended:explore_objects()
  local out = {}
  for _, resource in ipairs(self.resources) do
    for _, record in ipairs(list(self, resource)) do
      if not self.before[record.uid] then
        out[#out + 1] = record
      end
    end
  end
  return out
end

-- The fields that change again and again, as test_flips has them. Takes the requests of the world.
function Extended:explore_flips()
  return flips.of(native.seen(self.handle))
end

function Extended:explore_externals()
  return self.externals
end

function Extended:explore_version()
  return native.version(self.handle)
end

-- The time at which a settle with these options ends.
function Extended:explore_end(o)
  return self:now() + check.duration("settle: limit", o and o.limit or DEFAULT_LIMIT)
end

-- Does one step; false: there is nothing to do until then.
function Extended:explore_step(finish)
  native.renew()
  return native.step(self.handle, finish)
end

-- Lets so many seconds pass, or fewer: it ends when a disturbance has killed a host.
function Extended:explore_advance(seconds)
  native.renew()
  local ok, message = native.advance(self.handle, seconds, true)
  if not ok then
    check.fail("%s", message)
  end
end

-- True while a rule of the scenario (http, exec, always, simulate) runs.
function Extended:explore_asks_rule()
  return native.asks_rule(self.handle)
end

-- True if every host runs, or this one.
function Extended:explore_runs(only)
  for _, name in ipairs(self.hosts) do
    if (only or name) == name and not native.runs_host(self.handle, name) then
      return false
    end
  end
  return true
end

-- Starts the hosts that do not run: the first one as a user would, others with the same scripts.
function Extended:explore_start()
  for i, name in ipairs(self.hosts) do
    if not native.runs_host(self.handle, name) then
      if i == 1 then
        self:start()
      else
        self:replica(name, { skew = self.skew })
      end
    end
  end
end

-- Loads the next start of the host that has started last, once for all branches.
function Extended:explore_load_ahead()
  native.renew()
  native.load_ahead(self.handle)
end

function Extended:explore_hold_garbage(held)
  native.hold_garbage(self.handle, held)
end

-- From now on, delayed keys run so many seconds late.
function Extended:explore_lateness(seconds)
  native.lateness(self.handle, seconds)
end

-- From now on, lists of caches come in the reverse order, or sorted again. True if one had several
-- objects since the last call.
function Extended:explore_reverse_lists(reversed)
  return native.reverse_lists(self.handle, reversed)
end

-- Returns false when there is no such controller, or when it is a task.
function Extended:explore_enqueue(controller, key)
  return native.enqueue(self.handle, controller, key)
end

-- Kills one host, or all.
function Extended:explore_crash(only)
  for _, name in ipairs(self.hosts) do
    if (only == nil or only == name) and native.runs_host(self.handle, name) then
      native.crash(self.handle, name)
    end
  end
end

-- True if no work continues by itself and no key fails; otherwise false and the reason.
function Extended:explore_settled()
  return native.settled(self.handle)
end

-- Sets the number of reconciles after which settle gives up, and the number of one key; nil: the default.
-- retries: settle does not wait for a key that has backed off so often without a change; nil: it waits.
function Extended:explore_limit(n, of_key, retries)
  native.limit(self.handle, n or 0)
  native.limit_key(self.handle, of_key or RUNS_OF_A_KEY)
  native.limit_retries(self.handle, retries or 0)
end

-- A disturbance begins or ends: settle waits again for what has changed nothing.
function Extended:explore_forget_rounds()
  native.forget_rounds(self.handle)
end

-- Sets the seconds that each write of a host takes; nil: the default.
function Extended:explore_pace(seconds)
  native.pace(self.handle, seconds or PACE)
end

function Extended:explore_hold(resource, held)
  native.hold(self.handle, resource, held)
end

-- A text that is the same if the first host knows the same besides its caches; nil: nobody can tell.
function Extended:explore_memory()
  return native.memory(self.handle, self.hosts[1])
end

-- Whether the chooser is asked at answers and waits, too.
function Extended:explore_attend(on)
  native.attend(self.handle, on)
end

-- The body of the request or answer at which the chooser was asked.
function Extended:explore_body()
  return native.point_body(self.handle)
end

-- Ends the resource's watches with 410, so it is listed again.
function Extended:explore_expire(resource)
  native.expire(self.handle, resource)
end

-- path -> line -> true: the lines of the scripts that ran.
function Extended:explore_lines()
  local out = {}
  for path, numbers in pairs(native.lines(self.handle)) do
    out[path] = {}
    for _, number in ipairs(numbers) do
      out[path][number] = true
    end
  end
  return out
end

-- The resource that has the kind's short name, of those that were seen; nil: none.
function Extended:explore_resource(kind)
  for _, resource in ipairs(self.resources) do
    if M.kind_of(self, resource):match("[^/]+$") == kind then
      return resource
    end
  end
end

-- A user has written these objects.
function Extended:explore_wrote(...)
  for i = 1, select("#", ...) do
    local object = select(i, ...)
    if type(object) == "table" and object.apiVersion and object.kind then
      local found = kinds[object.apiVersion] or load(self, object.apiVersion)
      for plural, kind in pairs(found) do
        if kind == object.kind then
          remember(self, object.apiVersion .. "/" .. plural)
        end
      end
    end
  end
end

-- Another client creates the object that is about to be created.
function Extended:explore_create(object, body)
  local resource, namespace = object:match("^(%S+)%s+(%S+)$")
  resource = resource or object
  local group_version, plural = resource:match("^(.*)/([^/]+)$")
  local path = path_of(group_version) .. (namespace and "/namespaces/" .. namespace or "") .. "/" .. plural
  native.request(self.handle, "POST", path, "application/json", body)
end

-- Another client writes an annotation.
function Extended:explore_touch(kind, key, annotation)
  local namespace, name = (key or ""):match("^(.-)/(.*)$")
  self.touches = self.touches + 1
  pcall(self.patch, self, kind, { namespace = namespace, name = name or key },
    { metadata = { annotations = { [annotation] = format("%d", self.touches) } } })
end

-- Adds or removes a finalizer of another client. Returns false when there is no such object, or when
-- it is already being deleted.
function Extended:explore_finalizer(kind, key, on)
  local resource = self:explore_resource(kind)
  local namespace, name = key:match("^(.-)/(.*)$")
  local at = { namespace = namespace, name = name or key }
  local object = resource and self:get(M.kind_of(self, resource), at)
  if not object or on and object.metadata.deletionTimestamp then
    return false
  end
  local left = host.array({})
  for _, finalizer in ipairs(object.metadata.finalizers or {}) do
    if finalizer ~= flats.FINALIZER then
      left[#left + 1] = finalizer
    end
  end
  if on then
    left[#left + 1] = flats.FINALIZER
  end
  return (pcall(self.patch, self, M.kind_of(self, resource), at, { metadata = { finalizers = left } }))
end

-- Closes the world now, not at the end of the test.
function Extended:close()
  local open = package.loaded["perilune.test_state"].worlds
  for i = #open, 1, -1 do
    if open[i] == self then
      table.remove(open, i)
    end
  end
  self.closed = true
  native.close(self.handle)
end

-- ---- worlds ----

local function extend(world)
  local class = getmetatable(world).class
  return setmetatable(world, { class = class, __index = function(_, name)
    return Extended[name] or class.methods[name]
  end })
end

-- A world of `scenario` without controllers and without a chooser.
function M.plain(scenario)
  local options = declare.world_options(scenario.options)
  options.start = false
  return extend(package.loaded["perilune.test_state"].open("test.explore", options, { folder = scenario.folder }))
end

-- "main", and other replicas. One of them leads at a time.
local function hosts_of(scenario, options)
  local hosts = { "main" }
  for i = 2, scenario.options.replicas or 1 do
    hosts[i] = "replica-" .. i
  end
  if #hosts > 1 then
    local flags = { ["leader-elect"] = true }
    for name, value in pairs(options.flags or {}) do
      flags[name] = value
    end
    options.flags = flags
  end
  return hosts
end

-- A world of `scenario`. Calls opened(world) before a host starts, and at(point, once) from then on. Other replicas
-- start with the scenario's first call that needs them.
function M.open(scenario, how, at, opened)
  local state = package.loaded["perilune.test_state"]
  local options = declare.world_options(scenario.options)
  local world, ready
  options.seed = how.seed
  if how.later then
    options.time = host.time_format(host.time_parse(options.time or "2026-01-01T00:00:00Z") + LATER)
  end
  options.start = false
  local hosts = hosts_of(scenario, options)
  world = state.open("test.explore", options, { folder = scenario.folder, lines = how.lines ~= false,
    version = how.later and LATER_VERSION or nil, unshared = M.branch ~= nil, choose = function(point, once)
    if ready then
      if point.kind == "request" and point.verb ~= "http" and (point.writes or point.verb == "list") then
        remember(world, point.object:match("^%S+"))
      end
      return at(point, once)
    end
  end })
  world.resources, world.before, world.touches, world.hosts, world.records = {}, {}, 0, hosts, {}
  world.skew = how.skew
  extend(world)
  world:explore_limit()
  world:explore_pace()
  if opened then
    opened(world)
  end
  ready = true
  if scenario.options.start ~= false and scenario.options.scripts then
    world:start()
  end
  return world
end

-- For branches.lua; nil where a process cannot be copied.
M.branch = native.fork and { fork = native.fork, wait = native.wait, finish = native.finish }

-- How many branches can run at a time.
M.processors = native.processors or 1

-- Whether a person sees the output.
M.terminal = native.terminal

-- Seconds for measuring the budget; busted's own module has them.
local has_system, system = pcall(require, "system")
M.clock = has_system and system.monotime or os.clock

return M
