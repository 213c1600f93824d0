-- Arguments and results of the API's functions, for flow.lua.

local arguments = require("perilune.tool.arguments")
local documents = require("perilune.tool.documents")
local fit = require("perilune.tool.fit")
local names = require("perilune.tool.names")
local sources = require("perilune.tool.sources")
local standard = require("perilune.tool.standard")
local tables = require("perilune.tool.tables")
local views = require("perilune.tool.views")

local format = string.format
local M = {}

local text, kind_view, item_of = arguments.text, arguments.kind_view, arguments.item_of
local eval_all, eval_arguments = arguments.eval_all, arguments.eval_arguments

-- ---- the client ----

local client = {}

local function member_text(self, object, key)
  local value = tables.read(self, object, key)
  return value and value.k == "const" and type(value.value) == "string" and value.value ~= "" and value.value or nil
end

-- A table that got its apiVersion and kind, each once, is a document where it is written.
local function built_document(self, node, value)
  local version, kind = member_text(self, value, "apiVersion"), member_text(self, value, "kind")
  if not version or not kind then
    return value
  end
  local name = version .. "/" .. kind
  self.judge(name, node.line)
  local root = self.known:root(name)
  fit.check(self, root, node, nil, value)
  return { k = "view", view = root }
end

-- The object argument of a call: its value, and the literal if nothing has changed it.
local function object_of(self, node, o)
  if not node then
    return nil
  elseif node.tag == "Table" then
    o = o or {}
    o.document = true
    return self.eval(node, o), node
  end
  local value = self.eval(node)
  if value and value.k == "table" then
    return built_document(self, node, value)
  elseif o and o.required and value and value.literal and not self.touched[value.literal]
    and (node.tag == "Name" and not node.var.captured or node.tag == "Call") then
    self.eval(value.literal, { document = true, required = true, left_out = o.left_out })
  end
  return value
end

local function kind_name(value)
  return value and value.k == "view" and value.view.root and value.view.name or nil
end

local function need_status(self, kind, line)
  if kind and self.known:lacks_status(kind) then
    self.report(line, format("%s has no status subresource", kind))
  end
end

function client.get(self, node)
  local view = kind_view(self, node.args[1])
  eval_all(self, node.args, 2)
  return view and { k = "view", view = view }
end

local function select_paths(self, options, view)
  local list = item_of(options, "select")
  for _, item in ipairs(list and list.tag == "Table" and list.items or {}) do
    local path = text(self, item.value)
    if path then
      fit.path(self, view, path, item.line)
    end
  end
end

function client.list(self, node)
  local view = kind_view(self, node.args[1])
  select_paths(self, node.args[2], view or views.ANY)
  eval_all(self, node.args, 2)
  return view and { k = "list", item = view }
end

function client.each(self, node)
  local list = client.list(self, node)
  return list and { k = "iterator", item = list.item }
end

function client.create(self, node)
  local value = object_of(self, node.args[1], { required = true })
  eval_all(self, node.args, 2)
  return value and value.k == "view" and { k = "view", view = value.view } or nil
end

local function write(self, node)
  local value = object_of(self, node.args[1])
  eval_all(self, node.args, 2)
  return value and value.k == "view" and { k = "view", view = value.view } or nil
end
client.update, client.apply = write, write

local function write_status(self, node)
  local value = write(self, node)
  need_status(self, kind_name(value), node.line)
  return value
end
client.update_status, client.apply_status = write_status, write_status

local function json_patch(self, view, body)
  for _, item in ipairs(body.tag == "Table" and body.items or {}) do
    local path = item_of(item.value, "path")
    local where = path and text(self, path)
    local place = where and fit.pointer(self, view, where, path.line)
    local value = item_of(item.value, "value")
    if place and value then
      fit.check(self, place, value)
    end
  end
end

