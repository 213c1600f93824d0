-- log:debug/info/warn/error(message, {key = value, ...}). The C half adds controller, key and
-- reconcile id of the current run, so one object can be used everywhere.

local host = require("perilune.host")
local check = require("perilune.check")

local methods = {}
local log = check.frozen("the log", methods)

local function check_fields(level, fields)
  if type(fields) ~= "table" then
    check.fail("log:%s takes fields as a table {key = value}, not %s", level,
      check.describe(fields))
  end
  for name in pairs(fields) do
    if type(name) ~= "string" then
      check.fail("log:%s: the fields need names, as in {key = value}; %s is not a name", level,
        check.describe(name))
    end
  end
end

for _, level in ipairs({ "debug", "info", "warn", "error" }) do
  methods[level] = function(self, message, fields, ...)
    if self ~= log then
      check.fail('call it with a colon: log:%s("...")', level)
    end
    check.no_more("log:" .. level, ...)
    if fields ~= nil then
      check_fields(level, fields)
    end
    host.log(level, tostring(message), fields)
  end
end

return log
