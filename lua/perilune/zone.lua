-- Time zones of the system's database: (name) -> offsets from UTC. The files are TZif (RFC 8536)
-- and are parsed with limits: a damaged file is an error.

local host = require("perilune.host")

local M = {}

local byte, sub, floor = string.byte, string.sub, math.floor

local function bad(what)
  error({ damaged = what }, 0)
end

local function u32(text, at)
  local a, b, c, d = byte(text, at, at + 3)
  if not d then
    bad("it is cut off")
  end
  return ((a * 256 + b) * 256 + c) * 256 + d
end

local function i32(text, at)
  local value = u32(text, at)
  return value >= 2 ^ 31 and value - 2 ^ 32 or value
end

local function i64(text, at)
  return i32(text, at) * 2 ^ 32 + u32(text, at + 4)
end

local function header(text, at)
  if sub(text, at, at + 3) ~= "TZif" then
    bad("it is not a TZif file")
  end
  return { version = sub(text, at + 4, at + 4),
    isut = u32(text, at + 20), isstd = u32(text, at + 24), leap = u32(text, at + 28),
    times = u32(text, at + 32), types = u32(text, at + 36), chars = u32(text, at + 40) }
end

local function size_of(h, width)
  return h.times * (width + 1) + h.types * 6 + h.chars + h.leap * (width + 4) + h.isstd + h.isut
end

-- ---- the rule for times after the last transition: "CET-1CEST,M3.5.0,M10.5.0/3" ----

-- Days since 1970 of a date.
local function days_of(year, month, day)
  local y = month <= 2 and year - 1 or year
  local era = floor(y / 400)
  local of_era = y - era * 400
  local of_year = floor((153 * (month + (month > 2 and -3 or 9)) + 2) / 5) + day - 1
  return era * 146097 + of_era * 365 + floor(of_era / 4) - floor(of_era / 100) + of_year - 719468
end
M.days_of = days_of

local function year_of(seconds)
  local shifted = floor(seconds / 86400) + 719468
  local era = floor(shifted / 146097)
  local of_era = shifted - era * 146097
  local leaps = floor(of_era / 1460) - floor(of_era / 36524) + floor(of_era / 146096)
  local y = floor((of_era - leaps) / 365)
  local of_year = of_era - (365 * y + floor(y / 4) - floor(y / 100))
  return y + era * 400 + (of_year >= 306 and 1 or 0)
end

local function is_leap(year)
  return year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
end

local function hms(text)
  local sign, h, m, s = text:match("^([+-]?)(%d+):?(%d*):?(%d*)$")
  if not h or #h > 3 then
    bad("its rule has no time: " .. text)
  end
  local seconds = tonumber(h) * 3600 + (tonumber(m) or 0) * 60 + (tonumber(s) or 0)
  return sign == "-" and -seconds or seconds
end

-- (year) -> the local second of the change.
local function change_of(text)
  local date, time = text:match("^([^/]+)/?(.*)$")
  local seconds = time and time ~= "" and hms(time) or 7200
  local month, week, day = (date or ""):match("^M(%d+)%.(%d)%.(%d)$")
  if month then
    month, week, day = tonumber(month), tonumber(week), tonumber(day)
    if month < 1 or month > 12 or week < 1 or week > 5 or day > 6 then
      bad("its rule has no such day: " .. date)
    end
    return function(year)
      local first = days_of(year, month, 1)
      local at = first + (day - (first + 4)) % 7 + (week - 1) * 7
      local after = month == 12 and days_of(year + 1, 1, 1) or days_of(year, month + 1, 1)
      return (at >= after and at - 7 or at) * 86400 + seconds
    end
  end
  local julian, n = (date or ""):match("^(J?)(%d+)$")
  n = tonumber(n)
  if not n or n > 365 then
    bad("its rule has no such day: " .. tostring(date))
  end
  return function(year)
    local skip = julian == "J" and (n >= 60 and is_leap(year) and 0 or -1) or 0
    return (days_of(year, 1, 1) + n + skip) * 86400 + seconds
  end
end

local name_pattern = { "^<[%w+-]+>", "^%a+" }

