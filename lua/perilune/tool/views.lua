-- Schemas for the checker. A view is a place in a schema: {schema=, schemas=, path=, kind=}. A
-- place where the schema allows anything is ANY, which is never wrong. A view says "there is no
-- such field" only if the server would drop or refuse the field.

local builtin = require("perilune.tool.builtin")

local M = {}

local ANY = { any = true }
M.ANY = ANY

local STRING, INTEGER, BOOLEAN = { type = "string" }, { type = "integer" }, { type = "boolean" }
local STRINGS = { type = "object", additionalProperties = STRING }

local METADATA = { type = "object", properties = {
  name = STRING, generateName = STRING, namespace = STRING, uid = STRING, resourceVersion = STRING,
  generation = INTEGER, creationTimestamp = STRING, deletionTimestamp = STRING,
  deletionGracePeriodSeconds = INTEGER, selfLink = STRING, labels = STRINGS, annotations = STRINGS,
  finalizers = { type = "array", items = STRING },
  managedFields = { type = "array", items = { ["x-kubernetes-preserve-unknown-fields"] = true } },
  ownerReferences = { type = "array", items = { type = "object", properties = {
    apiVersion = STRING, kind = STRING, name = STRING, uid = STRING, controller = BOOLEAN,
    blockOwnerDeletion = BOOLEAN } } },
} }

-- Types whose JSON differs from their schema in OpenAPI v2.
local FREE = { Quantity = true, IntOrString = true, JSON = true, RawExtension = true, FieldsV1 = true,
  JSONSchemaProps = true, JSONSchemaPropsOrArray = true, JSONSchemaPropsOrBool = true,
  JSONSchemaPropsOrStringArray = true, MicroTime = false }

local function reference(schema)
  local ref = schema["$ref"]
  if not ref and type(schema.allOf) == "table" and #schema.allOf == 1 and type(schema.allOf[1]) == "table" then
    ref = schema.allOf[1]["$ref"]
  end
  return type(ref) == "string" and ref or nil
end

-- A text or a number, and nothing else.
local SHORT = { Quantity = true, IntOrString = true }
local TEXT_OR_NUMBER = { ["x-kubernetes-int-or-string"] = true }

-- Follows references to a schema; nil: it allows anything.
local function resolve(schema, schemas)
  for _ = 1, 20 do
    if type(schema) ~= "table" then
      return nil
    end
    local ref = reference(schema)
    if not ref then
      return schema
    end
    local name = ref:match("([^/]+)$")
    if FREE[name:match("([^.]+)$")] or not schemas then
      return nil
    end
    schema = schemas[name]
  end
  return nil
end

local function make(schema, from, path)
  local ref = type(schema) == "table" and reference(schema)
  schema = ref and SHORT[ref:match("([^./]+)$")] and TEXT_OR_NUMBER or resolve(schema, from.schemas)
  if not schema or schema["x-kubernetes-preserve-unknown-fields"] or schema["x-kubernetes-embedded-resource"] then
    return ANY
  end
  return { schema = schema, schemas = from.schemas, path = path, kind = from.kind, name = from.name }
end

-- The root of a kind's objects. kind: as perilune.tool.crds and openapi read it.
function M.root(kind, name)
  local schema = resolve(kind.schema, kind.schemas)
  if not schema or not kind.structural or kind.preserves
    or schema["x-kubernetes-preserve-unknown-fields"] or type(schema.properties) ~= "table" then
    return { any = true, kind = kind, name = name, root = true }
  end
  return { schema = schema, schemas = kind.schemas, path = "", kind = kind, name = name, root = true }
end

-- The view of a kind without a schema.
function M.bare(name)
  return { any = true, name = name, root = true }
end

function M.of_schema(schema, path, name)
  return make(schema, { name = name, kind = {} }, path)
end

local function join(path, name)
  return path == "" and name or path .. "." .. name
end

-- Whether every alternative is a text or a number.
local function are_short(alternatives)
  for _, one in ipairs(type(alternatives) == "table" and alternatives or {}) do
    if type(one) ~= "table" or one.type ~= "string" and one.type ~= "integer" and one.type ~= "number" then
      return false
    end
  end
  return true
