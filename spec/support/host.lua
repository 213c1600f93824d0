-- perilune.host for specs: functions that need no cluster are those of the core
-- (host/bind/module.c), the others are faked. Specs of lua/perilune begin with
--
--   local host = require("spec.support.host")
--   local perilune = require("perilune")

local build = os.getenv("PL_BUILD") or "build"
package.cpath = build .. "/lua/?.so;" .. package.cpath
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path

local host = require("perilune.host")

local M = { host = host, null = host.null }

local function absent(name)
  return function()
    error("host." .. name .. " is not faked in this spec", 2)
  end
end

-- The functions that need a cluster, a run or a load.
local faked = { "get", "list", "each", "write", "key_changed", "sleep", "spawn", "join", "http",
  "enqueue", "controller", "index", "event", "send", "memo" }

-- Before each spec: nothing is faked, nothing is declared.
function M.reset()
  for _, name in ipairs(faked) do
    host[name] = absent(name)
  end
  host.set_phase("run")
end
M.reset()

-- The next require() loads Perilune's modules again.
function M.forget()
  for name in pairs(package.loaded) do
    if name == "perilune" or (name:find("^perilune%.") and name ~= "perilune.host") then
      package.loaded[name] = nil
    end
  end
end

-- Loads the modules that have state (the controllers of a load) again.
function M.fresh(name)
  package.loaded[name] = nil
  return require(name)
end

-- The message of f's error, without "file:line: "; fails when f does not raise.
function M.message_of(f, ...)
  local ok, e = pcall(f, ...)
  assert(not ok, "this should have raised an error")
  return (tostring(e):gsub("^[^\n:]+:%d+: ", ""))
end

-- The error message must begin with a line of this spec file: that of the caller's caller.
function M.assert_positioned(file, f, ...)
  local ok, e = pcall(f, ...)
  assert(not ok, "this should have raised an error")
  local where = tostring(e):match("^([^\n:]+):%d+: ")
  assert(where and where:match(file), "no position in " .. file .. ": " .. tostring(e))
end

-- An error object like those of the core.
function M.error(fields)
  return setmetatable(fields, host.error_mt)
end

function M.api_error(code, reason, message)
  return M.error({ type = "api", code = code, reason = reason, message = message or reason,
    verb = "update", kind = "v1/ConfigMap", key = "default/a" })
end

return M
