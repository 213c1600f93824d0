-- perilune run --once: it ends when every key and every task has run.

local e2e = require("spec.support.e2e")

local script = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("copies", {max_retries = 2})
  :For("v1/ConfigMap", {labels = "copy=yes"})
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if map.data.fail then error("it must not be so") end
    if map.data.wait then return perilune.waiting("somebody") end
    client:create_or_update({apiVersion = "v1", kind = "Secret",
      metadata = {name = map.metadata.name, namespace = map.metadata.namespace}},
      function(secret) secret.stringData = {copy = map.data.text} end, {owner = map})
    return {requeue_after = "1h"}
  end)
-- A controller that reacts to the writes of the other one.
perilune.controller("marks")
  :For("v1/Secret")
  :Reconcile(function(request)
    client:create_or_update({apiVersion = "v1", kind = "ConfigMap",
      metadata = {name = request.name .. "-mark", namespace = request.namespace}},
      function(mark) mark.data = {seen = "yes"} end)
  end)
perilune.every("1h", {name = "hourly"}, function() print("the hourly task") end)
perilune.run("first", {}, function() perilune.sleep("10ms"); print("the first task") end)
]]

describe("perilune run --once", function()
  local server, namespace

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function path(plural, name)
    return e2e.core_path(namespace, plural, name)
  end

  local function create(name, data)
    server:create(path("configmaps"), { apiVersion = "v1", kind = "ConfigMap", data = data,
      metadata = { name = name, labels = { copy = "yes" } } })
  end

  local function start(text, ...)
    return e2e.start_host(server, text, { "--once", "--namespace", namespace, ... })
  end

  it("ends with 0 when all has run, and what follows from it", function()
    create("a", { text = "a" })
    create("b", { wait = "yes" })
    local host = start(script)
    assert.equal(0, (host.child:wait(e2e.patience)))
    assert.truthy(server:get(path("secrets", "a")))
    assert.truthy(server:get(path("configmaps", "a-mark")))
    assert.equal(1, host:count_logged("^the hourly task"))
    assert.equal(1, host:count_logged("^the first task"))
    local over = host:logged("^once: everything has run")
    assert.same({ 0, 1 }, { over.failed, over.waiting })
    assert.equal(0, host:logged("^stopped$").exit_code)
  end)

  it("ends with 1 when a map function failed, and says which", function()
    create("a", { text = "a" })
    local host = start([[
require("perilune").controller("maps")
  :Watches("v1/ConfigMap", function() error("nobody is mapped") end, { labels = "copy=yes" })
  :Reconcile(function() end)
]])
    assert.equal(1, (host.child:wait(e2e.patience)))
    local failed = host:logged("^once: a map function failed")
    assert.same({ "maps", "v1/ConfigMap" }, { failed.controller, failed.kind })
    assert.truthy(failed.last_error:find("nobody is mapped", 1, true))
    assert.equal(1, host:logged("^once: everything has run").failed)
    assert.equal(0, host:count_logged("^once: keys failed"))
  end)

  it("ends with 1 when a key failed, when the others have run", function()
    create("a", { fail = "yes" })
    create("b", { text = "b" })
    local host = start(script)
    assert.equal(1, (host.child:wait(e2e.patience)))
    assert.truthy(server:get(path("configmaps", "b-mark")))
    local failed = host:logged("^once: keys failed")
    assert.same({ "copies", namespace .. "/a" }, { failed.controller, failed.last_key })
    assert.truthy(failed.last_error:find("it must not be so", 1, true))
  end)

  local endless = [[
local perilune = require("perilune")
perilune.run("endless", {}, function(context)
  while not context:stopping() do perilune.sleep("1m") end
end)
]]

  it("ends with 1 when its time is over, and says what holds it up", function()
    local host = start(endless, "--once-timeout", "2s")
    assert.equal(1, (host.child:wait(e2e.patience)))
    local held = host:logged("^once: not finished")
    assert.same({ "endless", "it runs" }, { held.controller, held.because })
  end)

  it("ends with 1 when it is told to stop before", function()
    local host = start(endless)
    host:logged("^task started")
    host:stop(1)
    host:logged("^once: stopped before everything has run")
  end)

  local words = { ["--leader-elect"] = "the namespace of the Lease", ["--shards=3"] = "the namespace of the Leases" }
  for flag, what in pairs(words) do
    it("says that " .. flag .. " needs to know " .. what, function()
      local file = e2e.write_file(e2e.folder() .. "/leases-once.lua", script)
      local code, _, err = e2e.run("run", file, "--once", flag, "--kubeconfig", server.kubeconfig,
        "--metrics-bind-address", "0", "--health-probe-bind-address", "0")
      assert.equal(1, code, err)
      local wanted = ("perilune: %s needs --leader-elect-resource-namespace outside a cluster: %s\n")
        :format(flag:match("^[^=]+"), what)
      assert.truthy(err:find(wanted, 1, true), err)
    end)
  end
end)

