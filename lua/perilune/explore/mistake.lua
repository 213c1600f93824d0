-- Decides whether the error that ended a run is a mistake of the script (an index of nil, a wrong
-- type, a limit), or was raised by the script so that the run is tried again: error("not yet"). The
-- second is not a finding; its consequences are judged like everything else.

local M = {}

-- Beginnings of messages of LuaJIT and of the limits. They come after a position, or from inside a
-- library.
local WORDS = { "attempt to ", "bad argument #", "stack overflow", "invalid key to 'next'",
  "table index is ", "invalid order function", "'for' ", "limit exceeded", "wrong number of arguments",
  "string length overflow", "unable to dump", "invalid value %(.-%) at index" }

-- The innermost line, with its source if the traceback has it: "main.lua:17:\n    source\nstack
-- ...".
local function innermost(traceback)
  local place, source = traceback:match("^([^\n]-:%d+):\n%s*([^\n]*)")
  return place, source or ""
end

-- The first line of the script below "stack traceback:".
local function first_frame(traceback)
  for frame in (traceback:match("stack traceback:\n(.*)$") or ""):gmatch("%s*([^\n]+)") do
    local place = frame:match("^(%S+:%d+): in ")
    if place then
      return place
    end
  end
end

local function says(text)
  for _, word in ipairs(WORDS) do
    if text:find(word) then
      return true
    end
  end
  return false
end

-- message: the run's error; traceback: as hosts log it, with the source of the innermost line.
function M.is(message, traceback)
  local place, source = innermost(traceback or "")
  local at = message:match("^(%S+:%d+): ")
  local raises = source:find("%f[%w_]error%s*[%(\"'%[{]") or source:find("%f[%w_]assert%s*%(")
  if raises and place == at then
    return says(message) and not source:find(message:gsub("^%S+:%d+: ", ""), 1, true)
  elseif says(message) then
    return true
  end
  local frame = first_frame(traceback or "")
  local no_result = message:find("^%S+ Reconcile returned ") or message:find("^%S+ the result of Reconcile")
    or message:find('^%S+ index ".*": the function returned ')
  if not frame and not no_result then
    return false -- `return nil, "not yet"`
  end
  -- Otherwise error(text, 2) in a function of the script.
  return at ~= nil and (frame == nil or frame == at)
end

return M
