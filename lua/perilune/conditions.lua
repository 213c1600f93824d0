-- perilune.conditions: reads and sets conditions in an object's status.

local check = require("perilune.check")
local host = require("perilune.host")

local fail = check.fail
local M = {}

local statuses = { [true] = "True", [false] = "False", True = "True", False = "False",
  Unknown = "Unknown" }

-- What the API server accepts for a metav1.Condition, in bytes for the reason and in characters for
-- the message.
local TYPE_MAX, REASON_MAX, MESSAGE_MAX = 316, 1024, 32768

-- Every byte that does not continue a character begins one.
local function characters(text)
  return select(2, text:gsub("[^\128-\191]", ""))
end

local fields = {
  type = function(what, value)
    check.short(TYPE_MAX)(what, value)
    if not host.is_name(value, "qualified") then
      fail('%s must be a name such as "Ready" or "example.com/Ready", not %s: letters, digits, '
        .. "'-', '_' and '.', at most 63, with a letter or digit at both ends", what,
        check.describe(value))
    end
    return value
  end,
  status = function(what, value)
    local status = statuses[value]
    if not status then
      fail('%s must be true, false, "True", "False" or "Unknown", not %s', what,
        check.describe(value))
    end
    return status
  end,
  reason = function(what, value)
    check.short(REASON_MAX)(what, value)
    if not value:match("^%a[%w_,:]*$") or value:match("[,:]$") then
      fail("%s must be one CamelCase word (a letter, then letters, digits, '_', ',' and ':', the "
        .. "last two not at the end), not %s", what, check.describe(value))
    end
    return value
  end,
  message = function(what, value)
    if type(value) ~= "string" then
      fail("%s must be a string, not %s", what, check.describe(value))
    elseif #value > MESSAGE_MAX and characters(value) > MESSAGE_MAX then
      fail("%s has %d characters; it may have %d", what, characters(value), MESSAGE_MAX)
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

local function get(what, object, name, ...)
  check.no_more(what, ...)
  check.table(what .. ": the object", object)
  return (find(what, object, check.string(what .. ": the type", name)))
end

-- The condition of that type, or nil.
function M.get(...)
  return get("conditions.get", ...)
end

function M.is_true(...)
  local condition = get("conditions.is_true", ...)
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
