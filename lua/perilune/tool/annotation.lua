-- The room that `kubectl apply` needs in an object's annotations, where it keeps the object as JSON.

local host = require("perilune.host")

local M = {}

local NAME = "kubectl.kubernetes.io/last-applied-configuration"
local LIMIT = 256 * 1024 -- bytes of all annotations of an object, names and values

-- Bytes of the value as kubectl writes JSON: some characters, which HTML has, take six bytes.
function M.json_length(value)
  local text = host.json_encode(value)
  local function count(pattern)
    return select(2, text:gsub(pattern, ""))
  end
  return #text + 5 * count("[<>&]") + 3 * count("\226\128[\168\169]") + 4 * count("\\[bf]")
end

-- Bytes that the annotations of an object would have, with that of kubectl.
function M.length(object)
  local length = #NAME + M.json_length(object) + #"\n"
  local metadata = type(object.metadata) == "table" and object.metadata or {}
  local own = type(metadata.annotations) == "table" and metadata.annotations
  for name, value in pairs(own or {}) do
    length = length + #name + (type(value) == "string" and #value or 0)
  end
  return length + (own and 0 or #'"annotations":{},')
end

-- Warns of each object in the YAML text for which there is no room. ConfigMaps are measured by file.
function M.warn_of_large(tool, text)
  for _, object in ipairs(host.yaml_decode(text) or {}) do
    local length = object.kind ~= "ConfigMap" and M.length(object) or 0
    if length > LIMIT then
      tool.warn("%s %s takes %d bytes as JSON, more than kubectl apply keeps in an annotation: use kubectl apply "
        .. "--server-side", object.kind, object.metadata.name, length)
    end
  end
end

M.LIMIT = LIMIT
return M
