-- Follows documents through a script: from get, list and handlers, through assignments, to calls of
-- the client. Scripts are read, not run. A local variable that is assigned to again is followed if
-- it keeps to documents of one kind. Nothing is reported about unknown values. A script and the modules that
-- it requires are followed together: functions of one file know what another file passes to them.
--
-- Values: {k = "view", view}, {k = "list", item}, {k = "const", value}, {k = "typed", type}, {k =
-- "table", node, writes, nested, touched}, {k = "rows", rows} (one of several tables), {k = "fn", node},
-- {k = "module"}, {k = "member", name}, {k = "controller"}, {k = "event", view}, {k = "predicate",
-- nodes}; nil: unknown.

local arguments = require("perilune.tool.arguments")
local built = require("perilune.tool.built")
local calls = require("perilune.tool.calls")
local fit = require("perilune.tool.fit")
local functions = require("perilune.tool.functions")
local loops = require("perilune.tool.loops")
local modules = require("perilune.tool.modules")
local names = require("perilune.tool.names")
local renewed = require("perilune.tool.renewed")
local tables = require("perilune.tool.tables")
local views = require("perilune.tool.views")

local format = string.format
local M = {}

local PASSES = 4 -- the first passes find the arguments and results of functions

-- ---- functions ----

local run_block

local function bind(self, var, value)
  local follows = var.sets == 0 or not var.empty and renewed.keeps(self, var, value)
  self.env[var] = follows and value or nil
end

-- Analyses the body of the function. given: values of parameters that the caller knows.
local function analyse(self, node, given)
  local one = functions.info(self, node)
  for i, var in ipairs(node.params) do
    local value = given and given[i] or one.before and one.before[i]
    bind(self, var, value)
  end
  local above, file = self.fn, self.file
  self.fn, self.file = one, self.file_of[node]
  run_block(self, node.body)
  self.fn, self.file = above, file
end

-- A function that is called with these values. Calls of a named function are noted; an anonymous
-- function is analysed.
function M.call_with(self, expression, given)
  if expression.tag == "Function" then
    self.handled[expression] = true
    analyse(self, expression, given)
    return functions.info(self, expression)
  end
  local value = self.eval(expression)
  if value and value.k == "fn" then
    functions.note_call(self, value.node, given)
    return functions.info(self, value.node)
  end
end

-- What a call of the function gives. A table is a new one each time.
local function result_of(self, node)
  local result = functions.info(self, node).result
  if result and result.k == "table" then
    return { k = "table", node = result.node, returned = true, writes = {}, kept = result.kept,
      nested = result.nested, meta = result.meta, touched = result.touched }
  end
  return result
end
M.result_of = result_of

-- ---- expressions ----

local eval = {}

function eval.String(_, node) return { k = "const", value = node.value } end
function eval.Number(_, node) return { k = "const", value = node.value } end
function eval.True() return { k = "const", value = true } end
function eval.False() return { k = "const", value = false } end
function eval.Paren(self, node) return self.eval(node.a) end

function eval.Name(self, node)
  if node.var then
    return self.env[node.var]
  end
end

function eval.Function(self, node)
  if not self.handled[node] then
    analyse(self, node)
  end
  return { k = "fn", node = node }
end

local function text_item(self, node, name)
  for _, item in ipairs(node.items) do
    if item.key and item.key.tag == "String" and item.key.value == name then
      local value = self.eval(item.value)
      return value and value.k == "const" and type(value.value) == "string" and value.value or nil, item
    end
  end
end

local function has_item(node, name)
  for _, item in ipairs(node.items) do
    if item.key and item.key.tag == "String" and item.key.value == name then
      return true
    end
  end
  return false
end

-- The kind in a literal, and the line of its name.
function M.kind_of_literal(self, node)
  local version = text_item(self, node, "apiVersion")
  local kind, item = text_item(self, node, "kind")
  if version and kind and version ~= "" and kind ~= "" then
    return version .. "/" .. kind, item.line
  end
