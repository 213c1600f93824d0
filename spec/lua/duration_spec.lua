-- Every function of the script API that takes a duration: an invalid one is an error at the
-- script's own line, before anything waits.
local spec = require("spec.support.host")
local check = require("perilune.check")

local host = spec.host
local perilune
local reached -- the argument that the core got; nil: none

local function begin()
  spec.reset()
  spec.forget()
  perilune = require("perilune")
  reached = nil
end

local function controller(options)
  host.set_phase("load")
  host.controller = function(description)
    reached = description
  end
  perilune.controller("c", options):For("v1/ConfigMap"):Reconcile(function() end)
end

local function limiter(name, others)
  return function(value)
    local options = {}
    for other, one in pairs(others or {}) do
      options[other] = one
    end
    options[name] = value
    controller({ rate_limiter = options })
    return reached.rate_limiter[name]
  end
end

local function option(name)
  return function(value)
    controller({ [name] = value })
    return reached[name]
  end
end

local by_attempts = { fast = "1s", slow = "1m", fast_attempts = 3 }

-- Each returns the seconds that the core was given. least: "any" may be below zero, "zero" not.
local entries = {
  { "perilune.sleep", "zero", function(value)
    host.sleep = function(seconds)
      reached = seconds
    end
    perilune.sleep(value)
    return reached
  end },
  { "perilune.enqueue: after", "zero", function(value)
    host.enqueue = function(_, _, _, seconds)
      reached = seconds
    end
    perilune.enqueue("c", "default/a", { after = value })
    return reached
  end },
  { "perilune.every: the period", "positive", function(value)
    host.set_phase("load")
    host.controller = function(description)
      reached = description.task.period
    end
    perilune.every(value, { name = "t" }, function() end)
    return reached
  end },
  { "client:wait: timeout", "positive", function(value)
    host.get = function()
      return nil
    end
    host.key_changed = function(_, _, _, seconds)
      reached = seconds
      return true
    end
    perilune.client:wait("v1/Pod", "default/a", function()
      return reached ~= nil
    end, value)
    return reached
  end },
  { "http.request: timeout", "positive", function(value)
    host.http = function(options)
      reached = options.timeout
      return { status = 200, headers = {}, body = "" }
    end
    perilune.http.request({ url = "http://a", timeout = value })
    return reached
  end },
  { "reconcile_timeout", "positive", option("reconcile_timeout") },
  { "resync_period", "positive", option("resync_period") },
  { "cache_sync_timeout", "positive", option("cache_sync_timeout") },
  { "rate_limiter: base", "positive", limiter("base") },
  { "rate_limiter: max", "positive", limiter("max") },
  { "rate_limiter: max_wait", "positive", limiter("max_wait") },
  { "rate_limiter: fast", "positive", limiter("fast", by_attempts) },
  { "rate_limiter: slow", "positive", limiter("slow", by_attempts) },
  { "requeue_after", "any", function(value)
    local result = require("perilune.result")
    local word, seconds = result.of(function() end, { requeue_after = value })
    reached = word == "requeue_after" and seconds or 0
    return reached
  end },
}

local no_durations = {
  ["not a number"] = 0 / 0, ["infinity"] = math.huge, ["minus infinity"] = -math.huge,
  ["a word"] = "soon", ["no text"] = "", ["a number as text"] = "5", ["a unit alone"] = "s",
  ["a boolean"] = true, ["a table"] = { 5 }, ["a function"] = print, ["null"] = host.null,
}

for _, entry in ipairs(entries) do
  local name, least, call = entry[1], entry[2], entry[3]
  local function refuses(part, value)
    local message = spec.message_of(call, value)
    assert.truthy(message:find(part, 1, true), message)
    spec.assert_positioned("duration_spec.lua$", call, value)
    assert.is_nil(reached)
  end

  describe(name, function()
    before_each(begin)

    for what, value in pairs(no_durations) do
      it("refuses " .. what, function()
        refuses('must be seconds or text such as "1m30s", not ' .. check.describe(value), value)
      end)
    end

    it("refuses what is too long", function()
      for _, value in ipairs({ 1e9 + 1, 1e300, "300000h" }) do
        refuses("must be at most 1000000000 seconds, not " .. check.describe(value), value)
      end
    end)

    it("refuses what is too short", function()
      for _, value in ipairs(least == "any" and {} or { -1, -1e300, "-1s", -1e-9 }) do
        refuses(least == "zero" and "must be zero or longer" or "must be longer than zero", value)
      end
      for _, value in ipairs(least == "positive" and { 0, "0s", 1e-10 } or {}) do
        refuses("must be longer than zero", value)
      end
    end)

    it("takes seconds and text", function()
      for given, seconds in pairs({ [1.5] = 1.5, ["250ms"] = 0.25, ["1h30m"] = 5400, [1e9] = 1e9 }) do
        begin()
        -- what is left of a time-out is a little less
        assert.near(seconds, call(given), name:find("wait: ") and 60 or 1e-6)
      end
      if least ~= "positive" then
        assert.equal(0, call(0))
      end
    end)
  end)
end

describe("perilune.duration", function()
  before_each(begin)

  it("converts whatever is a duration, and refuses the rest", function()
    assert.equal(-90, perilune.duration("-1m30s"))
    assert.equal(1.08e9, perilune.duration("300000h"))
    for _, value in pairs(no_durations) do
      local message = spec.message_of(perilune.duration, value)
      assert.truthy(message:find("duration must be seconds or text", 1, true), message)
    end
  end)
end)