end

-- "object" | "array" | "string" | "integer" | "number" | "boolean" | "short" (a text or a number) |
-- nil: not certain
function M.type(view)
  if view.any then
    return nil
  elseif view.root then
    return "object"
  end
  local schema = view.schema
  if schema["x-kubernetes-int-or-string"] or schema.format == "int-or-string" or schema.format == "quantity" then
    return "short"
  elseif not schema.type and (schema.oneOf or schema.anyOf) then
    return are_short(schema.oneOf) and are_short(schema.anyOf) and "short" or nil
  end
  return schema.type or type(schema.properties) == "table" and "object" or nil
end

-- Whether the place is certainly an object, so that indexing it by a position is a mistake.
function M.is_object(view)
  return M.type(view) == "object" and (M.fields(view) ~= nil or type(view.schema.additionalProperties) == "table")
end

-- The names of an object's fields, if no others are allowed; nil otherwise.
function M.fields(view)
  if M.type(view) ~= "object" then
    return nil
  end
  local schema = view.schema
  local extra = schema.additionalProperties
  if type(schema.properties) ~= "table" or next(schema.properties) == nil or extra ~= nil and extra ~= false then
    return nil
  end
  local out = {}
  for name in pairs(schema.properties) do
    out[name] = true
  end
  if view.root then
    out.apiVersion, out.kind, out.metadata = true, true, true
  end
  return out
end

-- The view of a field; nil: it certainly does not exist.
function M.field(view, name)
  if view.any then
    if view.root and name == "metadata" then
      return M.of_schema(METADATA, "metadata", view.name)
    end
    return ANY
  end
  local schema = view.schema
  if view.root and name == "metadata" then
    return M.of_schema(METADATA, "metadata", view.name)
  elseif view.root and (name == "apiVersion" or name == "kind") then
    return M.of_schema(STRING, name, view.name)
  end
  local own = type(schema.properties) == "table" and schema.properties[name]
  if own then
    return make(own, view, join(view.path, name))
  elseif type(schema.additionalProperties) == "table" then
    return make(schema.additionalProperties, view, join(view.path, name))
  elseif M.fields(view) then
    return nil
  end
  return ANY
end

-- The view of an array's elements, or of a map's values.
function M.element(view)
  if view.any then
    return ANY
  end
  local schema = view.schema
  if M.type(view) == "array" and type(schema.items) == "table" then
    return make(schema.items, view, view.path .. "[]")
  elseif M.type(view) == "object" and type(schema.additionalProperties) == "table" and not schema.properties then
    return make(schema.additionalProperties, view, view.path .. "[]")
  end
  return ANY
end

-- Whether the server sets the field if it is missing. In OpenAPI v3 the default of a field of a built-in
-- kind may be Go's zero value, which the server then refuses.
local function has_default(view, own)
  local default = type(own) == "table" and own.default
  local kind = view.kind
  if not default or not kind.openapi or not builtin.find(kind.group, kind.kind) then
    return type(own) == "table" and own.default ~= nil
  end
  return default ~= "" and default ~= 0 and not (type(default) == "table" and next(default) == nil)
end

-- Names of required fields without a default.
function M.required(view)
  local out = {}
  if view.any or type(view.schema.required) ~= "table" then
    return out
  end
  local properties = type(view.schema.properties) == "table" and view.schema.properties or {}
  for _, name in ipairs(view.schema.required) do
    local own = properties[name]
    local later = name == "status" or name == "apiVersion" or name == "kind" or name == "metadata"
    if type(name) == "string" and not has_default(view, own) and not (view.root and later) then
      out[#out + 1] = name
    end
  end
  table.sort(out)
  return out
end

-- The array of allowed values; nil: any.
function M.enum(view)
  if view.any or type(view.schema.enum) ~= "table" or #view.schema.enum == 0 then
    return nil
  end
  return view.schema.enum
end

return M
