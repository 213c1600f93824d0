-- Whether the error that ended a run is a mistake of the script (an index of nil, a wrong type, a
-- limit), or one that the script raised itself so that it is tried again: error("not yet"). The
-- second is no finding; what it leads to is judged like everything else.

local M = {}

-- What LuaJIT and the limits say. They come with a position, or from inside of a library.
local WORDS = { "attempt to ", "bad argument #", "stack overflow", "invalid key to 'next'",
  "table index is ", "invalid order function", "'for' ", "limit exceeded", "wrong number of arguments",
  "string length overflow", "unable to dump", "invalid value %(.-%) at index" }

-- The source of the innermost line, and where that is: "main.lua:17:\n    source\nstack ...".
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

-- message: as a run ended; traceback: with the source of its innermost line, as hosts log it.
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
  return at ~= nil and (frame == nil or frame == at) -- else error(text, 2) of a function of its own
end

return M
