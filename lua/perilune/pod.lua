-- Calls for pods only: logs, eviction, and commands in their containers. All are subresources and
-- take the same way as other subresources.
--
-- Following a log means asking once a second for new lines. The API server only takes a start time
-- in whole seconds, so some lines come twice; timestamps tell which were seen. No connection stays
-- open, so a script that is slow or ends blocks nothing.

local host = require("perilune.host")
local check = require("perilune.check")
local errors = require("perilune.errors")
local queries = require("perilune.query")
local ref = require("perilune.ref")

local M = {}

local PAUSE = 1 -- seconds between two requests
local MOST = 8388608 -- limit of bytes of one request

local log_options = {
  follow = check.func,
  container = check.string,
  tail = check.integer(0),
  since = check.positive_duration,
  previous = check.boolean,
  timestamps = check.boolean,
  limit_bytes = check.integer(1),
}

-- where: {headers=, cluster=, ns=, name=}; headers and cluster are the client's, or nil.
local function read(where, query)
  return (host.write({ verb = "get", called = "logs", kind = "v1/Pod", namespace = where.ns,
    name = where.name, subresource = "log", query = queries.text("logs", query),
    headers = where.headers, cluster = where.cluster }))
end

local function get(where)
  return host.get("v1/Pod", where.ns, where.name, { live = true, headers = where.headers,
    cluster = where.cluster }, "logs")
end

-- ---- following ----

-- True if the container will write no more lines: the pod does not exist any more, or it or the
-- container has ended.
local function is_over(pod, container)
  local status = pod and pod.status
  if not status or status.phase == "Succeeded" or status.phase == "Failed" then
    return true
  end
  for _, one in ipairs(status.containerStatuses or {}) do
    if (not container or one.name == container) and one.state and one.state.terminated then
      return pod.spec.restartPolicy == "Never"
    end
  end
  return false
end

-- Calls f for each new line of the text. Returns the number of new lines, and whether f wants no
-- more. seen: {at = timestamp of the last line, count = number of lines with this timestamp}.
local function tell_new(text, seen, f, with_time)
  local told, at_last = 0, 0
  local last = seen.at
  for whole in text:gmatch("[^\n]+") do
    local at, line = whole:match("^(%S+) ?(.*)$")
    at = at or ""
    if at == last then
      at_last = at_last + 1
    end
    if not last or at > last or at == last and at_last > seen.first then
      if at == seen.at then
        seen.count = seen.count + 1
      else
        seen.at, seen.count = at, 1
      end
      told = told + 1
      if f(with_time and whole or line) == false then
        return told, true
      end
    end
  end
  return told, false
end

local function since_of(o)
  return o.since and host.time_format(host.now() - o.since):gsub("%.%d+", "")
end

local function check_follow(o)
  if o.previous then
    check.fail("logs: follow and previous: a container that has ended writes nothing more")
  elseif o.limit_bytes then
    check.fail("logs: follow takes no limit_bytes")
  elseif o.tail == 0 then
    check.fail('logs: follow with tail = 0 has no start; use since = "1s"')
  end
end

-- Reads the log again; nil if the pod does not exist any more.
local function read_again(where, query)
  local ok, text = errors.protect(read, where, query)
  if not ok and not errors.tests.is_not_found(text) then
    error(text, 0)
  end
  return ok and text or nil
end

-- Follows until the container has ended, f returns false, or the task is asked to stop.
local function follow(where, o)
  local begin = since_of(o)
  local query = { container = o.container, tailLines = o.tail, sinceTime = begin,
    timestamps = true, limitBytes = MOST }
  local seen = { count = 0, first = 0 }
  local last_look = false
  local text = read(where, query)
  while text do
    local is_cut = #text >= MOST
    seen.first = seen.count
    if is_cut then
      text = text:match("^(.*\n)") or "" -- the last line may be incomplete
    end
    local told, enough = tell_new(text, seen, o.follow, o.timestamps)
    if enough or last_look or host.stopping() then
      return
    elseif told == 0 and is_cut then
      check.fail("logs: %s writes more than %d bytes a second", where.name, MOST)
    elseif told == 0 then
      last_look = is_over(get(where), o.container)
    end
    query.tailLines = nil
    query.sinceTime = seen.at and seen.at:gsub("%.%d+", "") or begin
    if not last_look then
      host.sleep(PAUSE)
    end
    text = read_again(where, query)
  end
end

