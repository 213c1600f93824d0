-- Actors of a world: they do the work of a cluster's own controllers, and of kubelets. An actor is
-- a kind, how to tell that nothing is left to do, and the status to write. After each write, the
-- actors look at the objects of their kinds, and act later on those that have work left.

local host = require("perilune.host")
local world = require("perilune.world")
local check = require("perilune.check")

local fail, format = check.fail, string.format
local M = {}

-- ---- workloads ----

local function replicas_of(object)
  return type(object.spec) == "table" and tonumber(object.spec.replicas) or 1
end

local function is_rolled_out(object)
  local status, n = object.status or {}, replicas_of(object)
  return status.observedGeneration == object.metadata.generation
    and (status.readyReplicas or 0) == n and (status.replicas or 0) == n
end

-- A status with these members as counts of replicas.
local function counts(object, ...)
  local status = { observedGeneration = object.metadata.generation }
  for _, name in ipairs({ "replicas", "readyReplicas", "availableReplicas", ... }) do
    status[name] = replicas_of(object)
  end
  return status
end

local ready_condition = { type = "Available", status = "True", reason = "MinimumReplicasAvailable",
  message = "" }

local function roll_out_deployment(object)
  local status = counts(object, "updatedReplicas")
  status.conditions = host.array{ ready_condition }
  return status
end

local function has_ended(job)
  for _, condition in ipairs(job.status and job.status.conditions or {}) do
    if condition.status == "True"
      and (condition.type == "Complete" or condition.type == "Failed") then
      return true
    end
  end
  return false
end

local function complete(_, now)
  return { succeeded = 1, completionTime = now, startTime = now, conditions = host.array{
    { type = "SuccessCriteriaMet", status = "True" }, { type = "Complete", status = "True" } } }
end

local function is_in(phase)
  return function(object)
    return object.status ~= nil and object.status.phase == phase
  end
end

-- ---- disruption budgets ----

local function is_healthy(pod)
  for _, condition in ipairs(pod.status and pod.status.conditions or {}) do
    if condition.type == "Ready" then
      return condition.status == "True" and not pod.metadata.deletionTimestamp
    end
  end
  return false
end

local OWNERS = { ReplicaSet = "apps/v1/ReplicaSet", StatefulSet = "apps/v1/StatefulSet",
  Deployment = "apps/v1/Deployment" }

-- The workload that is the Pod's controller; nil: it is unknown.
local function workload_of(self, pod)
  for _, owner in ipairs(pod.metadata.ownerReferences or {}) do
    local kind = owner.controller and OWNERS[owner.kind]
    local object = kind and self:get(kind, pod.metadata.namespace .. "/" .. owner.name)
    if object and object.metadata.uid == owner.uid then
      return object
    end
  end
end

-- The numbers of selected Pods, of healthy ones, and of those that their controllers want.
local function tally(self, budget)
  local pods, healthy, expected, seen = 0, 0, 0, {}
  local selector = budget.spec.selector
  for _, pod in ipairs(selector and self:list("v1/Pod", { namespace = budget.metadata.namespace,
    labels = next(selector) and selector or nil }) or {}) do
    local workload = workload_of(self, pod)
    pods, healthy = pods + 1, healthy + (is_healthy(pod) and 1 or 0)
    if not workload then
      expected = expected + 1
    elseif not seen[workload.metadata.uid] then
      expected, seen[workload.metadata.uid] = expected + replicas_of(workload), true
    end
  end
  return pods, healthy, expected
end

-- A number, or a percentage of `total`, rounded up.
local function amount(value, total)
  local percent = type(value) == "string" and value:match("^(%d+)%%$")
  return percent and math.ceil(percent * total / 100) or tonumber(value) or 0
end

local function count_budget(budget, now, self)
  local pods, healthy, expected = tally(self, budget)
  local least, most = budget.spec.minAvailable, budget.spec.maxUnavailable
  if most == nil and type(least) ~= "string" then
    expected = pods
  end
  local desired = most ~= nil and math.max(0, expected - amount(most, expected))
    or amount(least, expected)
  local allowed = expected > 0 and math.max(0, healthy - desired) or 0
  return { observedGeneration = budget.metadata.generation, disruptionsAllowed = allowed,
    currentHealthy = healthy, desiredHealthy = desired, expectedPods = expected,
    disruptedPods = host.null, conditions = host.array{ { type = "DisruptionAllowed",
      status = allowed > 0 and "True" or "False", lastTransitionTime = now, message = "",
      reason = allowed > 0 and "SufficientPods" or "InsufficientPods" } } }
