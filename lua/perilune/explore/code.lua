-- Which lines of a script have code: for the lines that no execution reached. The file is compiled
-- and never run; lines that only close something count for nothing, as they have no meaning alone.

local M = {}

local CLOSES = { ["end"] = true, ["else"] = true }

local function closes(text)
  local word = text:gsub("%-%-.*$", ""):gsub("[%s%)%},;]", "")
  return word == "" or CLOSES[word] or word == "end)" or false
end

-- Adds the lines of a function, or of one inside of another.
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

-- The lines of `text` that have code: line -> true; nil: it does not compile.
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

-- file -> line -> true, for the files that are keys of `files` and can be read.
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