function M.logs(by, pod, options)
  local ns, name = ref.parse("logs: the pod", pod)
  local o = check.options("logs", options, log_options)
  local where = { headers = by.headers, cluster = by.cluster, ns = ns, name = name }
  if o.follow then
    check_follow(o)
    return follow(where, o)
  end
  return read(where, { container = o.container, tailLines = o.tail,
    sinceSeconds = o.since and math.ceil(o.since), previous = o.previous,
    timestamps = o.timestamps, limitBytes = o.limit_bytes })
end

local evict_options = {
  grace_period = check.integer(0),
  uid = check.string,
  resource_version = check.string,
  dry_run = check.boolean,
}

local function evict(by, ns, name, o)
  local body = { apiVersion = "policy/v1", kind = "Eviction",
    metadata = { namespace = ns, name = name },
    deleteOptions = { apiVersion = "v1", kind = "DeleteOptions",
      gracePeriodSeconds = o.grace_period } }
  if o.uid or o.resource_version then
    body.deleteOptions.preconditions = { uid = o.uid, resourceVersion = o.resource_version }
  end
  return host.write({ verb = "create", called = "evict", kind = "v1/Pod", namespace = ns,
    name = name, subresource = "eviction", body = body, dry_run = o.dry_run,
    headers = by.headers, cluster = by.cluster })
end

-- Returns true; false if there is no such pod.
function M.evict(by, pod, options)
  local ns, name = ref.parse("evict: the pod", pod)
  local o = check.options("evict", options, evict_options)
  local ok, e = errors.protect(evict, by, ns, name, o)
  -- A 404 that does not name the pod means that the server has no eviction API.
  local gone = not ok and errors.tests.is_not_found(e)
    and tostring(e.message):find('"' .. name .. '"', 1, true)
  if not ok and not gone then
    error(e, 0)
  end
  return ok
end

-- ---- commands ----

local MOST_INPUT = 8388608
local MOST_ARGUMENTS = 1000
-- Bytes; the command is part of the URL, and Linux limits an argument to this length, too.
local MOST_COMMAND = 131072
local MOST_SECONDS = 86400

local function demand(is_so, what, message)
  if not is_so then
    check.fail("%s %s", what, message)
  end
end

local function input(what, value)
  check.text(what, value)
  demand(#value <= MOST_INPUT, what,
    ("must be at most %d bytes, not %d"):format(MOST_INPUT, #value))
  return value
end

local function command(what, value)
  local words = check.array_of(check.text)(what, value)
  demand(#words > 0 and words[1] ~= "", what, "needs the name of a program")
  demand(#words <= MOST_ARGUMENTS, what, ("must have at most %d words"):format(MOST_ARGUMENTS))
  local bytes = 0
  for i, word in ipairs(words) do
    bytes = bytes + #word
    demand(not word:find("\0", 1, true), ("%s[%d]"):format(what, i),
      "has a NUL byte, at which a program would take it to end")
  end
  demand(bytes <= MOST_COMMAND, what, ("has %d bytes; it may have %d: what is longer goes into "
    .. "stdin"):format(bytes, MOST_COMMAND))
  return words
end

local function output_limit(what, value)
  local most = check.integer(1)(what, value)
  demand(most <= 67108864, what, "must be at most 67108864 (64 MiB)")
  return most
end

local function timeout(what, value)
  local seconds = check.positive_duration(what, value)
  demand(seconds <= MOST_SECONDS, what, "must be at most 24h")
  return seconds
end

local exec_options = {
  container = check.string,
  command = command,
  stdin = input,
  timeout = timeout,
  limit_bytes = output_limit,
  dry_run = check.boolean,
}

-- Returns {stdout=, stderr=, code=}, with skipped = true if the command was not run.
function M.exec(by, pod, options)
  local ns, name = ref.parse("exec: the pod", pod)
  local o = check.options("exec", options, exec_options)
  if not o.command then
    check.fail("exec needs command, an array of a program and its arguments: "
      .. 'command = {"ls", "/tmp"}')
  end
  local body = { apiVersion = "v1", kind = "PodExecOptions", command = o.command,
    container = o.container, stdin = o.stdin and true or nil, stdout = true, stderr = true }
  local result = host.write({ verb = "create", called = "exec", kind = "v1/Pod", namespace = ns,
    name = name, subresource = "exec", exec = true, body = body, stdin = o.stdin,
    timeout = o.timeout, most = o.limit_bytes or MOST, dry_run = o.dry_run,
    headers = by.headers, cluster = by.cluster })
  return result or { stdout = "", stderr = "", code = 0, skipped = true }
end

return M
