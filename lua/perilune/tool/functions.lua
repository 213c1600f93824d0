-- What flow.lua knows of a script's functions: the arguments of their calls and their results. They
-- are collected in one pass over the script and known in the next one.

local M = {}

-- Two values of one place in a schema, or two tables of one literal.
function M.same_value(a, b)
  if a.k == "table" and b.k == "table" then
    return a.node == b.node
  end
  return a.k == "view" and b.k == "view" and a.view.name == b.view.name and a.view.path == b.view.path
    and not (a.view.any and not a.view.root)
end

function M.info(self, node)
  local one = self.functions[node]
  if not one then
    one = { calls = {}, returns = {}, analysed = -1 }
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

-- A table that a method gets as its self is only read.
local function as_self(value)
  return { k = "table", node = value.node, meta = value.meta, nested = {}, touched = true }
end

function M.note_call(self, node, given)
  local one = M.info(self, node)
  for i = 1, #node.params do
    one.calls[i] = one.calls[i] or {}
    local value = given[i]
    if i == 1 and node.self and value and value.k == "table" then
      value = as_self(value)
    elseif not value or value.k ~= "view" then
      value = false
    end
    table.insert(one.calls[i], value)
  end
end

function M.finish_pass(self)
  for _, one in pairs(self.functions) do
    one.before = {}
    for i, values in pairs(one.calls) do
      one.before[i] = common(values)
    end
    one.result = common(one.returns)
    one.calls, one.returns = {}, {}
  end
end

return M
