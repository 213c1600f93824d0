-- What flow.lua knows of a script's functions: the arguments of their calls and their results. They
-- are collected in one pass over the script and known in the next one.

local parser = require("perilune.tool.parser")

local M = {}

-- Two values of one place in a schema, or two tables of one literal.
function M.same_value(a, b)
  if a.k == "table" and b.k == "table" then
    return a.node == b.node
  elseif a.k == "list" and b.k == "list" then
    return a.item.name == b.item.name and a.item.path == b.item.path and not (a.item.any and not a.item.root)
  end
  return a.k == "view" and b.k == "view" and a.view.name == b.view.name and a.view.path == b.view.path
    and not (a.view.any and not a.view.root)
end

function M.info(self, node)
  local one = self.functions[node]
  if not one then
    one = { calls = {}, passed = {}, returns = {}, analysed = -1 }
    self.functions[node] = one
  end
  return one
end

-- The value that all calls of a function pass, if it is the same.
local function common(values)
  local first
  for _, value in ipairs(values) do
    if value == false then
      return nil
    elseif not first then
      first = value
    elseif not M.same_value(first, value) then
      return nil
    end
  end
  return first
end

-- Parameters that the function looks at before it uses them, in a condition or by a function such as
-- type: what a call passes may not be what the function uses.
local function examined(node)
  local out, inside = {}, {}
  parser.walk(node, function(one)
    local looks = one.tag == "Binop" and (one.op == "and" or one.op == "or" or one.op == "==" or one.op == "~=")
      and { one.a, one.b } or one.tag == "Call" and one.args or one.tag == "Unop" and { one.a } or {}
    for _, clause in ipairs(one.clauses or {}) do
      looks[#looks + 1] = clause.cond
    end
    for _, below in ipairs(looks) do
      inside[#inside + 1] = below
    end
  end)
  for _, one in ipairs(inside) do
    if one.tag == "Name" and one.var then
      out[one.var] = true
    end
  end
  return out
end

-- Texts, numbers and functions that calls pass for a parameter, with their places.
local function passed(node, i, values)
  local var = node.params[i]
  for _, one in ipairs(values) do
    if not one.value or one.value.k ~= values[1].value.k and one.value.k ~= "typed" then
      return nil
    end
  end
  if not values[1] or var.sets > 0 then
    return nil
  elseif values[1].value.k == "fn" then
    return { k = "passed_functions", values = values }
  end
  node.examined = node.examined or examined(node)
  return not node.examined[var] and { k = "passed", values = values } or nil
end

-- A table that a method gets as its self is only read.
local function as_self(value)
  return { k = "table", node = value.node, meta = value.meta, nested = {}, touched = true }
end

-- lines: of the arguments, where they are texts, numbers or functions.
function M.note_call(self, node, given, lines)
  local one = M.info(self, node)
  for i = 1, #node.params do
    one.calls[i] = one.calls[i] or {}
    local value = given[i]
    one.passed[i] = one.passed[i] or {}
    local is_plain = value and (value.k == "const" or value.k == "typed" or value.k == "fn")
    table.insert(one.passed[i], { value = is_plain and value or nil, line = lines and lines[i], file = self.file })
    if i == 1 and node.self and value and value.k == "table" then
      value = as_self(value)
    elseif not value or value.k ~= "view" and value.k ~= "list" then
      value = false
    end
    table.insert(one.calls[i], value)
  end
end

function M.finish_pass(self)
  for node, one in pairs(self.functions) do
    one.before = {}
    for i, values in pairs(one.calls) do
      one.before[i] = common(values)
    end
    for i, values in pairs(one.passed) do
      one.before[i] = one.before[i] or passed(node, i, values)
    end
    one.result = common(one.returns)
    one.calls, one.passed, one.returns = {}, {}, {}
  end
end

return M
