-- perilune.every, run, channel, enqueue and memo on a running host.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")

describe("tasks", function()
  local server, namespace, host, socket

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function start(script)
    socket = e2e.folder() .. "/" .. e2e.unique("tasks") .. ".sock"
    host = e2e.start_host(server, 'local perilune = require("perilune")\n'
      .. "local client = perilune.client\n" .. script,
      { "--namespace", namespace, "--admin-socket", socket })
  end

  local function path(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function create(name, data)
    return server:create(path(), { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = name }, data = data })
  end

  it("run without a controller, read caches, write, and stop with the host", function()
    create("seed", { n = "1" })
    start([[
perilune.every("50ms", { name = "counter", immediate = true, reads = { "v1/ConfigMap" },
  writes = { ["v1/ConfigMap"] = { "create", "update" } } }, function(context)
  local maps = client:list("v1/ConfigMap", { namespace = "]] .. namespace .. [[",
    labels = "made!=here" })
  client:create_or_update({ apiVersion = "v1", kind = "ConfigMap",
    metadata = { namespace = "]] .. namespace .. [[", name = "count", labels = { made = "here" } } },
    function(current)
      current.data = { count = tostring(#maps) }
    end)
  context.log:debug("counted")
end)
perilune.run("long", {}, function(context)
  context.log:info("long begins", { deadline = tostring(context.deadline) })
  while not context:stopping() do
    perilune.sleep("1h")
  end
  context.log:info("long ends")
end)
]])
    e2e.eventually("the count", function()
      local map = server:get(path("count"))
      return map and map.data.count ~= "0"
    end)
    local before = tonumber(server:get(path("count")).data.count)
    create("another")
    e2e.eventually("a new count", function()
      return tonumber(server:get(path("count")).data.count) == before + 1
    end)
    local code, out, err = e2e.run("status", "--admin-socket", socket, "-o", "json")
    assert.are.equal(0, code, err)
    local controllers = cjson.decode(out).controllers
    assert.are.same({ "counter", "every" }, { controllers[1].name, controllers[1].task })
    assert.are.same({ "long", "run", 1 },
      { controllers[2].name, controllers[2].task, controllers[2].in_flight })
    local function refused(...)
      local rc, _, why = e2e.ask(socket, "queue", ...)
      assert.are.equal(1, rc)
      return why
    end
    assert.truthy(refused("drop", "counter", "counter")
      :find("counter is a task: dropping its key would end it", 1, true))
    assert.truthy(refused("requeue", "counter", "other"):find("counter is a task, whose only key is counter", 1, true))
    assert.are.equal(0, (e2e.run("queue", "requeue", "counter", "counter", "--admin-socket", socket)))
    local line = host:logged("^long begins")
    assert.are.equal("long", line.task)
    assert.are.equal("nil", line.deadline)
    host:stop(0)
    assert.are.equal(1, host:count_logged("^long ends"))
    assert.are.same({}, host:complaints())
  end)

  it("log their errors with a traceback and go on", function()
    start([[
local times = 0
perilune.every("50ms", { name = "flaky", immediate = true }, function()
  times = times + 1
  if times == 1 then
    error("the first time")
  end
  print("tick " .. times)
end)
perilune.run("restarted", {}, function()
  times = times + 100
  if times < 200 then
    error("not yet")
  end
  print("restarted well")
end)
]])
    host:logged("^tick ")
    host:logged("^restarted well")
    local failures = {}
    for _, line in ipairs(host:complaints()) do
      failures[line.task] = line
    end
    assert.are.equal("task failed", failures.flaky.msg)
    assert.is_truthy(failures.flaky.error:find("the first time", 1, true))
    assert.is_truthy(failures.flaky.traceback:find("host[%w%-]+%.lua:%d+"),
      failures.flaky.traceback)
    assert.is_truthy(failures.restarted.error:find("not yet", 1, true))
    host:stop(0)
  end)

  it("end when they go on sleeping while the host stops", function()
    start([[
perilune.run("deaf", { leader_election = false }, function(context)
  print("deaf begins")
  while true do
    perilune.sleep("1h")
  end
end)
]])
    host:logged("^deaf begins")
    host:stop(0)
    assert.are.same({}, host:complaints())
  end)

  it("are ended when they compute too long, and others go on", function()
    socket = e2e.folder() .. "/" .. e2e.unique("tasks") .. ".sock"
    host = e2e.start_host(server, [[
local perilune = require("perilune")
perilune.run("busy", {}, function()
  while true do end
end)
perilune.every("50ms", { name = "modest" }, function()
  print("modest ran")
end)
]], { "--namespace", namespace, "--reconcile-cpu-limit", "200ms" })
    local line = host:logged(function(line)
      return line.msg == "task failed" and line.task == "busy"
    end)
    assert.is_truthy(line.error:find("without waiting", 1, true), line.error)
    host:logged("^modest ran")
    host:stop(0)
  end)

  it("wake controllers through channels and enqueue", function()
    start([[
local hooks = perilune.channel("hooks")
perilune.controller("woken")
  :WatchesChannel("hooks")
  :Reconcile(function(request, context)
    local cause = context.causes[1]
    print("woken " .. request.key .. " by " .. cause.type .. " " .. tostring(cause.channel))
  end)
perilune.run("sender", {}, function()
  hooks:send("]] .. namespace .. [[/one")
  perilune.enqueue("woken", { namespace = "]] .. namespace .. [[", name = "two" })
  local ok, e = pcall(perilune.enqueue, "wokem", "x")
  print(e)
  ok, e = pcall(perilune.enqueue, "sender", "x")
  print(e)
  ok, e = pcall(perilune.channel, "hook")
  print(e)
end)
]])
    host:logged("^woken " .. namespace:gsub("%p", "%%%0") .. "/one by CHANNEL hooks")
    host:logged("^woken " .. namespace:gsub("%p", "%%%0") .. "/two by REQUEUE nil")
    host:logged('there is no controller "wokem"; did you mean "woken"?')
    host:logged('there is no controller "sender"')
    host:logged('no controller watches the channel "hook"; did you mean "hooks"?')
    host:stop(0)
  end)

  it("wake controllers for objects of their kind's scope alone", function()
    start([[
local hooks = perilune.channel("scoped")
perilune.controller("maps")
  :For("v1/ConfigMap")
  :WatchesChannel("scoped")
  :Reconcile(function(request)
    if request.name ~= "scope" then return end
    for _, f in ipairs({
      function() perilune.enqueue("maps", "lonely") end,
      function() perilune.enqueue("spaces", "default/lonely") end,
      function() hooks:send("lonely") end,
      function() perilune.enqueue("maps", "]] .. namespace .. [[/fits") end,
      function() perilune.enqueue("spaces", "fits") end,
    }) do
      local ok, e = pcall(f)
      print("scope: " .. tostring(ok or e))
    end
  end)
perilune.controller("spaces"):For("v1/Namespace")
  :Reconcile(function(request) print("space " .. request.key) end)
]])
    host:logged("^space default$")
    create("scope", {})
    host:logged('enqueue to controller "maps": v1/ConfigMap is namespaced: "lonely" needs a namespace')
    host:logged('enqueue to controller "spaces": v1/Namespace is cluster%-scoped: leave the namespace "default" out')
    host:logged('send to controller "maps": v1/ConfigMap is namespaced: "lonely" needs a namespace')
    host:logged("^space fits$")
    assert.equal(2, host:count_logged("^scope: true"))
    host:stop(0)
  end)

  it("remember with perilune.memo until the object is gone", function()
    start([[
perilune.controller("memory")
  :For("v1/ConfigMap")
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if map and not (map.data and map.data.mine) then
      return
    end
    local memo = perilune.memo(request)
    memo.runs = (memo.runs or 0) + 1
    memo.seen = memo.seen or perilune.array()
    memo.seen[#memo.seen + 1] = map and map.data.mine or "gone"
    print(request.name .. ": " .. memo.runs .. " " .. table.concat(memo.seen, ","))
    if map and map.data.mine == "bad" then
      memo.helper = { print }
    end
  end)
]])
    create("a", { mine = "1" })
    host:logged("^a: 1 1$")
    server:patch(path("a"), '{"data":{"mine":"2"}}', "application/merge-patch+json")
    host:logged("^a: 2 1,2$")
    server:delete(path("a"))
    host:logged("^a: 3 1,2,gone$")
    create("a", { mine = "3" })
    host:logged("^a: 1 3$")
    server:patch(path("a"), '{"data":{"mine":"bad"}}', "application/merge-patch+json")
    local line = host:logged("^reconcile failed")
    assert.is_truthy(line.error:find("memo: helper[0]: a function can't be", 1, true), line.error)
    host:stop(0)
  end)

  it("follow the lead unless they say no, and write only with it", function()
    local script = [[
perilune.every("50ms", { name = "leaders", writes = { ["v1/ConfigMap"] = { "create" } } },
  function(context)
    perilune.try(client.create, client, { apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = "]] .. namespace .. [[", name = "by-leader" } })
    print("leaders ran")
  end)
perilune.every("50ms", { name = "everybodys", leader_election = false }, function()
  print("everybodys ran")
end)
]]
    local flags = { "--leader-elect", "--leader-elect-resource-namespace", namespace,
      "--leader-elect-resource-name", "tasks" }
    local function replica()
      return e2e.start_host(server, 'local perilune = require("perilune")\n'
        .. "local client = perilune.client\n" .. script, flags)
    end
    local first = replica()
    first:logged("^leaders ran")
    local second = replica()
    second:logged("^everybodys ran")
    first:logged("^everybodys ran")
    assert.are.equal(0, second:count_logged("^leaders ran"))
    e2e.eventually("the leader's write", function()
      return server:get(path("by-leader"))
    end)
    first:stop(0)
    second:logged("^leaders ran")
    second:stop(0)
  end)

  it("outlive a reload: memos, due times, and runs that are asked to stop", function()
    local function script(version)
      return [[
local perilune = require("perilune")
perilune.controller("memory")
  :For("v1/ConfigMap")
  :Reconcile(function(request)
    local memo = perilune.memo(request)
    memo.runs = (memo.runs or 0) + 1
    if request.name == "a" then
      print("a: run " .. memo.runs .. " on ]] .. version .. [[")
    end
  end)
perilune.every("1h", { name = "hourly", immediate = true }, function()
  print("hourly on ]] .. version .. [[")
end)
perilune.run("long", {}, function(context)
  print("long begins on ]] .. version .. [[")
  while not context.stopping() do
    perilune.sleep("1h")
  end
  print("long ends on ]] .. version .. [[")
end)
]]
    end
    create("a")
    local file = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("reloaded") .. ".lua",
      script("one"))
    host = e2e.start_host(server, file, { "--namespace", namespace })
    host:logged("^a: run 1 on one")
    host:logged("^hourly on one")
    host:logged("^long begins on one")
    e2e.write_file(file, script("two"))
    host:logged("^a: run 2 on two")
    host:logged("^long ends on one")
    host:logged("^long begins on two")
    host:stop(0)
    assert.are.equal(1, host:count_logged("^hourly"))
    assert.are.equal(1, host:count_logged("^long ends on two"))
    assert.are.same({}, host:complaints())
  end)
end)

