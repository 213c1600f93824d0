-- A log that grows. Each line is read and decoded only once.
--
--   local reader = log_lines.open(path)
--   reader:each(function(line, text) ... end)  -- the whole lines since the last call
--
-- A line is the decoded object; a line that is no JSON is {raw=, msg=}. An incomplete line at the
-- end is read when it is complete. If the file was truncated or replaced, each() starts again at
-- its beginning and returns true.

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

-- Whether the bytes before the offset are still those that were read.
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
