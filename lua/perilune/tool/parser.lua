-- Parses Lua source to a tree, for commands that read scripts without running them. Each node has a
-- tag and the line where it begins. Names are resolved: a Name has the var of its local
-- declaration, or none if it is a global. A var knows its uses (sets: number of assignments after
-- its declaration; captured: a function inside uses it).
--
-- Expressions: Nil, True, False, Vararg, Number{value}, String{value, text_line} (where its text
-- begins), Function{params, body, self},
-- Table{items = {{key=, value=}...}} (key is an expression, nil for positions), Binop{op, a, b},
-- Unop{op, a}, Paren{a}, Name{name, var}, Index{object, key}, Call{callee, args}, Method{object,
-- name, args}.
-- Statements: Local{vars, values}, Assign{targets, values}, Do{body}, While{cond, body},
-- Repeat{body, cond}, If{clauses = {{cond=, body=}...}, otherwise}, For{var, from, to, step, body},
-- ForIn{vars, values, body}, Return{values}, Expression{call}, Break, Goto, Label.

local lexer = require("perilune.tool.lexer")

local format = string.format
local M = {}

local DEPTH = 180 -- limit of nesting; LuaJIT's own limit is 200

local function fail(self, message, ...)
  error({ line = self.line, message = format(message, ...) }, 0)
end

local function advance(self)
  self.last_line = self.line
  self.type, self.value, self.line = lexer.next(self.lexer)
end

local function accept(self, what)
  if self.type == what then
    advance(self)
    return true
  end
  return false
end

local function expect(self, what)
  if not accept(self, what) then
    fail(self, "%s expected near %s", what, tostring(self.value or self.type))
  end
end

local function name(self)
  local value = self.value
  expect(self, "name")
  return value
end

local function deeper(self)
  self.depth = self.depth + 1
  if self.depth > DEPTH then
    fail(self, "nested too deeply")
  end
end

-- ---- scopes ----

local function open_scope(self)
  self.scope = { above = self.scope, vars = {} }
end

local function close_scope(self)
  self.scope = self.scope.above
end

local function declare(self, text, line)
  local var = { name = text, line = line or self.line, sets = 0, captured = false,
    of = self.fn }
  self.scope.vars[text] = var
  return var
end

local function resolve(self, text)
  local scope = self.scope
  while scope do
    local var = scope.vars[text]
    if var then
      if var.of ~= self.fn then
        var.captured = true
      end
      return var
    end
    scope = scope.above
  end
end

-- ---- expressions ----

local expression, block, body_of_function

