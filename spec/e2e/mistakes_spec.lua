-- Messages for common mistakes of users: the text, the file and the line.

local e2e = require("spec.support.e2e")

local function check(text)
  local path = e2e.write_file(e2e.folder() .. "/script.lua", text)
  local code, out, err = e2e.run("check", path)
  return code, out, err, path
end

local head = 'local perilune = require("perilune")\n'

describe("perilune check", function()
  teardown(e2e.finish)

  it("prints controllers, sources and indexes of a good script", function()
    local code, out = check(head .. [[
perilune.index("v1/Pod", "node", "spec.nodeName")
perilune.controller("good", { max_concurrent_reconciles = 2 })
  :For("example.com/v1/Website", { labels = { app = "web" } })
  :Owns("apps/v1/Deployment")
  :Watches("v1/ConfigMap", function() end)
  :Reads("v1/Pod", { metadata_only = true })
  :Writes("v1/Service", { "create" })
  :Reconcile(function() end)
]])
    assert.equal(0, code)
    for _, part in ipairs({ "good", "example.com/v1/Website", "app=web", "apps/v1/Deployment",
      "v1/ConfigMap", "v1/Pod", "metadata_only", "v1/Service", "node" }) do
      assert(out:find(part, 1, true), part .. " is not in\n" .. out)
    end
  end)

  local cases = {
    { "a syntax error", "local x = = 1\n", ":2: ", "unexpected symbol" },
    { "an unknown option", 'perilune.controller("a", { max_concurent_reconciles = 2 })\n', ":2: ",
      'did you mean "max_concurrent_reconciles"' },
    { "an unknown source option", 'perilune.controller("a")\n  :For("v1/Pod", { label = "a=b" })\n',
      ":3: ", 'did you mean "labels"' },
    { "a bad kind", 'perilune.controller("a"):For("Pod")\n', ":2: ", "Pod" },
    { "an empty selector", 'perilune.controller("a"):For("v1/Pod", { labels = "" })\n', ":2: ",
      "empty" },
    { "a bad selector", 'perilune.controller("a"):For("v1/Pod", { labels = "a in (" })\n', ":2: ",
      "labels" },
    { "a wrong type", 'perilune.controller("a", { max_retries = "many" })\n', ":2: ",
      "max_retries must be a whole number" },
    { "For twice", 'perilune.controller("a"):For("v1/Pod"):For("v1/Node")\n', ":2: ",
      "For is called twice" },
    { "Owns without For",
      'perilune.controller("a"):Owns("v1/Pod"):Reconcile(function() end)\n', ":2: ", "For" },
    { "nothing to wake it", 'perilune.controller("a"):Reads("v1/Pod"):Reconcile(function() end)\n',
      ":2: ", "a" },
    { "an index of a kind that is not cached", 'perilune.index("v1/Pod", "n", "spec.nodeName")\n'
      .. 'perilune.controller("a"):For("v1/Node"):Reconcile(function() end)\n', ":2: ", "no controller caches v1/Pod" },
    { "no Reconcile", 'perilune.controller("a"):For("v1/Pod")\n', ":2: ", "has no Reconcile" },
    { "a name used twice", 'perilune.controller("a"):For("v1/Pod"):Reconcile(function() end)\n'
      .. 'perilune.controller("a")\n', ":3: ", "used twice" },
    { "a bad name", 'perilune.controller("Not A Label")\n', ":2: ", "DNS%-1123" },
    { "a module that is not there", 'require("lib.words")\n', ":2: ",
      "module 'lib.words' not found: there is neither .*/lib/words%.lua nor .*/lib/words/init%.lua" },
    { "a path as a module", 'require("./lib")\n', ":2: ", 'joined by dots, as in require%("lib%.words"%)' },
    { "an undeclared global", "answer = 42\n", ":2: ", "answer" },
    { "a misspelt function", 'perilune.contoller("a")\n', ":2: ", 'did you mean "controller"' },
    { "an error three calls deep", "local function c() error('deep') end\nlocal function b() c() end\n"
      .. "local function a() b() end\na()\n", ":2: ", "deep" },
    { "a wait while loading", 'perilune.sleep(1)\n', ":2: ", "wait" },
    { "an endless main chunk", "while true do end\n", ":2", "" },
    { "a webhook without a handler", 'perilune.webhook.mutate("v1/Pod")\n', ":2: ", "needs a function" },
    { "two handlers for one kind", 'perilune.webhook.mutate("v1/Pod", print)\n'
      .. 'perilune.webhook.mutate({"v1/Pod"}, print)\n', ":3: ", "called twice for one kind" },
    { "two webhooks of one name", 'perilune.webhook.mutate("v1/Pod", print, {name = "a.b.c"})\n'
      .. 'perilune.webhook.mutate("v1/Node", print, {name = "a.b.c"})\n', ":3: ", 'called "a.b.c"' },
    { "a webhook's timeout", 'perilune.webhook.validate("v1/Pod", print, {timeout = "1500ms"})\n', ":2: ",
      "whole seconds" },
    { "a dot for a colon", 'perilune.client.get("v1/Pod", "a/b")\n', ":2: ", "colon" },
    { "nothing at all", "", "", "declare" },
  }
  for _, case in ipairs(cases) do
    it("names file and line of " .. case[1], function()
      local code, _, err, path = check(head .. case[2])
      assert.equal(1, code)
      local where = case[3] ~= "" and path:match("[^/]+$") .. case[3] or ""
      assert(err:find(where, 1, true), ("%q is not in: %s"):format(where, err))
      assert(err:find(case[4]), ("%q is not in: %s"):format(case[4], err))
    end)
  end

  it("says so when the path is not there", function()
    local code, _, err = e2e.run("check", "/nowhere/at-all.lua")
    assert.equal(1, code)
    assert(err:find("/nowhere/at-all.lua", 1, true), err)
  end)
end)

