-- Kinds from CustomResourceDefinitions in files: names, scope, subresources, schema. The files are
-- hostile input. Documents that are not CRDs are skipped; a file that is not YAML is an error with
-- its name.

local host = require("perilune.host")

local format = string.format
local M = {}

local LIMIT = 64 * 1024 * 1024

function M.read(tool, path)
  local file, message = io.open(path, "rb")
  if not file then
    tool.fail("%s", message)
  end
  local text = file:read(LIMIT + 1)
  file:close()
  if not text and tool.kind(path, true) ~= "file" then
    tool.fail("%s: it cannot be read as a file", path)
  elseif not text then
    return ""
  elseif #text > LIMIT then
    tool.fail("%s: larger than %d MiB", path, LIMIT / 1024 / 1024)
  end
  return text
end

function M.is_manifest(name)
  return name:sub(1, 1) ~= "." and (name:match("%.ya?ml$") or name:match("%.json$")) ~= nil
end

function M.join(folder, name)
  return folder == "." and name or folder:match("/$") and folder .. name or folder .. "/" .. name
end

function M.folder_of(path)
  return path:match("^(.*)/[^/]*$") or "."
end

-- The rest of the path below the folder; nil: it is not below it.
function M.within(folder, path)
  if folder == "." and path:sub(1, 1) ~= "/" and path:sub(1, 3) ~= "../" then
    return (path:gsub("^%./", ""))
  elseif path:sub(1, #folder + 1) == folder .. "/" then
    return path:sub(#folder + 2)
  end
end

-- Matching files in the folder, sorted by name; a file is returned as it is. deep: also in
-- sub-folders.
function M.files(tool, path, fits, deep)
  local kind = tool.kind(path, true)
  if kind == nil then
    tool.fail("%s: No such file or directory", path)
  elseif kind ~= "folder" then
    return { path }
  end
  local out = {}
  local names, message = tool.names(path)
  if not names then
    tool.fail("%s", message)
  end
  for _, name in ipairs(names) do
    local one = M.join(path, name)
    local what = tool.kind(one, true)
    if what == "folder" and deep and name:sub(1, 1) ~= "." then
      for _, file in ipairs(M.files(tool, one, fits, deep)) do
        out[#out + 1] = file
      end
    elseif what == "file" and fits(name) then
      out[#out + 1] = one
    end
  end
  return out
end

-- The documents of a file, and the line of each beginning.
function M.documents(tool, path)
  local documents, lines = host.yaml_decode(M.read(tool, path))
  if not documents then
    tool.fail("%s: %s", path, lines)
  end
  return documents, lines
end

local function text_of(value)
  return type(value) == "string" and value ~= "" and value or nil
end

-- Adds the kind that one document defines, with one entry for each version.
function M.add(kinds, document, file)
  if type(document) ~= "table" or document.kind ~= "CustomResourceDefinition" then
    return
  end
  local spec = type(document.spec) == "table" and document.spec or {}
  local names = type(spec.names) == "table" and spec.names or {}
  local group, kind = text_of(spec.group), text_of(names.kind)
  if not group or not kind or type(spec.versions) ~= "table" then
    return
  end
  for _, version in ipairs(spec.versions) do
    if type(version) == "table" and text_of(version.name) then
      local schema = type(version.schema) == "table" and version.schema.openAPIV3Schema
      local subresources = type(version.subresources) == "table" and version.subresources or {}
      kinds[#kinds + 1] = {
        group = group, version = version.name, kind = kind,
        plural = text_of(names.plural) or kind:lower() .. "s",
        namespaced = spec.scope ~= "Cluster",
        status = type(subresources.status) == "table",
        scale = type(subresources.scale) == "table",
        served = version.served ~= false,
        schema = type(schema) == "table" and schema or { type = "object" },
        preserves = spec.preserveUnknownFields == true,
        structural = type(schema) == "table",
        file = file, document = document,
      }
    end
  end
end

-- CRDs beside the scripts: in a folder the YAML files there and in its manifests/.
function M.beside(tool, paths)
  local kinds, seen = {}, {}
  local function look(folder)
    if seen[folder] or tool.kind(folder, true) ~= "folder" then
      return
    end
    seen[folder] = true
    for _, file in ipairs(M.files(tool, folder, M.is_manifest)) do
      local documents = host.yaml_decode(M.read(tool, file))
      for _, document in ipairs(documents or {}) do -- templates need not be valid YAML
        M.add(kinds, document, file)
      end
    end
  end
  for _, path in ipairs(paths) do
    local folder = tool.kind(path, true) == "folder" and path or M.folder_of(path)
    look(folder)
    for _, sub in ipairs({ "manifests", "crds", "config" }) do
      look(M.join(folder, sub))
    end
  end
  table.sort(kinds, function(a, b)
    local x = format("%s/%s/%s", a.group, a.kind, a.version)
    local y = format("%s/%s/%s", b.group, b.kind, b.version)
    return x < y
  end)
  return kinds
end

return M
