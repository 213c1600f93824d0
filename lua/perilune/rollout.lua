-- Has a workload rolled out? The rules of `kubectl rollout status`.

local check = require("perilune.check")
local ref = require("perilune.ref")

local format = string.format

local function number(value, default)
  return type(value) == "number" and value or default or 0
end

local function observed(object, status)
  return number(status.observedGeneration) >= number(object.metadata.generation)
end

local function deployment(object, spec, status)
  local name, wanted = object.metadata.name, number(spec.replicas, 1)
  for _, condition in ipairs(status.conditions or {}) do
    if condition.type == "Progressing" and condition.reason == "ProgressDeadlineExceeded" then
      return false, format("deployment %q exceeded its progress deadline", name)
    end
  end
  local updated, all = number(status.updatedReplicas), number(status.replicas)
  local available = number(status.availableReplicas)
  if updated < wanted then
    return false, format("%d of %d new replicas have been updated", updated, wanted)
  elseif all > updated then
    return false, format("%d old replicas are pending termination", all - updated)
  elseif available < updated then
    return false, format("%d of %d updated replicas are available", available, updated)
  end
  return true, format("deployment %q successfully rolled out", name)
end

local function stateful_set(object, spec, status)
  local strategy = spec.updateStrategy or {}
  if strategy.type == "OnDelete" then
    return true, "the OnDelete strategy has no rollout to wait for"
  end
  local wanted = number(spec.replicas, 1)
  local ready, updated = number(status.readyReplicas), number(status.updatedReplicas)
  if ready < wanted then
    return false, format("%d of %d pods are ready", ready, wanted)
  end
  local partition = strategy.rollingUpdate and number(strategy.rollingUpdate.partition) or 0
  if partition > 0 then
    if updated < wanted - partition then
      return false, format("%d of %d pods of the partition are updated", updated,
        wanted - partition)
    end
    return true, format("partitioned roll out complete: %d new pods have been updated", updated)
  elseif status.updateRevision ~= status.currentRevision then
    return false, format("%d pods at revision %s", updated, tostring(status.updateRevision))
  end
  return true, format("stateful set %q rolled out", object.metadata.name)
end

local function daemon_set(object, spec, status)
  if spec.updateStrategy and spec.updateStrategy.type == "OnDelete" then
    return true, "the OnDelete strategy has no rollout to wait for"
  end
  local wanted = number(status.desiredNumberScheduled)
  local updated, available = number(status.updatedNumberScheduled), number(status.numberAvailable)
  if updated < wanted then
    return false, format("%d of %d new pods have been updated", updated, wanted)
  elseif available < wanted then
    return false, format("%d of %d updated pods are available", available, wanted)
  end
  return true, format("daemon set %q successfully rolled out", object.metadata.name)
end

local rules = {
  ["apps/v1/Deployment"] = deployment,
  ["apps/v1/StatefulSet"] = stateful_set,
  ["apps/v1/DaemonSet"] = daemon_set,
}

-- boolean, message
return function(object, ...)
  check.no_more("rolled_out", ...)
  local kind = ref.kind_of("rolled_out", object)
  local rule = rules[kind]
  if not rule then
    check.fail("rolled_out knows Deployment, StatefulSet and DaemonSet of apps/v1, not %s", kind)
  end
  local status = type(object.status) == "table" and object.status or {}
  if not observed(object, status) then
    return false, "the update has not been observed yet"
  end
  return rule(object, type(object.spec) == "table" and object.spec or {}, status)
end
