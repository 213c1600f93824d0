-- YAML templates: a file is decoded first, then placeholders in its strings are replaced. So a
-- value can never break the YAML around it.

local check = require("perilune.check")
local host = require("perilune.host")

local fail = check.fail
local M = {}

local null = host.null

-- Reads a file beside the script, or takes the text itself if it contains a line break. Returns the
-- text and its name.
local function read(what, source)
  check.string(what .. ": the first argument", source)
  if source:find("\n", 1, true) then
    return source, "the text"
  end
  local text, message = host.read_file(check.c_string(what .. ": the file", source))
  if not text then
    fail("%s: %s", what, message)
  end
  return text, source
end

-- The line of the first occurrence of the placeholder at or after `from`.
local function line_of(text, from, placeholder)
  local line = 1
  for one in (text .. "\n"):gmatch("([^\n]*)\n") do
    if line >= from and one:find(placeholder, 1, true) then
      return line
    end
    line = line + 1
  end
  return from
end

local function fail_at(context, placeholder, message, ...)
  fail("%s: line %d of %s: " .. message, context.what,
    line_of(context.text, context.line, placeholder), context.name, ...)
end

local function look_up(context, name)
  local value = context.values
  for step in name:gmatch("[^.]+") do
    local known = value
    value = nil
    if type(known) == "table" then
      value = known[step]
    end
    if value == nil then
      fail_at(context, "${" .. name .. "}", "there is no value for ${%s}%s", name,
        type(known) == "table" and next(known) ~= nil and "; " .. check.nearest(step, known) or "")
    end
  end
  return value
end

local function to_text(context, name, value)
  local kind = type(value)
  if kind == "string" then
    return value
  elseif kind == "boolean" or (kind ~= "table" and value ~= null and kind ~= "function") then
    return kind == "boolean" and tostring(value) or host.json_encode(value)
  end
  fail_at(context, "${" .. name .. "}", "${%s} is %s and cannot be part of a text", name,
    check.describe(value))
end

local name_pattern = "%${([%w_%-%.]+)}"

-- The text between placeholders; "${" without a placeholder is a mistake.
local function literal(context, text)
  local at = text:find("${", 1, true)
  if at then
    fail_at(context, text:sub(at), "%q is not a placeholder such as ${name} or ${a.b}; $${ is a "
      .. "literal ${", text:sub(at, at + 30))
  end
  return text
end

local function fill_string(context, text)
  if not text:find("${", 1, true) then
    return text
  end
  local whole = text:match("^" .. name_pattern .. "$")
  if whole then
    return host.deepcopy(look_up(context, whole)) -- a copy, so that documents do not share it
  end
  local out, at = {}, 1
  while true do
    local from, to, name = text:find(name_pattern, at)
    local escape = text:find("$${", at, true)
    if escape and (not from or escape < from) then
      out[#out + 1] = literal(context, text:sub(at, escape - 1)) .. "${"
      at = escape + 3
    elseif from then
      out[#out + 1] = literal(context, text:sub(at, from - 1))
        .. to_text(context, name, look_up(context, name))
      at = to + 1
    else
      out[#out + 1] = literal(context, text:sub(at))
      return table.concat(out)
    end
  end
end

local function fill(context, value)
  if type(value) == "string" then
    return fill_string(context, value)
  elseif type(value) == "table" then
    for key, child in pairs(value) do
      local filled = fill(context, child)
      if filled ~= child then
        value[key] = filled
      end
    end
  end
  return value
end

local function decode(what, source, values)
  local text, name = read(what, source)
  if values ~= nil then
    check.table(what .. ": the values", values)
  end
  local documents, lines = host.yaml_decode(text)
  if not documents then
    fail("%s: %s: %s", what, name, lines)
  end
  for i, document in ipairs(documents) do
    documents[i] = fill({ what = what, values = values or {}, text = text, name = name,
      line = lines[i] or 1 }, document)
  end
  return documents, name
end

function M.manifest(source, values, ...)
  check.no_more("manifest", ...)
  local documents, name = decode("manifest", source, values)
  if #documents ~= 1 then
    fail("manifest: %s has %d documents, not one; perilune.manifests takes any number", name,
      #documents)
  end
  return documents[1]
end

function M.manifests(source, values, ...)
  check.no_more("manifests", ...)
  return (decode("manifests", source, values))
end

return M
