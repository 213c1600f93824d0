-- The error objects that calls of clients raise, and the tests for them.

local host = require("perilune.host")
local check = require("perilune.check")

local format = string.format
local M = {}

-- The C half creates its errors with this metatable.
local mt = host.error_mt

function mt.__tostring(e)
  local where = ""
  if e.verb and e.kind then
    where = format("%s %s%s%s: ", e.verb, e.kind, e.subresource and "/" .. e.subresource or "",
      e.key and " " .. e.key or "")
  end
  if e.type == "api" then
    return format("%s%s (%s %s)", where, e.message or "", e.code or "?", e.reason or "Unknown")
  elseif e.type == "refused" then
    return format("%srefused (%s): %s", where, e.rule or "?", e.message or "")
  elseif e.type == "terminal" then
    return tostring(e.message)
  end
  return format("%s%s: %s", where, e.type or "error", e.message or "")
end

local function is_error(e)
  return type(e) == "table" and getmetatable(e) == "perilune.error"
end

-- Scripts recognise an error object by getmetatable(e) == "perilune.error", and cannot change it.
mt.__metatable = "perilune.error"

-- Errors of these types come from outside of the script; `try` catches them.
local catchable = { api = true, network = true, timeout = true }

local function has_reason(code, reason)
  return function(e)
    return is_error(e) and e.type == "api" and e.code == code
      and (reason == nil or e.reason == reason)
  end
end

local function has_type(kind)
  return function(e)
    return is_error(e) and e.type == kind
  end
end

M.tests = {
  is_not_found = has_reason(404),
  is_conflict = has_reason(409, "Conflict"),
  is_already_exists = has_reason(409, "AlreadyExists"),
  is_forbidden = has_reason(403),
  is_invalid = has_reason(422),
  is_too_many_requests = has_reason(429),
  is_network = has_type("network"),
  is_refused = has_type("refused"),
}

function M.tests.is_timeout(e)
  return is_error(e) and (e.type == "timeout" or (e.type == "api" and e.code == 504))
end

function M.new(fields)
  return setmetatable(fields, mt)
end

-- Makes an error that means: retrying does not help.
function M.terminal(why, ...)
  check.no_more("terminal", ...)
  if why == nil then
    check.fail("terminal needs a reason: a text or an error")
  elseif is_error(why) and why.type == "terminal" then
    return why
  end
  return M.new({ type = "terminal", message = tostring(why), cause = why })
end

local function finish(ok, ...)
  if ok then
    return ...
  end
  local e = ...
  if is_error(e) and catchable[e.type] then
    return nil, e
  end
  error(e, 0)
end

-- Keeps the traceback of the original place in an error that is raised again.
local function remember(e)
  if not is_error(e) then
    host.remember(e)
  end
  return e
end

-- pcall for code that raises most errors again.
function M.protect(f, ...)
  return xpcall(f, remember, ...)
end

-- Returns f's results. If f raises an error of type api, network or timeout, returns nil and the
-- error.
function M.try(f, ...)
  if type(f) ~= "function" then
    check.fail("try needs a function, not %s", check.describe(f))
  end
  return finish(M.protect(f, ...))
end

return M
