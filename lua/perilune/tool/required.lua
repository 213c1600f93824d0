-- Modules that scripts require when they run, not while they load: so they are among the files of a
-- command's input, too. Scripts are read, not run; the rules for names and files are require's
-- (host/lua/require.c).

local crds = require("perilune.tool.crds")
local parser = require("perilune.tool.parser")

local M = {}

-- They have no file.
local BUILTIN = { cjson = true, string = true, table = true, math = true, bit = true, os = true,
  coroutine = true, perilune = true }
-- Functions that call another: which argument is the other's first.
local CALLERS = { pcall = 2, xpcall = 3 }

local COMPUTED = "the name of the required module is computed: the module is left out here unless "
  .. "it is loaded with the scripts"

local function global(node)
  return node and node.tag == "Name" and not node.var and node.name or nil
end

-- Whether the node requires a module, and the argument that names it.
local function requirement(node)
  if node.tag ~= "Call" then
    return false
  elseif global(node.callee) == "require" then
    return true, node.args[1]
  end
  local at = CALLERS[global(node.callee) or ""]
  return at and global(node.args[1]) == "require" or false, at and node.args[at]
end

local function has_file(name)
  return not BUILTIN[name] and name:sub(1, 9) ~= "perilune." and #name <= 200
    and not name:find("[^%w_.-]") and not ("." .. name .. "."):find("..", 1, true)
end

-- The folder of scripts that a file belongs to: the longest one above it.
local function root_of(roots, path)
  local best
  for _, root in ipairs(roots) do
    if crds.within(root, path) and (not best or #root > #best) then
      best = root
    end
  end
  return best
end

local function module_file(self, path, name)
  local root = has_file(name) and root_of(self.roots, path)
  for _, form in ipairs(root and { "%s.lua", "%s/init.lua" } or {}) do
    local file = crds.join(root, form:format((name:gsub("%.", "/"))))
    if self.tool.kind(file, true) == "file" then
      return file
    end
  end
end

local function add(self, file)
  if file and not self.known[file] then
    self.known[file] = true
    self.files[#self.files + 1] = file
    self.late[file] = true
  end
end

-- Of files that were loaded, only functions count: the rest has been run.
local function calls_of(tree, is_late)
  local out, seen = {}, {}
  local function note(node)
    local is_one, name = requirement(node)
    if is_one and not seen[node] then
      seen[node] = true
      out[#out + 1] = { line = node.line, name = name }
    end
  end
  parser.walk(tree, function(node)
    if node.tag == "Function" and (is_late or node ~= tree) then
      parser.walk(node, note)
      return false
    end
  end)
  table.sort(out, function(a, b) return a.line < b.line end)
  return out
end

local function look_at(self, path)
  local tree, line, message = parser.parse(crds.read(self.tool, path))
  if not tree and self.late[path] then -- others have been compiled
    self.report(path, line, message)
  end
  for _, call in ipairs(tree and calls_of(tree, self.late[path]) or {}) do
    if call.name and call.name.tag == "String" then
      add(self, module_file(self, path, call.name.value))
    elseif call.name then
      self.tool.warn("%s:%d: %s", path, call.line, COMPUTED)
    end
  end
end

local function roots_of(tool, paths)
  local out = {}
  for i, path in ipairs(paths) do
    out[i] = tool.kind(path, true) == "folder" and path:gsub("(.)/+$", "%1") or crds.folder_of(path)
  end
  return out
end

-- Adds them to input.files, also those that they require in turn. Warns of names that are computed.
-- report(file, line, message): of a module that does not compile; nil: a warning says so.
function M.add(tool, input, report)
  local self = { tool = tool, files = input.files or {}, known = {}, late = {},
    roots = roots_of(tool, input.paths or {}) }
  self.report = report or function(file, line, message)
    tool.warn("%s:%d: %s", file, line, message)
  end
  for _, path in ipairs(self.files) do
    -- a name that was looked for in vain is there for a module that may appear: it is no file
    self.known[path] = tool.kind(path, true) == "file" or nil
  end
  local at = 1
  while at <= #self.files do
    local path = self.files[at]
    if path:match("%.lua$") and self.known[path] then
      look_at(self, path)
    end
    at = at + 1
  end
  input.files = self.files
end

return M
