-- perilune.regex: its functions. spec/unit/format/regex_test.c tests which texts match.
local spec = require("spec.support.host")
local perilune = require("perilune")

local regex = perilune.regex

describe("perilune.regex", function()
  it("tests", function()
    assert.is_true(regex("^[a-z]+$"):test("abc"))
    assert.is_false(regex("^[a-z]+$"):test("abc1"))
    assert.is_true(regex(""):test(""))
  end)

  it("matches as string.match does: captures, or the whole", function()
    assert.same({ "web", "1" }, { regex("^(?P<name>.+)-(\\d+)$"):match("web-1") })
    assert.equal("12", regex("\\d+"):match("a12b34"))
    assert.equal("34", regex("\\d+"):match("a12b34", 4))
    assert.equal("4", regex("\\d+"):match("a12b34", -1))
    assert.is_nil(regex("\\d+"):match("abc"))
    assert.is_nil(regex("a"):match("a", 3))
    local a, b, c = regex("(a)(b)?(c)"):match("ac")
    assert.equal("a", a)
    assert.is_nil(b)
    assert.equal("c", c)
  end)

  it("finds as string.find does", function()
    assert.same({ 2, 3 }, { regex("\\d+"):find("a12b34") })
    assert.same({ 5, 6, "3", "4" }, { regex("(\\d)(\\d)"):find("a12b34", 4) })
    assert.same({ 1, 0 }, { regex("x*"):find("abc") })
    assert.is_nil(regex("^b"):find("ab", 2)) -- what is before counts
  end)

  local replaced = {
    { "a", "banana", "o", nil, "bonono", 3 },
    { "a", "banana", "o", 2, "bonona", 2 },
    { "a", "banana", "o", 0, "banana", 0 },
    { "(\\w+)@(\\w+)", "me@here, you@there", "%2 has %1, %0 %%", nil,
      "here has me, me@here %, there has you, you@there %", 2 },
    { "a*", "baac", "x", nil, "xbxcx", 3 },
    { "", "äb", "-", nil, "-ä-b-", 3 },
    { "^", "a\nb", "> ", nil, "> a\nb", 1 },
    { "(?m)^", "a\nb", "> ", nil, "> a\n> b", 2 },
    { "(a)|(b)", "ab", "[%1%2]", nil, "[a][b]", 2 },
    { "\\$\\{(\\w+)\\}", "${a} ${b}", { a = "1" }, nil, "1 ${b}", 2 },
    { "\\d+", "1 22", function(text) return #text end, nil, "1 2", 2 },
    { "(\\d)(x)?", "1 2x", function(digit, x) return x and digit .. "!" end, nil, "1 2!", 2 },
    { "x", "", "y", nil, "", 0 },
    { "b", "b", "%1", nil, "b", 1 },
  }
  for _, case in ipairs(replaced) do
    it("replaces " .. case[1] .. " in " .. string.format("%q", case[2]), function()
      assert.same({ case[5], case[6] }, { regex(case[1]):gsub(case[2], case[3], case[4]) })
    end)
  end

  it("replaces much at once", function()
    local text, count = regex("[aeiou]"):gsub(("banana "):rep(20000), "")
    assert.equal(("bnn "):rep(20000), text)
    assert.equal(60000, count)
  end)

  it("keeps what it has compiled, within limits", function()
    local kept = regex("kept")
    assert.equal(kept, regex("kept"))
    for i = 1, 150 do
      regex("other" .. i)
    end
    assert.equal(kept, regex("kept"))
    for i = 1, 500 do
      regex("another" .. i)
    end
    assert.is_true(kept ~= regex("kept"))
    assert.is_true(kept:test("kept"))
  end)

  local mistakes = {
    { "no text", function() regex() end, "regex needs a string, not nil" },
    { "a number", function() regex(5) end, "regex needs a string" },
    { "lookaround", function() regex("a(?=b)") end, 'regex: at byte 2, "(?=b)": lookaround is not supported' },
    { "a backreference", function() regex("(a)\\1") end, "backreferences are not supported" },
    { "a mistake", function() regex("(a") end, "a ) is missing" },
    { "text that is no text", function() regex("a"):test(nil) end, "regex:test: the text must be a string, not nil" },
    { "a dot", function() regex("a").test("a") end, "with a colon: regex:test" },
    { "an unknown method", function() return regex("a").matsh end, 'did you mean "match"?' },
    { "more arguments", function() regex("a"):test("a", 1) end, "more arguments" },
    { "bytes that are no text", function() regex("a"):test("a\255") end,
      "regex:test: the text is not UTF-8 at byte 2" },
    { "a place inside of a character", function() regex("a"):find("ä", 2) end, "inside of a character" },
    { "a place that is none", function() regex("a"):find("a", "b") end, "where to begin" },
    { "a search without end", function() regex("(a+)+$"):test(("a"):rep(50) .. "!") end, "the search was given up" },
    { "a text that is too long", function() regex("a"):test(("a"):rep(2 ^ 20 + 1)) end, "the limit is 1048576" },
    { "a replacement that is none", function() regex("a"):gsub("a", 5) end, "a string, a table or a function" },
    { "a template that is none", function() regex("a"):gsub("a", "%x") end, "followed by a digit" },
    { "a group that there is not", function() regex("(a)"):gsub("a", "%2") end, "the expression has 1 groups" },
    { "a function's table", function() regex("a"):gsub("a", function() return {} end) end,
      "must be a string, not a table" },
  }
  for _, case in ipairs(mistakes) do
    it("refuses " .. case[1] .. " at the script's line", function()
      local message = spec.message_of(case[2])
      assert(message:find(case[3], 1, true), message)
      spec.assert_positioned("regex_spec", case[2])
    end)
  end
end)
