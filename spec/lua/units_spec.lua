-- Quantities, durations, times and selectors.
local spec = require("spec.support.host")
local perilune = require("perilune")

describe("perilune.quantity", function()
  local cases = { ["500m"] = 0.5, ["1"] = 1, ["2Gi"] = 2147483648, ["1.5Ki"] = 1536, ["100M"] = 1e8,
    ["1e3"] = 1000, ["-1k"] = -1000, ["0"] = 0 }
  for text, number in pairs(cases) do
    it("is " .. number .. " for " .. text, function()
      assert.equal(number, perilune.quantity(text))
    end)
  end

  it("takes numbers as they are, in every form", function()
    assert.equal(2, perilune.quantity(2))
    assert.equal(9007199254740992, perilune.quantity(perilune.json.decode("9007199254740993")))
  end)

  it("quotes what is none", function()
    assert.equal('quantity: the string "5 apples" is not a quantity such as "500m" or "2Gi"',
      spec.message_of(perilune.quantity, "5 apples"))
    assert.truthy(spec.message_of(perilune.quantity, nil):find("quantity: nil is not", 1, true))
    for _, number in ipairs({ 0 / 0, 1 / 0, -1 / 0 }) do
      assert.truthy(spec.message_of(perilune.quantity, number):find("is not a quantity", 1, true))
    end
    assert.truthy(spec.message_of(perilune.quantity, perilune.null):find("perilune.null", 1, true))
    spec.assert_positioned("units_spec", function()
      local value = perilune.quantity("x")
      return value
    end)
  end)
end)

describe("perilune.duration", function()
  it("is seconds", function()
    assert.equal(5400, perilune.duration("1h30m"))
    assert.equal(0.25, perilune.duration("250ms"))
    assert.equal(12, perilune.duration(12))
    assert.equal(86400, perilune.duration("1d"))
    assert.equal(-(9 * 86400 + 5400), perilune.duration("-1w2d1h30m"))
    assert.equal(43200, perilune.duration("0.5d"))
  end)

  it("quotes what is none", function()
    assert.truthy(spec.message_of(perilune.duration, "1x"):find('"1x"', 1, true))
  end)

  it("tells what is too long from what is none", function()
    for _, text in ipairs({ "9999999d", "-99999999w", "99999999999999999999s" }) do
      local message = spec.message_of(perilune.duration, text)
      assert.truthy(message:find("duration is out of range: a text says at most 292 years", 1, true), message)
      assert.truthy(message:find(text, 1, true), message)
    end
    assert.truthy(spec.message_of(perilune.duration, "9999999y"):find("must be seconds or text"))
  end)
end)

