-- Arguments of calls in a script, for calls.lua: their values, as far as the source shows them.

local names = require("perilune.tool.names")
local tables = require("perilune.tool.tables")

local M = {}

function M.text(self, node)
  local value = node and self.eval(node)
  return value and value.k == "const" and type(value.value) == "string" and value.value or nil
end

-- Judges a literal kind. Returns its view.
function M.kind_view(self, node)
  local value = node and self.eval(node)
  for _, one in ipairs(value and value.k == "typed" and value.all or {}) do
    if type(one.value) == "string" and one.line and one.value:find("/", 1, true) then
      self.judge(one.value, one.line)
    end
  end
  local kind = M.text(self, node)
  if kind and kind:find("/", 1, true) then
    self.judge(kind, node.line)
    return self.known:root(kind), kind
  end
end

function M.item_of(node, name)
  if not node or node.tag ~= "Table" then
    return nil
  end
  for _, item in ipairs(node.items) do
    if item.key and item.key.tag == "String" and item.key.value == name then
      return item.value
    end
  end
end

function M.eval_all(self, arguments, from)
  for i = from, #arguments do
    self.eval(arguments[i])
  end
end

-- The values of a call's arguments and their lines. first: a value before them.
function M.values(self, node, first)
  local values, lines, before = { first }, {}, first and 1 or 0
  for i, argument in ipairs(node.args) do
    values[i + before] = self.eval(argument) or nil
    lines[i + before] = argument.line
  end
  return values, lines
end

-- Judges the names in a literal table. judge(name) -> the mistake or nil.
function M.judge_names(self, node, judge)
  for _, item in ipairs(node and node.tag == "Table" and node.items or {}) do
    local name = item.key and M.text(self, item.key)
    local mistake = name and judge(name)
    if mistake then
      self.report(item.line, mistake)
    end
  end
end

M.GUARDS = { pcall = true, xpcall = true }

-- The arguments of a function that may change them.
function M.eval_arguments(self, node, global)
  local before = self.guarded
  self.guarded = before + (M.GUARDS[global] and 1 or 0)
  for _, argument in ipairs(node.args) do
    tables.escape(self, self.eval(argument))
  end
  self.guarded = before
end

-- Whether a part of the module has the name, as far as is known. Under pcall an unknown name is no
-- mistake.
function M.has(self, node, part, name)
  local mistake = self.guarded == 0 and names.judge(part, name)
  if mistake then
    self.report(node.line, mistake)
  end
  return not mistake
end

return M
