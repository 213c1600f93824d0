-- Documents in YAML, for check: manifests, and templates of scripts. A document becomes the tree of a Lua
-- literal, so that one checker handles both.

local host = require("perilune.host")
local fit = require("perilune.tool.fit")

local M = {}

-- The line of a key at or after a line; that line itself if the key is not found.
local function line_of_key(lines, from, to, key)
  local plain = key:gsub("%p", "%%%0")
  for i = from, to do
    local text = lines[i] or ""
    if text:match("^[%s%-]*[\"']?" .. plain .. "[\"']?%s*:")
      or text:match("[{,]%s*[\"']?" .. plain .. "[\"']?%s*:") then
      return i
    end
  end
  return from
end

-- Converts a document to the tree of a Lua literal, so that one checker handles both. Placeholders
-- have unknown values.
local function tree_of(value, at, lines, to)
  if type(value) == "string" then
    if value:match("^%${[^}]*}$") then
      return { tag = "Vararg", line = at }
    elseif value:find("${", 1, true) then
      return { tag = "Binop", op = "..", line = at, a = { tag = "String", value = "", line = at },
        b = { tag = "Vararg", line = at } }
    end
    return { tag = "String", value = value, line = at }
  elseif type(value) == "number" then
    return { tag = "Number", value = value, line = at }
  elseif type(value) == "boolean" then
    return { tag = value and "True" or "False", line = at }
  elseif type(value) ~= "table" then
    return { tag = "Nil", line = at }
  end
  local node = { tag = "Table", items = {}, line = at }
  if host.is_array(value) then
    for _, one in ipairs(value) do
      node.items[#node.items + 1] = { line = at, value = tree_of(one, at, lines, to) }
    end
    return node
  end
  for key, one in pairs(value) do
    local line = line_of_key(lines, at, to, tostring(key))
    node.items[#node.items + 1] = { line = line, key = { tag = "String", value = tostring(key), line = line },
      value = tree_of(one, line, lines, to) }
  end
  return node
end

local function split_lines(text)
  local out = {}
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    out[#out + 1] = line
  end
  return out
end

-- The kind; nil: the document has none, or it contains a placeholder.
local function kind_of(document)
  if type(document) ~= "table" or type(document.apiVersion) ~= "string" or type(document.kind) ~= "string"
    or (document.apiVersion .. document.kind):find("${", 1, true) then
    return nil
  end
  return document.apiVersion .. "/" .. document.kind
end

local function check_document(known, report, document, from, lines, to)
  local kind = kind_of(document)
  if not kind then
    return
  end
  local message = known:judge(kind)
  if message then
    report(line_of_key(lines, from, to, "kind"), message)
  end
  local self = { known = known, report = report }
  self.eval = function(one)
    if one.tag == "String" or one.tag == "Number" then
      return { k = "const", value = one.value }
    elseif one.tag == "True" or one.tag == "False" then
      return { k = "const", value = one.tag == "True" }
    elseif one.tag == "Binop" then
      return { k = "typed", type = "string" }
    end
  end
  fit.check(self, known:root(kind), tree_of(document, from, lines, to))
end

-- Checks the documents of a text. first: the line of its first line.
function M.check_text(known, report, text, first)
  local decoded, starts = host.yaml_decode(text)
  local lines = split_lines(text)
  for i, document in ipairs(decoded or {}) do
    check_document(known, function(line, message) report(line + first - 1, message) end, document, starts[i], lines,
      (starts[i + 1] or #lines + 1) - 1)
  end
end

-- The views of a text's documents; {} if one of them is not known.
function M.views(known, text)
  local out = {}
  for i, document in ipairs((host.yaml_decode(text)) or {}) do
    local kind = kind_of(document)
    if not kind then
      return {}
    end
    out[i] = known:root(kind)
  end
  return out
end

return M
