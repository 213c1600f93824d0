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

return M
