-- Scales Deployments to zero at night. The annotations `example.com/sleep` ("0 20 * * *") and
-- `example.com/wake` ("0 7 * * 1-5") are cron expressions, in the time zone `example.com/zone`
-- (default UTC). The later of their last times decides: a Deployment that sleeps has no replicas,
-- and an annotation has its former number.
local perilune = require("perilune")
local client = perilune.client

local SLEEP, WAKE, ZONE = "example.com/sleep", "example.com/wake", "example.com/zone"
local AWAKE = "example.com/replicas-awake"

local function annotations_of(deployment)
  return perilune.dig(deployment, "metadata", "annotations") or {}
end

-- The patch contains the resourceVersion that was read, so that a stale cache cannot give a wrong
-- number of replicas. The patch is then a conflict, and the key runs again.
local function scale(deployment, replicas, remembered)
  client:patch(deployment, {
    metadata = {
      resourceVersion = deployment.metadata.resourceVersion,
      annotations = { [AWAKE] = remembered },
    },
    spec = { replicas = replicas },
  })
end

-- The schedule in an annotation; nil and a message for an invalid one.
local function schedule(annotations, name)
  local ok, made = pcall(perilune.schedule, annotations[name], annotations[ZONE])
  if ok then
    return made
  end
  return nil, name .. ": " .. tostring(made)
end

perilune.controller("office-hours")
  :For("apps/v1/Deployment", { predicates = { function(event)
    local annotations = annotations_of(event.object)
    return annotations[SLEEP] ~= nil and annotations[WAKE] ~= nil
  end } })
  :Writes("apps/v1/Deployment", { "patch" })
  :Reconcile(function(request, context)
    local deployment = client:get("apps/v1/Deployment", request)
    local annotations = deployment and annotations_of(deployment) or {}
    if not annotations[SLEEP] or not annotations[WAKE] or deployment.metadata.deletionTimestamp then
      return
    end
    local sleep, why_sleep = schedule(annotations, SLEEP)
    local wake, why_wake = schedule(annotations, WAKE)
    if not sleep or not wake then
      perilune.event(deployment, "Warning", "BadSchedule", why_sleep or why_wake)
      return nil, perilune.terminal(why_sleep or why_wake)
    end
    local now = math.floor(perilune.time.now())
    -- `previous` gives a time before its argument, so + 1 includes the current second.
    local asleep = sleep:previous(now + 1) > wake:previous(now + 1)
    local replicas = deployment.spec.replicas
    if asleep and replicas > 0 then
      scale(deployment, 0, tostring(replicas))
      context.log:info("sleeps", { replicas = replicas })
    elseif not asleep and replicas == 0 and annotations[AWAKE] then
      scale(deployment, tonumber(annotations[AWAKE]), perilune.null)
      context.log:info("wakes", { replicas = annotations[AWAKE] })
    end
    local due = math.min(sleep:next(now), wake:next(now))
    return { requeue_after = math.max(1, due - perilune.time.now()) }
  end)
