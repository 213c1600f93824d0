-- Predicates: descriptions that the core evaluates, and functions that a lane calls.

local check = require("perilune.check")

local M = {}
local mt = { __metatable = "perilune.predicate" }

local function describe(fields)
  return setmetatable(fields, mt)
end

-- Functions that make predicates: function -> name. They are mistakes where a predicate is
-- expected.
local makers = {}

-- Converts a script's predicate: a description, or a function(event).
function M.of(what, value)
  if value ~= nil and makers[value] then
    check.fail("%s: %s must be called, as in perilune.predicate.%s(...)", what, makers[value],
      makers[value])
  elseif type(value) == "function" then
    return describe({ type = "script", f = value })
  elseif type(value) == "table" and getmetatable(value) == "perilune.predicate" then
    return value
  end
  check.fail("%s must be a predicate (perilune.predicate.*) or a function(event), not %s", what,
    check.describe(value))
end

local function list(what, ...)
  local count = select("#", ...)
  if count == 0 then
    check.fail("%s needs at least one predicate", what)
  end
  local out = {}
  for i = 1, count do
    out[i] = M.of(("%s: argument %d"):format(what, i), (select(i, ...)))
  end
  return out
end

-- One predicate that requires all predicates of an array; nil for none.
function M.all_of(predicates)
  if #predicates < 2 then
    return predicates[1]
  end
  return describe({ type = "all", of = predicates })
end

M.api = {
  generation_changed = describe({ type = "generation_changed" }),
  resource_version_changed = describe({ type = "resource_version_changed" }),
  label_changed = describe({ type = "label_changed" }),
  annotation_changed = describe({ type = "annotation_changed" }),
  finalizers_changed = describe({ type = "finalizers_changed" }),
}

function M.api.label_selector(selector, ...)
  check.no_more("label_selector", ...)
  local text = check.selector("label_selector", selector)
  return describe({ type = "label_selector", selector = text })
end

function M.api.fields_changed(...)
  if select("#", ...) == 0 then
    check.fail('fields_changed needs at least one path, such as "spec"')
  end
  return describe({
    type = "fields_changed",
    paths = check.array_of(check.path)("fields_changed", { ... }),
  })
end

function M.api.all(...)
  return describe({ type = "all", of = list("all", ...) })
end

function M.api.any(...)
  return describe({ type = "any", of = list("any", ...) })
end

function M.api.none(predicate, ...)
  check.no_more("none", ...)
  return describe({ type = "none", of = M.of("none", predicate) })
end

local event_functions = {
  create = check.func,
  update = check.func,
  delete = check.func,
  generic = check.func,
}

function M.api.funcs(functions, ...)
  check.no_more("funcs", ...)
  local out = check.options("funcs", functions, event_functions)
  out.type = "funcs"
  return describe(out)
end

for name, value in pairs(M.api) do
  if type(value) == "function" then
    makers[value] = name
  end
end

return M
