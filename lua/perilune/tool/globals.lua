-- Globals of scripts, for perilune check. Scripts cannot declare any: an assignment to one is an
-- error, and every other name is nil. So a call or an index of an unknown name is an error. A name
-- that is also read in another way (if x then x() end) may be a question whether it exists.

local nearest = require("perilune.tool.known").nearest
local parser = require("perilune.tool.parser")

local format = string.format

local KNOWN = {}
for name in ([[_G _VERSION assert bit coroutine debug error getmetatable ipairs load loadstring math next os pairs
  pcall print rawequal rawget rawset require select setmetatable string table tonumber tostring type unpack
  xpcall]] .. " collectgarbage dofile ffi gcinfo getfenv io jit loadfile module newproxy package setfenv" -- unsafe
  ):gmatch("%S+") do
  KNOWN[name] = true
end

-- With these a script may declare globals in other ways.
local DECLARING = { _G = true, load = true, loadstring = true, rawset = true, setfenv = true, module = true,
  dofile = true, loadfile = true }

-- The uses of globals in a script, in their order; the names that are read in another way; the names
-- of its locals.
local function look(tree)
  local list, asked, locals, role = {}, {}, {}, {}
  local function note(node, what)
    if node.tag == "Name" then
      role[node] = what
    end
  end
  parser.walk(tree, function(node)
    if node.tag == "Call" then
      note(node.callee, "used")
    elseif node.tag == "Index" or node.tag == "Method" then
      note(node.object, "used")
    elseif node.tag == "Assign" then
      for _, target in ipairs(node.targets) do
        note(target, "assigned")
      end
    elseif node.tag == "Name" and node.var then
      locals[node.name] = true
    elseif node.tag == "Name" then
      list[#list + 1] = { name = node.name, line = node.line, assigned = role[node] == "assigned" }
      asked[node.name] = asked[node.name] or not role[node]
    end
  end)
  return list, asked, locals
end

local function judge(path, tree, report)
  local list, asked, locals = look(tree)
  local assigned = {}
  for name in pairs(KNOWN) do
    locals[name] = true
  end
  for _, global in ipairs(list) do
    local name = global.name
    if not KNOWN[name] and global.assigned and not assigned[name] then
      assigned[name] = true
      report(path, global.line, format("assignment to the undeclared global '%s'; write 'local %s = ...'", name, name))
    elseif not (KNOWN[name] or asked[name] or global.assigned or assigned[name]) then
      report(path, global.line, format("there is no '%s' here%s", name, (nearest(name, locals))))
    end
  end
end

local function declares(tree)
  local found = false
  parser.walk(tree, function(node)
    found = found or node.tag == "Name" and not node.var and DECLARING[node.name] ~= nil
  end)
  return found
end

return function(trees, report)
  for _, one in ipairs(trees) do
    if declares(one.tree) then
      return
    end
  end
  for _, one in ipairs(trees) do
    judge(one.path, one.tree, report)
  end
end