-- (object, patch, options) or (kind, ref, patch, options)
local function patch(self, node, status)
  local args = node.args
  local view, kind = kind_view(self, args[1])
  local at = 3
  if not view then
    local value = args[1] and self.eval(args[1])
    if text(self, args[1]) or not value or value.k ~= "view" then
      eval_all(self, args, 2)
      return nil
    end
    view, kind, at = value.view, kind_name(value), 2
  else
    self.eval(args[2] or args[1])
  end
  if status then
    need_status(self, kind, node.line)
  end
  local form = args[at + 1] and item_of(args[at + 1], "type")
  form = form and text(self, form) or (args[at + 1] and args[at + 1].tag ~= "Table" and "?" or "merge")
  if args[at] and form == "json" then
    json_patch(self, view, args[at])
  elseif args[at] and (form == "merge" or form == "strategic") then
    fit.check(self, view, args[at], { directives = form == "strategic" })
  end
  eval_all(self, args, at)
  return { k = "view", view = view }
end

function client.patch(self, node) return patch(self, node, false) end
function client.patch_status(self, node) return patch(self, node, true) end

function client.delete(self, node)
  if not kind_view(self, node.args[1]) then
    eval_all(self, node.args, 1)
  end
end

function client.delete_all_of(self, node) kind_view(self, node.args[1]) end
function client.subresource(self, node)
  if not kind_view(self, node.args[1]) then
    eval_all(self, node.args, 1)
  end
  eval_all(self, node.args, 2)
end

-- Names that the function sets on its argument. The initial object need not have them.
local function names_set(node)
  local out = {}
  local function look(block)
    for _, statement in ipairs(block) do
      for _, target in ipairs(statement.tag == "Assign" and statement.targets or {}) do
        local at = target
        while at.tag == "Index" and at.object.tag == "Index" do
          at = at.object
        end
        if at.tag == "Index" and at.key.tag == "String" then
          out[at.key.value] = true
        end
      end
      for _, below in ipairs({ statement.body or {}, statement.otherwise or {} }) do
        look(below)
      end
      for _, clause in ipairs(statement.clauses or {}) do
        look(clause.body)
      end
      if statement.tag == "Expression" then
        out["*"] = true -- it may be passed to another function
      end
    end
  end
  look(node.body)
  return out
end

function client.create_or_update(self, node)
  local change = node.args[2]
  local set = change and change.tag == "Function" and names_set(change)
  local o = set and not set["*"] and { required = true, left_out = set } or nil
  local value = object_of(self, node.args[1], o)
  local view = value and value.k == "view" and value.view or nil
  if change then
    self.call_with(self, change, { view and { k = "view", view = view } })
  end
  return view and { k = "view", view = view }
end

function client.wait(self, node)
  local view = kind_view(self, node.args[1])
  if node.args[3] and view then
    self.call_with(self, node.args[3], { { k = "view", view = view } })
  end
  return view and { k = "view", view = view }
end

-- client:as{}: the same methods
function client.as(self, node, object)
  eval_all(self, node.args, 1)
  return object
end

-- Which argument of a method has the options. Of patch and delete it depends on the first one.
local OPTIONS = { get = 3, list = 2, each = 2, create = 2, update = 2, update_status = 2, apply = 2,
  apply_status = 2, delete_all_of = 2, create_or_update = 3, logs = 2, exec = 2, evict = 2, raw = 3, as = 1 }
local BY_KIND = { patch = 3, patch_status = 3, delete = 2 }

local function client_options(self, node)
  local at = OPTIONS[node.name]
  if BY_KIND[node.name] then
    local value = node.args[1] and self.eval(node.args[1])
    local by_kind = value and (value.k == "const" or value.type == "string")
    at = (by_kind or value and value.k == "view") and BY_KIND[node.name] + (by_kind and 1 or 0)
  end
  arguments.judge_names(self, at and node.args[at], function(name) return names.judge_option(node.name, name) end)
end

local TEXT_METHODS = { rep = true, format = true, upper = true, lower = true, sub = true, reverse = true }

