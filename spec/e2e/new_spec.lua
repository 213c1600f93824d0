-- `perilune new`: its files are complete, pass `check`, and run in `dev` unchanged. After a mistake
-- nothing is written.

local e2e = require("spec.support.e2e")

local FILES = { "main.lua", "manifests/crd.yaml", "sample.yaml", "main_spec.lua", "README.md",
  "types/perilune.lua", ".luarc.json" }

local function exists(path)
  return os.execute("test -e '" .. path .. "' -o -L '" .. path .. "'") == 0
end

local function list(folder)
  local pipe = io.popen("cd '" .. folder .. "' && find . -mindepth 1 | sort")
  local text = pipe:read("*a")
  pipe:close()
  return text
end

describe("perilune new", function()
  local folder, host

  before_each(function()
    folder = e2e.folder() .. "/" .. e2e.unique("new")
    os.execute("mkdir " .. folder)
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  it("writes a project that checks, and runs in dev", function()
    local dir = folder .. "/tea-pot"
    local code, out, err = e2e.run("new", "tea-pot", "--group", "kitchen.example.org", "--dir", dir)
    assert.equal(0, code, err)
    for _, name in ipairs(FILES) do
      assert.is_true(#e2e.read_file(dir .. "/" .. name) > 0, name)
      assert(out:find(dir .. "/" .. name, 1, true), out)
    end
    assert.equal(nil, list(folder):find(".perilune", 1, true))
    local checked
    code, checked, err = e2e.run("check", dir)
    assert.equal(0, code, err)
    assert(checked:find("for      kitchen.example.org/v1/TeaPot", 1, true), checked)
    assert(loadfile(dir .. "/main_spec.lua"))
    assert(loadfile(dir .. "/types/perilune.lua"))

    host = e2e.start_host(nil, dir, {}, { command = "dev" })
    host:logged(function(line)
      return line.msg == "applied" and line.key == "teapots.kitchen.example.org"
    end)
    local server = e2e.read_kubeconfig(e2e.eventually("a kubeconfig", function()
      return e2e.read_file(host.out_file):match("kubeconfig: (%S+)\n")
    end))
    local path = "/apis/kitchen.example.org/v1/namespaces/default/teapots/sample"
    assert.equal(201, (server:request("PATCH", path .. "?fieldManager=spec",
      e2e.read_file(dir .. "/sample.yaml"), "application/apply-patch+yaml")))
    local object = e2e.eventually("it is ready", function()
      local now = server:get(path)
      return now.status and now.status.conditions and now
    end)
    assert.equal("True", object.status.conditions[1].status)
    local config_map = "/api/v1/namespaces/default/configmaps/sample"
    assert.equal("hello, world", server:get(config_map).data.message)
    server:patch(config_map, { data = { message = "defaced" } })
    e2e.eventually("it is put back", function()
      return server:get(config_map).data.message == "hello, world"
    end)
    server:delete(path)
    e2e.eventually("it is gone with its ConfigMap", function()
      return not server:get(path) and not server:get(config_map)
    end)
    assert.same({}, host:complaints())
    host:stop()
  end)

  it("writes an admission webhook with --webhook", function()
    local dir = folder .. "/hooked"
    local code, _, err = e2e.run("new", "hooked", "--webhook", "--dir", dir)
    assert.equal(0, code, err)
    code, _, err = e2e.run("check", dir)
    assert.equal(0, code, err)
    local out
    code, out, err = e2e.run("test", dir, "-o", "tap")
    assert.equal(0, code, out .. err)
    assert(out:find("refuses a message with white space", 1, true), out)
    host = e2e.start_host(nil, dir, { "--webhook-bind-address=127.0.0.1:0" }, { command = "dev" })
    host:logged("^webhooks are registered$")
    assert.same({}, host:complaints())
    host:stop()
  end)

  it("leaves manifests/ out with --no-manifests", function()
    local dir = folder .. "/plain"
    assert.equal(0, (e2e.run("new", "plain", "--dir", dir)))
    e2e.write_file(dir .. "/main.lua", [[
require("perilune").controller("c"):For("v1/Namespace"):Reconcile(function() end)
]])
    host = e2e.start_host(nil, dir .. "/main.lua", { "--no-manifests", "--once" }, { command = "dev" })
    assert.equal(0, host.child:wait(e2e.patience))
    assert.equal(0, host:count_logged("^applied$"))
    host = e2e.start_host(nil, dir .. "/main.lua", { "--once" }, { command = "dev" })
    assert.equal(0, host.child:wait(e2e.patience))
    assert.equal(1, host:count_logged("^applied$"))
  end)

  it("fills a folder that is there and empty, but for hidden files", function()
    e2e.write_file(folder .. "/.gitignore", "x\n")
    local code, _, err = e2e.run("new", "web", "--dir", folder .. "/")
    assert.equal(0, code, err)
    for _, name in ipairs(FILES) do
      assert.is_true(exists(folder .. "/" .. name), name)
    end
    assert.equal("x\n", e2e.read_file(folder .. "/.gitignore"))
    assert.equal(0, (e2e.run("check", folder)))
  end)

  local there = {
    { "a file of its own name", "echo mine > main.lua", "main.lua: it is there already" },
    { "a link that leads nowhere", "ln -s /nowhere main_spec.lua", "main_spec.lua: it is there already" },
    { "a file in a folder", "mkdir types; echo mine > types/perilune.lua", "types/perilune.lua: it is there" },
    { "a file in the place of a folder", "echo mine > manifests", "manifests: it is there already" },
    { "somebody else's file", "echo mine > thesis.txt", "thesis.txt: the folder is not empty" },
  }
  for _, case in ipairs(there) do
    it("names " .. case[1] .. ", and writes nothing", function()
      os.execute("cd " .. folder .. " && " .. case[2])
      local before = list(folder)
      local code, out, err = e2e.run("new", "web", "--dir", folder)
      assert.equal(1, code)
      assert.equal("", out)
      assert(err:find(case[3], 1, true), err)
      assert(err:find("nothing was written", 1, true), err)
      assert.equal(before, list(folder))
    end)
  end

  it("names a place that cannot be written to", function()
    e2e.write_file(folder .. "/file", "x")
    for _, dir in ipairs({ folder .. "/file", folder .. "/no/such", "/proc/perilune-new" }) do
      local code, _, err = e2e.run("new", "web", "--dir", dir)
      assert.equal(1, code)
      assert(err:find("nothing was written", 1, true), err)
    end
    assert.equal("./file\n", list(folder))
  end)

  local refused = {
    { { "Web" }, '"Web" is not a controller name' }, { { "1web" }, '"1web" is not a controller name' },
    { { "web-" }, '"web-" is not a controller name' }, { { "../x" }, '"../x" is not a controller name' },
    { { ("a"):rep(64) }, "is not a controller name" }, { {}, "no name given" }, { { "a", "b" }, "one name" },
    { { "web", "--group", "example" }, "a domain with a dot" },
    { { "web", "--group", "x.k8s.io" }, "belongs to Kubernetes" },
    { { "web", "--group", "Example.com" }, "is not an API group" },
    { { "web", "--kind", "website" }, '"website" is not a kind' },
    { { "web", "--kind", "Web-Site" }, '"Web-Site" is not a kind' },
    { { "list" }, "the kind List would end in List, as in Kubernetes the name of a list of objects does" },
    { { "web", "--kind", "WebList" }, "take another --kind" },
    { { "web", "--kid", "X" }, "did you mean --kind" },
  }
  for _, case in ipairs(refused) do
    it("refuses: new " .. table.concat(case[1], " "), function()
      local argv = { "new" }
      for _, word in ipairs(case[1]) do
        argv[#argv + 1] = word
      end
      argv[#argv + 1] = "--dir"
      argv[#argv + 1] = folder .. "/x"
      local code, _, err = e2e.run(unpack(argv))
      assert.equal(2, code)
      assert(err:find(case[2], 1, true), err)
      assert.is_false(exists(folder .. "/x"))
    end)
  end
end)
