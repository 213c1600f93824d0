-- perilune.metrics: counters, gauges and histograms of scripts on the host's own /metrics page. The
-- host keeps the values, so lanes share them and reloads keep them.

local host = require("perilune.host")
local check = require("perilune.check")

local fail, format = check.fail, string.format
local M = {}

local names_of = check.array_of(check.c_string)

-- The value of a label as text.
local function text(what, value)
  local kind = type(value)
  if kind == "string" then
    return value
  elseif kind == "number" and value % 1 == 0 and math.abs(value) < 1e15 then
    return format("%d", value)
  elseif kind == "number" or kind == "boolean" then
    return tostring(value)
  end
  fail("%s must be a string, a number or a boolean, not %s", what, check.describe(value))
end

local function example(names)
  return format('{%s = "..."%s}', names[1], names[2] and ", ..." or "")
end

local function from_array(what, names, labels)
  local out = {}
  if #labels ~= #names then
    fail("%s has %d labels (%s), not %d", what, #names, table.concat(names, ", "), #labels)
  end
  for i, name in ipairs(names) do
    out[i] = text(format("%s: the label %s", what, name), labels[i])
  end
  return out
end

local function from_map(what, names, known, labels)
  for name in pairs(labels) do
    if not known[name] then
      fail("%s has no label %s; %s", what, type(name) == "string" and format("%q", name)
        or check.describe(name), check.nearest(name, known))
    end
  end
  local out = {}
  for i, name in ipairs(names) do
    if labels[name] == nil then
      fail("%s needs a value for its label %q", what, name)
    end
    out[i] = text(format("%s: the label %s", what, name), labels[name])
  end
  return out
end

-- The labels' values in the order of the names. labels: {name = value, ...}, or the values in
-- order.
local function values_of(what, names, known, labels)
  if labels == nil or (type(labels) == "table" and next(labels) == nil) then
    if #names > 0 then
      fail("%s needs its labels, as in %s", what, example(names))
    end
    return {}
  elseif type(labels) ~= "table" then
    fail("%s takes its labels as a table such as %s, not %s", what,
      #names > 0 and example(names) or "{}", check.describe(labels))
  elseif #names == 0 then
    fail("%s has no labels", what)
  elseif labels[1] ~= nil then
    return from_array(what, names, labels)
  end
  return from_map(what, names, known, labels)
end

local metric_options = { per_object = check.boolean }

local function read_options(what, options, names)
  local o = check.options(what, options, metric_options)
  if o.per_object and #names == 0 then
    fail("%s: per_object needs a label whose value is the object's name or key", what)
  end
  return o
end

local function declare(kind, update, method, read)
  M[kind] = function(name, help, labels, options, ...)
    local what = "metrics." .. kind
    check.no_more(what, ...)
    check.c_string(what .. ": the name", name)
    check.c_string(what .. ": the help", help)
    local names = labels == nil and {} or names_of(what .. ": the labels", labels)
    local per_object = read_options(what, options, names).per_object
    local metric, message = host.metric(kind, name, help, names)
    if not metric then
      fail("%s: %s", what, message)
    end
    local known = {}
    for _, label in ipairs(names) do
      known[label] = true
    end
    local self_name = format("the %s %s", kind, name)
    local object
    local function check_call(self, called, ...)
      if self ~= object then
        fail("call it with a colon: %s:%s(...)", kind, called)
      end
      check.no_more(format("%s:%s", kind, called), ...)
    end
    object = check.frozen(self_name, {
      [method] = function(self, a, b, ...)
        check_call(self, method, ...)
        local number, given = read(self_name, a, b)
        update(metric, number, per_object, unpack(values_of(self_name, names, known, given)))
      end,
      remove = function(self, given, ...)
        check_call(self, "remove", ...)
        return host.metric_remove(metric, unpack(values_of(self_name, names, known, given)))
      end,
    })
    return object
  end
end

local at_least_zero, any = check.number(0), check.number()

declare("counter", host.metric_add, "inc", function(what, labels, n)
  if type(labels) == "number" then
    fail("%s: the labels come first: counter:inc(labels, n)", what)
  end
  return n == nil and 1 or at_least_zero(what .. ": what is added", n), labels
end)

local function value_first(method)
  return function(what, value, labels)
    if type(value) == "table" then
      fail("%s: the value comes first: %s(value, labels)", what, method)
    end
    return any(what .. ": the value", value), labels
  end
end

declare("gauge", host.metric_set, "set", value_first("gauge:set"))
declare("histogram", host.metric_observe, "observe", value_first("histogram:observe"))

return M