end

-- A literal with apiVersion, kind and metadata is a document, wherever it stands.
function eval.Table(self, node, o)
  local kind, line = M.kind_of_literal(self, node)
  if kind and (has_item(node, "metadata") or o and o.document) then
    self.judge(kind, line)
    local root = self.known:root(kind)
    fit.check(self, root, node, o)
    return { k = "view", view = root, literal = node }
  end
  local out, position = built.new(self, node), 0
  for _, item in ipairs(node.items) do
    local key = item.key and self.eval(item.key)
    position = position + (item.key and 0 or 1)
    local value = self.eval(item.value)
    if value and value.k == "view" then
      tables.escape(self, value)
    elseif value and value.k == "table" then
      out.nested[not item.key and position or key and key.k == "const" and key.value or false] = value
    end
  end
  return out
end

local function constant(self, node)
  local value = self.eval(node)
  return value and value.k == "const" and value.value
end

local ARITHMETIC = { ["+"] = true, ["-"] = true, ["*"] = true, ["/"] = true, ["%"] = true, ["^"] = true }

function eval.Binop(self, node)
  local a, b = self.eval(node.a), self.eval(node.b)
  if node.op == ".." then
    fit.join(self, a, node.line)
    fit.join(self, b, node.line)
    if a and b and a.k == "const" and b.k == "const" then
      return { k = "const", value = tostring(a.value) .. tostring(b.value) }
    end
    return { k = "typed", type = "string" }
  elseif ARITHMETIC[node.op] then
    return { k = "typed", type = "number" }
  elseif node.op == "==" or node.op == "~=" then
    fit.compare(self, a, b, node.line)
  elseif node.op == "and" then
    return b and b.k == "view" and b or nil
  elseif node.op == "or" then
    local left = node.a.tag == "Paren" and node.a.a or node.a
    local both = left.tag == "Binop" and left.op == "and" and loops.one_of({ self.eval(left.b) or nil, b, n = 2 })
    if both and both.k == "typed" then
      return { k = "typed", type = both.type } -- x and "a" or "b"
    end
    return a and (a.k == "list" or a.k == "table" or a.k == "view" and fit.may_replace(self, a, node.b, b)) and a
      or nil
  end
  return { k = "typed", type = "boolean" }
end

function eval.Unop(self, node)
  local a = self.eval(node.a)
  if node.op == "-" and a and a.k == "const" and type(a.value) == "number" then
    return { k = "const", value = -a.value }
  end
  return { k = "typed", type = node.op == "not" and "boolean" or "number" }
end

local LIST_FIELDS = { n = true }

local function index_list(self, node, value, key)
  if type(key) == "string" and not LIST_FIELDS[key] then
    self.report(node.line, format("client:list returns an array, which has no %s", key))
    return nil
  end
  return { k = "view", view = value.item }
end

local function index_view(self, node, view, key, dynamic)
  local kind = views.type(view)
  if dynamic or type(key) == "number" then
    return { k = "view", view = views.element(view) }
  elseif kind == "array" and key ~= "n" then
    self.report(node.line, format("%s %s is an array and has no %s", view.name or "", view.path, key))
    return nil
  elseif kind == "integer" or kind == "number" or kind == "boolean" then
    self.report(node.line, format("%s %s is %s and has no %s", view.name or "", view.path, kind, key))
    return nil
  elseif kind == "string" or kind == "short" then
    return nil
  end
  local field = views.field(view, key)
  if not field then
    self.report(node.line, fit.no_field(view, key))
    return nil
  end
  return { k = "view", view = field }
end

-- A member of the module or of a part of it.
local function member(self, node, object, key)
  local part = object.name or ""
  if arguments.has(self, node, part, key) then
    return { k = "member", name = part == "" and key or part .. "." .. key }
  end
end