local function take_name(text)
  local name = text:match(name_pattern[1]) or text:match(name_pattern[2])
  if not name then
    bad("its rule has no name: " .. text)
  end
  return sub(text, #name + 1)
end

-- nil without a rule; {offset} or {offset, summer, from, to}.
local function read_rule(text)
  if text == "" then
    return nil
  end
  local rest = take_name(text)
  local time = rest:match("^[+-]?[%d:]+")
  local rule = { offset = -hms(time or "") }
  rest = sub(rest, #time + 1)
  if rest == "" then
    return rule
  end
  rest = take_name(rest)
  local summer = rest:match("^[+-]?[%d:]+")
  rule.summer = summer and -hms(summer) or rule.offset + 3600
  local from, to = sub(rest, #(summer or "") + 1):match("^,([^,]+),([^,]+)$")
  if not from then
    bad("its rule has no dates: " .. text)
  end
  rule.from, rule.to = change_of(from), change_of(to)
  return rule
end

-- ---- the file ----

local function parse(text)
  local h = header(text, 1)
  if h.version == "\0" then
    bad("it has no times of 64 bits")
  end
  local start = 45 + size_of(h, 4)
  h = header(text, start)
  local at = start + 44
  if h.types < 1 or h.types > 256 or size_of(h, 8) > #text - at then
    bad("it is cut off")
  end
  local zone = { times = {}, offsets = {} }
  local types = at + h.times * 9
  for i = 1, h.times do
    local kind = byte(text, at + h.times * 8 + i - 1)
    if kind >= h.types then
      bad("it names a type that it does not have")
    end
    zone.times[i] = i64(text, at + (i - 1) * 8)
    zone.offsets[i] = i32(text, types + kind * 6)
    if i > 1 and zone.times[i] <= zone.times[i - 1] then
      bad("its times do not rise")
    end
  end
  zone.first = i32(text, types)
  zone.rule = read_rule(text:match("^\n([^\n]*)\n", at + size_of(h, 8)) or "")
  return zone
end

-- Adds the rule's changes around a time to those of the file, year by year.
local function extend(zone, seconds)
  local rule, times = zone.rule, zone.times
  local last = times[#times] or -math.huge
  if not rule or seconds <= last or (not rule.summer and zone.extended) then
    return
  elseif not rule.summer then
    zone.extended = true
    return
  end
  local wanted = math.min(year_of(seconds) + 1, 9999)
  local year = zone.extended or (times[1] and math.max(year_of(last), 1900) or 1900)
  while year <= wanted do
    local changes = { { rule.from(year) - rule.offset, rule.summer },
      { rule.to(year) - rule.summer, rule.offset } }
    if changes[1][1] > changes[2][1] then
      changes[1], changes[2] = changes[2], changes[1]
    end
    for _, change in ipairs(changes) do
      if change[1] > (times[#times] or -math.huge) then
        times[#times + 1], zone.offsets[#times + 1] = change[1], change[2]
      end
    end
    year = year + 1
  end
  zone.extended = year
end

-- The index of the last transition at or before the time; 0: none.
local function index_of(zone, seconds)
  extend(zone, seconds)
  local low, high = 0, #zone.times
  while low < high do
    local middle = floor((low + high + 1) / 2)
    if zone.times[middle] <= seconds then
      low = middle
    else
      high = middle - 1
    end
  end
  return low
end

-- Seconds east of UTC.
function M.offset(zone, seconds)
  local i = index_of(zone, seconds)
  if i == 0 then
    return #zone.times == 0 and zone.rule and zone.rule.offset or zone.first
  end
  return zone.offsets[i]
end

-- The first transition after `from`, up to `to`; nil: none.
function M.change(zone, from, to)
  extend(zone, to)
  local at = zone.times[index_of(zone, from) + 1]
  return at and at <= to and at or nil
end

local kept = { UTC = { times = {}, offsets = {}, first = 0 } }

-- A zone, or nil and a message. bytes: used by specs instead of a file.
function M.load(name, bytes)
  if kept[name] and not bytes then
    return kept[name]
  end
  local text, message = bytes, nil
  if not bytes then
    text, message = host.zone_file(name)
  end
  if not text then
    return nil, message
  end
  local ok, zone = pcall(parse, text)
  if not ok then
    if type(zone) == "table" and zone.damaged then
      return nil, "the time zone's file is damaged: " .. zone.damaged
    end
    error(zone, 0)
  end
  if not bytes then
    kept[name] = zone
  end
  return zone
end

return M
