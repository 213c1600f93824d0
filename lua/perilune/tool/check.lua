-- perilune check: checks kinds, fields and types in scripts and manifests against schemas, and globals. The
-- scripts have been loaded before. A mistake is reported as "file:line: message". Nothing uncertain
-- is reported.

local crds = require("perilune.tool.crds")
local documents = require("perilune.tool.documents")
local flow = require("perilune.tool.flow")
local globals = require("perilune.tool.globals")
local kinds_module = require("perilune.tool.kinds")
local known_module = require("perilune.tool.known")
local reads = require("perilune.tool.reads")
local required = require("perilune.tool.required")
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
    for _, template in ipairs(reads.of(trees)) do
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

-- The text of a template that scripts name; nil: it is not there, or not clear which one it is.
local function template_of(tool, input, name)
  local found
  for _, path in ipairs(input.paths) do
    local file = crds.join(tool.kind(path, true) == "folder" and path or crds.folder_of(path), name)
    if tool.kind(file, true) == "file" then
      if found then
        return nil
      end
      found = file
    end
  end
  return found and crds.read(tool, found)
end

return function(tool, input)
  local known = known_module.new(kinds_module.read(tool, input))
  local list, report = collector()
  required.add(tool, input, report)
  local trees = scripts.trees(tool, input.files or {})
  flow.follow(trees, known, report, function(path, kind, line)
    local message = known:judge(kind)
    if message then
      report(path, line, message)
    end
  end, function(name) return template_of(tool, input, name) end)
  globals(trees, report)
  for _, file in ipairs(manifests_of(tool, input, trees)) do
    documents.check_text(known, function(line, message) report(file, line, message) end, crds.read(tool, file), 1)
  end
  sort(list)
  for _, one in ipairs(list) do
    io.stderr:write(one.text, "\n")
  end
  return #list == 0 and 0 or 1
end
