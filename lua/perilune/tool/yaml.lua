-- Texts as values and keys of the YAML that commands print. Readers of YAML 1.1 (kubectl's is one) and
-- 1.2 read back exactly the text, also where it looks like a boolean, a number or a time.

local host = require("perilune.host")

local M = {}

-- In quotes only where it needs them.
function M.scalar(text)
  return (host.yaml_encode(text):gsub("\n$", ""))
end

-- Always in quotes.
function M.quoted(text)
  local scalar = M.scalar(text)
  return scalar:sub(1, 1) == '"' and scalar or '"' .. scalar:gsub('["\\]', "\\%0") .. '"'
end

-- On one line.
function M.list(texts)
  local out = {}
  for i, text in ipairs(texts) do
    out[i] = M.quoted(text)
  end
  return "[" .. table.concat(out, ", ") .. "]"
end

-- Without the characters that end a comment, or that readers refuse.
function M.comment(text)
  text = text:gsub("%c", "?"):gsub("\194[\128-\159]", "?"):gsub("\226\128[\168\169]", "?")
    :gsub("\239\187\191", "?"):gsub("\239\191[\190\191]", "?")
  return M.is_utf8(text) and text or (text:gsub("[\128-\255]", "?"))
end

function M.is_utf8(text)
  return (pcall(host.json_encode, text))
end

return M
