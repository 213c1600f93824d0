-- The points of an execution: asks the chooser and answers the world at each request, answer, event
-- and end of a run. Nothing here settles or restarts anything: a crash is an answer, and the world
-- carries it out. The methods are added to the executor's class.

local host = require("perilune.host")
local mistake = require("perilune.explore.mistake")
local options = require("perilune.explore.options")
local flats = require("perilune.explore.flat")
local plans = require("perilune.explore.plan")

local format = string.format

local DELAY = 1 -- seconds by which a request is late; work without timers ends meanwhile

return function(exec)

-- "Deployment" of "apps/v1/Deployment".
local shorts = setmetatable({}, { __index = function(known, kind)
  known[kind] = kind:match("[^/]+$")
  return known[kind]
end })

-- The resource and key of "apps/v1/deployments default/blog".
local function split(object)
  local resource, key = object:match("^(%S+)%s+(%S+)$")
  return resource or object, key
end

function exec:place_of(point)
  if point.verb == "http" then
    return { controller = point.controller, key = point.key ~= "" and point.key or "-", verb = "http",
      kind = point.api_kind, object = point.object }, point.api_kind
  end
  local resource, key = split(point.object)
  local kind = self.o.kind_of(self.world, resource)
  if point.verb == "create" and point.subresource == "" then
    local name = point.name
    key = name and name ~= "" and (key and key .. "/" .. name or name) or nil
  end
  local named = shorts[kind]
  if point.subresource ~= "" and point.verb ~= "exec" then
    named = named .. "/" .. point.subresource
  end
  return { controller = point.controller, key = point.key ~= "" and point.key or "-", verb = point.verb,
    kind = named, object = key }, kind
end