function eval.Index(self, node)
  local object = self.eval(node.object)
  local key = constant(self, node.key)
  if not key and object and (object.k == "view" or object.k == "list") then
    local index = self.eval(node.key)
    key = index and index.type == "number" and 1 or key
  end
  if not object then
    return nil
  elseif (object.k == "module" or object.k == "member") and type(key) == "string" then
    return member(self, node, object, key)
  elseif object.k == "event" and (key == "object" or key == "old") then
    return { k = "view", view = object.view }
  elseif object.k == "table" then
    return tables.read(self, object, key) or not object.touched and object.nested[key] or nil
  elseif object.k == "rows" then
    return loops.column(self, object.rows, key, tables.read)
  elseif object.k == "list" then
    return index_list(self, node, object, key or nil)
  elseif object.k == "view" and key ~= false then
    local value = index_view(self, node, object.view, key, key == nil)
    if value then
      value.part_of = object.literal or object.part_of
    end
    return value
  end
end

function eval.Call(self, node)
  local module = modules.required(self, node)
  if module then
    return module.result or nil
  end
  local callee = self.eval(node.callee)
  local result = calls.call(self, node, callee)
  if callee and callee.k == "fn" then
    local values, lines = arguments.values(self, node)
    functions.note_call(self, callee.node, values, lines)
    return result_of(self, callee.node)
  elseif callee and callee.k == "passed_functions" then
    local values, lines = arguments.values(self, node)
    for _, one in ipairs(callee.values) do
      functions.note_call(self, one.value.node, values, lines)
    end
  end
  return result
end

-- A method of a local table: its first argument is the table.
local function call_method(self, node, object, method)
  local values, lines = arguments.values(self, node, object)
  for i = 2, #node.args + 1 do
    tables.escape(self, values[i])
  end
  functions.note_call(self, method.node, values, lines)
  return result_of(self, method.node)
end

function eval.Method(self, node)
  local object = self.eval(node.object)
  local method = object and object.k == "table" and tables.read(self, object, node.name)
  if method and method.k == "fn" then
    return call_method(self, node, object, method)
  end
  tables.escape(self, object and object.k == "table" and object)
  return calls.method(self, node, object)
end

-- ---- statements ----

local run = {}

