-- The scanner's verdicts on JSON texts, and its values against those of lua-cjson.
local cjson = require("cjson")

local verdict = (os.getenv("PL_BUILD") or "build") .. "/spec/lua/json-verdict"

local function read_file(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local function run(path, flags)
  local pipe = assert(io.popen(("%s %s <'%s'"):format(verdict, flags or "", path)))
  local answer = pipe:read("*a")
  pipe:close()
  return answer
end

local function run_text(text, flags)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  local answer = run(path, flags)
  os.remove(path)
  return answer
end

local function files(kind)
  local list = {}
  local pipe = assert(io.popen("ls spec/data/json/" .. kind .. "_*.json"))
  for path in pipe:lines() do
    list[#list + 1] = path
  end
  pipe:close()
  assert.is_true(#list > 0)
  return list
end

-- JSON that lua-cjson cannot read: numbers beyond the range of a double.
local function cjson_reads(text)
  return pcall(cjson.decode, text)
end

describe("the scanner", function()
  it("reads every valid text with the values that lua-cjson finds", function()
    local compared = 0
    for _, kind in ipairs({ "y", "i" }) do
      for _, path in ipairs(files(kind)) do
        local json = run(path):match("^ok (.*)\n$")
        assert.is_truthy(json, path)
        local ok, want = cjson_reads(read_file(path))
        if ok then
          assert.are.same(want, cjson.decode(json), path)
          compared = compared + 1
        end
      end
    end
    assert.is_true(compared > 60)
  end)

  it("refuses every invalid text and says where", function()
    for _, path in ipairs(files("n")) do
      local offset, message = run(path):match("^error (%d+) (.+)\n$")
      assert.is_truthy(message, path)
      assert.is_true(tonumber(offset) <= #read_file(path), path)
    end
  end)

  it("is stricter than lua-cjson where that one reads what is not JSON", function()
    for _, text in ipairs({ "NaN", "[Infinity]", "[0x10]", "[012]", '"\255"' }) do
      assert.is_truthy(run_text(text):match("^error "), text)
    end
  end)

  it("agrees with lua-cjson on random documents", function()
    local seed = os.time()
    math.randomseed(seed)
    local texts = { "", "plain", "with \"quotes\" and \\", "line\nbreak\ttab", "é€😀", "\1\127",
      "2026-11-21T09:30:00Z", "0b2cd8f1-7c0e-4b52-8a5e-0f1d1f2a3b4c", "10.0.0.1", "123456" }
    local function value(depth)
      local pick = math.random(depth > 0 and 7 or 4)
      if pick == 1 then
        return texts[math.random(#texts)]
      elseif pick == 2 then
        return math.random(-100000, 100000)
      elseif pick == 3 then
        return math.random() < 0.5
      elseif pick == 4 then
        return math.random(1000) / 8
      elseif pick == 5 then
        local list = { value(depth - 1) }
        for i = 2, math.random(40) do
          list[i] = value(depth - 1)
        end
        return list
      end
      local map = {}
      for i = 1, math.random(40) do
        map["key" .. i] = value(depth - 1)
      end
      return map
    end
    for _ = 1, 30 do
      local want = { root = value(3) }
      local json = run_text(cjson.encode(want)):match("^ok (.*)\n$")
      assert.is_truthy(json, "seed " .. seed)
      assert.are.same(want, cjson.decode(json), "seed " .. seed)
    end
  end)

  it("keeps every digit and writes members in order", function()
    assert.are.equal('ok {"a":1e999,"b":12345678901234567890123,"c":-0.0}\n',
      run_text('{"c":-0.0, "b":12345678901234567890123, "a":1e999}'))
  end)

  it("refuses duplicate names when told to", function()
    assert.are.equal('ok {"a":2}\n', run_text('{"a":1,"a":2}'))
    assert.is_truthy(run_text('{"a":1,"a":2}', "-d"):match("^error 7 "))
  end)

  it("leaves managedFields out unless told to keep them", function()
    local text = '{"metadata":{"managedFields":[{"f:a":{}}],"name":"x"}}'
    assert.are.equal('ok {"metadata":{"name":"x"}}\n', run_text(text))
    assert.are.equal("ok " .. text .. "\n", run_text(text, "-m"))
  end)
end)
