-- perilune.schedule(text, zone): the next and the previous time of a cron expression.

local check = require("perilune.check")
local zones = require("perilune.zone")

local fail, format, floor = check.fail, string.format, math.floor
local M = {}

local TEXT_MAX = 1024 -- bytes; a list of all minutes of an hour has 170
local DAYS_MAX = 366 * 9 -- the longest time between two February 29ths
-- Seconds. At a larger change of the local time, schedules at fixed times follow the new local
-- time, too.
local SMALL_CHANGE = 3 * 3600

local months = { jan = 1, feb = 2, mar = 3, apr = 4, may = 5, jun = 6, jul = 7, aug = 8, sep = 9,
  oct = 10, nov = 11, dec = 12 }
local weekdays = { sun = 0, mon = 1, tue = 2, wed = 3, thu = 4, fri = 5, sat = 6 }

local fields = {
  { name = "minute", least = 0, most = 59 },
  { name = "hour", least = 0, most = 23 },
  { name = "day of the month", least = 1, most = 31 },
  { name = "month", least = 1, most = 12, words = months },
  { name = "day of the week", least = 0, most = 7, words = weekdays },
}

local macros = {
  ["@yearly"] = "0 0 1 1 *", ["@annually"] = "0 0 1 1 *", ["@monthly"] = "0 0 1 * *",
  ["@weekly"] = "0 0 * * 0", ["@daily"] = "0 0 * * *", ["@midnight"] = "0 0 * * *",
  ["@hourly"] = "0 * * * *",
}

-- ---- reading ----

local function number_of(field, text)
  local value = text:match("^%d%d?$") and tonumber(text)
    or field.words and field.words[text:lower()]
  if not value or value < field.least or value > field.most then
    return nil, format("%q is not a valid %s (%d to %d%s)", text, field.name, field.least,
      field.most, field.words and ", or the first three letters of its name" or "")
  end
  return value
end

-- Adds one part of a list to the set: "*", "5", "1-5", each with an optional "/2".
local function add_part(field, part, set)
  local range, step = part:match("^([^/]+)/(%d%d?)$")
  step = step and tonumber(step)
  if part:find("/", 1, true) and (not step or step == 0) then
    return format("%q: a step is a number above 0", part)
  end
  range = range or part
  local low, high, message
  if range == "*" or range == "?" then
    low, high = field.least, field.words == weekdays and 6 or field.most
  else
    local from, to = range:match("^(%w+)-(%w+)$")
    low, message = number_of(field, from or range)
    if low and to then
      high, message = number_of(field, to)
    end
    if message then
      return message
    end
    high = high or step and field.most or low
    if high < low then
      return format("%q ends before it begins", part)
    end
  end
  for value = low, high, step or 1 do
    set[field.words == weekdays and value % 7 or value] = true
  end
end