-- Declarations of local functions are analysed with the values of their calls.
function run.Local(self, node)
  for _, var in ipairs(#node.values == 0 and node.vars or {}) do
    var.empty = true
  end
  for i, value in ipairs(node.values) do
    local var = node.vars[i]
    local result = self.eval(value)
    if var then
      bind(self, var, result)
    end
  end
  -- What pcall and perilune.try give after their first value.
  local last = node.values[#node.values]
  local second = self.second
  if second and second.node == last and node.vars[#node.values + 1] then
    bind(self, node.vars[#node.values + 1], second.value)
  end
end

-- Values that a variable keeps that was declared without one and is assigned to once.
local LATER = { view = true, list = true, fn = true, module = true, member = true, controller = true }

local function assign(self, target, value)
  if target.tag ~= "Index" then
    local result = value and self.eval(value)
    local var = target.var
    if var and var.empty and var.sets == 1 then
      self.env[var] = result and LATER[result.k] and result or self.env[var]
    elseif var and var.empty and not var.captured then
      self.env[var] = built.note_arm(self, var, result)
    elseif var and not var.empty and not (value and value.tag == "Nil") then
      bind(self, var, result and result.k == "view" and { k = "view", view = result.view } or result)
    end
    return
  end
  local object = self.eval(target.object)
  local key = constant(self, target.key)
  local is_nil = value and value.tag == "Nil"
  local literal = object and (object.literal or object.part_of)
  if literal then
    self.touched[literal] = true
  end
  if not object or object.k ~= "view" then
    local result = value and self.eval(value)
    if result and result.k == "view" then
      tables.escape(self, result)
    end
    if object and object.k ~= "table" then
      tables.escape(self, object)
    elseif not object and target.object.tag == "Index" then
      tables.escape(self, self.eval(target.object.object)) -- it gets an unknown value in one of its members
    end
    if object and object.k == "table" then
      local index = self.eval(target.key)
      built.note(self, object, key or index and index.type == "number" and 0 or nil, target.line, value, result)
      tables.write(self, object, target, key, result)
    end
    return result
  end
  local place
  if not key or type(key) == "number" then
    place = views.element(object.view)
  else
    place = views.field(object.view, key)
    if not place and not is_nil then
      self.report(target.line, fit.no_field(object.view, key))
    end
  end
  if value then
    fit.check(self, place or views.ANY, value)
  end
end

function run.Assign(self, node)
  for i, target in ipairs(node.targets) do
    assign(self, target, node.values[i])
  end
end

function run.Expression(self, node) self.eval(node.call) end

function run.Return(self, node)
  local value = node.values[1] and self.eval(node.values[1])
  for i = 2, #node.values do
    self.eval(node.values[i])
  end
  if self.fn and self.fn.is_reconcile and self.guarded == 0 then
    arguments.judge_names(self, node.values[1], function(name)
      return names.judge_field("Result", name, "a reconcile's result")
    end)
  end
  if not self.fn then
    local known = value and (value.k == "table" or value.k == "fn") and self.file.returns == 0
    self.file.returns = self.file.returns + 1
    self.file.result = known and value or false
  elseif node.values[1] and node.values[1].tag ~= "Nil" then
    local known = value and (value.k == "view" or value.k == "table" and not built.is_foreign(self, value))
    table.insert(self.fn.returns, known and (value.k == "table" and built.returned(self, value) or value) or false)
  end
end

function run.If(self, node)
  for i, clause in ipairs(node.clauses) do
    self.eval(clause.cond)
    built.enter(self, node, i, built.ends(clause.body))
    run_block(self, clause.body)
    built.leave(self)
  end
  if node.otherwise then
    built.enter(self, node, 0, built.ends(node.otherwise))
    run_block(self, node.otherwise)
    built.leave(self)
  end
end

function run.While(self, node)
  self.eval(node.cond)
  run_block(self, node.body)
end

function run.Repeat(self, node)
  run_block(self, node.body)
  self.eval(node.cond)
end

function run.Do(self, node) run_block(self, node.body) end

function run.For(self, node)
  self.eval(node.from)
  self.eval(node.to)
  if node.step then
    self.eval(node.step)
  end
  bind(self, node.var, { k = "typed", type = "number" })
  run_block(self, node.body)
end

function run.ForIn(self, node)
  local values = loops.iterate(self, node)
  for i = 2, #node.values do
    self.eval(node.values[i])
  end
  for i, var in ipairs(node.vars) do
    bind(self, var, values[i])
  end
  run_block(self, node.body)
end

run_block = function(self, block)
  for _, statement in ipairs(block) do
    local step = run[statement.tag]
    if step then
      step(self, statement)
    end
  end
end

-- ---- a script ----

-- trees: {{path=, tree=}...}; report(path, line, message); judge(path, kind, line); template(name): its text
function M.follow(trees, known, report, judge, template)
  local self = { known = known, template = template, env = {}, functions = {}, handled = {}, touched = {}, guarded = 0,
    members = {}, escaped = {}, given = {}, arms = {}, renewed = {},
    call_with = M.call_with, info = functions.info, result_of = M.result_of, kind_of_literal = M.kind_of_literal }
  local last = false
  modules.set_up(self, trees)
  self.report = function(line, message)
    if last then
      report(self.file.path, line, message)
    end
  end
  self.judge = function(kind, line)
    if last then
      judge(self.file.path, kind, line)
    end
  end
  self.eval = function(node, o)
    local step = eval[node.tag]
    return step and step(self, node, o) or nil
  end
  local files = modules.in_order(self)
  for pass = 1, PASSES do
    last, self.pass = pass == PASSES, pass
    self.handled, self.touched = {}, {}
    for _, file in ipairs(files) do
      self.file, file.returns = file, 0
      run_block(self, file.tree.body)
    end
    functions.finish_pass(self)
  end
end

return M