describe("perilune.time", function()
  it("has room for the years 0000 to 9999", function()
    for text, seconds in pairs({ ["0000-01-01T00:00:00Z"] = -62167219200, ["0001-01-01T00:00:00Z"] = -62135596800,
      ["9999-12-31T23:59:59Z"] = 253402300799, ["2262-04-12T00:00:00Z"] = 9223372800,
      ["1677-09-21T00:00:00Z"] = -9223372800 }) do
      assert.equal(seconds, perilune.time.parse(text))
      assert.equal(text, perilune.time.format(seconds))
    end
    assert.equal("9999-12-31T23:59:59.500000Z", perilune.time.format(253402300799.5))
    for _, seconds in ipairs({ 253402300800, -62167219201, 1e300 }) do
      local message = spec.message_of(perilune.time.format, seconds)
      assert.truthy(message:find("is outside of the years 0000 to 9999", 1, true), message)
    end
  end)

  it("parses RFC 3339 in every zone", function()
    assert.equal(0, perilune.time.parse("1970-01-01T00:00:00Z"))
    assert.equal(3600, perilune.time.parse("1970-01-01T00:00:00-01:00"))
    assert.equal(1.5, perilune.time.parse("1970-01-01T00:00:01.5Z"))
  end)

  it("formats in UTC, with a fraction only where there is one", function()
    assert.equal("2026-01-31T12:00:00Z", perilune.time.format(1769860800))
    assert.equal("1970-01-01T00:00:01.500000Z", perilune.time.format(1.5))
    assert.equal("1969-12-31T23:59:59.500000Z", perilune.time.format(-0.5))
    assert.equal("1970-01-01T00:00:02Z", perilune.time.format(1.9999999))
  end)

  it("formats with as many digits as it is told", function()
    assert.equal("2026-01-31T12:00:00Z", perilune.time.format(1769860800.75, "seconds"))
    assert.equal("2026-01-31T12:00:00.750Z", perilune.time.format(1769860800.75, "milliseconds"))
    assert.equal("2026-01-31T12:00:00.000000Z", perilune.time.format(1769860800, "microseconds"))
    assert.equal("1969-12-31T23:59:59Z", perilune.time.format(-0.5, "seconds"))
    assert.equal(1769860800.123456, perilune.time.parse("2026-01-31T12:00:00.123456Z"))
    assert.truthy(spec.message_of(perilune.time.format, 1, "second"):find('must be one of "seconds"', 1, true))
  end)

  it("reads back what it wrote", function()
    for _, seconds in ipairs({ 0, 1, 1700000000, 1700000000.25, -86400 }) do
      assert.equal(seconds, perilune.time.parse(perilune.time.format(seconds)))
    end
  end)

  it("knows now", function()
    assert.is_true(math.abs(perilune.time.now() - os.time()) < 5)
  end)

  it("quotes what is none", function()
    assert.equal('time.parse: the string "yesterday" is not a time of RFC 3339 such as '
      .. '"2026-01-31T12:00:00Z"', spec.message_of(perilune.time.parse, "yesterday"))
    assert.truthy(spec.message_of(perilune.time.format, "1"):find('must be a number, not the string "1"'))
    assert.truthy(spec.message_of(perilune.time.format, 0 / 0):find("must be a number", 1, true))
    assert.truthy(spec.message_of(perilune.time.format, 1e12):find("outside", 1, true))
  end)
end)

describe("calls that take one value", function()
  it("take no more", function()
    local calls = {
      quantity = { perilune.quantity, "1" }, duration = { perilune.duration, "1s" },
      ["time.parse"] = { perilune.time.parse, "2026-01-31T12:00:00Z" }, ["time.now"] = { perilune.time.now },
      selector = { perilune.selector, "a=b" }, key = { perilune.key, "a/b" }, random = { perilune.random, 1 },
      ["base64.encode"] = { perilune.base64.encode, "a" }, ["base64.decode"] = { perilune.base64.decode, "YQ==" },
      ["json.encode"] = { perilune.json.encode, {} }, ["json.decode"] = { perilune.json.decode, "{}" },
      ["yaml.encode"] = { perilune.yaml.encode, {} }, ["yaml.decode"] = { perilune.yaml.decode, "a: 1" },
      ["yaml.decode_all"] = { perilune.yaml.decode_all, "a: 1" }, deepcopy = { perilune.deepcopy, {} },
      array = { perilune.array, {} }, number = { perilune.number, "1" },
    }
    for name, call in pairs(calls) do
      assert.is_true((pcall(unpack(call))))
      call[#call + 1] = "more"
      local message = spec.message_of(unpack(call))
      assert.equal(name .. " got more arguments than it takes", message)
      spec.assert_positioned("units_spec", function()
        local value = call[1](unpack(call, 2))
        return value
      end)
    end
    assert.truthy(spec.message_of(perilune.equal, 1, 2, 3):find("equal got more arguments", 1, true))
    assert.truthy(spec.message_of(perilune.merge, {}, {}, {}):find("merge got more arguments", 1, true))
    assert.truthy(spec.message_of(perilune.json.encode):find("json.encode needs a value", 1, true))
  end)
end)

describe("perilune.selector", function()
  it("gives a selector that reads take", function()
    assert.equal("app=web", perilune.selector("app=web"))
    assert.equal("app=web", perilune.selector({ app = "web" }))
  end)

  it("gives nil and a message for what is none", function()
    for _, wrong in ipairs({ "a in (", "", {}, 5, { matchExpressions = { { key = "a" } } } }) do
      local selector, message = perilune.selector(wrong)
      assert.is_nil(selector)
      assert.equal("string", type(message))
      assert.is_true(#message > 10)
    end
  end)
end)