function M.method(self, node, object)
  local part = object and object.k == "member" and object.name
  if part and not arguments.has(self, node, part, node.name) then
    return eval_all(self, node.args, 1)
  elseif (part == "client" or part == "live") and client[node.name] then
    client_options(self, node)
    return client[node.name](self, node, object)
  elseif object and TEXT_METHODS[node.name]
    and (object.k == "const" and type(object.value) == "string" or object.type == "string") then
    eval_all(self, node.args, 1)
    return { k = "typed", type = "string" }
  elseif object and object.k == "view" then
    fit.method(self, object.view, node)
  elseif object and object.k == "controller" then
    return sources(self, node, object)
  end
  eval_arguments(self, node)
end

-- ---- functions of the module ----

local functions = {}

function functions.controller(self, node)
  eval_all(self, node.args, 2)
  return { k = "controller", watched = {}, filters = {} }
end

function functions.index(self, node)
  local view = kind_view(self, node.args[1]) or views.ANY
  local path = text(self, node.args[3])
  if path then
    fit.path(self, view, path, node.args[3].line)
  elseif node.args[3] then
    self.call_with(self, node.args[3], { { k = "view", view = view } })
  end
end

function functions.dig(self, node)
  local value = node.args[1] and self.eval(node.args[1])
  local view = value and value.k == "view" and value.view
  for i = 2, #node.args do
    local name = self.eval(node.args[i])
    name = name and name.k == "const" and name.value or nil
    if not view or name == nil then
      view = nil
    else
      view = fit.walk(self, view, { name }, node.args[i].line)
    end
  end
  return view and { k = "view", view = view }
end

functions["finalizer.handle"] = function(self, node)
  local value = node.args[1] and self.eval(node.args[1])
  local handlers = node.args[3]
  for _, name in ipairs({ "apply", "cleanup" }) do
    local handler = item_of(handlers, name)
    if handler then
      self.call_with(self, handler, { value and value.k == "view" and value or nil })
    end
  end
end

-- Subresources whose requests have the kind itself, not a Scale or the options of a command.
local OF_KIND = { status = true, approval = true, ephemeralcontainers = true, finalize = true, resize = true }

local function gets_the_kind(self, options)
  if options and options.tag ~= "Table" then
    return false -- it may name any
  end
  local list = item_of(options, "subresources")
  for _, item in ipairs(list and list.tag == "Table" and list.items or {}) do
    if not OF_KIND[text(self, item.value)] then
      return false
    end
  end
  return not list or list.tag == "Table"
end

local function handler_of_kind(self, node)
  local kinds, view = node.args[1], nil
  if kinds and kinds.tag == "Table" then
    for _, item in ipairs(kinds.items) do
      view = kind_view(self, item.value)
    end
    view = #kinds.items == 1 and view or nil
  else
    view = kind_view(self, kinds)
  end
  local value = view and gets_the_kind(self, node.args[3]) and { k = "view", view = view } or nil
  if node.args[2] then
    self.call_with(self, node.args[2], { value, value })
  end
end
functions["webhook.validate"], functions["webhook.mutate"] = handler_of_kind, handler_of_kind

local function judge_kinds(self, node)
  for _, item in ipairs(node and node.tag == "Table" and node.items or {}) do
    kind_view(self, item.key and item.key.tag == "String" and item.key or item.value)
  end
end

local function task(self, node)
  for _, argument in ipairs(node.args) do
    judge_kinds(self, item_of(argument, "reads"))
    judge_kinds(self, item_of(argument, "writes"))
  end
  eval_all(self, node.args, 1)
end
functions.every, functions.cron, functions.run = task, task, task

function functions.deepcopy(self, node)
  local value = node.args[1] and self.eval(node.args[1])
  return value and value.k == "view" and { k = "view", view = value.view } or nil
end

-- Text of a document may stand in the script; a file is checked on its own.
local function template(self, node)
  eval_all(self, node.args, 1)
  local name = text(self, node.args[1])
  local inline = name and name:find("\n", 1, true)
  if inline then
    documents.check_text(self.known, self.report, name, node.args[1].text_line or node.line)
  end
  local source = inline and name or name and self.template(name)
  return source and documents.views(self.known, source) or {}
