-- Checks the names that a script takes from the module and its parts. The definitions for editors
-- tell which there are. Scripts cannot add one, so a name that is not there raises when it is read.

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

-- The options of a client's method, from the line before it in the definitions: a class, whose
-- fields may be those of another one too, or a table type in place.
local function read_options()
  local out, above, class, last = {}, {}, nil, nil
  for line in require("perilune.tool.api"):gmatch("[^\n]+") do
    local name, up = line:match("^%-%-%-@class ([%w_.]+):? ?([%w_.]*)")
    local field = line:match("^%-%-%-@field ([%w_]+)")
    local method = line:match("^function Client:([%w_]+)%(")
    last = line:match("^%-%-%-@param options%?? (.*)") or line:match("^%-%-%-@param who (.*)") or last
    if name then
      class, out[name] = name, {}
      above[name] = up ~= "" and up or nil
    elseif field then
      out[class][field] = true
    elseif method then
      out["Client:" .. method], last = last, nil
    end
  end
  for name, up in pairs(above) do
    for field in pairs(out[up]) do
      out[name][field] = true
    end
  end
  return out
end

local options -- class -> {name -> true}, "Client:" and a method -> the type of its options

local function names_of(type)
  if type and type:sub(1, 1) ~= "{" then
    return options[type]
  end
  local out = {}
  for name in (type or ""):sub(2):gmatch("([%w_]+)%??: ") do
    out[name] = true
  end
  return type and out
end

-- The mistake in the name of an option of a client's method, or nil.
function M.judge_option(method, name)
  options = options or read_options()
  local there = names_of(options["Client:" .. method])
  if there and not there[name] then
    return ("client:%s has no option %q%s"):format(method, name, (nearest(name, there)))
  end
end

return M
