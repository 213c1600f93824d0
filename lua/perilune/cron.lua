-- perilune.cron(schedule, options, f): a task that runs at the times of a schedule.
--
-- The core wakes the task at the requested time, but at least once an hour, because somebody may
-- set the clock. This module decides whether a scheduled time has come. The time of the last check
-- belongs to the process, so neither another lane nor another generation runs a time again.

local host = require("perilune.host")
local check = require("perilune.check")
local log = require("perilune.log")
local schedules = require("perilune.schedule")
local tasks = require("perilune.task")

local format = string.format
local fail = check.fail
local M = {}

local LATE = 60 -- limit of the seconds between a scheduled time and the beginning of its run
local LOOK_EVERY = 3600
local COUNT_MAX = 1000 -- missed times are counted up to this number

local cron_options = {
  name = check.string,
  zone = check.string,
  leader_election = tasks.run_options.leader_election,
  reads = tasks.run_options.reads,
  writes = tasks.run_options.writes,
}

-- The scheduled times after `from` up to `to`: the last of them, and the number of earlier ones.
function M.times(schedule, from, to)
  local last, before = nil, -1
  local at = schedule:next(from)
  while at and at <= to and before < COUNT_MAX do
    last, before = at, before + 1
    at = schedule:next(at)
  end
  if at and at <= to then
    last = schedule:previous(to + 1)
  end
  return last, math.max(before, 0)
end

local function tell(count, first)
  if count > 0 then
    log:warn("scheduled times have passed without a run here", { missed = count,
      first = host.time_format(first) })
  end
end

local function outcome(schedule, now)
  local at = schedule:next(now)
  local left = at and at - host.now() or LOOK_EVERY
  return "requeue_after", math.min(math.max(left, 0.001), LOOK_EVERY)
end

-- Called at each wake-up: runs f when a time has come. Returns when to be woken again.
local function woken(what, name, schedule, began, f)
  return function(context)
    local now = host.now()
    local looked = host.last_time(name)
    local from = looked or math.max(began, now - LATE)
    local last, missed = M.times(schedule, from, now)
    host.last_time(name, math.floor(now))
    if not last then
      return outcome(schedule, now)
    end
    local is_late = now - last > LATE
    tell(looked and missed + (is_late and 1 or 0) or 0, schedule:next(from))
    if is_late then
      return outcome(schedule, now)
    end
    context.scheduled = last
    tasks.check_result(f, what, f(context))
    local ended = host.now()
    local _, more = M.times(schedule, now, ended)
    local next_time = schedule:next(now)
    if next_time and next_time <= ended then
      tell(more + 1, next_time)
      host.last_time(name, math.floor(ended))
    end
    return outcome(schedule, ended)
  end
end

function M.cron(text, options, f, ...)
  tasks.check_call("perilune.cron", options, f, ...)
  local o = check.options("perilune.cron", options, cron_options)
  local schedule = schedules.make("perilune.cron", text, o.zone)
  local now = host.now()
  local first = schedule:next(now)
  if not first then
    fail("perilune.cron: %q never comes", text)
  end
  local name = o.name or tasks.default_name("cron")
  local what = format("task %q", name)
  -- The period applies to the first check, and to the one after a failed run.
  tasks.declare(what, name, {
    form = "every",
    period = math.max(math.min(first - now, 1), 0.001),
    schedule = format('"%s" %s', (text:gsub("%s+", " ")), o.zone or "UTC"),
  }, o, f, woken(what, name, schedule, now, f))
end

return M