describe("perilune check", function()
  after_each(e2e.clean_up)

  it("shows tasks and channels", function()
    local script = e2e.write_file(e2e.folder() .. "/nightly.lua", [[
local perilune = require("perilune")
perilune.every("5m", { reads = { "v1/Pod" }, immediate = true }, function() end)
perilune.run("feed", { writes = { "v1/Secret" } }, function() end)
perilune.cron("0  3 * * *", { zone = "Europe/Berlin", name = "night" }, function() end)
perilune.cron("@daily", { name = "day" }, function() end)
perilune.channel("hooks")
perilune.controller("woken"):WatchesChannel("hooks"):Reconcile(function() end)
]])
    local code, text = e2e.run("check", script)
    assert.are.equal(0, code)
    assert.are.equal("task every-nightly-1 (" .. script .. ":2): every 300 s, at once\n"
      .. "  reads    v1/Pod\n"
      .. "task feed (" .. script .. ":3): runs with the host\n"
      .. "  writes   v1/Secret create update patch delete\n"
      .. "task night (" .. script .. ":4): at \"0 3 * * *\" Europe/Berlin\n"
      .. "task day (" .. script .. ":5): at \"@daily\" UTC\n"
      .. "controller woken (" .. script .. ":7)\n"
      .. "  channel  hooks\n", text)
  end)
end)
