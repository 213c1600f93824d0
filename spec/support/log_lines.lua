-- A log that grows: each line is read and decoded once, however often one asks.
--
--   local reader = log_lines.open(path)
--   reader:each(function(line, text) ... end)  -- the whole lines since the last call
--
-- A line is the decoded object; one that is none comes as {raw=, msg=}. A half line at the end waits
-- for its other half. A file that was emptied or replaced is another log: each() says so by returning
-- true and starts over.

local cjson = require("cjson")

local M = {}

local Reader = {}
Reader.__index = Reader

local chunk_size, mark_size = 2 ^ 20, 256

function M.open(path)
  return setmetatable({ path = path, offset = 0, mark = "" }, Reader)
end

function M.decode(text)
  local ok, decoded = pcall(cjson.decode, text)
  return ok and type(decoded) == "table" and decoded or { raw = text, msg = text }
end

-- Whether the bytes before the offset are still those that were read last.
local function is_same_log(reader, file)
  file:seek("set", reader.offset - #reader.mark)
  return #reader.mark == 0 or file:read(#reader.mark) == reader.mark
end

local function take(reader, text, f)
  for line in text:gmatch("([^\n]*)\n") do
    if line ~= "" then
      f(M.decode(line), line)
    end
  end
  reader.offset = reader.offset + #text
  reader.mark = (reader.mark .. text:sub(-mark_size)):sub(-mark_size)
end

function Reader:each(f)
  local file = io.open(self.path)
  if not file then
    return false
  end
  local is_other = not is_same_log(self, file)
  if is_other then
    self.offset, self.mark = 0, ""
  end
  file:seek("set", self.offset)
  local rest = {} -- of a line that is longer than a chunk
  while true do
    local chunk = file:read(chunk_size)
    if not chunk then
      break
    end
    local whole, half = chunk:match("^(.*\n)([^\n]*)$")
    if whole then
      rest[#rest + 1] = whole
      take(self, table.concat(rest), f)
      rest = { half }
    else
      rest[#rest + 1] = chunk
    end
  end
  file:close()
  return is_other
end

return M
