-- Sources of controllers and their predicates in a script, for calls.lua.

local arguments = require("perilune.tool.arguments")
local fit = require("perilune.tool.fit")
local views = require("perilune.tool.views")

local text, kind_view, item_of, eval_all = arguments.text, arguments.kind_view, arguments.item_of, arguments.eval_all

local predicate

local function predicates_in(self, nodes, view)
  for _, node in ipairs(nodes) do
    predicate(self, node, view)
  end
end

predicate = function(self, node, view)
  if node.tag == "Function" or node.tag == "Name" and node.var then
    local value = self.eval(node.tag == "Name" and node or { tag = "Nil" })
    if value and value.k == "predicate" then
      return predicate(self, value.node, view)
    end
    self.call_with(self, node, { { k = "event", view = view } })
  elseif node.tag == "Call" then
    local callee = self.eval(node.callee)
    local name = callee and callee.k == "member" and callee.name:match("^predicate%.(.*)")
    if name == "fields_changed" then
      for _, argument in ipairs(node.args) do
        local path = text(self, argument)
        if path then
          fit.path(self, view, path, argument.line)
        end
      end
    elseif name == "funcs" and node.args[1] and node.args[1].tag == "Table" then
      for _, item in ipairs(node.args[1].items) do
        predicate(self, item.value, view)
      end
    elseif name then
      predicates_in(self, node.args, view)
    end
  end
end

local function source_options(self, node, view)
  local list = item_of(node, "predicates")
  if list and list.tag == "Table" then
    for _, item in ipairs(list.items) do
      predicate(self, item.value, view)
    end
  elseif node then
    self.eval(node)
  end
end

local sources = {}

function sources.For(self, node, controller)
  local view = kind_view(self, node.args[1])
  table.insert(controller.watched, view or views.ANY)
  source_options(self, node.args[2], view or views.ANY)
end
sources.Owns = sources.For

function sources.Reads(self, node)
  source_options(self, node.args[2], kind_view(self, node.args[1]) or views.ANY)
end

function sources.Watches(self, node, controller)
  local view = kind_view(self, node.args[1]) or views.ANY
  table.insert(controller.watched, view)
  if node.args[2] then
    self.call_with(self, node.args[2], { { k = "view", view = view }, { k = "event", view = view } })
  end
  source_options(self, node.args[3], view)
end

function sources.WatchesKinds(self, node, controller)
  table.insert(controller.watched, views.ANY)
  if node.args[1] then
    self.call_with(self, node.args[1], {})
  end
  if node.args[2] then
    self.call_with(self, node.args[2], {})
  end
  source_options(self, node.args[3], views.ANY)
end

function sources.Writes(self, node)
  kind_view(self, node.args[1])
end

function sources.WithEventFilter(_, node, controller)
  for _, argument in ipairs(node.args) do
    table.insert(controller.filters, argument)
  end
end

-- Filters get the events of every source, so they are checked if there is one kind only.
function sources.Reconcile(self, node, controller)
  predicates_in(self, controller.filters, #controller.watched == 1 and controller.watched[1] or views.ANY)
  local handler = node.args[1]
  if not handler then
    return
  end
  local value = handler.tag ~= "Function" and self.eval(handler)
  local reconcile = handler.tag == "Function" and handler or value and value.k == "fn" and value.node
  if reconcile then
    self.info(self, reconcile).is_reconcile = true
  end
  self.call_with(self, handler, {})
end

-- A method of a controller.
return function(self, node, controller)
  if sources[node.name] then
    sources[node.name](self, node, controller)
  else
    eval_all(self, node.args, 1)
  end
  return controller
end