end

local NUMBERS = { "observedGeneration", "disruptionsAllowed", "currentHealthy", "desiredHealthy",
  "expectedPods" }

local function is_counted(budget, self)
  local now, status = count_budget(budget, nil, self), budget.status or {}
  for _, name in ipairs(NUMBERS) do
    if now[name] ~= status[name] then
      return false
    end
  end
  return status.disruptedPods == nil
end

-- ---- acting ----

-- done(object, world), status(object, now, world); ends: what is deleted has work left, the end of
-- its grace period.
local ACTORS = {
  deployments = { kind = "apps/v1/Deployment", done = is_rolled_out, status = roll_out_deployment },
  replicasets = { kind = "apps/v1/ReplicaSet", done = is_rolled_out, status = function(object)
    return counts(object, "fullyLabeledReplicas")
  end },
  statefulsets = { kind = "apps/v1/StatefulSet", done = is_rolled_out, status = function(object)
    return counts(object, "updatedReplicas", "currentReplicas")
  end },
  jobs = { kind = "batch/v1/Job", status = complete, done = function(object)
    return (object.spec or {}).suspend == true or has_ended(object)
  end },
  pods = { kind = "v1/Pod", done = is_in("Running"), ends = true, status = function(_, now)
    return { phase = "Running", startTime = now, conditions = host.array{
      { type = "Ready", status = "True" } } }
  end },
  claims = { kind = "v1/PersistentVolumeClaim", done = is_in("Bound"), status = function()
    return { phase = "Bound" }
  end },
  budgets = { kind = "policy/v1/PodDisruptionBudget", done = is_counted, status = count_budget },
}

local function is_done(self, actor, object)
  if object.metadata.deletionTimestamp then
    return not (actor.ends and object.metadata.deletionGracePeriodSeconds ~= 0)
  end
  return actor.done(object, self)
end

-- A kubelet removes a Pod once its containers have ended.
local function act(self, actor, object, key)
  if object.metadata.deletionTimestamp then
    self:delete(actor.kind, key, { grace_period = 0 })
  else
    local now = host.time_format(self:now(), 0)
    self:patch_status(actor.kind, key, { status = actor.status(object, now, self) })
  end
end

-- Acts later, if the object still exists with the same uid.
local function act_later(self, actor, object)
  local uid, ns = object.metadata.uid, object.metadata.namespace
  local key = (ns and ns .. "/" or "") .. object.metadata.name
  local id = actor.id .. uid
  if self.acting[id] then
    return
  end
  self.acting[id] = true
  world.alarm(self.handle, actor.delay, function()
    self.acting[id] = nil
    local now = self:get(actor.kind, key)
    if now and now.metadata.uid == uid and not is_done(self, actor, now) then
      act(self, actor, now, key)
    end
  end)
end

function M.run(self)
  for _, actor in ipairs(self.actors) do
    for _, object in ipairs(self:list(actor.kind)) do
      if not is_done(self, actor, object) then
        act_later(self, actor, object)
      end
    end
  end
end

-- follow(self): asks for a call of M.run after each write.
function M.begin(self, follow)
  self.actors, self.acting, self.follow_stores = {}, {}, follow
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
  local function status_of(object)
    local status = f(object)
    if status ~= nil and type(status) ~= "table" then
      error(format("simulate: the status of %s must be a table or nil, not %s", kind,
        check.describe(status)), 0)
    end
    return status
  end
  return { kind = kind, status = status_of, done = function(object)
    local status = status_of(object)
    return status == nil or is_contained(status, object.status or {})
  end }
end

function M.install(World)
  -- simulate(name, options), or simulate(kind, f, options) for an actor of the spec.
  function World:simulate(name, f, o)
    local actor = ACTORS[name]
    if type(f) == "function" then
      actor = of_spec(check.kind("simulate", name), f)
    elseif not actor then
      fail("simulate: unknown actor %s; %s", check.describe(name), check.nearest(name, ACTORS))
    else
      o = f
    end
    o = check.options("simulate", o, { delay = check.delay })
    self.actors[#self.actors + 1] = { id = #self.actors + 1 .. " ", kind = actor.kind,
      status = actor.status, done = actor.done, ends = actor.ends, delay = o.delay or 0 }
    self.follow_stores(self)
    M.run(self)
    return self
  end
end

return M
