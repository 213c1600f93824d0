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
    local err
    code, out, err = e2e.run("test", folder, "-o", "tap", "--filter", "plum")
    assert.equal(2, code)
    assert.equal("1..0\n", out)
    assert(err:find('--filter: no test is called like "plum"', 1, true), err)
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

  it("writes JSON of pending tests, too", function()
    local path = write("x_spec.lua", 'pending("later")\nit("passes", function() end)\n')
    local code, out = e2e.run("test", path, "-o", "json")
    assert.equal(0, code)
    local results = require("cjson").decode(out)
    assert.equal("later", results.pendings[1].name)
    assert.equal(1, #results.successes)
  end)

  it("writes XML in which control characters and broken UTF-8 can be seen", function()
    local path = write("x_spec.lua", 'it("a \\1 <b> \\255 \\195\\164", function()\n  error("c \\27 ]]>")\nend)\n')
    local code, out = e2e.run("test", path, "-o", "junit")
    assert.equal(1, code)
    assert(out:find("a \\x01 &lt;b&gt; \\xff \195\164", 1, true), out)
    assert(out:find("c \\x1b ]]&gt;", 1, true), out)
    assert.is_nil(out:find("[%z\1-\8\11\12\14-\31]"))
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

  it("names the line of the specification for what happens in a scenario, and before it", function()
    local path = write("x_spec.lua", 'local test = require("perilune.test")\n'
      .. 'test.explore("loops", { start = false }, function()\n  while true do end\nend)\n'
      .. 'test.explore("bad", { scripts = "bad.lua" }, function() end)\n'
      .. 'it("last", function() return test.world{ scripts = "bad.lua" } end)\n')
    write("bad.lua", "local x = = 1\n")
    local code, out = e2e.run("test", path, "-o", "tap")
    assert.equal(1, code)
    assert(out:find("x_spec.lua:3: the spec has computed for 5 s", 1, true), out)
    assert(out:find("x_spec.lua:5: " .. folder .. "/bad.lua:1: unexpected symbol", 1, true), out)
    assert.is_nil(out:find("Failure message: [^\n]*busted/core.lua"), out)
    assert.is_nil(out:find("Failure message: [^\n]*perilune:"), out)
  end)

  local function write_world(body, steps)
    write("main.lua", 'require("perilune").controller("maps"):For("v1/ConfigMap"):Reconcile(function(request)\n'
      .. body .. "\nend)\n")
    return write("x_spec.lua", 'it("fails", function()\n'
      .. '  local world = require("perilune.test").world{ scripts = "." }\n'
      .. '  world:create{ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a", namespace = "default" } }\n'
      .. steps .. "\nend)\n")
  end

  it("adds what the hosts have logged as errors to a failure, and to no success", function()
    local path = write_world("  local nothing = request.nothing.at",
      '  world:settle{ limit = "1s" }\n  assert.equal(1, 2)')
    local want = "Errors in the log:\n  maps default/a: reconcile failed: " .. folder:gsub("[%-%.]", "%%%0")
      .. "/%./main%.lua:2: attempt to index field 'nothing' %(a nil value%)"
    local code, out = e2e.run("test", path)
    assert.equal(1, code)
    assert(out:find("x_spec.lua:5: Expected", 1, true), out)
    assert(out:find(want), out)
    path = write_world("  local nothing = request.nothing.at", '  world:settle{ limit = "1s" }')
    code, out = e2e.run("test", path)
    assert.equal(0, code, out)
    assert.is_nil(out:find("Errors in the log", 1, true))
  end)

  it("ends a specification whose script computes without end, at its first run", function()
    local path = write_world("  while true do end", "  world:settle()")
    local code, out = e2e.run("test", path, "-o", "tap")
    assert.equal(1, code)
    assert(out:find("x_spec.lua:4: main maps default/a: ", 1, true), out)
    assert(out:find("main.lua:2: script CPU limit exceeded (5 s without waiting)", 1, true), out)
    assert.is_nil(out:find("times)", 1, true))
  end)

  it("ends with 2 for mistakes of its arguments", function()
    for _, case in ipairs({ { "no PATH given; usage: " },
      { "/nowhere: No such file or directory", folder .. "/nowhere" },
      { "no *_spec.lua is there", folder }, { "text|tap|json", folder, "-o", "xml" },
      { '--filter: "[": malformed pattern', folder, "--filter", "[" } }) do
      local code, out, err = e2e.run("test", case[2], case[3], case[4])
      assert.equal(2, code)
      assert.equal("", out)
      assert(err:find(case[1], 1, true), err)
      assert.is_nil(err:find("cannot obtain", 1, true))
    end
  end)

  it("names a sample that cannot be read, and no line of its own", function()
    local sample = e2e.write_file(folder .. "/sample.yaml", "a: [\n")
    local empty = e2e.write_file(folder .. "/empty.yaml", "# nothing\n")
    for _, case in ipairs({ { folder .. "/nowhere.yaml", "/nowhere.yaml: No such file or directory\n" },
      { sample, "/sample.yaml: " }, { empty, "/empty.yaml: no object is in it\n" },
      { sample, "/nowhere: No such file or directory\n", folder .. "/nowhere" } }) do
      local file, message = case[1], case[2]
      local code, _, err = e2e.run("test", "--explore", "-f", file, case[3] or "examples/hello")
      assert.equal(2, code)
      assert(err:find(message, 1, true), err)
      assert.is_nil(err:find("traceback", 1, true))
    end
  end)

  it("says how to install busted where it is missing", function()
    local path = write("x_spec.lua", 'it("x", function() end)\n')
    local code, _, err = e2e.run_with({ LUA_PATH = "/nowhere/?.lua" }, "test", path)
    assert.equal(2, code)
    assert(err:match("^[^\n]*apt install lua%-busted"), err)
  end)
end)
