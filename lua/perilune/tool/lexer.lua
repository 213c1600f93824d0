-- Splits Lua source (LuaJIT's dialect) into tokens. A token is type, value and line: "name",
-- "string", "number", "end of file", or the keyword or symbol itself. Invalid text raises {line=,
-- message=}; this is rare, since LuaJIT has compiled the script before.

local byte, find, sub, format, char = string.byte, string.find, string.sub, string.format, string.char
local concat = table.concat
local M = {}

local KEYWORDS = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat return "
  .. "then true until while"):gmatch("%a+") do
  KEYWORDS[word] = true
end

local SYMBOLS = { "...", "..", "==", "~=", "<=", ">=", "::" }

local function fail(self, message)
  error({ line = self.line, message = message }, 0)
end

local function count_lines(self, text)
  for _ in text:gmatch("\n") do
    self.line = self.line + 1
  end
end

-- The content of [[...]] at the position; nil if none begins there.
local function long_text(self)
  local first, last, level = find(self.text, "^%[(=*)%[", self.at)
  if not first then
    return nil
  end
  local close = "]" .. level .. "]"
  local from, to = find(self.text, close, last + 1, true)
  if not from then
    fail(self, "an unfinished long string or comment")
  end
  local content = sub(self.text, last + 1, from - 1)
  count_lines(self, content)
  self.at = to + 1
  return (content:gsub("^\r?\n", ""))
end

local function skip_blank(self)
  while true do
    local _, last = find(self.text, "^[ \t\r\f\v]*", self.at)
    self.at = last + 1
    local one = byte(self.text, self.at)
    if one == 10 then
      self.line = self.line + 1
      self.at = self.at + 1
    elseif sub(self.text, self.at, self.at + 1) == "--" then
      self.at = self.at + 2
      if not long_text(self) then
        local stop = find(self.text, "\n", self.at, true)
        self.at = stop or #self.text + 1
      end
    else
      return
    end
  end
end

local ESCAPES = { a = "\a", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", v = "\v" }

local function utf8(code)
  if code < 0x80 then
    return char(code)
  elseif code < 0x800 then
    return char(0xC0 + math.floor(code / 64), 0x80 + code % 64)
  elseif code < 0x10000 then
    return char(0xE0 + math.floor(code / 4096), 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
  end
  return char(0xF0 + math.floor(code / 262144) % 8, 0x80 + math.floor(code / 4096) % 64,
    0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
end

-- Reads an escape, from the character after the backslash. Returns its value.
local function escape(self)
  local text, at = self.text, self.at
  local one = sub(text, at, at)
  local hex = text:match("^x(%x%x)", at)
  local digits = text:match("^%d%d?%d?", at)
  local code = text:match("^u{(%x+)}", at)
  if ESCAPES[one] then
    self.at = at + 1
    return ESCAPES[one]
  elseif hex then
    self.at = at + 3
    return char(tonumber(hex, 16))
  elseif digits then
    self.at = at + #digits
    return char(tonumber(digits) % 256)
  elseif code and tonumber(code, 16) <= 0x10FFFF then
    self.at = at + #code + 3
    return utf8(tonumber(code, 16))
  elseif one == "z" then
    local _, last = find(text, "^%s*", at + 1)
    count_lines(self, sub(text, at + 1, last))
    self.at = last + 1
    return ""
  elseif one == "\n" then
    self.line = self.line + 1
  end
  self.at = at + 1
  return one
end

local function quoted(self)
  local quote = sub(self.text, self.at, self.at)
  local out = {}
  self.at = self.at + 1
  while true do
    local last = find(self.text, "[\\\n" .. quote .. "]", self.at)
    local one = last and sub(self.text, last, last)
    if not one or one == "\n" then
      fail(self, "an unfinished string")
    end
    out[#out + 1] = sub(self.text, self.at, last - 1)
    self.at = last + 1
    if one == quote then
      return concat(out)
    end
    out[#out + 1] = escape(self)
  end
end

local function number(self)
  local text = self.text:match("^0[xX][%x.]*[pP]?[+-]?%x*", self.at)
  if not text or not tonumber(text) then
    text = self.text:match("^0[xX][%x.]+", self.at)
      or self.text:match("^[%d.]+[eE][+-]?%d+", self.at) or self.text:match("^[%d.]+", self.at)
  end
  self.at = self.at + #text
  local suffix = self.text:match("^[uUlLiI]+", self.at)
  self.at = self.at + (suffix and #suffix or 0)
  return tonumber(text) or fail(self, "a malformed number")
end

local function symbol(self)
  for _, one in ipairs(SYMBOLS) do
    if sub(self.text, self.at, self.at + #one - 1) == one then
      return one
    end
  end
  return sub(self.text, self.at, self.at)
end

-- Returns type, value and line of the next token.
function M.next(self)
  skip_blank(self)
  local line = self.line
  local one = sub(self.text, self.at, self.at)
  if one == "" then
    return "end of file", nil, line
  elseif find(one, "[%a_\128-\255]") then
    local word = self.text:match("^[%w_\128-\255]+", self.at)
    self.at = self.at + #word
    return KEYWORDS[word] and word or "name", word, line
  elseif one == '"' or one == "'" then
    self.text_line = line
    return "string", quoted(self), line
  elseif find(self.text, "^%.?%d", self.at) then
    return "number", number(self), line
  elseif one == "[" then
    self.text_line = line + (find(self.text, "^%[=*%[\r?\n", self.at) and 1 or 0)
    local content = long_text(self)
    if content then
      return "string", content, line
    end
  end
  local text = symbol(self)
  if not find(text, "^[%p]") then
    fail(self, format("an unexpected character %q", text))
  end
  self.at = self.at + #text
  return text, text, line
end

function M.new(text)
  local at = text:match("^#[^\n]*()") or 1
  return { text = text, at = at, line = 1 }
end

return M
