-- Checks whether a value fits a place in a schema, as far as the source shows the value. Values
-- come from flow.lua; an unknown value fits everywhere.

local host = require("perilune.host")
local known_module = require("perilune.tool.known")
local views = require("perilune.tool.views")

local format = string.format
local M = {}

local SCALARS = { string = true, number = true, boolean = true, integer = true, short = true }

local function article(word)
  if word == "short" then
    return "a string or a number"
  end
  return (word:match("^[aeiou]") and "an " or "a ") .. word
end

local function show(value)
  return type(value) == "string" and format("%q", #value > 40 and value:sub(1, 37) .. "..." or value)
    or tostring(value)
end

local function place(view)
  return (view.name and view.name .. " " or "") .. (view.path ~= "" and view.path or "itself")
end

-- "KIND has no spec.replcias; did you mean "replicas"?"
function M.no_field(view, name)
  local fields = views.fields(view) or {}
  local path = view.path == "" and name or (view.path or "") .. "." .. name
  return format("%s has no %s%s", view.name or "the object", path, (known_module.nearest(name, fields)))
end

-- The type of the value in the source: "string" | "number" | "boolean" | "table" | nil
local function misfit(expected, given, value)
  if given == nil or expected == nil or given == "short" then
    return false
  elseif expected == "short" then
    return given == "boolean" or given == "table"
  elseif expected == "integer" then
    return given ~= "number" and given ~= "integer" or type(value) == "number" and value % 1 ~= 0
  elseif expected == "number" then
    return given ~= "number" and given ~= "integer"
  elseif expected == "string" or expected == "boolean" then
    return given ~= expected
  end
  return given ~= "table" -- object, array
end

local function check_scalar(self, view, given, value, line)
  local expected = views.type(view)
  if misfit(expected, given, value) then
    self.report(line, format("%s must be %s, not %s", place(view), article(expected),
      value ~= nil and format("the %s %s", given, show(value)) or article(given)))
    return
  end
  local enum = views.enum(view)
  if not enum or value == nil then
    return
  end
  local words, names = {}, {}
  for i, one in ipairs(enum) do
    if one == value then
      return
    end
    words[i] = show(one)
    names[tostring(one)] = true
  end
  self.report(line, format("%s must be one of %s, not %s%s", place(view), table.concat(words, ", "), show(value),
    type(value) == "string" and (known_module.nearest(value, names)) or ""))
end

local function key_of(self, item)
  if item.key == nil then
    return nil
  end
  local value = self.eval(item.key)
  return value and value.k == "const" and value.value or false
end

-- Reports missing required fields.
local function check_required(self, view, there, line, left_out)
  for _, name in ipairs(views.required(view)) do
    if not there[name] and not (left_out and left_out[name]) then
      local path = view.path == "" and name or view.path .. "." .. name
      self.report(line, format("%s needs %s", view.name or "the object", path))
    end
  end
end

local check

local function check_object(self, view, node, o)
  local there, unclear = {}, false
  local map = views.fields(view) == nil and views.element(view) or nil
  for _, item in ipairs(node.items) do
    local key = key_of(self, item)
    if key == nil and views.fields(view) then
      self.report(item.line, format("%s must be an object, not an array", place(view)))
      return
    elseif type(key) == "string" then
      there[key] = true
      local field = views.field(view, key)
      local is_nil = item.value.tag == "Nil"
      if not field and o.directives and key:sub(1, 1) == "$" then
        self.eval(item.value) -- "$patch", "$setElementOrder/...": orders to the server
      elseif not field and not is_nil then
        self.report(item.line, M.no_field(view, key))
        self.eval(item.value)
      else
        check(self, field or views.ANY, item.value, { required = o.required, directives = o.directives })
      end
    else
      unclear = unclear or key == false
      check(self, map or views.ANY, item.value, { required = o.required, directives = o.directives })
    end
  end
  if o.required and not unclear then
    check_required(self, view, there, node.line, o.left_out)
  end
end

local function check_array(self, view, node, o)
  local element = views.element(view)
  for _, item in ipairs(node.items) do
    local key = key_of(self, item)
    if type(key) == "string" and key ~= "n" then
      self.report(item.line, format("%s is an array and has no %s", place(view), key))
      return
    end
    check(self, element, item.value, o)
  end
end

local function check_table(self, view, node, o)
  local expected = views.type(view)
  if expected == "array" then
    check_array(self, view, node, o)
  elseif expected and SCALARS[expected] then
    self.report(node.line, format("%s must be %s, not a table", place(view), article(expected)))
  else
    check_object(self, view, node, o)
  end
end

-- Checks the expression against the place. o.required: required fields must be present (create).
check = function(self, view, node, o)
  o = o or {}
  if node.tag == "Paren" then
    return check(self, view, node.a, o)
  elseif node.tag == "Binop" and (node.op == "or" or node.op == "and") then
    if node.op == "or" then
      check(self, view, node.a, o)
    else
      self.eval(node.a)
    end
    return check(self, view, node.b, o)
  elseif node.tag == "Table" then
    if view.any and not view.root then
      self.eval(node)
      return
    end
    return check_table(self, view, node, o)
  end
  local value = self.eval(node)
  if not value then
    return
  elseif value.k == "const" then
    check_scalar(self, view, type(value.value), value.value, node.line)
  elseif value.k == "typed" then
    check_scalar(self, view, value.type, nil, node.line)
  elseif value.k == "view" then
    local given = views.type(value.view)
    check_scalar(self, view, SCALARS[given or ""] and given or (given and "table"), nil, node.line)
  elseif value.k == "table" and not value.touched then
    if not (view.any and not view.root) then
      check_table(self, view, value.node, o)
    end
  elseif value.k == "list" then
    check_scalar(self, view, "table", nil, node.line)
  end
end
M.check = check

-- Follows a path of Perilune ("spec.template[0].x") or of a JSON patch from the view.
function M.walk(self, view, names, line)
  for _, name in ipairs(names) do
    if type(name) == "number" then
      view = views.element(view)
    else
      local field = views.field(view, name)
      if not field then
        self.report(line, M.no_field(view, name))
        return
      end
      view = field
    end
  end
  return view
end

function M.path(self, view, text, line)
  local names = host.path(text)
  if names then
    M.walk(self, view, names, line)
  end
end

function M.pointer(self, view, text, line)
  local names = {}
  for part in text:gmatch("/([^/]*)") do
    local name = part:gsub("~1", "/"):gsub("~0", "~")
    names[#names + 1] = (name == "-" or name:match("^%d+$")) and views.type(view) ~= "object" and 0 or name
  end
  local at = view
  for i, name in ipairs(names) do
    if views.type(at) == "array" then
      names[i] = 0
    end
    at = type(names[i]) == "number" and views.element(at) or views.field(at, name)
    if not at then
      break
    end
  end
  return M.walk(self, view, names, line)
end

-- Compares a place that has an enum with a text that differs from one of its values by a slip.
function M.compare(self, a, b, line)
  if a and b and a.k == "const" then
    a, b = b, a
  end
  local enum = a and a.k == "view" and b and b.k == "const" and views.enum(a.view)
  if not enum or type(b.value) ~= "string" then
    return
  end
  local names = {}
  for _, one in ipairs(enum) do
    names[tostring(one)] = true
  end
  local hint = known_module.nearest(b.value, names)
  if not names[b.value] and hint ~= "" then
    self.report(line, format("%s is never %s%s", place(a.view), show(b.value), hint))
  end
end

return M
