-- The module in which `perilune repl` evaluates lines: a task of a separate generation, which may
-- read the caches of the running scripts. The host loads this module instead of scripts.

local host = require("perilune.host")
local perilune = require("perilune")
local show = require("perilune.show")

local concat = table.concat

local printed

local function print_line(...)
  local words = {}
  for i = 1, select("#", ...) do
    words[i] = tostring((select(i, ...)))
  end
  printed[#printed + 1] = concat(words, "\t")
end

-- Global names that a line sets stay for the next line; all others are those of scripts.
local env = setmetatable({
  perilune = perilune, client = perilune.client, live = perilune.live, print = print_line,
}, { __index = _G })

local function answer(ok, ...)
  if not ok then
    printed[#printed + 1] = tostring((...))
    return concat(printed, "\n"), true
  end
  for i = 1, select("#", ...) do
    printed[#printed + 1] = show((select(i, ...)))
  end
  return concat(printed, "\n"), false
end

local function run(text)
  local f, message = host.compile("return " .. text, "repl", env)
  if not f then
    f, message = host.compile(text, "repl", env)
  end
  if not f then
    return message, true
  end
  return answer(pcall(f))
end

-- Showing a value may call a metamethod that raises an error. That ends the line, not the session.
local function evaluate(text)
  printed = {}
  local ok, said, failed = pcall(run, text)
  if not ok then
    return type(said) == "string" and said or "the error has no text", true
  end
  return said, failed
end

perilune.run("repl", { leader_election = false }, function()
  local text, failed = "", false
  while true do
    text, failed = evaluate(host.say(text, failed))
  end
end)
