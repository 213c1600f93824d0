-- log:debug/info/warn/error(message, {key = value, ...}). The C half binds controller, key and
-- reconcile id of the run that logs, so one object serves everywhere.

local host = require("perilune.host")
local check = require("perilune.check")

local log = {}

for _, level in ipairs({ "debug", "info", "warn", "error" }) do
  log[level] = function(self, message, fields, ...)
    if self ~= log then
      check.fail('call it with a colon: log:%s("...")', level)
    end
    check.no_more("log:" .. level, ...)
    if fields ~= nil and type(fields) ~= "table" then
      check.fail("log:%s takes fields as a table {key = value}, not %s", level,
        check.describe(fields))
    end
    host.log(level, tostring(message), fields)
  end
end

return log
