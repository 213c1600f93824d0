-- perilune.regex(text): regular expressions in RE2's syntax, as Kubernetes documents it.

local host = require("perilune.host")
local check = require("perilune.check")

local fail, format, sub = check.fail, string.format, string.sub
local concat = table.concat

-- The start position `init`, as in string.find; nil: after the end.
local function place(what, text, init)
  if init == nil then
    return 1
  end
  local at = check.integer(-2 ^ 31)(what .. ": where to begin", init)
  if at < 0 then
    at = #text + at + 1
  end
  return at < 1 and 1 or at <= #text + 1 and at or nil
end

local function text_of(what, text)
  if type(text) ~= "string" then
    fail("%s: the text must be a string, not %s", what, check.describe(text))
  end
  return text
end

-- Returns the results of a search, or raises its error.
local function checked(what, first, ...)
  if first == false then
    fail("%s: %s", what, (...))
  end
  return first, ...
end

local function search(what, compiled, text, init)
  text_of(what, text)
  local from = place(what, text, init)
  if from then
    return checked(what, host.regex_search(compiled, text, from))
  end
end

-- The position after the character at `at`.
local function after_char(text, at)
  repeat
    at = at + 1
    local byte = text:byte(at)
  until not byte or byte < 0x80 or byte >= 0xc0
  return at
end

-- ---- replacing ----

-- Parses "%1-%%" into pieces: texts, and numbers of groups.
local function template(what, text, groups)
  local pieces, at = {}, 1
  while true do
    local percent = text:find("%", at, true)
    pieces[#pieces + 1] = sub(text, at, (percent or 0) - 1)
    if not percent then
      return pieces
    end
    local c = sub(text, percent + 1, percent + 1)
    if c ~= "%" and not c:find("^%d") then
      fail("%s: in a replacement, %% is followed by a digit or another %%, not by %q", what, c)
    elseif c ~= "%" and tonumber(c) > groups and not (groups == 0 and c == "1") then
      fail("%s: %%%s in the replacement: the expression has %d groups", what, c, groups)
    end
    pieces[#pieces + 1] = c == "%" and c or tonumber(c)
    at = percent + 2
  end
end

local function fill(pieces, whole, captures)
  local out = {}
  for i, piece in ipairs(pieces) do
    if piece == 0 then
      out[i] = whole
    elseif type(piece) == "number" then
      out[i] = captures[piece] or ""
    else
      out[i] = piece
    end
  end
  return concat(out)
end

-- A function (whole, captures) that returns the replacement.
local function replacer(what, replacement, groups)
  local kind = type(replacement)
  if kind == "string" then
    local pieces = template(what, replacement, groups)
    return function(whole, captures)
      return fill(pieces, whole, captures)
    end
  elseif kind ~= "table" and kind ~= "function" then
    fail("%s: the replacement must be a string, a table or a function, not %s", what,
      check.describe(replacement))
  end
  return function(whole, captures)
    local value
    if kind == "table" then
      value = captures[1] ~= nil and replacement[captures[1]] or nil
    else
      value = replacement(unpack(captures, 1, math.max(groups, 1)))
    end
    if value == nil or value == false then
      return whole
    elseif type(value) ~= "string" and type(value) ~= "number" then
      fail("%s: what replaces %q must be a string, not %s", what, whole, check.describe(value))
    end
    return tostring(value)
  end
end

local function replace(what, compiled, groups, text, replacement, limit)
  text_of(what, text)
  local put = replacer(what, replacement, groups)
  local most = limit == nil and math.huge or check.integer(0)(what .. ": how often", limit)
  local out, count, from, copied, last = {}, 0, 1, 1, 0
  while count < most and from <= #text + 1 do
    local found = { checked(what, host.regex_search(compiled, text, from, from > 1)) }
    local first, stop = found[1], found[2]
    if not first then
      break
    end
    if stop >= first or first > last + 1 or count == 0 then
      local whole = sub(text, first, stop)
      local captures = groups == 0 and { whole } or { unpack(found, 3, groups + 2) }
      out[#out + 1] = sub(text, copied, first - 1)
      out[#out + 1] = put(whole, captures)
      copied, last, count = stop + 1, stop, count + 1
    end -- an empty match directly after a match does not count
    from = stop >= first and stop + 1 or after_char(text, first)
  end
  out[#out + 1] = sub(text, copied)
  return concat(out), count
end

-- ---- the object ----

local function captures_or_whole(text, groups, first, last, ...)
  if not first then
    return nil
  elseif groups == 0 then
    return sub(text, first, last)
  end
  return ...
end

local function make(text, compiled, groups)
  local shown = #text <= 80 and text or sub(text, 1, 77) .. "..."
  local name = format("the regular expression /%s/", shown)
  local regex
  local function check_self(self, method, ...)
    if self ~= regex then
      fail("call it with a colon: regex:%s(...)", method)
    end
    check.no_more("regex:" .. method, ...)
  end
  regex = check.frozen(name, {
    test = function(self, s, ...)
      check_self(self, "test", ...)
      return search("regex:test", compiled, s) ~= nil
    end,
    find = function(self, s, init, ...)
      check_self(self, "find", ...)
      return search("regex:find", compiled, s, init)
    end,
    match = function(self, s, init, ...)
      check_self(self, "match", ...)
      return captures_or_whole(s, groups, search("regex:match", compiled, s, init))
    end,
    gsub = function(self, s, replacement, limit, ...)
      check_self(self, "gsub", ...)
      return replace("regex:gsub", compiled, groups, s, replacement, limit)
    end,
  })
  return regex
end

-- Recently compiled expressions: between `room` and twice as many.
local room = 100
local young, old, count = {}, {}, 0

return function(text, ...)
  check.no_more("regex", ...)
  if type(text) ~= "string" then
    fail("regex needs a string, not %s", check.describe(text))
  end
  local regex = young[text] or old[text]
  if not regex then
    local compiled, groups = host.regex_compile(text)
    if not compiled then
      fail("regex: %s", groups)
    end
    regex = make(text, compiled, groups)
  end
  if not young[text] then
    if count >= room then
      young, old, count = {}, young, 0
    end
    young[text], count = regex, count + 1
  end
  return regex
end
