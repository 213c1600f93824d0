-- perilune.conditions: reads and sets conditions in an object's status.

local check = require("perilune.check")
local host = require("perilune.host")

local fail = check.fail
local M = {}

local statuses = { [true] = "True", [false] = "False", True = "True", False = "False",
  Unknown = "Unknown" }

local TEXT_MAX = 1024 -- bytes; the API server accepts a reason of this length

local fields = {
  type = check.short(TEXT_MAX),
  status = function(what, value)
    local status = statuses[value]
    if not status then
      fail('%s must be true, false, "True", "False" or "Unknown", not %s', what,
        check.describe(value))
    end
    return status
  end,
  reason = check.short(TEXT_MAX),
  message = function(what, value)
    if type(value) ~= "string" then
      fail("%s must be a string, not %s", what, check.describe(value))
    end
    return value
  end,
}

local function list_of(object)
  local status = object.status
  local list = type(status) == "table" and status.conditions
  return type(list) == "table" and list or nil
end

local function find(what, object, name)
  for i, one in ipairs(list_of(object) or {}) do
    if type(one) ~= "table" then
      fail("%s: status.conditions[%d] must be a table, not %s", what, i, check.describe(one))
    elseif one.type == name then
      return one, i
    end
  end
  return nil
end

-- The condition of that type, or nil.
function M.get(object, name, ...)
  check.no_more("conditions.get", ...)
  check.table("conditions.get", object)
  return (find("conditions.get", object, check.string("conditions.get: the type", name)))
end

function M.is_true(object, name, ...)
  check.no_more("conditions.is_true", ...)
  local condition = M.get(object, name)
  return condition ~= nil and condition.status == "True"
end

local function conditions_for_change(object)
  if type(object.status) ~= "table" then
    object.status = {}
  end
  if type(object.status.conditions) ~= "table" then
    object.status.conditions = host.array({})
  end
  return object.status.conditions
end

-- Sets the condition in object.status.conditions. lastTransitionTime changes only with the status,
-- so setting the same condition again changes nothing.
function M.set(object, condition, ...)
  check.no_more("conditions.set", ...)
  check.table("conditions.set: the object", object)
  local new = check.options("conditions.set", condition, fields)
  for _, name in ipairs({ "type", "status", "reason" }) do
    if new[name] == nil then
      fail("conditions.set needs %s", name)
    end
  end
  if not new.reason:match("^%a[%w_,:]*$") or new.reason:match("[,:]$") then
    fail("conditions.set: the reason %q must be one CamelCase word", new.reason)
  end
  new.message = new.message or ""
  new.observedGeneration = type(object.metadata) == "table" and object.metadata.generation or nil
  local list = conditions_for_change(object)
  local old, at = find("conditions.set", object, new.type)
  if old and old.status == new.status and type(old.lastTransitionTime) == "string" then
    new.lastTransitionTime = old.lastTransitionTime
  else
    new.lastTransitionTime = host.time_format(math.floor(host.now()))
  end
  if old and host.equal(old, new) then
    return false
  end
  list[at or #list + 1] = new
  return true
end

return M
