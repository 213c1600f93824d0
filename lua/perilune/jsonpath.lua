-- perilune.jsonpath(text): finds values by a JSONPath, as kubectl and CRDs define it.

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
  -- value: nil means an absent object, in which nothing is found. A missing argument is a mistake.
  local function find_with(self, method, ...)
    if self ~= path then
      fail("call it with a colon: jsonpath:%s(value)", method)
    elseif select("#", ...) == 0 then
      fail("jsonpath:%s needs a value to look in", method)
    end
    check.no_more("jsonpath:" .. method, select(2, ...))
    return find(text, (...))
  end
  path = check.frozen(("the path %q"):format(text), {
    -- All values that match, in order; an empty array if there are none.
    all = function(self, ...)
      return find_with(self, "all", ...)
    end,
    -- The first value that matches, or nil.
    first = function(self, ...)
      return find_with(self, "first", ...)[1]
    end,
  })
  return path
end
