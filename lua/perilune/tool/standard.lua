-- Calls of Lua's own functions in a script, for calls.lua.

local arguments = require("perilune.tool.arguments")
local built = require("perilune.tool.built")
local fit = require("perilune.tool.fit")
local tables = require("perilune.tool.tables")
local views = require("perilune.tool.views")

local eval_all, eval_arguments = arguments.eval_all, arguments.eval_arguments

-- Functions that change none of their arguments.
local HARMLESS = { print = true, tostring = true, tonumber = true, type = true, ipairs = true, pairs = true,
  next = true, select = true, unpack = true, error = true, rawequal = true, rawlen = true }

local TYPES = { tostring = "string", ["string.format"] = "string", ["string.rep"] = "string",
  ["string.upper"] = "string", ["string.lower"] = "string", ["string.sub"] = "string", ["table.concat"] = "string",
  ["math.floor"] = "number", ["math.ceil"] = "number", ["math.max"] = "number", ["math.min"] = "number" }

-- table.insert(array, value), table.insert(array, position, value)
local function insert(self, node)
  local array, value = self.eval(node.args[1]), node.args[#node.args]
  if #node.args < 2 or not array or array.k ~= "view" and array.k ~= "table" then
    eval_arguments(self, node)
  elseif array.k == "view" then
    fit.check(self, views.element(array.view), value)
  else
    built.note(self, array, 0, node.line, value, self.eval(value))
  end
end

-- table.sort(list, function)
local function sort(self, node)
  local array = node.args[1] and self.eval(node.args[1])
  local item = array and (array.k == "list" and array.item or array.k == "view" and views.element(array.view))
  if item and node.args[2] then
    local one = { k = "view", view = item }
    self.call_with(self, node.args[2], { one, one })
  else
    eval_all(self, node.args, 1)
  end
end

local globals = {}

function globals.assert(self, node)
  eval_all(self, node.args, 2)
  return node.args[1] and self.eval(node.args[1])
end

-- setmetatable(object, class): methods of the class are found through __index.
function globals.setmetatable(self, node)
  local object, class = node.args[1] and self.eval(node.args[1]), node.args[2] and self.eval(node.args[2])
  if object and object.k == "table" and class and class.k == "table" then
    object.meta = class
    return object
  end
  tables.escape(self, object)
  return object
end

function globals.pcall(self, node)
  local is_function = node.args[1] and node.args[1].tag == "Function"
  self.guarded = self.guarded + 1
  local called = is_function and self.call_with(self, node.args[1], {})
  eval_arguments(self, node)
  self.guarded = self.guarded - 1
  if called then
    self.second = { node = node, value = called.result }
  end
end

local libraries = { ["table.insert"] = insert, ["table.sort"] = sort }

-- Returns whether the function is known, and its result.
return function(self, node, global, library)
  local name = global or library and library .. "." .. tostring(node.callee.key.value)
  local own = global and globals[global] or libraries[name]
  if own then
    return true, own(self, node)
  elseif HARMLESS[global] or library == "string" or library == "table" and name ~= "table.remove"
    or library == "math" then
    eval_all(self, node.args, 1)
    return true, TYPES[name] and { k = "typed", type = TYPES[name] } or nil
  end
  return false
end
