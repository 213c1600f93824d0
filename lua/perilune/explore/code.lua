-- The lines of a script that contain code, to find those that no execution reached. The file is
-- compiled and never run. Lines that only close a block do not count.

local M = {}

local CLOSES = { ["end"] = true, ["else"] = true }

local function closes(text)
  local word = text:gsub("%-%-.*$", ""):gsub("[%s%)%},;]", "")
  return word == "" or CLOSES[word] or word == "end)" or false
end

-- Adds the lines of a function and of the functions in it.
local function add(util, f, lines)
  local info = util.funcinfo(f)
  for pc = 1, info.bytecodes - 1 do
    lines[util.funcinfo(f, pc).currentline] = true
  end
  local i = -1
  while info.children do
    local ok, constant = pcall(util.funck, f, i)
    if not ok or constant == nil then
      break
    elseif type(constant) == "proto" then
      add(util, constant, lines)
    end
    i = i - 1
  end
end

-- The lines of `text` that contain code: line -> true; nil: it does not compile.
function M.of(text)
  local ok, util = pcall(require, "jit.util")
  local chunk = ok and loadstring(text)
  if not chunk then
    return nil
  end
  local lines, n = {}, 0
  add(util, chunk, lines)
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    n = n + 1
    if lines[n] and closes(line) then
      lines[n] = nil
    end
  end
  return lines
end

-- file -> line -> true, for each key of `files` that can be read.
function M.of_files(files)
  local out = {}
  for path in pairs(files) do
    local file = io.open(path, "rb")
    out[path] = file and M.of(file:read("*a")) or nil
    if file then
      file:close()
    end
  end
  return out
end

return M
