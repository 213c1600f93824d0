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

-- Objects and arrays of them, which are no results, or nil.
local function described_object(value)
  if value.metadata ~= nil or value.apiVersion ~= nil then
    local kind = type(value.kind) == "string" and value.kind or "?"
    return "an object (" .. kind .. ")"
  end
  return #value > 0 and "an array" or nil
end

-- What one returned value of a reconcile or cleanup means: as of() returns it. `what` names the
-- function in messages.
function M.meaning(what, value)
  local is_waiting = getmetatable(value) == "perilune.waiting"
  local wrong = type(value) ~= "table" and check.describe(value)
    or not is_waiting and described_object(value)
  if wrong then
    fail("%s returned %s; return nothing, {requeue_after = ...}, {requeue = true} or "
      .. "perilune.waiting(reason)", what, wrong)
  elseif is_waiting then
    return "waiting", (tostring(value.waiting):gsub("%s+", " "))
  end
  local result = check.options("the result of " .. what, value, checkers)
  if result.requeue_after then
    if result.requeue_after > 0 then
      return "requeue_after", result.requeue_after
    end
    return "requeue"
  end
  return result.requeue and "requeue" or "done"
end

-- Raises an error for results that no reconcile or cleanup may have, whatever their types.
function M.check_count(what, first, second, ...)
  if select("#", ...) > 0 then
    fail("%s returned more than two values; only `nil, error` may be two", what)
  elseif first ~= nil and second ~= nil then
    fail("%s returned a second value (%s); only `nil, error` may have one", what,
      check.describe(second))
  end
end

-- Takes the reconcile function and its results. Returns "done", "requeue", "requeue_after" and
-- seconds, or "waiting" and the reason. Raises an error that was returned as `nil, e`.
function M.of(reconcile, first, second, ...)
  check.blame(reconcile)
  M.check_count("Reconcile", first, second, ...)
  if first ~= nil then
    return M.meaning("Reconcile", first)
  elseif second ~= nil then
    error(second, 0)
  end
  return "done"
end

return M
