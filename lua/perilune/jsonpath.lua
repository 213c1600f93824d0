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
  -- value: nil stands for an object that is not there, and then nothing is found; no value at all
  -- is a mistake.
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
    -- All that it finds, in order; an empty array when that is nothing.
    all = function(self, ...)
      return find_with(self, "all", ...)
    end,
    -- The first, or nil.
    first = function(self, ...)
      return find_with(self, "first", ...)[1]
    end,
  })
  return path
end
