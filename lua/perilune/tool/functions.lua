-- What flow.lua knows of a script's functions: the arguments of their calls and their results. They
-- are collected in one pass over the script and known in the next one.

local M = {}

local function same_view(a, b)
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
    elseif not same_view(first, value) then
      return nil
    end
  end
  return first
end

function M.note_call(self, node, given)
  local one = M.info(self, node)
  for i = 1, #node.params do
    one.calls[i] = one.calls[i] or {}
    local value = given[i]
    table.insert(one.calls[i], value and value.k == "view" and value or false)
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
