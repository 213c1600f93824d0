-- perilune.schedule: cron expressions, time zones, and changes of the local time.
local spec = require("spec.support.host")
local perilune = require("perilune")
local zones = require("perilune.zone")

local schedule, parse, show = perilune.schedule, perilune.time.parse, perilune.time.format

-- The times after (before) one, as RFC 3339 to the minute.
local function times(s, method, from, count)
  local out, at = {}, parse(from)
  for i = 1, count do
    at = s[method](s, at)
    out[i] = at and show(at):gsub(":00Z$", "") or "never"
  end
  return table.concat(out, " ")
end

describe("perilune.schedule", function()
  local cases = {
    { "*/15 * * * *", nil, "2026-11-24T12:07:00Z", "2026-11-24T12:15 2026-11-24T12:30" },
    { "*/15 * * * *", nil, "2026-11-24T12:15:00Z", "2026-11-24T12:30" },
    { "0 9-17/4 * * MON-FRI", nil, "2026-11-27T14:00:00Z", "2026-11-27T17:00 2026-11-30T09:00" },
    { "5,10 1 1 jan,DEC *", nil, "2026-12-01T01:06:00Z", "2026-12-01T01:10 2027-01-01T01:05" },
    { "0 0 29 2 *", nil, "2026-01-01T00:00:00Z", "2028-02-29T00:00 2032-02-29T00:00" },
    { "0 0 29 2 *", nil, "2097-01-01T00:00:00Z", "2104-02-29T00:00" },
    { "0 0 30 2 *", nil, "2026-01-01T00:00:00Z", "never" },
    -- both days: one is enough, but for a star
    { "0 0 13 * 5", nil, "2026-11-24T00:00:00Z",
      "2026-11-27T00:00 2026-12-04T00:00 2026-12-11T00:00 2026-12-13T00:00" },
    { "0 0 */2 * 1", nil, "2026-11-24T00:00:00Z", "2026-12-07T00:00" },
    { "0 0 * * 7", nil, "2026-11-24T00:00:00Z", "2026-11-29T00:00" },
    { "0 0 ? * sun", nil, "2026-11-24T00:00:00Z", "2026-11-29T00:00" },
    { "50/5 * * * *", nil, "2026-11-24T00:00:00Z", "2026-11-24T00:50 2026-11-24T00:55 2026-11-24T01:50" },
    { "@daily", nil, "2026-11-24T00:00:00Z", "2026-11-25T00:00" },
    { "@hourly", nil, "2026-11-24T00:00:00Z", "2026-11-24T01:00" },
    { "0 6 * * *", "America/New_York", "2026-11-24T00:00:00Z", "2026-11-24T11:00" },
    { "0 12 1 7 *", "Europe/Berlin", "2050-01-01T00:00:00Z", "2050-07-01T10:00" },
    { "0 12 1 1 *", "Europe/Berlin", "2050-01-02T00:00:00Z", "2051-01-01T11:00" },
    { "0 0 * * *", "Asia/Kathmandu", "2026-01-01T00:00:00Z", "2026-01-01T18:15" },
    -- 02:00 to 03:00 is skipped on March 29: schedules at fixed times run at the change
    { "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00 2026-03-30T00:30" },
    { "0 2-4 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00 2026-03-29T02:00" },
    { "*/30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T00:30 2026-03-29T01:00 2026-03-29T01:30" },
    { "30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T00:30 2026-03-29T01:30" },
    -- and occurs twice on October 25: schedules at fixed times run once
    { "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30 2026-10-26T01:30" },
    { "30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T00:30 2026-10-25T01:30 2026-10-25T02:30" },
    { "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-03T15:30 2026-10-04T15:15" },
    -- a whole day that is skipped is no change of daylight saving time
    { "0 12 30 12 *", "Pacific/Apia", "2011-01-01T00:00:00Z", "2012-12-29T22:00" },
  }
  for _, case in ipairs(cases) do
    it(case[1] .. " " .. (case[2] or "UTC") .. " after " .. case[3], function()
      local _, count = case[4]:gsub("%S+", "")
      assert.equal(case[4], times(schedule(case[1], case[2]), "next", case[3], count))
    end)
  end

  it("goes back the way it came", function()
    for _, case in ipairs({ { "30 2 * * *", "Europe/Berlin" }, { "*/20 * * * *", "Europe/Berlin" },
      { "0 0 13 * 5" }, { "15 2 * * *", "Australia/Lord_Howe" }, { "0 0 29 2 *" } }) do
      local s = schedule(case[1], case[2])
      local at = parse("2026-03-28T20:00:00Z")
      for i = 1, 400 do
        local next_time = s:next(at)
        if i > 1 then
          assert.equal(at, s:previous(next_time))
        end
        at = next_time
      end
    end
    assert.equal("2026-03-29T01:00 2026-03-28T01:30",
      times(schedule("30 2 * * *", "Europe/Berlin"), "previous", "2026-03-29T12:00:00Z", 2))
    assert.is_nil(schedule("0 0 30 2 *"):previous(0))
  end)

  it("follows the local time minute by minute", function()
    local s, zone = schedule("7-9,40 */3 * * *", "America/St_Johns"), zones.load("America/St_Johns")
    for _, start in ipairs({ "2026-03-07T00:00:00Z", "2026-10-31T00:00:00Z", "2045-03-11T00:00:00Z" }) do
      local at = parse(start)
      local expected = s:next(at - 1)
      for t = at, at + 3 * 86400, 60 do
        local wall = t + zones.offset(zone, t)
        local minute, hour = math.floor(wall / 60) % 60, math.floor(wall / 3600) % 24
        local due = hour % 3 == 0 and ((minute >= 7 and minute <= 9) or minute == 40)
        assert.equal(due, expected == t, show(t))
        expected = due and s:next(t) or expected
      end
    end
  end)

  local function zoned(zone)
    return function()
      schedule("* * * * *", zone)
    end
  end

  local mistakes = {
    { "no text", function() schedule() end, "the schedule must be a string" },
    { "four fields", function() schedule("* * * *") end, "has 4 fields, not 5" },
    { "six fields", function() schedule("0 * * * * *") end, "has 6 fields, not 5" },
    { "a large minute", function() schedule("60 * * * *") end, '"60" is not a valid minute (0 to 59)' },
    { "a zeroth day", function() schedule("0 0 0 * *") end, '"0" is not a valid day of the month (1 to 31)' },
    { "no month", function() schedule("0 0 1 foo *") end, "the first three letters" },
    { "a range that falls", function() schedule("5-1 * * * *") end, "ends before it begins" },
    { "a step of nothing", function() schedule("*/0 * * * *") end, "a step is a number above 0" },
    { "a step that is none", function() schedule("*/x * * * *") end, "a step is a number above 0" },
    { "an empty part", function() schedule("1,,2 * * * *") end, "has an empty part" },
    { "a minus", function() schedule("-1 * * * *") end, "is not a valid minute" },
    { "@every", function() schedule("@every 5m") end, "perilune.every" },
    { "@reboot", function() schedule("@reboot") end, "1 fields, not 5" },
    { "a zone in the text", function() schedule("CRON_TZ=UTC * * * * *") end, "the time zone is an option" },
    { "a zone that there is not", zoned("Europe/Berlim"), 'the zone "Europe/Berlim": ' },
    { "a zone outside of the database", zoned("../../../etc/passwd"), "this is not the name of a time zone" },
    { "a zone from the root", zoned("/etc/passwd"), "this is not the name of a time zone" },
    { "a zone that is a folder", zoned("Europe"), 'the zone "Europe"' },
    { "a zone that is another file", zoned("zone1970"), 'the zone "zone1970"' },
    { "a zone that is no text", zoned(5), "the zone must be a string" },
    { "no time", function() schedule("* * * * *"):next() end, "the time must be a number" },
    { "a time in milliseconds", function() schedule("* * * * *"):next(1.7e12) end, "seconds since 1970" },
    { "a dot", function() schedule("* * * * *").next(5) end, "with a colon: schedule:next" },
    { "two hundred kilobytes", function() schedule(("1,"):rep(1e5) .. "1 * * * *") end,
      "the schedule has 200009 bytes; it may have 1024" },
    { "two megabytes", function() schedule(("*"):rep(2e6)) end, "the schedule has 2000000 bytes" },
    { "more arguments", function() schedule("* * * * *", nil, 1) end, "more arguments" },
  }
  for _, case in ipairs(mistakes) do
    it("refuses " .. case[1] .. " at the script's line", function()
      local message = spec.message_of(case[2])
      assert(message:find(case[3], 1, true), message)
      spec.assert_positioned("schedule_spec", case[2])
    end)
  end
end)

