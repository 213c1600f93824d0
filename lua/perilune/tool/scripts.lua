-- Actions of scripts that need no declaration, as far as the source shows them: whether they write
-- Events, own what they write, or use subresources. Scripts are read, not run.

local crds = require("perilune.tool.crds")
local parser = require("perilune.tool.parser")

local M = {}

-- The trees of the scripts' Lua files: {{path=, tree=}...}, sorted by path.
function M.trees(tool, files)
  local out = {}
  for _, path in ipairs(files) do
    if path:match("%.lua$") and tool.kind(path, true) == "file" then
      local tree = parser.parse(crds.read(tool, path))
      if tree then
        out[#out + 1] = { path = path, tree = tree }
      end
    end
  end
  table.sort(out, function(a, b) return a.path < b.path end)
  return out
end

local function text(node)
  return node and node.tag == "String" and node.value or nil
end

local function is_require(node)
  return node.tag == "Call" and node.callee.tag == "Name" and node.callee.name == "require"
    and text(node.args[1]) == "perilune"
end

-- Local variables that hold the module.
local function modules_of(tree)
  local out = {}
  parser.walk(tree, function(node)
    if node.tag == "Local" then
      for i, value in ipairs(node.values) do
        if is_require(value) and node.vars[i] then
          out[node.vars[i]] = true
        end
      end
    end
  end)
  return out
end

local REFERENCE = { set_controller_reference = true }
local READS = { list = true, each = true }
local STATUS = { update_status = true, patch_status = true, apply_status = true }

local function note(found, what, path, line)
  local list = found[what]
  list[#list + 1] = { file = path, line = line }
end

-- True for client, perilune.live and client:as{...}, as far as names tell.
local function is_client(node)
  local name = node.tag == "Name" and node.name or node.tag == "Index" and text(node.key)
  return name == "client" or name == "live" or node.tag == "Method" and node.name == "as"
end

-- Methods of clients for subresources of Pods.
local OF_PODS = {
  logs = { { name = "log", verb = "get" } },
  evict = { { name = "eviction", verb = "create" } },
  -- The handshake is a GET. Since Kubernetes 1.35 it also needs the right to create.
  exec = { { name = "exec", verb = "get" }, { name = "exec", verb = "create" } },
}

local function note_call(found, node, path)
  local of_pods = OF_PODS[node.name]
  if of_pods and is_client(node.object) then
    for _, one in ipairs(of_pods) do
      found.subresources[#found.subresources + 1] = { kind = "v1/Pod", name = one.name,
        verb = one.verb, at = { file = path, line = node.line } }
    end
    return
  end
  if node.name == "subresource" and text(node.args[1]) and text(node.args[3]) and text(node.args[4]) then
    found.subresources[#found.subresources + 1] = { kind = text(node.args[1]), name = text(node.args[3]),
      verb = text(node.args[4]), at = { file = path, line = node.line } }
  elseif node.name == "create_or_update" then
    note(found, "read_first", path, node.line)
  elseif STATUS[node.name] or node.name == "subresource" then
    note(found, "status", path, node.line)
  end
end

-- {events=, owners=, read_first=, status=: places; subresources=}
function M.look(trees)
  local found = { events = {}, owners = {}, read_first = {}, status = {}, subresources = {} }
  for _, one in ipairs(trees) do
    local modules, of_reads = modules_of(one.tree), {}
    local function is_module(node)
      return node.tag == "Name" and node.var and modules[node.var] or is_require(node)
    end
    parser.walk(one.tree, function(node)
      if node.tag == "Method" then
        note_call(found, node, one.path)
        for _, argument in ipairs(node.args) do
          of_reads[argument] = READS[node.name] or nil
        end
      elseif node.tag == "Index" and text(node.key) and is_module(node.object) then
        if node.key.value == "event" then
          note(found, "events", one.path, node.line)
        elseif REFERENCE[node.key.value] then
          note(found, "owners", one.path, node.line)
        end
      elseif node.tag == "Table" and not of_reads[node] then
        for _, item in ipairs(node.items) do
          if item.key and text(item.key) == "owner" then
            note(found, "owners", one.path, item.line)
          end
        end
      end
    end)
  end
  for _, list in pairs(found) do
    table.sort(list, function(a, b)
      a, b = a.at or a, b.at or b
      return a.file < b.file or a.file == b.file and a.line < b.line
    end)
  end
  return found
end

return M
