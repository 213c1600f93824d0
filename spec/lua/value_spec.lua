-- Documents between texts and tables: perilune.json, yaml, equal, merge, deepcopy, array, number.
local spec = require("spec.support.host")
local perilune = require("perilune")

local host, null = spec.host, perilune.null
local decode, encode = perilune.json.decode, perilune.json.encode

-- ---- random documents, as text and as the expected tables ----

local seed = tonumber(os.getenv("PL_SEED") or os.time())
math.randomseed(seed)

local words = { "", "a", "name", "with \"quotes\"", "back\\slash", "line\nbreak", "tab\t", "é€😀",
  "null", "1", "true", "- x", "key: value", "#no comment", " padded ", "2026-01-01T00:00:00Z" }
local numbers = { "0", "-1", "3", "1.5", "-0.25", "1e3", "9007199254740993", "-9223372036854775808",
  "9223372036854775807", "12345678901234567890123", "0.1", "1000000000000000" }

local function random_value(depth)
  local pick = math.random(depth > 0 and 7 or 5)
  if pick == 1 then
    return encode(words[math.random(#words)])
  elseif pick == 2 then
    return numbers[math.random(#numbers)]
  elseif pick == 3 then
    return math.random() < 0.5 and "true" or "false"
  elseif pick == 4 then
    return "null"
  elseif pick == 5 then
    return math.random() < 0.5 and "[]" or "{}"
  end
  local parts, used = {}, {}
  for _ = 1, math.random(5) do
    local value = random_value(depth - 1)
    if pick == 7 then
      local name = words[math.random(#words)]
      value = not used[name] and encode(name) .. ":" .. value or nil
      used[name] = true
    end
    parts[#parts + 1] = value
  end
  return pick == 6 and "[" .. table.concat(parts, ",") .. "]" or "{" .. table.concat(parts, ",") .. "}"
end

-- Reads members at random, and writes some back unchanged.
local function touch(value)
  if type(value) ~= "table" then
    return
  end
  for name, child in pairs(perilune.deepcopy(value)) do
    if math.random() < 0.6 then
      touch(value[name])
      if type(child) ~= "table" then
        value[name] = child
      end
    end
  end
end

local function read_whole(text)
  return perilune.deepcopy(decode(text))
end

describe("perilune.json", function()
  it("gives back every document that it decoded, whatever was touched between", function()
    for i = 1, 300 do
      local text = random_value(4)
      local value = decode(text)
      local before = encode(value)
      touch(value)
      assert.equal(before, encode(value), ("seed %d, document %d: %s"):format(seed, i, text))
      assert.is_true(perilune.equal(value, decode(text)), ("seed %d: %s"):format(seed, text))
      assert.equal(before, encode(decode(before)), "seed " .. seed)
    end
  end)

  it("gives back objects that were filled only where they were touched", function()
    for i = 1, 300 do
      local text = '{"metadata":{"name":"a"},"spec":' .. random_value(4) .. "}"
      local value, whole = host.read_object(text, true), decode(text)
      for _ = 1, 5 do
        local lazy, at = value, whole
        while type(at) == "table" and next(at) ~= nil and math.random() < 0.8 do
          local names = {}
          for name in pairs(at) do
            names[#names + 1] = name
          end
          local name = names[math.random(#names)]
          lazy, at = lazy[name], at[name]
        end
        assert.is_true(perilune.equal(lazy, at), ("seed %d, document %d: %s"):format(seed, i, text))
      end
      -- A number that was read is written as the number that it is: 1e3 as 1000.
      local written, wanted = read_whole(encode(value)), read_whole(encode(whole))
      assert.equal(encode(wanted), encode(written), ("seed %d, document %d: %s"):format(seed, i, text))
      assert.is_true(host.is_unchanged(value), "seed " .. seed)
    end
  end)

  it("keeps null, empty arrays and empty objects apart", function()
    assert.equal('{"a":null,"b":[],"c":{}}', encode(decode('{"c":{},"b":[],"a":null}')))
    assert.equal(null, decode("null"))
  end)

  it("writes a non-empty sequence and a marked table as arrays, any other as an object", function()
    assert.equal('[1,2]', encode({ 1, 2 }))
    assert.equal("[]", encode(perilune.array({})))
    assert.equal("{}", encode({}))
  end)

  it("keeps the digits of integers that no double holds", function()
    local value = decode('{"i":9007199254740993,"n":12345678901234567890123}')
    assert.equal("cdata", type(value.i))
    assert.equal("12345678901234567890123", tostring(value.n))
    assert.equal('{"i":9007199254740993,"n":12345678901234567890123}', encode(value))
  end)

  it("never writes an integer with an exponent or a fraction", function()
    assert.equal("1000000000000000", encode(1e15))
    assert.equal("3", encode(3.0))
    assert.equal("100000000000000000000", encode(1e20))
  end)

  it("sorts names", function()
    assert.equal('{"a":1,"b":{"c":2,"d":3},"e":4}', encode({ e = 4, b = { d = 3, c = 2 }, a = 1 }))
  end)

  it("decodes false", function()
    assert.equal(false, decode("false"))
  end)

  local cases = {
    { "mixed tables", { a = { 1, x = 2 } }, "a: a table with both elements and named members" },
    { "holes", { a = { [1] = 1, [3] = 3 } }, "a: an array with holes" },
    { "functions", { a = { b = print } }, "a.b: " },
    { "NaN", { a = 0 / 0 }, "a: " },
    { "infinity", { 1, math.huge }, "[1]: " },
    { "bytes that are no UTF-8", { ["x.y"] = "\255" }, '["x.y"]: a string that is not UTF-8' },
  }
  for _, case in ipairs(cases) do
    it("refuses " .. case[1] .. " and names the path", function()
      local message = spec.message_of(encode, case[2])
      assert.truthy(message:find(case[3], 1, true), message)
    end)
  end

  it("refuses tables that contain themselves", function()
    local a = {}
    a.b = { a }
    assert.truthy(spec.message_of(encode, a):find("contains itself", 1, true))
  end)

  it("refuses duplicate keys and says where text is wrong, at the script's line", function()
    assert.truthy(spec.message_of(decode, '{"a":1,"a":2}'):find("json.decode: ", 1, true))
    spec.assert_positioned("value_spec", function()
      local value = decode("{")
      return value
    end)
    assert.equal("json.decode needs a string, not nil", spec.message_of(decode, nil))
  end)
end)

describe("perilune.yaml", function()
  it("gives back every document that it encoded", function()
    for i = 1, 200 do
      local text = random_value(4)
      local value = decode(text)
      local yaml = perilune.yaml.encode(value)
      local again = perilune.yaml.decode(yaml)
      assert.is_true(perilune.equal(value, again),
        ("seed %d, document %d: %s\n%s"):format(seed, i, text, yaml))
    end
  end)

  it("writes the same text for the same value", function()
    assert.equal("a: 1\nb:\n- x\n- \"y\"\nc: {}\n",
      perilune.yaml.encode({ c = {}, b = { "x", "y" }, a = 1 }))
  end)

  it("decodes several documents", function()
    local all = perilune.yaml.decode_all("a: 1\n---\nb: [x, null]\n---\n")
    assert.equal('[{"a":1},{"b":["x",null]}]', encode(all))
    assert.equal("[]", encode(perilune.yaml.decode_all("")))
  end)

  it("decodes one document and says when there are more or none", function()
    assert.equal("yaml.decode: the text has 2 documents, not one; decode_all takes any number",
      spec.message_of(perilune.yaml.decode, "a: 1\n---\nb: 2\n"))
    assert.truthy(spec.message_of(perilune.yaml.decode, ""):find("0 documents", 1, true))
  end)

  it("names the line of what is no YAML, and refuses duplicate keys", function()
    assert.truthy(spec.message_of(perilune.yaml.decode, "a: 1\nb: [\n"):find("line %d"))
    assert.truthy(spec.message_of(perilune.yaml.decode, "a: 1\na: 2\n"):find("a", 1, true))
  end)
end)

describe("perilune.equal", function()
  it("compares documents by value", function()
    assert.is_true(perilune.equal({ a = { 1, { b = null } } }, decode('{"a":[1,{"b":null}]}')))
    assert.is_false(perilune.equal({ a = 1 }, { a = 1, b = 2 }))
    assert.is_false(perilune.equal({ a = 1, b = 2 }, { a = 1 }))
    assert.is_false(perilune.equal({ 1, 2 }, { 1, 2, 3 }))
    assert.is_false(perilune.equal({ a = "1" }, { a = 1 }))
    assert.is_false(perilune.equal({}, perilune.array({})))
    assert.is_false(perilune.equal({ "x" }, { a = "x" }))
    assert.is_false(perilune.equal({ a = "x" }, { "x" }))
    assert.is_false(perilune.equal({ a = "x" }, {}))
    assert.is_false(perilune.equal({ a = { b = 1 } }, { a = { b = 2 } }))
    local named = perilune.array({})
    named.a = 1
    assert.is_false(perilune.equal(named, { a = 1 }))
  end)

  it("compares numbers in all their forms", function()
    assert.is_true(perilune.equal(decode("9007199254740993"), decode("9007199254740993")))
    assert.is_false(perilune.equal(decode("9007199254740993"), decode("9007199254740992")))
    assert.is_true(perilune.equal(decode("1.0"), 1))
  end)

  it("compares tables that are not filled yet with filled ones", function()
    local text = '{"a":{"b":[{"c":1},[]]},"d":"x"}'
    local lazy = host.read_object(text, true)
    assert.is_true(perilune.equal(lazy, host.read_object(text, true)))
    assert.is_true(perilune.equal(lazy.a, { b = { { c = 1 }, perilune.array({}) } }))
    assert.is_true(perilune.equal({ a = { b = { { c = 1 }, perilune.array({}) } }, d = "x" },
      host.read_object(text, true)))
  end)
end)

describe("perilune.merge", function()
  -- The examples of RFC 7386, appendix A: target, patch, result.
  local cases = {
    { '{"a":"b"}', '{"a":"c"}', '{"a":"c"}' },
    { '{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}' },
    { '{"a":"b"}', '{"a":null}', "{}" },
    { '{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}' },
    { '{"a":["b"]}', '{"a":"c"}', '{"a":"c"}' },
    { '{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}' },
    { '{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}' },
    { '{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}' },
    { '["a","b"]', '["c","d"]', '["c","d"]' },
    { '{"a":"b"}', '["c"]', '["c"]' },
    { '{"a":"foo"}', "null", "null" },
    { '{"a":"foo"}', '"bar"', '"bar"' },
    { '{"e":null}', '{"a":1}', '{"a":1,"e":null}' },
    { "[1,2]", '{"a":"b","c":null}', '{"a":"b"}' },
    { "{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}' },
  }
  for i, case in ipairs(cases) do
    it("follows example " .. i .. " of RFC 7386", function()
      assert.equal(case[3], encode(perilune.merge(decode(case[1]), decode(case[2]))))
    end)
  end

  it("copies the value when there is no patch", function()
    local value = { a = { b = 1 } }
    local merged = perilune.merge(value, value.overrides)
    assert.same(value, merged)
    assert.are_not.equal(value.a, merged.a)
    assert.same({ a = 1 }, perilune.merge(nil, { a = 1 }))
  end)

  it("makes a new table", function()
    local a, b = { x = { y = 1 } }, { z = { w = 2 } }
    local merged = perilune.merge(a, b)
    merged.x.y, merged.z.w = 5, 6
    assert.same({ 1, 2 }, { a.x.y, b.z.w })
  end)
end)

describe("perilune.deepcopy", function()
  it("shares nothing and keeps marks and nulls", function()
    local object = decode('{"a":[],"b":{"c":null}}')
    local copy = perilune.deepcopy(object)
    assert.equal('{"a":[],"b":{"c":null}}', encode(copy))
    copy.b.c = 1
    assert.equal(null, object.b.c)
  end)

  it("fills what was not filled", function()
    local copy = perilune.deepcopy(host.read_object('{"a":{"b":{"c":1}}}', true))
    assert.equal(1, rawget(rawget(rawget(copy, "a"), "b"), "c"))
  end)
end)

describe("perilune.dig", function()
  local object = { metadata = { annotations = { ["a/b"] = "c", none = null } } }

  it("gives the value along the steps", function()
    assert.equal("c", perilune.dig(object, "metadata", "annotations", "a/b"))
    assert.equal(object, perilune.dig(object))
  end)

  it("gives nil for what is absent, null, or no table on the way", function()
    assert.is_nil(perilune.dig(object, "metadata", "labels", "x"))
    assert.is_nil(perilune.dig(object, "metadata", "annotations", "none"))
    assert.is_nil(perilune.dig(object, "metadata", "annotations", "none", "deeper"))
    assert.is_nil(perilune.dig(object, "metadata", "annotations", "a/b", "deeper"))
    assert.is_nil(perilune.dig(nil, "metadata"))
    assert.is_nil(perilune.dig(null, "metadata"))
  end)
end)

describe("perilune.hash", function()
  it("is the SHA-256 of a string", function()
    assert.equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      perilune.hash("abc"))
  end)

  it("is the same for the same value in any order", function()
    assert.equal(perilune.hash(decode('{"a":1,"b":[2]}')), perilune.hash(decode('{"b":[2],"a":1}')))
    assert.equal(perilune.hash('{"a":1}'), perilune.hash({ a = 1 }))
    assert.are_not.equal(perilune.hash({ a = 1 }), perilune.hash({ a = 2 }))
  end)
end)

describe("perilune.base64", function()
  it("encodes and decodes bytes", function()
    assert.equal("AP9o", perilune.base64.encode("\0\255h"))
    assert.equal("\0\255h", perilune.base64.decode("AP9o"))
    assert.equal("", perilune.base64.decode(""))
  end)

  it("refuses what is none", function()
    assert.truthy(spec.message_of(perilune.base64.decode, "?"):find('the string "?"', 1, true))
    assert.truthy(spec.message_of(perilune.base64.encode, 5):find("the number 5", 1, true))
  end)
end)

describe("perilune.random", function()
  it("gives as many bytes as asked for, other ones each time", function()
    assert.equal(0, #perilune.random(0))
    assert.equal(24, #perilune.random(24))
    assert.are_not.equal(perilune.random(24), perilune.random(24))
  end)

  it("refuses counts that make no sense", function()
    assert.truthy(spec.message_of(perilune.random, 1.5):find("whole number", 1, true))
    assert.truthy(spec.message_of(perilune.random, -1):find("at least 0", 1, true))
    assert.truthy(spec.message_of(perilune.random, 1e9):find("at most", 1, true))
  end)
end)

describe("perilune.selects", function()
  local function object(labels)
    return { metadata = { name = "a", labels = labels } }
  end

  it("compares labels with a selector in each form", function()
    local web = object{ app = "web", tier = "front" }
    for _, selector in ipairs({ "app=web", "tier in (front, back),!old", { app = "web" },
      { matchLabels = { app = "web" } }, { matchExpressions = { { key = "tier", operator = "Exists" } } } }) do
      assert.is_true(perilune.selects(selector, web))
      assert.is_false(perilune.selects(selector, object{ app = "db" }))
      assert.is_false(perilune.selects(selector, object()))
    end
  end)

  it("knows none from an empty one", function()
    assert.is_false(perilune.selects(nil, object()))
    assert.is_false(perilune.selects(perilune.null, object()))
    for _, empty in ipairs({ {}, { matchLabels = {} } }) do
      assert.is_true(perilune.selects(empty, object()))
      assert.is_true(perilune.selects(empty, object(perilune.null)))
    end
  end)

  it("refuses what is no selector or no object", function()
    for expected, arguments in pairs({
      ["selects: the selector: a selector is a text or a table, not a number"] = { 5, object() },
      ['selects: the object must be a table, not the string "a"'] = { "a=b", "a" },
      ["selects: the object's metadata must be a table, not the number 1"] = { "a=b", { metadata = 1 } },
      ["selects: the object's labels must be a table, not the number 1"] = { "a=b", object(1) },
      ["selects got more arguments than it takes"] = { "a=b", object(), 1 },
    }) do
      assert.equal(expected, spec.message_of(perilune.selects, unpack(arguments)))
    end
    assert.truthy(spec.message_of(perilune.selects, "a in (", object()):find("^selects: the selector: "))
  end)
end)
