-- The query of a URL: {container = "web", label = {"a", "b"}} <-> "container=web&label=a&label=b".
-- Names are sorted, so equal tables give equal texts.

local host = require("perilune.host")
local check = require("perilune.check")

local format = string.format
local M = {}

M.escape = host.url_escape

local function text_of(what, value)
  if type(value) == "number" then
    check.number()(what, value)
    return value % 1 == 0 and format("%.0f", value) or tostring(value)
  elseif type(value) == "boolean" then
    return tostring(value)
  end
  return check.text(what, value)
end

local texts_of = check.array_of(text_of)

function M.text(what, value)
  local names, out = {}, {}
  for name in pairs(check.table(what, value)) do
    names[#names + 1] = check.string(what .. ": a name", name)
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local one, member = value[name], check.member_text(what, name)
    local is_list = type(one) == "table" and next(one) ~= nil
    local many = is_list and texts_of(member, one) or { text_of(member, one) }
    for _, text in ipairs(many) do
      out[#out + 1] = M.escape(name) .. "=" .. M.escape(text)
    end
  end
  return table.concat(out, "&")
end

-- "a=1&a=2&b" -> {a = {"1", "2"}, b = ""}
function M.parse(text)
  local out = {}
  for part in text:gmatch("[^&]+") do
    local name, value = part:match("^([^=]*)=?(.*)$")
    name, value = host.url_unescape(name, true), host.url_unescape(value, true)
    local before = out[name]
    if before == nil then
      out[name] = value
    elseif type(before) == "table" then
      before[#before + 1] = value
    else
      out[name] = host.array({ before, value })
    end
  end
  return out
end

-- Appends the text to the query of the URL.
function M.add(url, text)
  if text == "" then
    return url
  end
  local before, fragment = url:match("^([^#]*)(.*)$")
  local glue = not before:find("?", 1, true) and "?" or before:find("[?&]$") and "" or "&"
  return before .. glue .. text .. fragment
end

return M
