-- Checks the names that a script reads from the module and its parts. The definitions for editors list
-- them. Scripts cannot add names, so reading another name raises an error.

local nearest = require("perilune.tool.known").nearest

local M = {}

local classes -- class -> {member -> its type, or true}

local function read_classes()
  local out, class = {}, ""
  for line in require("perilune.tool.api"):gmatch("[^\n]+") do
    local begins = line:match("^%-%-%-@class ([%w_.]+)")
    local field, type = line:match("^%-%-%-@field ([%w_]+)%??%s+(%S+)")
    local method = line:match("^function [%w_]+[.:]([%w_]+)%(")
    if begins then
      class = begins
      out[class] = {}
    elseif field or method then
      out[class][field or method] = type or true
    end
  end
  return out
end

-- The members of "" (the module) or of a part such as "client". nil: they are not known.
local function members(part)
  classes = classes or read_classes()
  return classes[part == "" and "perilune" or classes.perilune[part]]
end

-- The mistake in a name that is taken from a part, or nil.
function M.judge(part, name)
  local there = members(part)
  if there and not there[name] then
    return ("perilune%s has no %q%s"):format(part == "" and "" or "." .. part, name, (nearest(name, there)))
  end
end

-- The fields of each class, with those of the class that it extends; and the types of parameters:
-- "Client:list" -> {"perilune.Kind", "perilune.ListOptions"}.
local function read_types()
  local fields, above, parameters, class, last = {}, {}, {}, nil, {}
  for line in require("perilune.tool.api"):gmatch("[^\n]+") do
    local name, up = line:match("^%-%-%-@class ([%w_.]+):? ?([%w_.]*)")
    local field = line:match("^%-%-%-@field ([%w_]+)")
    local parameter, type = line:match("^%-%-%-@param ([%w_]+)%?? (.*)")
    local owner, list = line:match("^function ([%w_.:]+)%((.*)%)")
    if name then
      class, fields[name] = name, {}
      above[name] = up ~= "" and up or nil
    elseif field then
      fields[class][field] = true
    elseif parameter then
      last[parameter] = type
    elseif owner then
      local types = { n = 0 }
      for one in list:gmatch("[%w_]+") do
        types.n = types.n + 1
        types[types.n] = last[one]
      end
      parameters[owner:gsub("^perilune%.", "")], last = types, {}
    end
  end
  for name, up in pairs(above) do
    for field in pairs(fields[up]) do
      fields[name][field] = true
    end
  end
  return { fields = fields, parameters = parameters }
end

local types -- read when the first name is judged

local function known_types()
  types = types or read_types()
  return types
end

-- The names in a type: a class, or a table type in place. nil: others are allowed.
local function names_of(type)
  if type:sub(1, 1) ~= "{" then
    return known_types().fields[type:match("^[%w_.]+$")]
  end
  local out = {}
  for name in type:sub(2):gmatch("([%w_]+)%??: ") do
    out[name] = true
  end
  return next(out) and out
end

local function mistake_in(type, name, what)
  local there = type and names_of(type)
  if there and not there[name] then
    return ("%s has no option %q%s"):format(what, name, (nearest(name, there)))
  end
end

-- The mistake in the name of an option of a client's method, or nil.
function M.judge_option(method, name)
  local parameters = known_types().parameters["Client:" .. method]
  return mistake_in(parameters and parameters[parameters.n], name, "client:" .. method)
end

-- The same of a name in an argument of a function of the module.
function M.judge_argument(name, i, field)
  local parameters = known_types().parameters[name]
  return mistake_in(parameters and parameters[i], field, "perilune." .. name)
end

function M.judge_field(class, name, what)
  return mistake_in("perilune." .. class, name, what)
end

return M