local function expressions(self)
  local out = { expression(self) }
  while accept(self, ",") do
    out[#out + 1] = expression(self)
  end
  return out
end

local function table_constructor(self)
  local node = { tag = "Table", line = self.line, items = {} }
  expect(self, "{")
  while self.type ~= "}" do
    local item = { line = self.line }
    if accept(self, "[") then
      item.key = expression(self)
      expect(self, "]")
      expect(self, "=")
      item.value = expression(self)
    else
      local value = expression(self)
      if value.tag == "Name" and self.type == "=" then
        advance(self)
        item.key = { tag = "String", value = value.name, line = value.line }
        item.value = expression(self)
      else
        item.value = value
      end
    end
    node.items[#node.items + 1] = item
    if not (accept(self, ",") or accept(self, ";")) then
      break
    end
  end
  node.last_line = self.line
  expect(self, "}")
  return node
end

local function arguments(self)
  if self.type == "string" then
    local value = { tag = "String", value = self.value, line = self.line, text_line = self.lexer.text_line }
    advance(self)
    return { value }
  elseif self.type == "{" then
    return { table_constructor(self) }
  end
  expect(self, "(")
  local out = self.type == ")" and {} or expressions(self)
  expect(self, ")")
  return out
end

local function primary(self)
  local line = self.line
  if accept(self, "(") then
    local inner = expression(self)
    expect(self, ")")
    return { tag = "Paren", a = inner, line = line }
  end
  local text = name(self)
  return { tag = "Name", name = text, var = resolve(self, text), line = line }
end

local function suffixed(self)
  local node = primary(self)
  while true do
    local line = self.line
    if accept(self, ".") then
      node = { tag = "Index", object = node, line = line,
        key = { tag = "String", value = self.value, line = self.line } }
      name(self)
    elseif accept(self, "[") then
      node = { tag = "Index", object = node, key = expression(self), line = line }
      expect(self, "]")
    elseif accept(self, ":") then
      local method = name(self)
      node = { tag = "Method", object = node, name = method, line = line, args = arguments(self) }
    elseif self.type == "(" or self.type == "string" or self.type == "{" then
      node = { tag = "Call", callee = node, line = line, args = arguments(self) }
    else
      return node
    end
  end
end

local CONSTANTS = { ["nil"] = "Nil", ["true"] = "True", ["false"] = "False", ["..."] = "Vararg" }

local function simple(self)
  local line, kind = self.line, self.type
  if kind == "number" or kind == "string" then
    local node = { tag = kind == "number" and "Number" or "String", value = self.value, line = line,
      text_line = self.lexer.text_line }
    advance(self)
    return node
  elseif CONSTANTS[kind] then
    advance(self)
    return { tag = CONSTANTS[kind], line = line }
  elseif kind == "{" then
    return table_constructor(self)
  elseif kind == "function" then
    advance(self)
    return body_of_function(self, line)
  end
  return suffixed(self)
end

local BINARY = { -- operator -> left and right priority
  ["or"] = { 1, 1 }, ["and"] = { 2, 2 },
  ["<"] = { 3, 3 }, [">"] = { 3, 3 }, ["<="] = { 3, 3 }, [">="] = { 3, 3 }, ["~="] = { 3, 3 },
  ["=="] = { 3, 3 }, [".."] = { 5, 4 }, ["+"] = { 6, 6 }, ["-"] = { 6, 6 },
  ["*"] = { 7, 7 }, ["/"] = { 7, 7 }, ["%"] = { 7, 7 }, ["^"] = { 10, 9 },
}
local UNARY = { ["not"] = true, ["-"] = true, ["#"] = true }
local UNARY_PRIORITY = 8

local function binary(self, limit)
  deeper(self)
  local node
  if UNARY[self.type] then
    local op, line = self.type, self.line
    advance(self)
    node = { tag = "Unop", op = op, a = binary(self, UNARY_PRIORITY), line = line }
  else
    node = simple(self)
  end
  while BINARY[self.type] and BINARY[self.type][1] > limit do
    local op, line = self.type, self.line
    advance(self)
    node = { tag = "Binop", op = op, a = node, b = binary(self, BINARY[op][2]), line = line }
  end
  self.depth = self.depth - 1
  return node
end

expression = function(self)
  return binary(self, 0)
end

-- method: it has the parameter self.
body_of_function = function(self, line, method)
  local node = { tag = "Function", line = line, params = {}, self = method }
  deeper(self)
  local above = self.fn
  self.fn = node
  open_scope(self)
  if method then
    node.params[1] = declare(self, "self", line)
  end
  expect(self, "(")
  while self.type ~= ")" do
    if accept(self, "...") then
      node.vararg = true
      break
    end
    node.params[#node.params + 1] = declare(self, name(self), line)
    if not accept(self, ",") then
      break
    end
  end
  expect(self, ")")
  node.body = block(self)
  node.last_line = self.line
  expect(self, "end")
  close_scope(self)
  self.fn = above
  self.depth = self.depth - 1
  return node
end

-- ---- statements ----

local statements = {}

local function scoped_block(self)
  open_scope(self)
  local out = block(self)
  close_scope(self)
  return out
end

statements["if"] = function(self, line)
  local node = { tag = "If", line = line, clauses = {} }
  repeat
    local clause = { cond = expression(self), line = self.line }
    expect(self, "then")
    clause.body = scoped_block(self)
    node.clauses[#node.clauses + 1] = clause
  until not accept(self, "elseif")
  if accept(self, "else") then
    node.otherwise = scoped_block(self)
  end
  expect(self, "end")
  return node
end

statements["while"] = function(self, line)
  local node = { tag = "While", line = line, cond = expression(self) }
  expect(self, "do")
  node.body = scoped_block(self)
  expect(self, "end")
  return node
end

statements["do"] = function(self, line)
  local node = { tag = "Do", line = line, body = scoped_block(self) }
  expect(self, "end")
  return node
end

statements["repeat"] = function(self, line)
  open_scope(self) -- the condition sees the body's locals
  local node = { tag = "Repeat", line = line, body = block(self) }
  expect(self, "until")
  node.cond = expression(self)
  close_scope(self)
  return node
end

local function numeric_for(self, line, text)
  local node = { tag = "For", line = line, from = expression(self) }
  expect(self, ",")
  node.to = expression(self)
  node.step = accept(self, ",") and expression(self) or nil
  expect(self, "do")
  open_scope(self)
  node.var = declare(self, text, line)
  node.body = block(self)
  close_scope(self)
  expect(self, "end")
  return node
end

statements["for"] = function(self, line)
  local names = { name(self) }
  if accept(self, "=") then
    return numeric_for(self, line, names[1])
  end
  while accept(self, ",") do
    names[#names + 1] = name(self)
  end
  expect(self, "in")
  local node = { tag = "ForIn", line = line, vars = {}, values = expressions(self) }
  expect(self, "do")
  open_scope(self)
  for i, text in ipairs(names) do
    node.vars[i] = declare(self, text, line)
  end
  node.body = block(self)
  close_scope(self)
  expect(self, "end")
  return node
end

statements["function"] = function(self, line)
  local text = name(self)
  local target = { tag = "Name", name = text, var = resolve(self, text), line = line }
  local method = false
  while not method and (self.type == "." or self.type == ":") do
    method = self.type == ":"
    advance(self)
    target = { tag = "Index", object = target, line = line,
      key = { tag = "String", value = name(self), line = line } }
  end
  if target.var then
    target.var.sets = target.var.sets + 1
  end
  return { tag = "Assign", line = line, targets = { target },
    values = { body_of_function(self, line, method) } }
end

statements["local"] = function(self, line)
  if accept(self, "function") then
    local var = declare(self, name(self), line)
    return { tag = "Local", line = line, vars = { var }, values = { body_of_function(self, line) } }
  end
  local names = {}
  repeat
    names[#names + 1] = name(self)
  until not accept(self, ",")
  local node = { tag = "Local", line = line, vars = {}, values = accept(self, "=") and expressions(self) or {} }
  for i, text in ipairs(names) do
    node.vars[i] = declare(self, text, line)
  end
  return node
end

statements["return"] = function(self, line)
  local ends = { ["end"] = true, ["else"] = true, ["elseif"] = true, ["until"] = true,
    ["end of file"] = true, [";"] = true }
  local node = { tag = "Return", line = line, values = ends[self.type] and {} or expressions(self) }
  accept(self, ";")
  return node
end

statements["break"] = function(_, line)
  return { tag = "Break", line = line }
end

statements["goto"] = function(self, line)
  return { tag = "Goto", line = line, name = name(self) }
end

statements["::"] = function(self, line)
  local node = { tag = "Label", line = line, name = name(self) }
  expect(self, "::")
  return node
end

local function note_set(self, target)
  if target.tag ~= "Name" and target.tag ~= "Index" then
    fail(self, "cannot assign to what a call returns")
  end
  if target.tag == "Name" and target.var then
    target.var.sets = target.var.sets + 1
  end
end

local function assignment_or_call(self, line)
  local first = suffixed(self)
  if self.type ~= "=" and self.type ~= "," then
    if first.tag ~= "Call" and first.tag ~= "Method" then
      fail(self, "expected a statement near %s", tostring(self.value or self.type))
    end
    return { tag = "Expression", line = line, call = first }
  end
  local targets = { first }
  while accept(self, ",") do
    targets[#targets + 1] = suffixed(self)
  end
  expect(self, "=")
  for _, target in ipairs(targets) do
    note_set(self, target)
  end
  return { tag = "Assign", line = line, targets = targets, values = expressions(self) }
end

local ENDS = { ["end"] = true, ["else"] = true, ["elseif"] = true, ["until"] = true,
  ["end of file"] = true }

block = function(self)
  deeper(self)
  local out = {}
  while not ENDS[self.type] do
    local line, read = self.line, statements[self.type]
    if accept(self, ";") then -- luacheck: ignore
    elseif read then
      advance(self)
      out[#out + 1] = read(self, line)
    elseif self.type == "name" and self.value == "goto" then
      fail(self, "goto expected a label")
    else
      out[#out + 1] = assignment_or_call(self, line)
    end
  end
  self.depth = self.depth - 1
  return out
end

-- Parses a chunk to a Function without parameters; nil, line and message for invalid source.
function M.parse(text)
  local self = { lexer = lexer.new(text), depth = 0, line = 1 }
  local ok, result = pcall(function()
    local node = { tag = "Function", line = 1, params = {}, vararg = true }
    self.fn = node
    advance(self)
    open_scope(self)
    node.body = block(self)
    expect(self, "end of file")
    return node
  end)
  if ok then
    return result
  elseif type(result) == "table" then
    return nil, result.line, result.message
  end
  error(result, 0)
end

-- Visits every node below, parents first. If visit returns false, the nodes below are left out.
function M.walk(node, visit)
  if node.tag and visit(node) == false then
    return
  end
  for key, value in pairs(node) do
    if type(value) == "table" and key ~= "var" and key ~= "vars" and key ~= "params" then
      M.walk(value, visit)
    end
  end
end

return M
