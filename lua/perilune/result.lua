-- Converts the results of a reconcile to the outcome for the core; and perilune.waiting.

local check = require("perilune.check")

local fail = check.fail
local M = {}

local checkers = {
  requeue_after = check.duration,
  requeue = check.boolean,
}

local REASON_MAX = 4096 -- bytes; 512 of them are shown

local waiting_mt = { __metatable = "perilune.waiting" }

-- A result of a reconcile or cleanup that means: not done yet, an event will queue the key again.
function M.waiting(reason, ...)
  check.no_more("waiting", ...)
  if type(reason) == "string" and #reason > REASON_MAX then
    reason = reason:sub(1, REASON_MAX)
  end
  if type(reason) ~= "string" or not reason:find("%S") then
    fail("waiting needs a reason, a text such as \"the volume is still attached\", not %s",
      check.describe(reason))
  end
  return setmetatable({ waiting = reason }, waiting_mt)
end

-- Takes the reconcile function and its results. Returns "done", "requeue", "requeue_after" and
-- seconds, or "waiting" and the reason. Raises an error that was returned as `nil, e`.
function M.of(reconcile, first, second, ...)
  check.blame(reconcile)
  if select("#", ...) > 0 then
    fail("Reconcile returned more than two values; only `nil, error` may be two")
  elseif first == nil then
    if second ~= nil then
      error(second, 0)
    end
    return "done"
  elseif second ~= nil then
    fail("Reconcile returned a second value (%s); only `nil, error` may have one",
      check.describe(second))
  elseif type(first) ~= "table" then
    fail("Reconcile returned %s; return nothing, {requeue_after = ...}, {requeue = true} or "
      .. "perilune.waiting(reason)",
      check.describe(first))
  end
  if getmetatable(first) == "perilune.waiting" then
    return "waiting", (tostring(first.waiting):gsub("%s+", " "))
  end
  local result = check.options("the result of Reconcile", first, checkers)
  if result.requeue_after then
    if result.requeue_after > 0 then
      return "requeue_after", result.requeue_after
    end
    return "requeue"
  end
  return result.requeue and "requeue" or "done"
end

return M
