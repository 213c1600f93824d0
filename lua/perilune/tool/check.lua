-- perilune check: checks kinds, fields and types in scripts and manifests against schemas. The
-- scripts have been loaded before. A mistake is reported as "file:line: message". Nothing uncertain
-- is reported.

local host = require("perilune.host")
local crds = require("perilune.tool.crds")
local fit = require("perilune.tool.fit")
local flow = require("perilune.tool.flow")
local kinds_module = require("perilune.tool.kinds")
local known_module = require("perilune.tool.known")
local scripts = require("perilune.tool.scripts")

local format = string.format

-- ---- findings ----

local function collector()
  local list, seen = {}, {}
  return list, function(file, line, message)
    local text = format("%s:%d: %s", file, line, message)
    if not seen[text] then
      seen[text] = true
      list[#list + 1] = { file = file, line = line, text = text }
    end
  end
end

local function sort(list)
  table.sort(list, function(a, b)
    if a.file ~= b.file then
      return a.file < b.file
    elseif a.line ~= b.line then
      return a.line < b.line
    end
    return a.text < b.text
  end)
end

-- ---- manifests ----

-- The line of a key at or after a line; that line itself if the key is not found.
local function line_of_key(lines, from, to, key)
  local plain = key:gsub("%p", "%%%0")
  for i = from, to do
    local text = lines[i] or ""
    if text:match("^[%s%-]*[\"']?" .. plain .. "[\"']?%s*:")
      or text:match("[{,]%s*[\"']?" .. plain .. "[\"']?%s*:") then
      return i
    end
  end
  return from
end

-- Converts a document to the tree of a Lua literal, so that one checker handles both. Placeholders
-- have unknown values.
local function tree_of(value, at, lines, to)
  if type(value) == "string" then
    if value:match("^%${[^}]*}$") then
      return { tag = "Vararg", line = at }
    elseif value:find("${", 1, true) then
      return { tag = "Binop", op = "..", line = at, a = { tag = "String", value = "", line = at },
        b = { tag = "Vararg", line = at } }
    end
    return { tag = "String", value = value, line = at }
  elseif type(value) == "number" then
    return { tag = "Number", value = value, line = at }
  elseif type(value) == "boolean" then
    return { tag = value and "True" or "False", line = at }
  elseif type(value) ~= "table" then
    return { tag = "Nil", line = at }
  end
  local node = { tag = "Table", items = {}, line = at }
  if host.is_array(value) then
    for _, one in ipairs(value) do
      node.items[#node.items + 1] = { line = at, value = tree_of(one, at, lines, to) }
    end
    return node
  end
  for key, one in pairs(value) do
    local line = line_of_key(lines, at, to, tostring(key))
    node.items[#node.items + 1] = { line = line, key = { tag = "String", value = tostring(key), line = line },
      value = tree_of(one, line, lines, to) }
  end
  return node
end

local function split_lines(text)
  local out = {}
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    out[#out + 1] = line
  end
  return out
end

local function check_document(known, report, file, document, from, lines, to)
  local node = tree_of(document, from, lines, to)
  local judge = function(kind, line)
    local message = known:judge(kind)
    if message then
      report(file, line, message)
    end
  end
  if type(document) ~= "table" or type(document.apiVersion) ~= "string" or type(document.kind) ~= "string"
    or (document.apiVersion .. document.kind):find("${", 1, true) then
    return
  end
  local kind = document.apiVersion .. "/" .. document.kind
  judge(kind, line_of_key(lines, from, to, "kind"))
  local self = { known = known, report = function(line, message) report(file, line, message) end }
  self.eval = function(one)
    if one.tag == "String" or one.tag == "Number" then
      return { k = "const", value = one.value }
    elseif one.tag == "True" or one.tag == "False" then
      return { k = "const", value = one.tag == "True" }
    elseif one.tag == "Binop" then
      return { k = "typed", type = "string" }
    end
  end
  fit.check(self, known:root(kind), node)
end

local function check_manifest(tool, known, report, file)
  local text = crds.read(tool, file)
  local documents, starts = host.yaml_decode(text)
  local lines = split_lines(text)
  for i, document in ipairs(documents or {}) do
    check_document(known, report, file, document, starts[i], lines, (starts[i + 1] or #lines + 1) - 1)
  end
end

-- Templates that scripts name, and the manifests beside the scripts.
local function manifests_of(tool, input, trees)
  local out, seen = {}, {}
  local function add(path)
    if not seen[path] and tool.kind(path, true) == "file" and crds.is_manifest(path:match("[^/]+$")) then
      seen[path] = true
      out[#out + 1] = path
    end
  end
  for _, path in ipairs(input.paths) do
    local folder = tool.kind(path, true) == "folder" and path or crds.folder_of(path)
    for _, template in ipairs(scripts.templates(trees)) do
      add(crds.join(folder, template.name))
    end
    if tool.kind(path, true) == "folder" then
      for _, below in ipairs({ path, crds.join(path, "manifests") }) do
        if tool.kind(below, true) == "folder" then
          for _, file in ipairs(crds.files(tool, below, crds.is_manifest)) do
            add(file)
          end
        end
      end
    end
  end
  return out
end

return function(tool, input)
  local known = known_module.new(kinds_module.read(tool, input))
  local list, report = collector()
  local trees = scripts.trees(tool, input.files or {})
  flow.follow(trees, known, report, function(path, kind, line)
    local message = known:judge(kind)
    if message then
      report(path, line, message)
    end
  end)
  for _, file in ipairs(manifests_of(tool, input, trees)) do
    check_manifest(tool, known, report, file)
  end
  sort(list)
  for _, one in ipairs(list) do
    io.stderr:write(one.text, "\n")
  end
  return #list == 0 and 0 or 1
end