describe("perilune run --once with flags that are mistakes", function()
  teardown(e2e.finish)

  local words = {
    ['--once: "maybe": it must be true or false'] = { "--once=maybe" },
    ['--once-timeout: "3x": it must be a duration'] = { "--once", "--once-timeout", "3x" },
    ['--once-timeout: "-3s": it must be a duration'] = { "--once", "--once-timeout", "-3s" },
    ["--once-timeout goes with --once"] = { "--once-timeout", "5s" },
    ["did you mean --once?"] = { "--onec" },
    ['--server: "http:///x": it must be https://'] = { "--once", "--server", "http:///x" },
  }
  for message, flags in pairs(words) do
    it("says: " .. message, function()
      local file = e2e.write_file(e2e.folder() .. "/flags-once.lua", 'error("it must not be loaded")')
      local code, out, err = e2e.run("run", file, unpack(flags))
      assert.same({ 2, "" }, { code, out }, err)
      assert.truthy(err:find(message, 1, true), err)
      assert.is_nil(err:find("must not be loaded", 1, true))
    end)
  end
end)

describe("perilune run --once on a server that goes away", function()
  local server

  before_each(function()
    server = e2e.start_embedded()
  end)
  after_each(function()
    e2e.clean_up()
    if server.child:is_running() then
      server:stop()
    end
  end)
  teardown(e2e.finish)

  local asking = [[
local perilune = require("perilune")
perilune.controller("asks", %s):For("v1/ConfigMap", { namespaces = { "default" } })
  :Reconcile(function(request, context)
    context.log:info("it runs")
    while true do
      perilune.live:get("v1/ConfigMap", request)
      perilune.sleep("5ms")
    end
  end)
]]

  local function start(options, ...)
    server:create("/api/v1/namespaces/default/configmaps",
      { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } })
    local host = e2e.start_host(server, asking:format(options), { "--once", ... })
    host:logged("^it runs$")
    server:stop()
    return host
  end

  it("fails with the keys that have no tries left", function()
    local host = start("{ max_retries = 1 }")
    assert.equal(1, (host.child:wait(e2e.patience)))
    local failed = host:logged("^once: keys failed")
    assert.same({ "asks", "default/a" }, { failed.controller, failed.last_key })
    assert.truthy(failed.last_error:find("network", 1, true), failed.last_error)
  end)

  it("ends when its time is over, and says what is open", function()
    local host = start("{}", "--once-timeout", "2s")
    assert.equal(1, (host.child:wait(e2e.patience)))
    assert.equal("asks", host:logged("^once: not finished within").controller)
  end)
end)

describe("perilune dev --once", function()
  teardown(e2e.finish)

  it("tries scripts on manifests", function()
    local file = e2e.write_file(e2e.folder() .. "/dev-once.lua", [[
local perilune = require("perilune")
perilune.controller("seen"):For("v1/ConfigMap"):Reconcile(function(request)
  print("seen " .. request.key)
end)
]])
    local manifest = e2e.write_file(e2e.folder() .. "/dev-once.yaml", [[
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: default}
]])
    local code, _, err = e2e.run("dev", file, "-f", manifest, "--once", "--metrics-bind-address", "0",
      "--health-probe-bind-address", "0", "--admin-socket", "0")
    assert.equal(0, code, err)
    assert.truthy(err:find("seen default/a", 1, true), err)
  end)
end)
