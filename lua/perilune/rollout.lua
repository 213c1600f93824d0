-- Checks whether a workload has rolled out, by the rules of `kubectl rollout status`.

local check = require("perilune.check")
local ref = require("perilune.ref")

local format = string.format

local function number(value, default)
  return type(value) == "number" and value or default or 0
end

local function table_or_empty(value)
  return type(value) == "table" and value or {}
end

local not_observed = "the update has not been observed yet"

local function is_observed(object, status)
  return number(status.observedGeneration) >= number(object.metadata.generation)
end

local function deployment(object, spec, status)
  local name, wanted = object.metadata.name, number(spec.replicas, 1)
  if not is_observed(object, status) then
    return false, not_observed
  end
  for _, condition in ipairs(table_or_empty(status.conditions)) do
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
  local strategy = table_or_empty(spec.updateStrategy)
  if strategy.type == "OnDelete" then
    return true, "the OnDelete strategy has no rollout to wait for"
  elseif number(status.observedGeneration) == 0 or not is_observed(object, status) then
    return false, not_observed
  end
  local wanted = number(spec.replicas, 1)
  local ready, updated = number(status.readyReplicas), number(status.updatedReplicas)
  if ready < wanted then
    return false, format("%d of %d pods are ready", ready, wanted)
  end
  -- The API server sets partition: 0 by default.
  if type(strategy.rollingUpdate) == "table" then
    local partition = number(strategy.rollingUpdate.partition)
    if updated < wanted - partition then
      return false, format("%d of %d new pods have been updated", updated, wanted - partition)
    end
    return true, format("partitioned roll out complete: %d new pods have been updated", updated)
  elseif status.updateRevision ~= status.currentRevision then
    return false, format("%d pods at revision %s", updated, tostring(status.updateRevision))
  end
  return true, format("stateful set %q rolled out", object.metadata.name)
end

local function daemon_set(object, spec, status)
  if table_or_empty(spec.updateStrategy).type == "OnDelete" then
    return true, "the OnDelete strategy has no rollout to wait for"
  elseif not is_observed(object, status) then
    return false, not_observed
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

-- Returns a boolean and a message.
return function(object, ...)
  check.no_more("rolled_out", ...)
  local kind = ref.kind_of("rolled_out", object)
  local rule = rules[kind]
  if not rule then
    check.fail("rolled_out knows Deployment, StatefulSet and DaemonSet of apps/v1, not %s", kind)
  end
  check.table("rolled_out: metadata", object.metadata)
  return rule(object, table_or_empty(object.spec), table_or_empty(object.status))
end
