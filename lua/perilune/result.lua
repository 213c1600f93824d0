-- What a reconcile returned, as the outcome the core acts on.

local check = require("perilune.check")

local M = {}

local checkers = {
  requeue_after = check.duration,
  requeue = check.boolean,
}

-- Takes all results of a reconcile. Returns "done", "requeue", or "requeue_after" and seconds;
-- raises an error that was returned as `nil, e`.
function M.of(first, second, ...)
  if select("#", ...) > 0 then
    error("Reconcile returned more than two values", 0)
  elseif first == nil then
    if second ~= nil then
      error(second, 0)
    end
    return "done"
  elseif second ~= nil then
    error("Reconcile returned a second value (" .. check.describe(second)
      .. "); only `nil, error` may have one", 0)
  elseif type(first) ~= "table" then
    error("Reconcile returned " .. check.describe(first)
      .. "; return nothing, {requeue_after = ...} or {requeue = true}", 0)
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
