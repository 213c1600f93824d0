-- Kinds and their schemas from OpenAPI documents of an API server: /openapi/v3/... and /openapi/v2.
-- A schema keeps a reference to its document, for $ref.

local M = {}

local function text_of(value)
  return type(value) == "string" and value or nil
end

-- The schemas by name, and the prefix of references to them.
local function schemas_of(document)
  if text_of(document.openapi) and type(document.components) == "table" then
    return document.components.schemas
  elseif text_of(document.swagger) then
    return document.definitions
  end
end

-- Reads plural, namespaced and status of each "group/version/kind" from the paths.
local function read_paths(document)
  local out = {}
  for path, item in pairs(type(document.paths) == "table" and document.paths or {}) do
    local plural = path:match("^/api/[^/]+/namespaces/{namespace}/([^/{}]+)$")
      or path:match("^/apis/[^/]+/[^/]+/namespaces/{namespace}/([^/{}]+)$")
    local namespaced = plural ~= nil
    plural = plural or path:match("^/api/[^/]+/([^/{}]+)$") or path:match("^/apis/[^/]+/[^/]+/([^/{}]+)$")
    local of_status = path:match("/{name}/status$")
    for _, operation in pairs(type(item) == "table" and item or {}) do
      local gvk = type(operation) == "table" and operation["x-kubernetes-group-version-kind"]
      if type(gvk) == "table" and text_of(gvk.kind) then
        local key = (gvk.group or "") .. "/" .. (gvk.version or "") .. "/" .. gvk.kind
        local one = out[key] or { status = false }
        out[key] = one
        if of_status then
          one.status = true
        elseif plural and (namespaced or not one.plural) then
          one.plural, one.namespaced = plural, namespaced
        end
      end
    end
  end
  return out
end

function M.add(kinds, document, file)
  local schemas = type(document) == "table" and schemas_of(document)
  if type(schemas) ~= "table" then
    return
  end
  local paths = read_paths(document)
  for _, schema in pairs(schemas) do
    local gvks = type(schema) == "table" and schema["x-kubernetes-group-version-kind"]
    for _, gvk in ipairs(type(gvks) == "table" and gvks or {}) do
      local key = (gvk.group or "") .. "/" .. (gvk.version or "") .. "/" .. tostring(gvk.kind)
      local known = paths[key]
      if known and known.plural then
        kinds[#kinds + 1] = {
          group = gvk.group or "", version = gvk.version, kind = gvk.kind, plural = known.plural,
          namespaced = known.namespaced, status = known.status, served = true, schema = schema,
          schemas = schemas, structural = true, file = file, openapi = true,
        }
      end
    end
  end
end

return M
