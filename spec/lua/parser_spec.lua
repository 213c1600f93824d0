-- The parser of Lua source: it accepts what LuaJIT accepts, refuses what LuaJIT refuses, and its
-- tree has the meaning of the source.
package.path = "lua/?.lua;" .. package.path
local parser = require("perilune.tool.parser")

local function all_files()
  local out = {}
  local pipe = io.popen("find lua examples spec scripts host -name '*.lua'")
  for path in pipe:lines() do
    out[#out + 1] = path
  end
  pipe:close()
  return out
end

-- The tree without lines, as text.
local function show(node)
  if type(node) ~= "table" then
    return tostring(node)
  elseif node.tag == "Name" then
    return node.name .. (node.var and "@" .. node.var.line or "")
  elseif node.tag == "Number" or node.tag == "String" then
    return tostring(node.value)
  elseif node.tag == "Binop" then
    return "(" .. show(node.a) .. " " .. node.op .. " " .. show(node.b) .. ")"
  elseif node.tag == "Unop" then
    return "(" .. node.op .. " " .. show(node.a) .. ")"
  end
  return node.tag
end

local function value_of(text)
  return parser.parse("local a, b, c\nreturn " .. text).body[2].values[1]
end

describe("the parser", function()
  it("takes every Lua file of the project", function()
    local files = all_files()
    assert.is_true(#files > 100)
    for _, path in ipairs(files) do
      local file = assert(io.open(path))
      local tree, line, message = parser.parse(file:read("*a"))
      file:close()
      assert(tree, ("%s:%s: %s"):format(path, tostring(line), tostring(message)))
    end
  end)

  it("agrees with LuaJIT about what is Lua", function()
    local texts = { "", "return", "x = 1", "local x <const> = 1", "f()", "f{}", "f'x'", "a.b:c(1)", "1", "x", "x.y",
      "for i = 1, 2 do end", "for i in pairs(t) do end", "for i = 1 do end", "if a then elseif b then else end",
      "repeat local x until x", "goto done ::done::", "local function f(...) return ... end", "x = [==[ ]] ]==]",
      "x = 'a\\z  \n b\\x41\\65\\u{48}'",
      "x = 'a\nb'", "x = 0xFFULL + 1e3 + .5 + 0x1p4", "x = }", "local t = {1, a = 2; [3] = 4,}",
      "a, b.c = 1, 2", "a() = 1", "while true do break end", "do end;", "x = -2 ^ 2", "x = not not a", "--[[ ]] x = 1",
      "--[==[ open", "x = 'open", "function a.b:c() end", "function a:b.c() end", "x = function() end()", "x = a..b..c",
      ("x = " .. ("("):rep(150) .. "1" .. (")"):rep(150)), "x = @", "x = 3..2" }
    for _, text in ipairs(texts) do
      local ok = loadstring(text) ~= nil
      assert.equal(ok, parser.parse(text) ~= nil, text)
    end
  end)

  it("gives up on nesting that LuaJIT refuses too", function()
    local tree, _, message = parser.parse("x = " .. ("("):rep(5000) .. "1" .. (")"):rep(5000))
    assert.is_nil(tree)
    assert.equal("nested too deeply", message)
  end)

  it("knows priorities and sides", function()
    assert.equal("(a@1 or (b@1 and (c@1 == 1)))", show(value_of("a or b and c == 1")))
    assert.equal("(a@1 .. (b@1 .. c@1))", show(value_of("a .. b .. c")))
    assert.equal("((a@1 - b@1) - c@1)", show(value_of("a - b - c")))
    assert.equal("(- (2 ^ (- 2)))", show(value_of("-2 ^ -2")))
    assert.equal("((not a@1) == b@1)", show(value_of("not a == b")))
  end)

  it("reads texts", function()
    assert.equal("a b\nAAH", value_of('"a \\z\n   b\\n\\x41\\65\\u{48}"').value)
    assert.equal("x]]y", value_of("[==[\nx]]y]==]").value)
  end)

  it("resolves names and counts what happens to them", function()
    local tree = parser.parse("local a = 1\nlocal function f() return a, g end\na = 2\ndo local a = 3 end")
    local a = tree.body[1].vars[1]
    assert.equal(1, a.sets)
    assert.is_true(a.captured)
    local returned = tree.body[2].values[1].body[1].values
    assert.equal(a, returned[1].var)
    assert.is_nil(returned[2].var)
    assert.are_not.equal(a, tree.body[4].body[1].vars[1])
    assert.equal(2, tree.body[2].line)
  end)
end)
