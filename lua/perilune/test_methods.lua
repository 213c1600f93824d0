-- Classes whose values specs get. A method checks that it was called with such a value and with no
-- more arguments than it takes. An unknown name is an error.

local check = require("perilune.check")

local fail = check.fail
local M = {}

local function is_of(class, value)
  local metatable = type(value) == "table" and getmetatable(value)
  return type(metatable) == "table" and metatable.class == class
end

-- A checker for values of the class.
function M.checker(class)
  return function(what, value)
    if not is_of(class, value) then
      fail("%s must be %s, not %s", what, class.called, check.describe(value))
    end
    return value
  end
end

local function method(class, name, f)
  local takes = debug.getinfo(f, "u")
  return function(self, ...)
    if not is_of(class, self) then
      fail("%s is a method of %s: write %s:%s(...), with a colon", name, class.called,
        class.called:match("%a+$"), name)
    elseif not takes.isvararg then
      check.no_more(name, select(takes.nparams, ...))
    end
    return f(self, ...)
  end
end

-- The class with these methods; its values have class.metatable. called: "a world".
function M.class(called, methods)
  local class = { called = called, methods = {} }
  for name, f in pairs(methods) do
    class.methods[name] = method(class, name, f)
  end
  class.metatable = { class = class, __index = check.frozen(called, class.methods) }
  return class
end

return M
