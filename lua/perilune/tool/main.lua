-- The beginning of every tool: decodes the command's input, calls the tool's module, and prints a
-- mistake that it reports on one line. A tool is a module that returns function(tool, input) ->
-- exit code.
--
-- It adds to `tool`: fail(message, ...), which ends it with 1; usage(message, ...), which ends it
-- with 2; say(text) and warn(text); call(what, question), which asks the command that started the
-- tool.

local host = require("perilune.host")

local mistake = {} -- the metatable of errors of fail and usage

local function raiser(code)
  return function(message, ...)
    local text = select("#", ...) > 0 and message:format(...) or message
    error(setmetatable({ code = code, message = text }, mistake), 0)
  end
end

local function flush(tool, code)
  local ok, why = io.stdout:flush()
  if not ok and code == 0 then
    io.stderr:write(("perilune %s: standard output cannot be written: %s\n"):format(tool.command, why))
    return 1
  end
  return code
end

local function add(tool)
  tool.fail, tool.usage = raiser(1), raiser(2)
  function tool.say(text)
    io.stdout:write(text, "\n")
  end
  function tool.warn(text, ...)
    text = select("#", ...) > 0 and text:format(...) or text
    io.stderr:write("perilune ", tool.command, ": ", text, "\n")
  end
  -- Returns the answer, or nil and a message.
  function tool.call(what, question)
    local text, message = tool.ask(what, host.json_encode(question or {}))
    if not text then
      return nil, message
    end
    return host.json_decode(text)
  end
  function tool.must_call(what, question)
    local answer, message = tool.call(what, question)
    if answer == nil then
      tool.fail("%s", message)
    end
    return answer
  end
end

return function(tool, module, input)
  add(tool)
  local run = require(module)
  local ok, code = xpcall(function()
    return run(tool, host.json_decode(input))
  end, function(problem)
    return getmetatable(problem) == mistake and problem
      or debug.traceback(tostring(problem), 2)
  end)
  if ok then
    return flush(tool, code or 0)
  elseif type(code) == "table" then
    io.stdout:flush()
    io.stderr:write("perilune ", tool.command, ": ", code.message, "\n")
    return code.code
  end
  error(code, 0)
end