-- What is known of a request's point: {resource, place, kind, name, api, who, line, options}. All executions
-- share it.
local function learn(self, point)
  local place, kind = self:place_of(point)
  return { resource = split(point.object), place = place, kind = kind, name = plans.name(place),
    api = kind .. place.kind:sub(#shorts[kind] + 1), who = point.controller .. " " .. point.key,
    line = point.line ~= "" and point.line or nil, options = {} }
end

function exec:known_of(point)
  local known = self.o.known[point]
  if known and (point.verb == "http" or self.o.kind_of(self.world, known.resource) == known.kind) then
    return known
  end
  known = learn(self, point)
  self.o.known[point] = known
  return known
end

-- The disturbances of a request; first: it is the first write of its run.
local function options_of(known, point, first)
  local list = known.options[first]
  if not list then
    list = options.of_request({ verb = point.verb, reads = not point.writes, conditional = point.versioned,
      generated = known.place.object == nil, first = first })
    known.options[first] = list
  end
  return list
end

local statuses = { ["500"] = 500, ["503"] = 503, ["429"] = 429, ["403"] = 403, conflict = 409 }
local reasons = { ["500"] = "InternalError", ["503"] = "ServiceUnavailable", ["429"] = "TooManyRequests",
  ["403"] = "Forbidden", conflict = "Conflict" }

-- A write of another client, which is not a step.
function exec:make_first(point)
  self.world:explore_create(point.object, self.world:explore_body())
end

function exec:touch(place, kind)
  self.world:explore_touch(kind, place.object, flats.TOUCHED)
end

-- The disturbance that happens at one of the next points; nil: none.
function exec:await(d)
  self.pending = d
  self.world:explore_attend(d ~= nil)
end

-- The answer at a request that the plan disturbs.
function exec:disturb(d, point, once, place, kind)
  self:fault(d)
  if d.what == "crash" and d.how == "before" then
    return { act = "crash" }
  elseif d.what == "crash" or d.what == "reload" then
    self:await(d)
    self.pending_at, self.pending_host = once.call_id, point.host
  elseif d.what == "refuse" and d.how == "connection" then
    return { act = "refuse", status = 0 }
  elseif d.what == "refuse" and d.how == "exists" then
    self:make_first(point)
  elseif d.what == "refuse" then
    return { act = "refuse", status = statuses[d.how], reason = reasons[d.how] }
  elseif d.what == "lose" then
    return { act = "lose", reason = d.how }
  elseif d.what == "touch" then
    self:touch(place, kind)
  elseif d.what == "delay" then
    self.delayed = true
    return { act = "later", delay = DELAY }
  end
end

-- True while the plan makes the server refuse such requests.
function exec:is_out(place)
  for _, d in ipairs(self.outages) do
    if d.verb == place.verb and d.kind == place.kind then
      self.choose:hit(d)
      return true
    end
  end
  return false
end

-- The number of a key's run since the step or the process began. who: controller and key.
function exec:run_of(who, run_id)
  local runs = self.runs[who]
  if not runs or runs.step ~= self.choose.step then
    runs = { step = self.choose.step, n = 0 }
    self.runs[who] = runs
  end
  if runs.id ~= run_id then
    runs.id, runs.n = run_id, runs.n + 1
  end
  return runs.n
end

function exec:request(point, once)
  local known = self:known_of(point)
  local place, run, n = known.place, once.run_id, self:run_of(known.who, once.run_id)
  local facts = { name = known.name, line = known.line, run = n, reads = not point.writes,
    options = options_of(known, point, point.writes and not self.wrote[run] or false) }
  local entry = { what = "effect", run = n, controller = point.controller, key = place.key,
    verb = point.verb, api = known.api, kind = place.kind, object = place.object, line = known.line,
    after_restart = self.restarted or nil, writes = point.writes, of_run = run }
  if point.writes then
    self.wrote[run] = true
    self.effects = self.effects + 1
  end
  if point.verb == "delete" and place.object then
    self.choose:deletes(place.kind, place.object)
  end
  local d = self.choose:effect(place, facts)
  if d and (d.how == "before" or d.what == "refuse" and d.how ~= "exists") then
    entry.outcome = d.what == "refuse" and "answered " .. d.how or "not sent"
  end
  self:add(entry)
  self.open[once.call_id] = entry
  entry.version = point.writes and point.verb ~= "http" and self.world:explore_version()
  if not d and self:is_out(place) then
    entry.outcome = "answered 500"
    return { act = "refuse", status = 500, reason = reasons["500"] }
  end
  return d and self:disturb(d, point, once, place, known.kind)
end

-- Keeps an object that was stored. Random values are found by comparing these later.
function exec:version(text)
  local ok, object = pcall(host.json_decode, text)
  if ok and type(object) == "table" and object.kind and type(object.metadata) == "table"
    and object.metadata.name then
    self.versions[#self.versions + 1] = flats.of({ object })
  end
end

-- A write whose answer did not come may have been done: keeps what is stored now.
function exec:keep_unanswered()
  for _, entry in pairs(self.how.versions and self.open or {}) do
    if entry.version then
      self.versions[#self.versions + 1] = flats.of_records(self.world:explore_objects(), {})
      return
    end
  end
end

local function has_others_finalizer(object)
  for _, name in ipairs(object.metadata.finalizers or {}) do
    if name == flats.FINALIZER then
      return true
    end
  end
  return false
end

-- Records that a write of the script has removed the finalizer of another client.
function exec:check_finalizer(entry, text)
  for _, d in ipairs(self.kept) do
    local is_its = d.kind == entry.kind and d.key == entry.object and tonumber(entry.version) >= d.since
      and (entry.verb == "patch" or entry.verb == "update")
    local ok, object = pcall(host.json_decode, is_its and text or "")
    if is_its and ok and object and not has_others_finalizer(object) then
      self.removed[#self.removed + 1] = { kind = entry.api, key = entry.object, line = entry.line, verb = entry.verb,
        step = entry.step }
    end
  end
end

-- The server has answered: records the outcome of the request.
function exec:applied(point, once)
  local entry, status = self.open[once.call_id], once.status
  if entry then
    self.open[once.call_id] = nil
    if self.how.versions and point.writes and status < 300 then
      self:version(self.world:explore_body())
    end
    if #self.kept > 0 and entry.version and status == 200 then -- 201: it was made anew
      self:check_finalizer(entry, self.world:explore_body())
    end
    if #self.plan == 0 and entry.writes and entry.verb ~= "http" and status < 300 then
      self.claims:wrote(entry.of_run, entry, status == 201,
        self.world:explore_body())
    end
    local done = point.verb == "exec" and status == 101 or status >= 200 and status < 300
    entry.outcome = done and "done" or "answered " .. status
    entry.done = entry.outcome == "done"
    entry.unchanged = entry.done and entry.version and entry.version == self.world:explore_version()
  end
end

-- A crash after an answer, which is pending, happens when the host is about to do something that others can see.
function exec:due_crash(point, once)
  local d = self.pending
  if not (once.call_id == self.pending_at and (point.kind == "request"
    or point.kind == "applied" and d.how ~= "unanswered"
    or point.kind == "answered" and d.how ~= "unanswered")) then
    self:await(nil)
    if d.what == "crash" then
      return { act = "crash" }
    end
    self.reload_now = true
  end
end

-- An event of a watch. Only those of caches count: the election of a leader watches its Lease, too.
function exec:event(point, version)
  local known = self.o.known[point]
  if not known then
    known = { resource = split(point.object), text = format("%s %s", point.verb, point.object) }
    self.o.known[point] = known
  end
  if point.verb ~= "BOOKMARK" and self.cached[known.resource] then
    self.choose:event(shorts[self.o.kind_of(self.world, known.resource)], known.text, version)
  end
end

-- Requests of the host itself: lists and watches of its caches.
function exec:own_request(point)
  local resource = split(point.object)
  if point.verb == "list" then
    self.cached[resource] = true
  end
  if point.verb == "list" and self.stale and not self.stale.listed then
    if shorts[self.o.kind_of(self.world, resource)] == self.stale.kind then
      self.stale.listed = true
      self.world:explore_hold(resource, true)
      self.held[#self.held + 1] = resource
      return { act = "stale", version = self.stale.version }
    end
  elseif point.verb == "list" then
    self.relist[point.host .. " " .. resource] = nil
  end
end

-- A run has ended. Mistakes of the script are findings; errors from the API server, or raised by
-- the script, are not.
function exec:ran(point, message)
  self.choose:ran(point.controller, point.key)
  self.requeues = self.requeues or point.delayed
  self.failed[point.controller .. " " .. point.key] = message ~= "" and message:match("^[^\n]*") or nil
  if point.script then
    self:note_mistake(point, message, { controller = point.controller, key = point.key })
  end
end

-- `of` says whose mistake it is: a controller's, or that of functions which see objects of a kind.
function exec:note_mistake(point, message, of)
  if mistake.is(message, point.line) then
    of.line = message:match("([^/%s]+%.lua:%d+)") or point.line:match("([^/%s]+%.lua:%d+)")
    of.message, of.step = message, self.choose.step
    self.errors[#self.errors + 1] = of
  end
end

-- What never settles, from the world's words for it: a map function, or a key.
function exec:unsettled_by(why)
  local controller, map, problem = why:match("^(%S+) %((the map function of %S+): (.-)%) is tried again")
  if controller then
    return { message = format("%s is tried again: %s", map, problem), controller = controller, key = "",
      step = self.choose.step }
  end
  local kind, key = why:match("(%S+) (%S+) is tried again")
  local failed = self.failed[format("%s %s", kind, key)]
  return { message = failed and format("%s: %s", why, failed) or why, controller = kind, key = key,
    step = self.choose.step }
end

-- point, once: as host/world/choose.h has them.
function exec:at(point, once)
  if point.kind == "ran" then
    return self:ran(point, once.message or "")
  elseif point.kind == "fault" then
    local whose = point.controller == "" and "an index" or "a predicate of " .. point.controller
    return self:note_mistake(point, once.message or "", { controller = whose, kind = point.api_kind, key = point.key })
  end
  if point.kind == "event" then
    self:event(point, once.version or "")
  elseif point.kind == "pick" then
    local i, d = self.choose:pick(point.candidates)
    if d then
      self:fault(d)
    end
    return i > 1 and { act = "pick", pick = i - 1 } or nil
  end
  if point.kind == "applied" then
    self:applied(point, once)
  end
  local crash = self.pending and self:due_crash(point, once)
  if crash then
    return crash
  elseif point.kind == "request" then
    if point.controller == "" then
      return self:own_request(point)
    end
    return self:request(point, once)
  end
end
end
