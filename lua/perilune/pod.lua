-- What clients do with pods alone: their logs, and their eviction. Both are subresources, so they
-- pass where those pass.

local host = require("perilune.host")
local check = require("perilune.check")
local errors = require("perilune.errors")
local queries = require("perilune.query")
local ref = require("perilune.ref")

local M = {}

local log_options = {
  container = check.string,
  tail = check.integer(0),
  since = check.positive_duration,
  previous = check.boolean,
  timestamps = check.boolean,
  limit_bytes = check.integer(1),
}

-- headers: of the client, or nil.
function M.logs(headers, pod, options)
  local ns, name = ref.parse("logs: the pod", pod)
  local o = check.options("logs", options, log_options)
  local query = queries.text("logs", { container = o.container, tailLines = o.tail,
    sinceSeconds = o.since and math.ceil(o.since), previous = o.previous,
    timestamps = o.timestamps, limitBytes = o.limit_bytes })
  return (host.write({ verb = "get", kind = "v1/Pod", namespace = ns, name = name,
    subresource = "log", query = query, headers = headers }))
end

local evict_options = {
  grace_period = check.integer(0),
  uid = check.string,
  resource_version = check.string,
  dry_run = check.boolean,
}

local function evict(headers, ns, name, o)
  local body = { apiVersion = "policy/v1", kind = "Eviction",
    metadata = { namespace = ns, name = name },
    deleteOptions = { apiVersion = "v1", kind = "DeleteOptions",
      gracePeriodSeconds = o.grace_period } }
  if o.uid or o.resource_version then
    body.deleteOptions.preconditions = { uid = o.uid, resourceVersion = o.resource_version }
  end
  return host.write({ verb = "create", kind = "v1/Pod", namespace = ns, name = name,
    subresource = "eviction", body = body, dry_run = o.dry_run, headers = headers })
end

-- true; false when there is no such pod.
function M.evict(headers, pod, options)
  local ns, name = ref.parse("evict: the pod", pod)
  local o = check.options("evict", options, evict_options)
  local ok, e = errors.protect(evict, headers, ns, name, o)
  -- A server without evictions misses something else.
  local gone = not ok and errors.tests.is_not_found(e)
    and tostring(e.message):find('"' .. name .. '"', 1, true)
  if not ok and not gone then
    error(e, 0)
  end
  return ok
end

return M
