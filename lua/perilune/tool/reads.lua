-- Templates that scripts read with perilune.manifest and perilune.manifests: their names, as far as the
-- source shows them. Scripts are read, not run.

local parser = require("perilune.tool.parser")

local M = {}

local READERS = { manifest = true, manifests = true }
local CALLERS = { pcall = 2, xpcall = 3 } -- functions that call another: which argument is its first
local MOST = 64 -- possible texts of one expression

-- ---- possible texts of an expression ----

-- A text is {head=, tail=}: it begins with one and ends with the other. tail nil: it is the head.
local UNKNOWN = { { head = "", tail = "" } }

local texts_of

local function joined(left, right)
  local out = {}
  for _, a in ipairs(left) do
    for _, b in ipairs(right) do
      local one = { head = a.head, tail = a.tail and a.tail .. b.head }
      if not a.tail then
        one.head = a.head .. b.head
      end
      one.tail = b.tail or one.tail
      out[#out + 1] = one
    end
  end
  return #out <= MOST and out or UNKNOWN
end

-- The texts of any of these expressions.
local function any_of(self, nodes)
  local out = {}
  for _, node in ipairs(nodes) do
    for _, one in ipairs(texts_of(self, node)) do
      out[#out + 1] = one
    end
  end
  return #out > 0 and #out <= MOST and out or UNKNOWN
end

local function formatted(text)
  local head, rest = text:match("^([^%%]*)(.*)$")
  if rest == "" then
    return { { head = head } }
  end
  return { { head = head, tail = rest:match("%a([^%%]*)$") or "" } }
end

local function unwrapped(node)
  while node.tag == "Paren" do
    node = node.a
  end
  return node
end

-- The text that a call of string.format begins from; nil: another expression.
local function format_of(node)
  local text
  if node.tag == "Method" and node.name == "format" then
    text = unwrapped(node.object)
  elseif node.tag == "Call" and node.callee.tag == "Index" and node.callee.object.name == "string"
    and node.callee.key.value == "format" then
    text = node.args[1]
  end
  return text and text.tag == "String" and text.value or nil
end

texts_of = function(self, node)
  node = unwrapped(node)
  if node.tag == "String" then
    return { { head = node.value } }
  elseif node.tag == "Name" and node.var and node.var.sets == 0 and self.values[node.var] then
    return any_of(self, self.values[node.var])
  elseif node.tag == "Binop" and node.op == ".." then
    return joined(texts_of(self, node.a), texts_of(self, node.b))
  elseif node.tag == "Binop" and node.op == "or" then
    return any_of(self, { node.a, node.b })
  elseif node.tag == "Binop" and node.op == "and" then
    return texts_of(self, node.b)
  end
  local text = format_of(node)
  return text and formatted(text) or UNKNOWN
end

-- ---- variables ----

local function is_module(self, node)
  if node.tag == "Call" then
    return node.callee.name == "require" and node.args[1] ~= nil and node.args[1].value == "perilune"
  elseif node.tag ~= "Name" then
    return false
  end
  local values = node.var and self.values[node.var]
  return node.name == "perilune" or values ~= nil and is_module(self, values[1])
end

local function is_member(node)
  return node.tag == "Index" and READERS[node.key.value or ""] or false
end

-- Whether the expression is a function that reads templates.
local function is_reader(self, node)
  return is_member(node) and is_module(self, node.object)
    or node.tag == "Name" and node.var ~= nil and self.readers[node.var] or false
end

-- The values of a loop over a list that stands in the loop itself.
local function loop_values(node)
  local call = node.values[1]
  local list = call and call.tag == "Call" and call.callee.name == "ipairs" and call.args[1]
  if not list or list.tag ~= "Table" or not node.vars[2] then
    return nil
  end
  local out = {}
  for _, item in ipairs(list.items) do
    if item.key then
      return nil
    end
    out[#out + 1] = item.value
  end
  return out
end

-- Notes what a variable or a field is given. A reader that goes elsewhere is looked for later.
local function note_value(self, target, var, value)
  if not value or not is_reader(self, value) then
    return
  elseif var and not self.readers[var] then
    self.readers[var], self.grown = true, true
  end
  self.followed[value] = var ~= nil or is_member(target)
end

-- Variables that hold a reader, or texts. An alias of an alias needs another round.
local function variables_of(self, tree)
  repeat
    self.grown = false
    parser.walk(tree, function(node)
      if node.tag == "Local" then
        for i, var in ipairs(node.vars) do
          self.values[var] = node.values[i] and { node.values[i] } or nil
          note_value(self, nil, var, node.values[i])
        end
      elseif node.tag == "Assign" then
        for i, target in ipairs(node.targets) do
          self.followed[target] = true
          note_value(self, target, target.var, node.values[i])
        end
      elseif node.tag == "ForIn" then
        self.values[node.vars[2] or {}] = loop_values(node)
      end
    end)
  until not self.grown
end

-- ---- calls ----

local function add(self, out, path, line, argument, sure)
  for _, one in ipairs(texts_of(self, argument)) do
    local head = one.head:gsub("^%./+", "")
    if one.tail then
      out.computed[#out.computed + 1] = { script = path, line = line, head = head, tail = one.tail, sure = sure }
    elseif not head:find("\n", 1, true) then -- else it is the document itself
      out[#out + 1] = { script = path, name = head }
    end
  end
end

-- Texts that may be names of files, as those of a list are.
local function mention(out, tree)
  parser.walk(tree, function(node)
    if node.tag == "String" and node.value:match("^[^\n]+%.%a+$") then
      out.mentioned[#out.mentioned + 1] = node.value
    end
  end)
end

-- The argument that names the template, if the node is such a call, and whether that is sure: x.manifest(...)
-- may be another function.
local function argument_of(self, node)
  local callee, first = node.callee, node.args[1]
  local sure = is_reader(self, callee)
  if sure or is_member(callee) then
    self.followed[callee] = true
    return first, sure
  end
  local at = CALLERS[callee.name or ""]
  if at and first and is_reader(self, first) then
    self.followed[first] = true
    return node.args[at], true
  end
end

local function look_at(out, path, tree)
  local self = { readers = {}, values = {}, followed = {} }
  variables_of(self, tree)
  parser.walk(tree, function(node) -- a call comes before its parts
    local argument, sure
    if node.tag == "Call" then
      argument, sure = argument_of(self, node)
    end
    if argument then
      add(self, out, path, node.line, argument, sure)
    elseif is_reader(self, node) and not self.followed[node] then
      out.computed[#out.computed + 1] = { script = path, line = node.line, head = "", tail = "", sure = true }
    end
  end)
end

-- The templates, each {script=, name=}: relative to the scripts' folder. computed: names that are known in
-- part, {script=, line=, head=, tail=, sure = false: the call may be another's}. mentioned: if there are any,
-- texts of the scripts that may be names.
function M.of(trees)
  local out = { computed = {}, mentioned = {} }
  for _, one in ipairs(trees) do
    look_at(out, one.path, one.tree)
  end
  for _, one in ipairs(#out.computed > 0 and trees or {}) do
    mention(out, one.tree)
  end
  table.sort(out.computed, function(a, b)
    return a.script < b.script or a.script == b.script and a.line < b.line
  end)
  return out
end

return M
