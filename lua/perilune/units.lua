-- perilune.quantity, perilune.duration, perilune.time: texts of Kubernetes as numbers, and back.

local host = require("perilune.host")
local check = require("perilune.check")

local fail = check.fail
local M = {}

local function parser(what, parse, wanted)
  return function(text, ...)
    check.no_more(what, ...)
    local value = type(text) == "string" and parse(text)
    if not value then
      fail("%s: %s is not %s", what, check.describe(text), wanted)
    end
    return value
  end
end

local parse_quantity = parser("quantity", host.quantity, 'a quantity such as "500m" or "2Gi"')

function M.quantity(value, ...)
  check.no_more("quantity", ...)
  local number = type(value) ~= "string" and tonumber(value)
  if number and number - number == 0 then -- neither NaN nor infinite
    return number -- quantities such as cpu: 2 are numbers
  end
  return parse_quantity(value)
end

function M.duration(value, ...)
  check.no_more("duration", ...)
  return check.seconds("duration", value)
end

-- Digits after the point.
local fractions = { seconds = 0, milliseconds = 3, microseconds = 6 }
local time_unit = check.one_of("seconds", "milliseconds", "microseconds")

M.time = {
  parse = parser("time.parse", host.time_parse,
    'a time of RFC 3339 such as "2026-01-31T12:00:00Z"'),
  now = function(...)
    check.no_more("time.now", ...)
    return host.now()
  end,
  format = function(seconds, unit, ...)
    check.no_more("time.format", ...)
    check.number()("time.format: the seconds since 1970", seconds)
    local digits = unit ~= nil and fractions[time_unit("time.format", unit)] or nil
    return host.time_format(seconds, digits)
  end,
}

return M
