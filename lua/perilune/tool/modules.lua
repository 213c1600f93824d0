-- The files that flow.lua follows together: a script and the modules that it requires. A module is
-- known by the end of its path; if two files have that end, it is unknown.

local parser = require("perilune.tool.parser")

local M = {}

-- The file of a module that is required; nil: it is not one of these files, or it is unclear.
function M.required(self, node)
  local callee, name = node.callee, node.args[1]
  if callee.tag ~= "Name" or callee.name ~= "require" or callee.var or not name or name.tag ~= "String" then
    return nil
  end
  local tail = "/" .. name.value:gsub("%.", "/") .. ".lua"
  local found
  for _, one in ipairs(self.files) do
    if ("/" .. one.path):sub(-#tail) == tail then
      if found then
        return nil
      end
      found = one
    end
  end
  return found
end

-- Modules come before the files that require them.
function M.in_order(self)
  local out, seen = {}, {}
  local function add(file)
    if seen[file] then
      return
    end
    seen[file] = true
    parser.walk(file.tree, function(node)
      local module = node.tag == "Call" and M.required(self, node)
      if module then
        add(module)
      end
    end)
    out[#out + 1] = file
  end
  for _, file in ipairs(self.files) do
    add(file)
  end
  return out
end

-- Which file a function or a table literal is in.
local function note(self)
  for _, file in ipairs(self.files) do
    parser.walk(file.tree, function(node)
      if node.tag == "Function" or node.tag == "Table" then
        self.file_of[node] = file
      end
    end)
  end
end

-- trees: {{path=, tree=}...}. Fills self.files and self.file_of.
function M.set_up(self, trees)
  self.files, self.file_of = {}, {}
  for i, one in ipairs(trees) do
    self.files[i] = { path = one.path, tree = one.tree, returns = 0 }
  end
  note(self)
end

return M
