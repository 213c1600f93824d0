-- perilune.pointer: JSON pointers (RFC 6901), as JSON patches use them.

local host = require("perilune.host")
local check = require("perilune.check")

local fail, concat = check.fail, table.concat
local M = {}

local function words(what, text)
  return check.must(what, host.pointer(check.text(what .. ": the pointer", text)))
end

function M.parse(text, ...)
  check.no_more("pointer.parse", ...)
  return host.array(words("pointer.parse", text))
end

-- Builds a pointer from names, and from indices that begin at 0.
function M.build(list, ...)
  check.no_more("pointer.build", ...)
  local out = {}
  if next(check.table("pointer.build", list)) ~= nil and not host.is_array(list) then
    fail('pointer.build: the words must be an array such as {"spec", "containers", 0}, not a table '
      .. "with names or holes")
  end
  for i, word in ipairs(list) do
    if type(word) ~= "string" and (type(word) ~= "number" or word % 1 ~= 0 or word < 0) then
      fail("pointer.build: a word must be a name or an index from 0 on, not %s",
        check.describe(word))
    end
    out[i] = host.pointer_word(type(word) == "number" and ("%.0f"):format(word) or word)
  end
  return concat(out)
end

local function step(value, word)
  if type(value) ~= "table" then
    return nil
  elseif host.is_array(value) then
    return (word == "0" or word:find("^[1-9]%d*$")) and value[tonumber(word) + 1] or nil
  end
  return value[word]
end

-- The value that the pointer refers to; nil when there is none.
function M.get(value, text, ...)
  check.no_more("pointer.get", ...)
  for _, word in ipairs(words("pointer.get", text)) do
    value = step(value, word)
    if value == nil then
      return nil
    end
  end
  return value
end

return M
