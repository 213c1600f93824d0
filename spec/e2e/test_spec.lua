-- `perilune test` as a command: the files that it runs, its output, its exit codes.

local e2e = require("spec.support.e2e")

describe("perilune test", function()
  local folder

  before_each(function()
    folder = e2e.folder() .. "/" .. e2e.unique("test")
    os.execute("mkdir " .. folder)
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function write(name, text)
    e2e.write_file(folder .. "/" .. name, text)
    return folder .. "/" .. name
  end

  it("runs the specification that `perilune new` writes", function()
    assert.equal(0, (e2e.run("new", "tea", "--dir", folder .. "/tea")))
    local code, out, err = e2e.run("test", folder .. "/tea", "-o", "tap")
    assert.equal(0, code, out .. err)
    assert(out:find("\n1..4\n", 1, true), out)
    assert.equal("", err)
  end)

  it("finds *_spec.lua in folders, and takes a filter", function()
    os.execute("mkdir -p " .. folder .. "/deep/.hidden")
    write("deep/a_spec.lua", 'it("apple", function() end) it("pear", function() end)')
    write("deep/.hidden/b_spec.lua", "error('never loaded')")
    write("deep/main.lua", "error('never loaded')")
    local code, out = e2e.run("test", folder, "-o", "tap")
    assert.equal(0, code, out)
    assert(out:find("ok 1 - apple", 1, true) and out:find("1..2", 1, true), out)
    code, out = e2e.run("test", folder, "-o", "tap", "--filter", "^pear$")
    assert.equal(0, code)
    assert(out:find("ok 1 - pear", 1, true) and out:find("1..1", 1, true), out)
  end)

  it("leaves out a folder that is busted's own, and says so", function()
    os.execute("mkdir -p " .. folder .. "/own")
    write("own/.busted", "return {}")
    write("own/b_spec.lua", "error('not loaded')")
    write("a_spec.lua", 'it("apple", function() end)')
    local code, out, err = e2e.run("test", folder, "-o", "tap")
    assert.equal(0, code, out)
    assert(out:find("1..1", 1, true), out)
    assert(err:find(folder .. "/own is left out", 1, true), err)
    code = e2e.run("test", folder .. "/own", "-o", "tap") -- it was asked for
    assert.equal(1, code)
  end)

  it("ends with 1 and says where, when something failed", function()
    local path = write("x_spec.lua", 'it("fails", function()\n  assert.equal(1, 2)\nend)\n')
    for _, form in ipairs({ "text", "tap", "json", "junit" }) do
      local code, out = e2e.run("test", path, "-o", form)
      assert.equal(1, code, form)
      assert(out:find("x_spec.lua:2", 1, true), out)
    end
  end)

  it("says where a specification, or the script in it, has a mistake of syntax", function()
    local path = write("x_spec.lua", 'it("x", function(\n')
    local code, out = e2e.run("test", path)
    assert.equal(1, code)
    assert(out:find("x_spec.lua:", 1, true), out)
    write("main.lua", "local x = = 1\n")
    write("x_spec.lua", 'it("x", function() require("perilune.test").world{ scripts = "." } end)\n')
    code, out = e2e.run("test", path, "-o", "tap")
    assert.equal(1, code)
    assert(out:find("main.lua:1: unexpected symbol near '='", 1, true), out)
  end)

  it("ends a specification that computes without end, and goes on with the next", function()
    local path = write("x_spec.lua", 'it("loops", function()\n  while true do end\nend)\n'
      .. 'it("next", function() end)\n')
    local code, out = e2e.run("test", path, "-o", "tap")
    assert.equal(1, code)
    assert(out:find("x_spec.lua:2: the spec has computed for 5 s", 1, true), out)
    assert(out:find("ok 2 - next", 1, true), out)
  end)

  it("ends with 2 for mistakes of its arguments", function()
    for _, case in ipairs({ { "PATH... is missing" }, { "nowhere", folder .. "/nowhere" },
      { "no *_spec.lua is there", folder }, { "text|tap|json", folder, "-o", "xml" } }) do
      local code, out, err = e2e.run("test", case[2], case[3], case[4])
      assert.equal(2, code)
      assert.equal("", out)
      assert(err:find(case[1], 1, true), err)
    end
  end)

  it("says how to install busted where it is missing", function()
    local path = write("x_spec.lua", 'it("x", function() end)\n')
    local code, _, err = e2e.run_with({ LUA_PATH = "/nowhere/?.lua" }, "test", path)
    assert.equal(2, code)
    assert(err:match("^[^\n]*apt install lua%-busted"), err)
  end)
end)
