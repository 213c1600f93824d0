-- LuaLS definitions from CRDs: a class for each kind and for each object in it.
--
-- The author of a CRD chooses the names in its schema, so they are hostile input. A name that is
-- not a Lua name is quoted, and texts lose their line breaks: no schema can write a line of its own
-- into the file.

local api = require("perilune.tool.api")
local keys = require("perilune.keys")

local format, concat = string.format, table.concat
local M = {}

local PLAIN = { string = "string", boolean = "boolean", integer = "integer", number = "number" }

local function one_line(text)
  return (tostring(text):gsub("%c+", " "):gsub("^%s+", ""):gsub("%s+$", ""))
end

local function class_name(...)
  local name = concat({ ... }, ".")
  return (name:gsub("[^%w_.]", "_"))
end

local function field_name(name)
  return name:match("^[%a_][%w_]*$") and name or format("[%q]", one_line(name))
end

local add_class

local function type_of(out, name, schema)
  if type(schema) ~= "table" then
    return "any"
  elseif schema["x-kubernetes-int-or-string"] then
    return "integer|string"
  elseif type(schema.enum) == "table" and #schema.enum > 0 and schema.type == "string" then
    local words = {}
    for i, value in ipairs(schema.enum) do
      words[i] = format("%q", one_line(value))
    end
    return concat(words, "|")
  elseif schema.type == "array" then
    local of = type_of(out, name .. ".item", schema.items)
    return (of:find("|", 1, true) and "(" .. of .. ")" or of) .. "[]"
  elseif type(schema.properties) == "table" and next(schema.properties) then
    add_class(out, name, schema)
    return name
  elseif schema.type == "object" and type(schema.additionalProperties) == "table" then
    return format("table<string, %s>", type_of(out, name .. ".value", schema.additionalProperties))
  elseif schema.type == "object" then
    return "table<string, any>"
  end
  return PLAIN[schema.type] or "any"
end

local function is_required(schema, name)
  for _, one in ipairs(type(schema.required) == "table" and schema.required or {}) do
    if one == name then
      return true
    end
  end
  return false
end

-- The classes of its members are written first.
add_class = function(out, name, schema)
  local lines = {}
  for _, member in ipairs(keys.sorted(schema.properties)) do
    local of = schema.properties[member]
    local text = type_of(out, class_name(name, member), of)
    local needed = is_required(schema, member)
    local about = type(of) == "table" and type(of.description) == "string"
      and " " .. one_line(of.description) or ""
    lines[#lines + 1] = format("---@field %s%s %s%s", field_name(member), needed and "" or "?", text,
      about)
  end
  out[#out + 1] = format("---@class %s\n%s\n", name, concat(lines, "\n"))
end

local function add_kind(out, kind)
  local name = class_name(kind.group, kind.version, kind.kind)
  local lines = {}
  local properties = type(kind.schema.properties) == "table" and kind.schema.properties or {}
  for _, member in ipairs(keys.sorted(properties)) do
    if member ~= "apiVersion" and member ~= "kind" and member ~= "metadata" then
      lines[#lines + 1] = format("---@field %s%s %s", field_name(member),
        (member == "spec" or is_required(kind.schema, member)) and "" or "?",
        type_of(out, class_name(name, member), properties[member]))
    end
  end
  out[#out + 1] = format('---@class %s\n---@field apiVersion "%s/%s"\n---@field kind "%s"\n'
    .. "---@field metadata perilune.Metadata\n%s", name, kind.group, kind.version, kind.kind,
    #lines > 0 and concat(lines, "\n") .. "\n" or "")
  return name
end

-- kinds: {group=, version=, kind=, schema=}, as perilune.tool.crds reads them.
function M.write(kinds)
  local classes, get, list, each = {}, {}, {}, {}
  for _, kind in ipairs(kinds) do
    local name = add_kind(classes, kind)
    local text = format("%s/%s/%s", kind.group, kind.version, kind.kind)
    local head = format('---@overload fun(self: perilune.Client, kind: "%s", ', text)
    get[#get + 1] = head .. format("ref: perilune.Ref, options?: table): %s?\n", name)
    list[#list + 1] = head
      .. format("options?: perilune.ListOptions): %s[], perilune.ListInfo\n", name)
    each[#each + 1] = head .. format("options?: perilune.ListOptions): (fun(): %s?)\n", name)
  end
  local values = {
    GET = concat(get), LIST = concat(list), EACH = concat(each),
    KINDS = #classes > 0 and concat(classes, "\n") .. "\n" or "",
  }
  return (api:gsub("@(%u+)@\n?", function(name) return values[name] end))
end

return M