describe("a runtime error", function()
  local server, host

  setup(function()
    server = e2e.server()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  it("is logged with message, file, line, source line and traceback", function()
    local namespace = server:new_namespace()
    host = e2e.start_host(server, head .. [[
local function third(config)
  return config.data.missing.field
end
local function second(config) return (third(config)) end
local function first(config) return (second(config)) end
perilune.controller("failing")
  :For("v1/ConfigMap", { labels = "fail=yes" })
  :Reconcile(function(request)
    first(perilune.client:get("v1/ConfigMap", request))
  end)
]])
    server:create("/api/v1/namespaces/" .. namespace .. "/configmaps", {
      apiVersion = "v1", kind = "ConfigMap", data = { a = "b" },
      metadata = { name = "x", labels = { fail = "yes" } },
    })
    local line = host:logged(function(line)
      return line.level == "error" and line.key == namespace .. "/x"
    end)
    local text = require("cjson").encode(line)
    assert(text:find("missing", 1, true), text)
    assert(text:find("%.lua:3:"), text)
    assert(text:find("return config.data.missing.field", 1, true), text)
    assert(text:find("third", 1, true), text)
    assert(not text:find("[C]", 1, true) and not text:find("perilune/", 1, true), text)
    host:stop()
  end)

  it("in a function given to create_or_update keeps its own traceback", function()
    local namespace = server:new_namespace()
    host = e2e.start_host(server, head .. [[
local function fill(object)
  object.data.missing.field = 1
end
perilune.controller("filling"):For("v1/ConfigMap", { labels = "fill=yes" }):Reconcile(function(request)
  local made = perilune.client:create_or_update({ apiVersion = "v1", kind = "ConfigMap", data = {},
    metadata = { namespace = request.namespace, name = "made" } }, function(object)
    fill(object)
  end)
  return made
end)
]])
    server:create("/api/v1/namespaces/" .. namespace .. "/configmaps", { apiVersion = "v1",
      kind = "ConfigMap", metadata = { name = "x", labels = { fill = "yes" } } })
    local line = host:logged(function(line)
      return line.level == "error" and line.key == namespace .. "/x"
    end)
    assert(line.error:find("%.lua:3: "), line.error)
    assert(line.traceback:find("object.data.missing.field = 1", 1, true), line.traceback)
    assert(line.traceback:find("in function 'fill'", 1, true), line.traceback)
    assert(line.traceback:find("in function 'reconcile'", 1, true), line.traceback)
    assert(not line.traceback:find("[C]", 1, true), line.traceback)
    host:stop()
  end)

  it("in what a reconcile or a map returns names where the function begins", function()
    host = e2e.start_host(server, head .. [[
perilune.controller("returns"):For("v1/Namespace"):Reconcile(function()
  return { requeueAfter = 5 }
end)
perilune.controller("maps"):Watches("v1/Namespace", function()
  return { {} }
end):Reconcile(function() end)
]])
    local function error_of(controller)
      return host:logged(function(one)
        return one.level == "error" and one.controller == controller
      end)
    end
    local line = error_of("returns")
    assert(line.error:find('%.lua:2: .*did you mean "requeue_after"'), line.error)
    line = error_of("maps")
    assert(line.error:find("%.lua:5: map of v1/Namespace: result%[1%] has no name"), line.error)
    host:stop()
  end)

  it("of the API says what is wrong where", function()
    local namespace = server:new_namespace()
    host = e2e.start_host(server, head .. [[
local client = perilune.client
perilune.controller("asks"):For("v1/Namespace"):Reads("v1/ConfigMap"):Writes("v1/ConfigMap", { "create" })
  :Reconcile(function(request, context)
    if request.name ~= "]] .. namespace .. [[" then return end
    local _, scope = pcall(function() return (client:get("v1/Namespace", "a/b")) end)
    local _, other = pcall(function() return (client:get("v1/ConfigMap", "b")) end)
    local _, invalid = perilune.try(client.create, client, { apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = request.name, name = "Not A Name" } })
    context.log:info("asked", { scope = scope, other = other, code = invalid.code,
      field = invalid.causes[1].field, text = tostring(invalid) })
  end)
]])
    local line = host:logged("^asked$")
    assert(line.scope:find("%.lua:6: get: v1/Namespace is cluster%-scoped"), line.scope)
    assert(line.other:find("%.lua:7: get: v1/ConfigMap is namespaced"), line.other)
    assert.equal(422, line.code)
    assert.equal("metadata.name", line.field)
    assert(line.text:find("create v1/ConfigMap " .. namespace .. "/Not A Name: ", 1, true), line.text)
    host:stop()
  end)

  it("in a call of the client names the function that was called", function()
    host = e2e.start_host(server, head .. [[
local client = perilune.client
perilune.controller("cached"):For("v1/ConfigMap"):Reconcile(function() end)
perilune.run("asks", { leader_election = false }, function(context)
  local pod = { apiVersion = "v1", kind = "Pod", metadata = { name = "a" } }
  local map = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } }
  local function nothing() end
  local calls = {
    get = function() return (client:get("v1/Pod", "a")) end,
    create = function() return (client:create(pod)) end,
    update_status = function() return (client:update_status(pod)) end,
    patch_status = function() return (client:patch_status("v1/Pod", "a", {})) end,
    delete = function() return (client:delete("v1/Pod", "a")) end,
    create_or_update = function() return (client:create_or_update(map, nothing)) end,
    wait = function() return (client:wait("v1/ConfigMap", "a", nothing, "1s")) end,
    subresource = function() return (client:subresource("v1/Pod", "a", "eviction", "create", {})) end,
    logs = function() return (client:logs("a")) end,
    exec = function() return (client:exec("a", { command = { "ls" } })) end,
    evict = function() return (client:evict("a")) end,
  }
  for name, call in pairs(calls) do
    local _, e = pcall(call)
    context.log:info("mistake", { called = name, text = e })
  end
  local function bad() return (client:exec("default/..", { command = { "ls" } })) end
  context.log:info("name", { text = select(2, pcall(bad)) })
  local _, exec = pcall(client.exec, client, "default/gone", { command = { "ls" } })
  local _, logs = pcall(client.logs, client, "default/gone")
  local _, status = pcall(client.patch_status, client, "v1/Pod", "default/gone", {})
  context.log:info("missing", { exec = tostring(exec), logs = tostring(logs), status = tostring(status),
    subresource = exec.subresource, verb = exec.verb })
end)
]])
    local missing = host:logged("^missing$")
    local seen = 0
    for _, line in ipairs(host.lines) do
      if line.msg == "mistake" then
        seen = seen + 1
        local kind = (line.called == "create_or_update" or line.called == "wait") and "ConfigMap" or "Pod"
        local expected = (': %s: v1/%s is namespaced: "a" needs a namespace'):format(line.called, kind)
        assert(line.text:find(expected, 1, true), line.text)
      end
    end
    assert.equal(11, seen)
    local name = host:logged("^name$")
    assert(name.text:find(': exec v1/Pod: ".." cannot be a name', 1, true), name.text)
    assert(missing.exec:find("create v1/Pod/exec default/gone: ", 1, true), missing.exec)
    assert(missing.logs:find("get v1/Pod/log default/gone: ", 1, true), missing.logs)
    assert(missing.status:find("patch v1/Pod/status default/gone: ", 1, true), missing.status)
    assert.same({ "exec", "create" }, { missing.subresource, missing.verb })
    host:stop()
  end)

  it("of a kind that the server does not know is visible, and other controllers run", function()
    local namespace = server:new_namespace()
    host = e2e.start_host(server, head .. [[
perilune.controller("lost"):For("nowhere.example.com/v1/Nothing"):Reconcile(function() end)
perilune.controller("fine"):For("v1/ConfigMap"):Reconcile(function(request, context)
  context.log:info("fine runs")
end)
]])
    server:create("/api/v1/namespaces/" .. namespace .. "/configmaps",
      { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "x" } })
    host:logged("fine runs")
    host:logged(function(line)
      return require("cjson").encode(line):find("nowhere.example.com", 1, true)
    end)
    host:stop()
  end)
end)
