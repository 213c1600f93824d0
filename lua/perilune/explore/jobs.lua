-- `--jobs N`: runs scenarios in N processes at a time. Each process is this program with a filter
-- for one scenario. The output comes in the order of the scenarios, and the highest exit code is
-- returned.

local lfs = require("lfs")

local M = {}

local EXIT = "perilune exit code "

local function quoted(word)
  return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end

-- A Lua pattern that matches exactly this name.
local function pattern_of(name)
  return "^" .. name:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0") .. "$"
end

-- The shell command for one scenario.
function M.command(binary, scenario, input)
  local flags = input.flags
  local words = { quoted(binary), "test" }
  for _, path in ipairs(input.paths) do
    words[#words + 1] = quoted(path)
  end
  words[#words + 1] = "--jobs 1 --explore --filter " .. quoted(pattern_of(scenario.name))
  for _, name in ipairs({ "output", "seed", "executions", "allow", "write-spec" }) do
    if flags[name] ~= nil then
      words[#words + 1] = "--" .. name .. " " .. quoted(flags[name])
    end
  end
  if flags.budget then
    words[#words + 1] = ("--budget %gs"):format(flags.budget)
  end
  if flags["no-stale"] then
    words[#words + 1] = "--no-stale"
  end
  return table.concat(words, " ") .. "; echo " .. quoted(EXIT) .. "$?"
end

-- Passes on the output of a process, beginning with its scenario. Returns its exit code.
local function follow(pipe, scenario, json)
  local code, on = 1, json
  for line in pipe:lines() do
    local n = line:match("^" .. EXIT .. "%s*(%d+)$")
    on = on or line == scenario.name
    if n then
      code = tonumber(n)
    elseif on then
      io.stdout:write(line, "\n")
      io.stdout:flush()
    end
  end
  pipe:close()
  return code
end

-- Explores all scenarios, `jobs` at a time. Returns the highest exit code.
function M.run(scenarios, input, jobs)
  local binary = lfs.symlinkattributes("/proc/self/exe", "target")
  local pipes, code = {}, 0
  local function launch(i)
    if scenarios[i] then
      pipes[i] = io.popen(M.command(binary, scenarios[i], input))
    end
  end
  for i = 1, jobs do
    launch(i)
  end
  for i, scenario in ipairs(scenarios) do
    code = math.max(code, follow(pipes[i], scenario, input.flags.output == "json"))
    launch(i + jobs)
  end
  return code
end

return M