end

function functions.manifest(self, node)
  local all = template(self, node)
  return #all == 1 and { k = "view", view = all[1] } or nil
end

function functions.manifests(self, node)
  local all = template(self, node)
  return #all == 1 and { k = "list", item = all[1] } or nil
end

-- Predicates in local variables are checked where a source uses them.
for _, name in ipairs({ "fields_changed", "any", "all", "none", "funcs" }) do
  functions["predicate." .. name] = function(_, node)
    return { k = "predicate", node = node }
  end
end

local TYPES = { hash = "string", random = "string", key = "string", quantity = "number", duration = "number",
  ["time.now"] = "number", ["time.format"] = "string", ["time.parse"] = "number", ["json.encode"] = "string",
  ["yaml.encode"] = "string", ["base64.encode"] = "string", ["base64.decode"] = "string" }

-- client.get(client, ...)
-- Returns whether the call was such a call, and its result.
local function plain_method(self, node, name, from)
  local part, method = (name or ""):match("^(%l+)%.(%w+)$")
  if (part == "client" or part == "live") and client[method] then
    local called = { tag = "Method", line = node.line, name = method, args = {} }
    for i = from, #node.args do
      called.args[#called.args + 1] = node.args[i]
    end
    local first = node.args[from - 1] and self.eval(node.args[from - 1])
    if first and first.k ~= "member" then
      self.report(node.line, format("call it with a colon: %s:%s(...)", part, method))
      eval_all(self, node.args, 1)
      return true
    end
    client_options(self, called)
    return true, client[method](self, called)
  end
end

-- pcall(client.get, client, ...), perilune.try(client.get, client, ...)
local function guarded_method(self, node, name, global)
  if not node.args[2] or not arguments.GUARDS[global] and name ~= "try" then
    return false
  end
  local callee = self.eval(node.args[1])
  return plain_method(self, node, callee and callee.k == "member" and callee.name, 3)
end

function functions.try(self, node)
  eval_all(self, node.args, 2)
  local called = node.args[1] and self.call_with(self, node.args[1], {})
  return called and called.result
end

-- Functions of the module that change an argument, or call one that may.
local CHANGES = { set_controller_reference = true, set_owner_reference = true, ["finalizer.add"] = true,
  ["finalizer.remove"] = true, ["finalizer.handle"] = true, ["conditions.set"] = true, spawn = true, try = true,
  array = true }

-- Names in tables that are arguments of the module's functions.
local function argument_names(self, node, name)
  for i, argument in ipairs(self.guarded == 0 and node.args or {}) do
    arguments.judge_names(self, argument, function(field) return names.judge_argument(name, i, field) end)
  end
end

function M.call(self, node, callee)
  local name = callee and callee.k == "member" and callee.name
  if name then
    argument_names(self, node, name)
  end
  local global = node.callee.tag == "Name" and not node.callee.var and node.callee.name
  local is_method, stored = plain_method(self, node, name, 2)
  if not is_method then
    is_method, stored = guarded_method(self, node, name, global)
  end
  if is_method then
    if not name then
      self.second = { node = node, value = stored } -- pcall gives true before it
    end
    return name and stored or nil
  elseif functions[name] then
    return functions[name](self, node)
  end
  if global == "require" and text(self, node.args[1]) == "perilune" then
    return { k = "module" }
  end
  local library = node.callee.tag == "Index" and node.callee.object.tag == "Name" and not node.callee.object.var
    and node.callee.object.name
  local is_known, given = standard(self, node, global, library)
  if is_known then
    return given
  elseif name and not CHANGES[name] then
    eval_all(self, node.args, 1)
  else
    eval_arguments(self, node, global)
  end
  if name and TYPES[name] then
    return { k = "typed", type = TYPES[name] }
  end
end

return M