describe("a time zone's file", function()
  local function header(version, transitions)
    return "TZif" .. version .. ("\0"):rep(15) .. ("\0"):rep(12) .. "\0\0\0" .. string.char(transitions)
      .. "\0\0\0\1" .. "\0\0\0\4"
  end
  -- One type and no transitions: the rule says it all.
  local function slim(rule, version, type_bytes)
    local body = (type_bytes or "\0\0\14\16\0\0") .. "CET\0"
    return header(version or "2", 0) .. body .. header(version or "2", 0) .. body .. "\n" .. rule .. "\n"
  end

  it("may have a rule alone", function()
    for _, case in ipairs({
      { "CET-1CEST,M3.5.0,M10.5.0/3", "2026-07-01T00:00:00Z", 7200 },
      { "CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T00:59:59Z", 3600 },
      { "CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z", 7200 },
      { "CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00:00Z", 3600 },
      { "AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-01T00:00:00Z", 39600 },
      { "AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-07-01T00:00:00Z", 36000 },
      { "<+0545>-5:45", "2026-07-01T00:00:00Z", 20700 },
      { "XXX5YYY4,J60/0,300/-1:30", "2028-03-01T05:00:00Z", -14400 },
      { "XXX5YYY4,J60/0,300/-1:30", "2028-03-01T04:59:59Z", -18000 },
      { "", "2026-07-01T00:00:00Z", 3600 },
    }) do
      local zone = assert(zones.load("x", slim(case[1])))
      assert.equal(case[3], zones.offset(zone, parse(case[2])), case[1])
    end
  end)

  it("is refused when it is damaged", function()
    local whole = slim("CET-1CEST,M3.5.0,M10.5.0/3")
    for length = 0, 106 do
      local zone, message = zones.load("x", whole:sub(1, length))
      assert.is_nil(zone, length)
      assert.truthy(message:find("the time zone's file is damaged", 1, true))
    end
    for _, rule in ipairs({ "CET", "-1", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
      "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J400,M10.5.0", "CET-1CEST,x,y",
      "CET-1CEST,M3.5.0/,M10.5.0/x", "CET-9999" }) do
      assert.is_nil((zones.load("x", slim(rule))), rule)
    end
    assert.is_nil((zones.load("x", slim("", "\0"))))
    assert.is_nil((zones.load("x", "GIF89a")))
    assert.is_nil((zones.load("x", header("2", 200) .. ("\0"):rep(50))))
  end)

  it("never breaks anything, whatever is in it", function()
    math.randomseed(7)
    local real = spec.host.zone_file("Europe/Berlin")
    for _ = 1, 300 do
      local at = math.random(#real)
      local zone = zones.load("x", real:sub(1, at - 1) .. string.char(math.random(0, 255)) .. real:sub(at + 1))
      if zone then
        zones.offset(zone, 1.8e9)
        zones.offset(zone, 9e9)
      end
    end
  end)
end)