local function read_field(field, text)
  local set = { star = text:find("^[*?]") ~= nil }
  if text:find("^,") or text:find(",$") or text:find(",,", 1, true) then
    return nil, format("%q has an empty part", text)
  end
  for part in text:gmatch("[^,]+") do
    local message = add_part(field, part, set)
    if message then
      return nil, message
    end
  end
  set.list = {}
  for value = field.least, field.most do
    if set[value] then
      set.list[#set.list + 1] = value
    end
  end
  return set
end

local function read(what, text)
  if type(text) ~= "string" then
    fail("%s: the schedule must be a string such as \"*/5 * * * *\", not %s", what,
      check.describe(text))
  elseif #text > TEXT_MAX then
    fail("%s: the schedule has %d bytes; it may have %d", what, #text, TEXT_MAX)
  elseif text:find("^@every") then
    fail("%s: for @every use perilune.every", what)
  elseif text:find("^C?R?O?N?_?TZ=") then
    fail("%s: the time zone is an option, as in {zone = \"Europe/Berlin\"}", what)
  end
  local words = {}
  for word in (macros[text] or text):gmatch("%S+") do
    words[#words + 1] = word
  end
  if #words ~= #fields then
    fail("%s: %q has %d fields, not 5 (minute, hour, day of the month, month, day of the week)",
      what, text, #words)
  end
  local out = {}
  for i, field in ipairs(fields) do
    local set, message = read_field(field, words[i])
    if not set then
      fail("%s: %s", what, message)
    end
    out[i] = set
  end
  return { minutes = out[1], hours = out[2], days = out[3], months = out[4], weekdays = out[5],
    fixed = not out[1].star and not out[2].star }
end

-- ---- days ----

-- Year, month and day of a number of days since 1970.
local function date_of(days)
  local shifted = days + 719468
  local era = floor(shifted / 146097)
  local of_era = shifted - era * 146097
  local leaps = floor(of_era / 1460) - floor(of_era / 36524) + floor(of_era / 146096)
  local y = floor((of_era - leaps) / 365)
  local of_year = of_era - (365 * y + floor(y / 4) - floor(y / 100))
  local month = floor((5 * of_year + 2) / 153)
  return month + (month < 10 and 3 or -9), of_year - floor((153 * month + 2) / 5) + 1
end

-- If both day of month and day of week are given, one of them is enough.
local function is_on(spec, days)
  local month, day = date_of(days)
  if not spec.months[month] then
    return false
  end
  local by_month, by_week = spec.days[day], spec.weekdays[(days + 4) % 7]
  if spec.days.star or spec.weekdays.star then
    return by_month and by_week
  end
  return by_month or by_week
end

-- ---- changes of the local time ----

-- The instants of a local second on a day when the local time changes, as in Vixie's cron. A
-- schedule at fixed times runs once if its time occurs twice, and at the change if its time is
-- skipped. Other schedules follow the local time.
local function instants(spec, zone, at, add)
  local from, to = at - 86400 - 50400, at + 86400 + 50400 -- one day, and the largest offset
  local before, after = zones.offset(zone, from), zones.offset(zone, to)
  local change = zones.change(zone, from, to)
  while change do -- the nearest change
    local old, new = zones.offset(zone, change - 1), zones.offset(zone, change)
    if at < change + math.max(old, new) then
      before, after = old, new
      break
    end
    before = new
    change = zones.change(zone, change, to)
  end
  if not change then
    add(at - after)
    return
  end
  local first, second = at - before, at - after
  local first_is, second_is = first < change, second >= change
  local small = spec.fixed and math.abs(after - before) < SMALL_CHANGE
  if first_is and second_is and before ~= after then
    add(first)
    if not small then
      add(second)
    end
  elseif first_is or second_is then
    add(first_is and first or second)
  elseif small then
    add(change)
  end
end

-- Calls visit for each local second of the day that the schedule has, upwards or downwards.
local function each_time(spec, days, down, visit)
  local hours, minutes = spec.hours.list, spec.minutes.list
  for i = 1, #hours do
    local hour = hours[down and #hours + 1 - i or i]
    for j = 1, #minutes do
      local minute = minutes[down and #minutes + 1 - j or j]
      if visit(days * 86400 + hour * 3600 + minute * 60) then
        return
      end
    end
  end
end

-- The nearest instant of the day before or after the time; nil: none.
local function of_day(spec, zone, days, time, down)
  local best
  local function add(at)
    local fits = down and at < time or not down and at > time
    if fits and (not best or (down and at > best) or (not down and at < best)) then
      best = at
    end
  end
  local begins = days * 86400
  if zones.change(zone, begins - 2 * 86400, begins + 3 * 86400) then
    each_time(spec, days, down, function(at)
      instants(spec, zone, at, add)
    end)
  else
    local offset = zones.offset(zone, begins)
    each_time(spec, days, down, function(at)
      add(at - offset)
      return best ~= nil
    end)
  end
  return best
end

local function search(spec, zone, time, down)
  local step = down and -1 or 1
  local from = floor((time + zones.offset(zone, time)) / 86400) - step
  for i = 0, DAYS_MAX + 2 do
    local days = from + i * step
    if is_on(spec, days) then
      local at = of_day(spec, zone, days, time, down)
      if at then
        return at
      end
    end
  end
  return nil
end

-- ---- the object ----

local function time_of(what, value)
  local time = check.number()(what .. ": the time", value)
  if math.abs(time) > 2 ^ 37 then
    fail("%s: the time must be in seconds since 1970", what)
  end
  return time
end

-- what: the call that messages name.
function M.make(what, text, zone_name)
  if zone_name ~= nil then
    check.string(what .. ": the zone", zone_name)
  end
  local spec = read(what, text)
  local zone, message = zones.load(zone_name or "UTC")
  if not zone then
    fail("%s: the zone %s: %s", what, check.quote(zone_name), message)
  end
  local schedule
  local function method(name, down)
    return function(self, time, ...)
      if self ~= schedule then
        fail("call it with a colon: schedule:%s(time)", name)
      end
      check.no_more("schedule:" .. name, ...)
      return search(spec, zone, time_of("schedule:" .. name, time), down)
    end
  end
  schedule = check.frozen(format("the schedule %q", text), {
    next = method("next", false),
    previous = method("previous", true),
  })
  return schedule
end

function M.schedule(text, zone, ...)
  check.no_more("schedule", ...)
  return M.make("schedule", text, zone)
end

return M
