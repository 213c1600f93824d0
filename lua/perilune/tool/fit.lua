-- Checks whether a value fits a place in a schema, as far as the source shows the value. Values
-- come from flow.lua; an unknown value fits everywhere.

local host = require("perilune.host")
local built = require("perilune.tool.built")
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

local function place_of(view)
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
    self.report(line, format("%s must be %s, not %s", place_of(view), article(expected),
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
  self.report(line, format("%s must be one of %s, not %s%s", place_of(view), table.concat(words, ", "), show(value),
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
  for name in pairs(o.given or {}) do
    there[name] = true
  end
  for _, item in ipairs(node.items) do
    local key = key_of(self, item)
    local nested = o.nested and o.nested[key]
    if key == nil and views.is_object(view) then
      self.report(item.line, format("%s must be an object, not an array", place_of(view)))
      return
    elseif type(key) == "string" then
      there[key] = true
      local again = o.given and o.given[key]
      local field = views.field(view, key)
      local is_nil = item.value.tag == "Nil"
      if not field and o.directives and key:sub(1, 1) == "$" then
        self.eval(item.value) -- "$patch", "$setElementOrder/...": orders to the server
      elseif again then
        self.eval(item.value)
      elseif not field and not is_nil then
        self.report(item.line, M.no_field(view, key))
        self.eval(item.value)
      else
        check(self, field or views.ANY, item.value, { required = o.required, directives = o.directives }, nested)
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
  local element, position = views.element(view), 0
  for _, item in ipairs(node.items) do
    local key = key_of(self, item)
    position = position + (key == nil and 1 or 0)
    if type(key) == "string" and key ~= "n" then
      self.report(item.line, format("%s is an array and has no %s", place_of(view), key))
      return
    end
    check(self, element, item.value, { required = o.required, directives = o.directives },
      o.nested and o.nested[position])
  end
end

local function check_table(self, view, node, o)
  local expected = views.type(view)
  if expected == "array" then
    check_array(self, view, node, o)
  elseif expected and SCALARS[expected] then
    self.report(node.line, format("%s must be %s, not a table", place_of(view), article(expected)))
  else
    check_object(self, view, node, o)
  end
end

local check_built, check_value = {}, nil

-- The literal of a table that the script may have changed since. given: names that are written to.
function check_built.literal(self, view, value, given, o)
  check_table(self, view, value.node, { required = o.required, directives = o.directives, left_out = o.left_out,
    given = given, nested = value.nested })
end

function check_built.write(self, view, write, o)
  local place
  if type(write.key) ~= "string" then
    place = views.element(view)
  elseif views.type(view) == "array" then
    if write.key ~= "n" then
      self.report(write.line, format("%s is an array and has no %s", place_of(view), write.key))
    end
    return
  else
    place = views.field(view, write.key)
    if not place and not (write.node and write.node.tag == "Nil") then
      self.report(write.line, M.no_field(view, write.key))
    end
  end
  if write.node then
    check(self, place or views.ANY, write.node, { directives = o.directives }, write.result)
  end
end

-- Checks the expression against the place. o.required: required fields must be present (create).
-- nested: the table that the expression gave, if others have it too.
check = function(self, view, node, o, nested)
  o = o or {}
  if nested then
    if not view.any then
      built.check(self, view, nested, o, check_built)
    end
    return
  end
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
  if value then
    check_value(self, view, value, node, o)
  end
end
M.check = check

check_value = function(self, view, value, node, o)
  if value.k == "const" then
    check_scalar(self, view, type(value.value), value.value, node.line)
  elseif value.k == "typed" then
    check_scalar(self, view, value.type, nil, node.line)
  elseif value.k == "view" then
    local given = views.type(value.view)
    check_scalar(self, view, SCALARS[given or ""] and given or (given and "table"), nil, node.line)
  elseif value.k == "table" then
    if not (view.any and not view.root) then
      built.check(self, view, value, o, check_built)
    end
  elseif value.k == "passed" then
    local file = self.file
    for _, one in ipairs(value.values) do
      self.file = one.file
      check_value(self, view, one.value, { line = one.line or node.line }, o)
    end
    self.file = file
  elseif value.k == "choice" then
    for _, one in ipairs(built.choices(self, value)) do
      check_value(self, view, one, node, o)
    end
  elseif value.k == "list" then
    check_scalar(self, view, "table", nil, node.line)
  end
end

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

-- Reports that a place has a type with which something cannot be done.
function M.refuse(self, view, line, why)
  self.report(line, format("%s is %s, %s", place_of(view), article(views.type(view)), why))
end

-- Values of documents have no methods, except texts.
function M.method(self, view, node)
  local kind = views.type(view)
  if kind and kind ~= "string" and kind ~= "short" then
    M.refuse(self, view, node.line, "which has no method " .. node.name)
  end
end

-- Text cannot be joined to an object, an array or a boolean.
function M.join(self, value, line)
  local kind = value and value.k == "view" and views.type(value.view)
  if kind == "object" or kind == "array" or kind == "boolean" then
    M.refuse(self, value.view, line, "which cannot be joined to text")
  end
end

-- Whether what is after `or` certainly has no more fields than the view before it.
function M.may_replace(self, a, node, b)
  local kind = views.type(a.view)
  if kind and kind ~= "object" and kind ~= "array" then
    return true
  elseif node.tag == "Call" then
    return node.callee.tag == "Name" and node.callee.name == "error"
  elseif b and b.k == "view" then
    return b.view.name == a.view.name and b.view.path == a.view.path
  elseif not b or b.k ~= "table" or b.touched or self.escaped[b.node] then
    return node.tag == "Nil" or node.tag == "False"
  end
  for _, item in ipairs(b.node.items) do
    local key = key_of(self, item)
    if key == false or type(key) == "string" and not views.field(a.view, key) then
      return false
    end
  end
  return #b.writes == 0
end

local function compare_types(self, view, value, line)
  local kind = views.type(view)
  local given = type(value)
  if kind and kind ~= "short" and SCALARS[kind] and misfit(kind == "integer" and "number" or kind, given, nil) then
    self.report(line, format("%s is %s and never equals the %s %s", place_of(view), article(kind), given, show(value)))
  end
end

-- Reports a comparison that is never true: of a place with a constant of another type, or of a place
-- with an enum with a text that is nearly one of its values.
function M.compare(self, a, b, line)
  if a and b and a.k == "const" then
    a, b = b, a
  end
  if a and a.k == "view" and b and b.k == "const" then
    compare_types(self, a.view, b.value, line)
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
    self.report(line, format("%s is never %s%s", place_of(a.view), show(b.value), hint))
  end
end

return M
