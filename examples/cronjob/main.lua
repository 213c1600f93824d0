-- Runs CronJobs (batch/v1): creates their Jobs at the times of `spec.schedule` in `spec.timeZone`,
-- with the three concurrency policies, the starting deadline and the history limits. Daylight
-- saving time comes from the system's time zone database. A time that is skipped when clocks go
-- forward runs at that moment.
--
-- Of several missed times only the last one runs, as in Kubernetes. The name of a Job contains its
-- time, so no time runs twice, even after a crash or with a stale cache.
local perilune = require("perilune")
local client = perilune.client

local CRONJOB, JOB = "batch/v1/CronJob", "batch/v1/Job"
local SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"

perilune.index(JOB, "cronjob", function(job)
  local owner = perilune.controller_of(job)
  return owner and owner.kind == CRONJOB and perilune.key(owner) or nil
end)

local missed = perilune.metrics.counter("cronjob_missed_total", "Times without Job.", { "reason" })

-- ---- what there is ----

local function finished(job)
  for _, kind in ipairs({ "Complete", "Failed" }) do
    if perilune.conditions.is_true(job, kind) then
      return kind
    end
  end
end

local function scheduled_of(job)
  local at = job.metadata.annotations and job.metadata.annotations[SCHEDULED]
  return at and perilune.time.parse(at) or 0
end

local function jobs_of(cron)
  local active, done = {}, { Complete = {}, Failed = {} }
  local index = { name = "cronjob", value = perilune.key(cron) }
  for _, job in ipairs(client:list(JOB, { index = index })) do
    local how = finished(job)
    local list = how and done[how] or active
    list[#list + 1] = job
  end
  return active, done
end

-- ---- times ----

-- The schedule, or nil and a message: users write schedules, so a mistake is no error of the
-- script.
local function schedule_of(spec)
  local ok, schedule = pcall(perilune.schedule, spec.schedule, spec.timeZone)
  if ok then
    return schedule
  end
  return nil, tostring(schedule)
end

-- The latest past time of the schedule after the last run; nil if there is none. If the starting
-- deadline has passed: nil and that time.
local function due(cron, schedule, now)
  local since = perilune.time.parse(cron.status and cron.status.lastScheduleTime
    or cron.metadata.creationTimestamp)
  local last = schedule:previous(now + 1)
  if not last or last <= since then
    return nil
  end
  local deadline = cron.spec.startingDeadlineSeconds
  if deadline and last < now - deadline then
    missed:inc({ reason = "deadline" })
    return nil, last
  end
  return last
end

-- ---- Jobs ----

local function delete(job)
  client:delete(job, { propagation = "Background" })
end

local function trim(jobs, limit)
  table.sort(jobs, function(a, b)
    return scheduled_of(a) > scheduled_of(b)
  end)
  for i = limit + 1, #jobs do
    delete(jobs[i])
  end
end

-- Returns false if the policy forbids a new Job now.
local function make_room(policy, active)
  if #active == 0 or policy == "Allow" then
    return true
  elseif policy == "Replace" then
    for _, job in ipairs(active) do
      delete(job)
    end
    return true
  end
  return false
end

local function start(cron, at)
  local template = perilune.deepcopy(cron.spec.jobTemplate)
  local metadata = template.metadata or {}
  metadata.name = cron.metadata.name:sub(1, 52) .. "-" .. math.floor(at / 60)
  metadata.namespace = cron.metadata.namespace
  metadata.annotations = metadata.annotations or {}
  metadata.annotations[SCHEDULED] = perilune.time.format(at, "seconds")
  local job, e = perilune.try(client.create, client, { apiVersion = "batch/v1", kind = "Job",
    metadata = metadata, spec = template.spec }, { owner = cron })
  if not job and not perilune.errors.is_already_exists(e) then
    error(e, 0)
  elseif job then
    perilune.event(cron, "Normal", "SuccessfulCreate", "Created job " .. job.metadata.name)
  end
end

local function report(cron, active, at)
  local status = cron.status or {}
  local names = perilune.array({})
  table.sort(active, function(a, b)
    return a.metadata.name < b.metadata.name
  end)
  for i, job in ipairs(active) do
    names[i] = { apiVersion = "batch/v1", kind = "Job", name = job.metadata.name,
      namespace = job.metadata.namespace, uid = job.metadata.uid }
  end
  status.active = #names > 0 and names or nil
  status.lastScheduleTime = at and perilune.time.format(at, "seconds") or status.lastScheduleTime
  cron.status = status
  client:update_status(cron)
end

perilune.controller("cronjob", { max_concurrent_reconciles = 4 })
  :For(CRONJOB)
  :Owns(JOB, { writes = { "create", "delete" } })
  :Reconcile(function(request, context)
    local cron = client:get(CRONJOB, request)
    if not cron or cron.metadata.deletionTimestamp then return end
    local active, done = jobs_of(cron)
    trim(done.Complete, cron.spec.successfulJobsHistoryLimit or 3)
    trim(done.Failed, cron.spec.failedJobsHistoryLimit or 1)
    local schedule, mistake = schedule_of(cron.spec)
    if not schedule then
      perilune.event(cron, "Warning", "UnparseableSchedule", mistake)
      context.log:warn("the schedule cannot be read", { error = mistake })
      return report(cron, active)
    elseif cron.spec.suspend then
      return report(cron, active)
    end
    local now = perilune.time.now()
    local at, too_late = due(cron, schedule, now)
    if at and make_room(cron.spec.concurrencyPolicy or "Allow", active) then
      start(cron, at)
      active = jobs_of(cron)
      report(cron, active, at)
    else
      report(cron, active, too_late)
    end
    local next_time = schedule:next(now)
    return next_time and { requeue_after = math.max(next_time - now, 0.01) } or nil
  end)
