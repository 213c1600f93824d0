-- Actors of a world: they do the work of a cluster's own controllers, and of kubelets. What an
-- actor writes is told by the server (apiserver/actors) or by the spec. After each write, the
-- actors look at the objects of their kinds, and act later on those that have work left.

local host = require("perilune.host")
local world = require("perilune.world")
local check = require("perilune.check")
local ref = require("perilune.ref")

local fail, format = check.fail, string.format
local M = {}

-- Writes of one object by one actor, after which it never ends.
local MOST_AT_ONCE = 1000 -- while no time passes
local MOST = 10000 -- in one settle

-- The actors of the server, which also act in `perilune dev --simulate`. ends: what is deleted has
-- work left, the end of its grace period. counts: changes of other objects make work, too.
local ACTORS = {
  deployments = { kind = "apps/v1/Deployment", resource = "apps/v1/deployments" },
  replicasets = { kind = "apps/v1/ReplicaSet", resource = "apps/v1/replicasets" },
  statefulsets = { kind = "apps/v1/StatefulSet", resource = "apps/v1/statefulsets" },
  jobs = { kind = "batch/v1/Job", resource = "batch/v1/jobs" },
  pods = { kind = "v1/Pod", resource = "v1/pods", ends = true },
  claims = { kind = "v1/PersistentVolumeClaim", resource = "v1/persistentvolumeclaims" },
  budgets = { kind = "policy/v1/PodDisruptionBudget", resource = "policy/v1/poddisruptionbudgets",
    counts = true },
}

-- Their names, sorted.
M.names = {}
for name in pairs(ACTORS) do
  M.names[#M.names + 1] = name
end
table.sort(M.names)

local function key_of(object)
  return ref.key(object.metadata.namespace, object.metadata.name)
end

local END = {} -- the work at a deleted Pod: a kubelet removes it once its containers have ended

-- What the actor has to do: the status to write, as a patch, or END; nil: nothing.
local function work_of(self, actor, object)
  if object.metadata.deletionTimestamp then
    return actor.ends and object.metadata.deletionGracePeriodSeconds ~= 0 and END or nil
  elseif actor.of then
    return actor.of(object)
  end
  local text = world.actor_status(self.handle, actor.resource, key_of(object))
  local status = text and host.json_decode(text)
  for name in pairs(status and object.status or {}) do
    if status[name] == nil then
      status[name] = host.null
    end
  end
  return status
end

-- how: when these runs were.
local function count(counts, id, most, name, how)
  counts[id] = (counts[id] or 0) + 1
  if counts[id] > most then
    error(format("it does not settle: the actor of %s (%d runs %s) always finds another status to "
      .. "write; f(object) must return what the object has already once the work is done", name,
      most, how), 0)
  end
end

-- An error, if the actor writes this object without end.
local function count_act(self, actor, key)
  local now, id = world.now(self.handle), actor.id .. key
  if self.acts_at ~= now then
    self.acts_at, self.acts = now, {}
  end
  local name = actor.kind .. " " .. key
  count(self.acts, id, MOST_AT_ONCE, name, "while no time passes")
  if self.acts_of_settle then
    count(self.acts_of_settle, id, MOST, name, "in one settle")
  end
end

-- A settle begins, or other work that does not settle.
function M.settles(self, begins)
  self.acts_at, self.acts_of_settle = false, begins and {}
end

local function act(self, actor, key, work)
  if work then
    count_act(self, actor, key)
  end
  if work == END then
    self:delete(actor.kind, key, { grace_period = 0 })
  elseif work then
    self:patch_status(actor.kind, key, { status = work })
  end
end

-- Acts later, if the object still exists with the same uid.
local function act_later(self, actor, object)
  local uid, key = object.metadata.uid, key_of(object)
  local id = actor.id .. uid
  if self.acting[id] then
    return
  end
  self.acting[id] = true
  world.alarm(self.handle, actor.delay, function()
    self.acting[id] = nil
    local now = not actor.refused and self:get(actor.kind, key)
    if now and now.metadata.uid == uid then
      act(self, actor, key, work_of(self, actor, now))
    end
  end)
end

-- Whether an actor may have work that it had not before. What an actor of the server has to do
-- follows from the object alone, except for budgets.
local function has_news(self, actor)
  if not actor.resource then
    return true
  end
  local newest, seen = world.newest(self.handle, actor.resource), actor.seen
  actor.seen = newest
  return newest > 0 and (newest ~= seen or actor.counts)
end

function M.run(self)
  for _, actor in ipairs(self.actors) do
    for _, object in ipairs(has_news(self, actor) and self:list(actor.kind) or {}) do
      if work_of(self, actor, object) then
        act_later(self, actor, object)
      end
    end
  end
end

-- follow(self): asks for a call of M.run after each write.
function M.begin(self, follow)
  self.actors, self.acting, self.follow_stores = {}, {}, follow
  M.settles(self, false)
end

-- ---- actors of the spec ----

-- The patch would change nothing.
local function is_contained(patch, value)
  if type(patch) ~= "table" or type(value) ~= "table" then
    return patch == value or patch == host.null and value == nil
  elseif host.is_array(patch) then
    return host.json_encode(patch) == host.json_encode(value)
  end
  for name, one in pairs(patch) do
    if not is_contained(one, value[name]) then
      return false
    end
  end
  return true
end

-- f(object) returns the status that the object gets, or nil.
local function of_spec(kind, f)
  return { kind = kind, of = function(object)
    local status = f(object)
    if status ~= nil and type(status) ~= "table" then
      error(format("simulate: the status of %s must be a table or nil, not %s", kind,
        check.describe(status)), 0)
    end
    return not is_contained(status, object.status or {}) and status or nil
  end }
end

-- An actor that fails at once, as the server does not have its kind, is not kept.
local function add(self, actor)
  self.actors[#self.actors + 1] = actor
  local ok, e = pcall(M.run, self)
  if not ok then
    actor.refused = true
    table.remove(self.actors)
    error(e, 0)
  end
  self.follow_stores(self)
end

function M.install(World)
  -- simulate(name, options), or simulate(kind, f, options) for an actor of the spec.
  function World:simulate(name, f, o)
    local actor = ACTORS[name]
    if type(f) == "function" then
      actor = of_spec(check.kind("simulate", name), f)
    elseif not actor then
      fail("simulate: there is no actor %s; %s", check.quote(check.text("simulate", name)),
        check.nearest(name, ACTORS))
    else
      o = f
    end
    o = check.options("simulate", o, { delay = check.delay })
    add(self, { id = #self.actors + 1 .. " ", kind = actor.kind, resource = actor.resource,
      of = actor.of, ends = actor.ends, counts = actor.counts, delay = o.delay or 0 })
    return self
  end
end

return M
