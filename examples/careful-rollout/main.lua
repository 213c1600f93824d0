-- A rollout of a stateful program that checks before each step. A StatefulSet with `updateStrategy:
-- OnDelete` and the label `example.com/rollout: careful` gets its new revision one pod at a time,
-- from the highest number down, and only while all its pods are ready. The rollout stops before a
-- pod with the annotation `example.com/hold`.
local perilune = require("perilune")
local client = perilune.client

local LABEL, HOLD, REVISION = "example.com/rollout", "example.com/hold", "controller-revision-hash"

local function is_ready(pod)
  return not pod.metadata.deletionTimestamp and perilune.conditions.is_true(pod, "Ready")
end

local function number_of(pod)
  return tonumber(pod.metadata.name:match("%-(%d+)$")) or 0
end

-- The pods of the set, the highest number first.
local function pods_of(set)
  local pods = {}
  local those = { namespace = set.metadata.namespace, labels = set.spec.selector }
  for _, pod in ipairs(client:list("v1/Pod", those)) do
    if perilune.is_controlled_by(pod, set) then
      pods[#pods + 1] = pod
    end
  end
  table.sort(pods, function(a, b)
    return number_of(a) > number_of(b)
  end)
  return pods
end

-- The next step: a pod to delete, or nil and the reason to wait.
local function next_step(set, pods)
  local wanted = perilune.dig(set, "status", "updateRevision")
  local old
  for _, pod in ipairs(pods) do
    if not is_ready(pod) then
      return nil, "pod " .. pod.metadata.name .. " is not ready"
    elseif not old and perilune.dig(pod, "metadata", "labels", REVISION) ~= wanted then
      old = pod
    end
  end
  if not wanted or not old then
    return nil
  elseif #pods < set.spec.replicas then
    return nil, #pods .. " of " .. set.spec.replicas .. " pods are there"
  elseif perilune.dig(old, "metadata", "annotations", HOLD) then
    return nil, "pod " .. old.metadata.name .. " is held"
  end
  return old
end

perilune.controller("careful-rollout")
  :For("apps/v1/StatefulSet", { labels = LABEL .. "=careful" })
  :Watches("v1/Pod", function(pod)
    local owner = perilune.controller_of(pod)
    return owner and owner.kind == "apps/v1/StatefulSet" and owner or nil
  end)
  :Writes("v1/Pod", { "delete" })
  :Reconcile(function(request, context)
    local set = client:get("apps/v1/StatefulSet", request)
    local strategy = perilune.dig(set, "spec", "updateStrategy", "type")
    if not set or set.metadata.deletionTimestamp or strategy ~= "OnDelete" then
      return
    end
    local pod, why = next_step(set, pods_of(set))
    if pod then
      client:delete(pod)
      perilune.event(set, "Normal", "Step",
        "pod " .. pod.metadata.name .. " makes room for the new revision")
      context.log:info("step", { pod = pod.metadata.name })
    elseif why then
      return perilune.waiting(why)
    end
  end)
