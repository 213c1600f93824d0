-- The values of a loop's variables, and what is common to several values, for flow.lua.

local fit = require("perilune.tool.fit")
local functions = require("perilune.tool.functions")
local parser = require("perilune.tool.parser")
local tables = require("perilune.tool.tables")
local views = require("perilune.tool.views")

local M = {}

local function type_of(value)
  return value.k == "const" and type(value.value) or value.k == "typed" and value.type or nil
end

-- One value for several: of one type, of one place, or rows of a table. nil: not known.
function M.one_of(values)
  local first = values[1]
  if not first then
    return nil
  end
  local rows = {}
  for i = 1, values.n or #values do
    local value = values[i]
    if not value or value.k ~= first.k and not (type_of(value) and type_of(first)) then
      return nil
    elseif first.k == "table" then
      rows[i] = value
    elseif type_of(first) then
      if type_of(value) ~= type_of(first) then
        return nil
      end
    elseif not functions.same_value(first, value) then
      return nil
    end
  end
  if first.k == "table" then
    return { k = "rows", rows = rows }
  elseif type_of(first) then
    return { k = "typed", type = type_of(first), all = values }
  end
  return first
end

-- A member of each row.
function M.column(self, rows, key, read)
  local out = { n = #rows }
  for i, row in ipairs(rows) do
    out[i] = read(self, row, key)
  end
  return M.one_of(out)
end

local NUMBER, STRING = { k = "typed", type = "number" }, { k = "typed", type = "string" }

-- Whether the loop's body may change what its variables hold.
local function changes(node)
  local is_own, out = {}, false
  for _, var in ipairs(node.vars) do
    is_own[var] = true
  end
  parser.walk(node, function(one)
    for _, target in ipairs(one.tag == "Assign" and one.targets or one.args or {}) do
      while target.tag == "Index" do
        target = target.object
      end
      out = out or target.tag == "Name" and target.var ~= nil and is_own[target.var] == true
    end
  end)
  return out
end

-- The variables of a loop over a literal that nothing changes.
local function over_table(self, value, name, node)
  if value.touched or value.returned or #(value.writes or {}) > 0 or self.escaped[value.node] then
    if changes(node) then
      tables.escape(self, value)
    end
    return {}
  end
  local values, names, position = { n = 0 }, true, 0
  for _, item in ipairs(value.node.items) do
    position = position + (item.key and 0 or 1)
    names = names and item.key ~= nil and item.key.tag == "String"
    if item.key == nil or name == "pairs" then
      values.n = values.n + 1
      local file = self.file
      self.file = self.file_of[value.node] or file
      values[values.n] = value.nested[item.key and item.key.value or position] or self.eval(item.value)
      self.file = file
      if item.value.tag == "String" and file == self.file_of[value.node] then
        values[values.n].line = item.value.line
      end
    end
  end
  return { name == "ipairs" and NUMBER or names and STRING or nil, M.one_of(values) }
end

local function over_view(self, view, name, line)
  local kind = views.type(view)
  if kind and kind ~= "object" and kind ~= "array" and kind ~= "short" or kind == "object" and name == "ipairs" then
    fit.refuse(self, view, line, ("and %s needs %s"):format(name, name == "ipairs" and "an array" or "a table"))
    return {}
  end
  return { name == "ipairs" and NUMBER or kind == "object" and STRING or nil,
    (name == "ipairs" or views.fields(view) == nil) and { k = "view", view = views.element(view) } or nil }
end

-- The values of a loop's variables.
function M.iterate(self, node)
  local call = node.values[1]
  local name = call.tag == "Call" and call.callee.tag == "Name" and not call.callee.var and call.callee.name
  if name ~= "ipairs" and name ~= "pairs" then
    local value = self.eval(call)
    return value and value.k == "iterator" and { { k = "view", view = value.item } } or {}
  end
  local value = call.args[1] and self.eval(call.args[1])
  if value and value.k == "list" then
    return { NUMBER, { k = "view", view = value.item } }
  elseif value and value.k == "table" then
    return over_table(self, value, name, node)
  elseif value and value.k == "view" then
    return over_view(self, value.view, name, call.line)
  end
  return {}
end

return M
