-- perilune.jsonpath(text): what a JSONPath finds in a value, as kubectl and CRDs have it.

local host = require("perilune.host")
local check = require("perilune.check")

local fail = check.fail

local function find(text, value)
  local found, message = host.jsonpath(text, value)
  if not found then
    fail("jsonpath %q: %s", text, message)
  end
  return found
end

return function(text, ...)
  check.no_more("jsonpath", ...)
  check.string("jsonpath: the path", text)
  check.must("jsonpath", host.jsonpath(text))
  local path
  local function check_self(self, method, ...)
    if self ~= path then
      fail("call it with a colon: jsonpath:%s(value)", method)
    end
    check.no_more("jsonpath:" .. method, ...)
  end
  path = check.frozen(("the path %q"):format(text), {
    -- All that it finds, in order; an empty array when that is nothing.
    all = function(self, value, ...)
      check_self(self, "all", ...)
      return find(text, value)
    end,
    -- The first, or nil.
    first = function(self, value, ...)
      check_self(self, "first", ...)
      return find(text, value)[1]
    end,
  })
  return path
end
