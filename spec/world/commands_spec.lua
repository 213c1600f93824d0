-- Commands in the Pods of a world. Run by `perilune test`.
local test = require("perilune.test")

describe("commands in pods", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()
  local script = files.script

  after_each(files.remove)

  local runner = [[
perilune.controller("run"):For("v1/Pod"):Reconcile(function(request, context)
  local ls = client:exec(request, { command = { "ls", "-l", "a b" } })
  local cat = client:exec(request, { container = "c", command = { "cat" }, stdin = "in" })
  context.log:info("done", { ls = ls.stdout, code = ls.code, cat = cat.stdout, why = cat.stderr })
end)
]]
  local function pod(name)
    return { apiVersion = "v1", kind = "Pod", metadata = { name = name, namespace = "default" },
      spec = { containers = { { name = "c", image = "x" } } } }
  end

  local function done_line(world)
    for _, line in ipairs(world:logs("info")) do
      if line.msg == "done" then
        return line
      end
    end
  end

  it("are answered by the spec, with their stdin, and are writes", function()
    local world, asked = test.world{ scripts = script(runner) }, {}
    world:exec("default/*", function() error("a later rule counts") end)
    world:exec("default/db-*", function(request)
      asked[#asked + 1] = request
      if request.command[1] == "ls" then
        return { stdout = "total 0\n", code = 2 }
      end
      return { stdout = request.stdin:upper(), stderr = "\0" }
    end)
    world:create(pod("db-0"))
    world:settle()
    local line = done_line(world)
    assert.same({ "total 0\n", 2, "IN", "\0" }, { line.ls, line.code, line.cat, line.why })
    assert.same({ namespace = "default", pod = "db-0", command = { "ls", "-l", "a b" }, stdin = "" }, asked[1])
    assert.same({ namespace = "default", pod = "db-0", container = "c", command = { "cat" }, stdin = "in" },
      asked[2])
    assert.equal(2, #world:writes{ verb = "exec", key = "default/db-0" })
  end)

  it("may act on the world", function()
    local world = test.world{ scripts = script(runner) }
    world:exec("default/db", function(request)
      world:patch("v1/Pod", "default/db", { metadata = { labels = { [request.command[1]] = "yes" } } })
      return {}
    end)
    world:create(pod("db"))
    world:settle()
    assert.same({ ls = "yes", cat = "yes" }, world:get("v1/Pod", "default/db").metadata.labels)
  end)

  it("fail as told", function()
    local world = test.world{ scripts = script(runner) }
    world:exec("default/db", function() return { stdout = "x" } end)
    world:fail{ verb = "exec", kind = "v1/Pod", times = 1, status = 500 }
    world:create(pod("db"))
    world:settle()
    assert.equal("x", done_line(world).ls)
    assert.equal("error", world:runs("run")[1].outcome)
  end)

  it("end the test with a rule's mistake", function()
    for _, case in ipairs({
      { function() return nil end, "exec: the answer to a command in default/db must be a table" },
      { function() return { out = "x" } end, 'unknown option "out"; there are: code, stderr, stdout' },
      { function() return { code = 256 } end, "code must be at most 255, not 256" },
      { function() return { stdout = 1 } end, "stdout must be a string" },
      { function() error("no idea") end, "no idea" },
    }) do
      local world = test.world{ scripts = script(runner) }
      world:exec("default/db", case[1])
      world:create(pod("db"))
      local ok, message = pcall(world.settle, world)
      assert.is_false(ok)
      assert.truthy(tostring(message):find(case[2], 1, true), tostring(message))
      world:stop()
    end
  end)

  it("need pods by namespace and name", function()
    local world = test.world{}
    assert.has_error(function() world:exec("db", print) end)
    assert.has_error(function() world:exec("default/db", "x") end)
  end)

  it("are answered by a pod's annotation", function()
    local world = test.world{ scripts = script[[
perilune.controller("run"):For("v1/Pod"):Reconcile(function(request, context)
  local pod = request
  local result = client:exec(pod, { command = { "ls" } })
  context.log:info("result", { stdout = result.stdout, stderr = result.stderr, code = result.code })
  result = client:exec(pod, { command = { "cat" }, stdin = ("x"):rep(100000) })
  context.log:info("echo", { size = #result.stdout })
  local _, e = perilune.try(client.exec, client, pod, { command = { "cat" }, stdin = ("x"):rep(100), limit_bytes = 50 })
  context.log:info(tostring(e))
  _, e = perilune.try(client.exec, client, pod, { command = { "ls" }, container = "other" })
  context.log:info(tostring(e))
  context.log:info("dry", { skipped = client:exec(pod, { command = { "ls" }, dry_run = true }).skipped })
end)
]] }
    world:create{ apiVersion = "v1", kind = "Pod", metadata = { name = "p", namespace = "default",
      annotations = { ["perilune.dev/exec"] = '{"stdout":"out","stderr":"bad","code":3,"echo":true}' } },
      spec = { containers = { { name = "c", image = "x" } } } }
    world:settle()
    local lines = world:logs("info")
    local told = {}
    for _, line in ipairs(lines) do
      told[#told + 1] = line.msg
    end
    local result, echo, dry
    for _, line in ipairs(lines) do
      result = line.msg == "result" and line or result
      echo = line.msg == "echo" and line or echo
      dry = line.msg == "dry" and line or dry
    end
    assert.same({ "out", "bad", 3 }, { result.stdout, result.stderr, result.code })
    assert.equal(100003, echo.size)
    assert.is_true(dry.skipped)
    local all = table.concat(told, "\n")
    assert.truthy(all:find("printed more than 50 bytes; raise limit_bytes", 1, true), all)
    assert.truthy(all:find("container other is not valid for pod p", 1, true), all)
  end)

  it("are answered by a rule before an annotation", function()
    local world = test.world{ scripts = script(runner) }
    world:exec("default/db", function() return { stdout = "rule" } end)
    local noted = pod("db")
    noted.metadata.annotations = { ["perilune.dev/exec"] = '{"stdout":"note"}' }
    world:create(noted)
    world:settle()
    assert.equal("rule", done_line(world).ls)
  end)
end)
