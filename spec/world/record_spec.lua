-- The records of a world, and its disturbances. Run by `perilune test`.
local test = require("perilune.test")

local CONFIG = "v1/ConfigMap"

local function config(name, data)
  return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name, namespace = "default",
    labels = { mine = "yes" } }, data = data }
end

local function deployment(name)
  return { apiVersion = "apps/v1", kind = "Deployment",
    metadata = { name = name, namespace = "default" },
    spec = { replicas = 2, selector = { matchLabels = { app = name } },
      template = { metadata = { labels = { app = name } },
        spec = { containers = { { name = "web", image = "web:1" } } } } } }
end

describe("a world", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()
  local script = files.script

  after_each(files.remove)

  -- Each ConfigMap has a Secret with its data.
  local function copier()
    return script[[
perilune.controller("copy"):For("v1/ConfigMap", { labels = "mine=yes" }):Owns("v1/Secret")
  :Reconcile(function(request, context)
    local c = client:get("v1/ConfigMap", request)
    if not c then return end
    context.log:info("copying", { what = request.name })
    client:apply({ apiVersion = "v1", kind = "Secret",
      metadata = { name = request.name, namespace = request.namespace },
      data = { x = perilune.base64.encode(c.data.x) } }, { owner = c })
    perilune.event(c, "Normal", "Copied", "its Secret is there")
  end)
]]
  end

  it("tells what was written, asked for, logged, run, counted and why", function()
    local world = test.world{ scripts = copier() }
    world:create(config("a", { x = "1" }))
    world:settle()
    local writes = world:writes()
    assert.equal(1, #writes)
    assert.equal("apply", writes[1].verb)
    assert.equal("v1/Secret", writes[1].kind)
    assert.equal("default/a", writes[1].key)
    assert.equal("MQ==", writes[1].body.data.x)
    assert.equal(0, #world:writes{ kind = "v1/ConfigMap" })
    assert.equal(1, #world:writes{ kind = "v1/Secret", verb = "apply" })
    local listed = false
    for _, request in ipairs(world:requests()) do
      listed = listed or request.verb == "list" and request.kind == "v1/Secret"
    end
    assert.is_true(listed)
    local runs = world:runs("copy")
    assert.is_true(#runs >= 1)
    assert.equal("default/a", runs[1].key)
    assert.equal("done", runs[1].outcome)
    local logged
    for _, line in ipairs(world:logs("info")) do
      logged = logged or line.msg == "copying" and line
    end
    assert.equal("a", logged.what)
    assert.equal(0, #world:logs("error"))
    assert.equal(#runs, world:metrics("controller_runtime_reconcile_total",
      { controller = "copy", result = "success" }))
    assert.is_nil(world:metrics("no_such_metric"))
    assert.equal(1, #world:requests{ kind = "v1/Secret", verb = "apply" })
    assert.equal(0, #world:requests{ kind = "v1/Pod" })
    assert.truthy(table.concat(world:why(CONFIG, "default/a"), "\n"):find("copy: event ADDED", 1, true))
    local events = world:events(CONFIG, "default/a")
    assert.equal("Copied", events[1].reason)
    world:forget()
    assert.equal(0, #world:writes())
    assert.equal(0, #world:runs())
    assert.equal(0, #world:logs())
    assert.equal(0, #world:events(CONFIG, "default/a"))
    assert.equal(0, #world:why(CONFIG, "default/a"))
    assert.equal(0, world:metrics("controller_runtime_reconcile_total", { controller = "copy" }))
    assert.equal(0, world:metrics("controller_runtime_reconcile_time_seconds_count", { controller = "copy" }))
    assert.equal(1, world:metrics("controller_runtime_max_concurrent_reconciles", { controller = "copy" }))
  end)

  it("tells what came after it was told to forget", function()
    local world = test.world{ scripts = copier() }
    local function runs()
      return world:metrics("controller_runtime_reconcile_total", { controller = "copy", result = "success" })
    end
    for i = 1, 3 do
      world:apply(config("a", { x = tostring(i) }))
      world:settle()
      assert.equal(#world:runs("copy"), runs())
      world:advance("1h") -- a series of equal Events is written now and then
      local told = world:events(CONFIG, "default/a")
      assert.equal(1, #told)
      assert.equal(#world:runs("copy"), told[1].count)
      assert.truthy(world:why(CONFIG, "default/a")[1]:find("copy: event", 1, true))
      world:forget()
    end
    world:crash()
    world:forget()
    world:start()
    world:settle()
    assert.equal(#world:runs("copy"), runs())
  end)

  it("fails answers as told, so often and no longer", function()
    local world = test.world{ scripts = copier() }
    world:fail{ verb = "apply", kind = "v1/Secret", times = 2, status = 500 }
    world:create(config("a", { x = "1" }))
    world:settle()
    assert.is_table(world:get("v1/Secret", "default/a"))
    local failed = 0
    for _, run in ipairs(world:runs("copy")) do
      failed = failed + (run.outcome == "error" and 1 or 0)
    end
    assert.equal(2, failed)
    assert.settled(world)
  end)

  it("loses an answer: the write is done, and the run does not know", function()
    local world = test.world{ scripts = copier() }
    world:fail{ kind = "v1/Secret", verb = "apply", lost = true }
    world:create(config("a", { x = "1" }))
    world:settle()
    assert.equal("error", world:runs("copy")[1].outcome)
    assert.is_true(world:writes()[1].lost)
    assert.is_table(world:get("v1/Secret", "default/a"))
  end)

  it("fails by reason, key, and only after so many", function()
    local world = test.world{ scripts = copier() }
    world:fail{ verb = "apply", key = "default/b", reason = "Forbidden" }
    world:create(config("a", { x = "1" }))
    world:create(config("b", { x = "1" }))
    world:settle()
    local said = {}
    for _, run in ipairs(world:runs("copy")) do
      if run.outcome == "error" then
        said[#said + 1] = run.key .. " " .. run.message
      end
    end
    assert.equal(1, #said)
    assert.truthy(said[1]:find("^default/b .*Forbidden"), said[1])
    assert.has_error(function() world:fail{ reason = "Forbiden" } end)
  end)

  it("answers for other people's servers, and says which rule is missing", function()
    local path = script[[
perilune.controller("dns"):For("v1/ConfigMap", { labels = "mine=yes" }):Reconcile(function(request)
  local c = client:get("v1/ConfigMap", request)
  if not c or c.data.id then return end
  local r = perilune.http.request{ method = "POST", url = "https://dns.example.com/v1/names",
    headers = { ["X-Test"] = "yes" }, json = { name = c.data.name } }
  client:patch(c, { data = { id = perilune.json.decode(r.body).id } })
end)
]]
    local world = test.world{ scripts = path }
    world:create(config("a", { name = "blog" }))
    local ok, message = pcall(world.settle, world)
    assert.is_false(ok)
    assert.truthy(message:find('add: world:http("https://dns.example.com/*", function(request)', 1, true),
      message)
    world:http("https://dns.example.com/*", function() error({ message = "no such zone" }) end)
    ok, message = pcall(world.settle, world)
    assert.is_false(ok)
    assert.truthy(message:find("no such zone", 1, true), message)
    local names = world:external("names")
    world:http("https://dns.example.com/*", function(request)
      assert.equal("yes", request.headers["x-test"])
      assert.equal("yes", request.headers["X-TEST"])
      assert.is_nil(request.headers["x-other"])
      names[request.json.name] = true
      return { status = 201, json = { id = "id-" .. request.json.name } }
    end)
    world:settle()
    assert.equal("id-blog", world:get(CONFIG, "default/a").data.id)
    assert.is_true(world:external("names").blog)
  end)

  it("holds watches back, lets them lag, and forgets its history", function()
    local world = test.world{ scripts = copier() }
    world:pause_watch(CONFIG)
    world:create(config("a", { x = "1" }))
    world:settle()
    assert.is_nil(world:get("v1/Secret", "default/a"))
    world:resume_watch(CONFIG)
    world:settle()
    assert.is_table(world:get("v1/Secret", "default/a"))
    world:lag(CONFIG, "10s")
    local before = world:now()
    world:create(config("b", { x = "1" }))
    world:settle()
    assert.is_table(world:get("v1/Secret", "default/b"))
    assert.is_true(world:now() - before >= 10)
    world:lag(CONFIG, 0)
    world:compact()
    world:create(config("c", { x = "1" }))
    world:settle()
    assert.is_table(world:get("v1/Secret", "default/c"))
  end)

  it("judges a rule after every write, by whoever", function()
    local world = test.world{ scripts = copier() }
    local asked = 0
    world:always("no secret of b", function(now)
      asked = asked + 1
      if now:get("v1/Secret", "default/b") then
        return "there is one"
      end
    end)
    world:create(config("a", { x = "1" }))
    world:settle()
    assert.is_true(asked >= 3)
    world:create(config("b", { x = "1" }))
    local ok, message = pcall(world.settle, world)
    assert.is_false(ok)
    assert.truthy(message:find('always "no secret of b": there is one', 1, true), message)
  end)

  it("knows what is left over, and whether two states are alike", function()
    local path = copier()
    local world, other = test.world{ scripts = path }, test.world{ scripts = path, seed = 7 }
    for _, one in ipairs({ world, other }) do
      one:create(config("a", { x = "1" }))
      one:settle()
    end
    assert.same_state(world, other)
    assert.no_leaks(world)
    other:patch(CONFIG, "default/a", { data = { x = "2" } })
    other:settle()
    assert.has_error(function() assert.same_state(world, other) end)
    local orphan = config("orphan")
    orphan.metadata.ownerReferences = { { apiVersion = "v1", kind = "ConfigMap", name = "a",
      uid = "00000000-0000-4000-8000-000000000000" } }
    world:create(orphan)
    assert.has_error(function() assert.no_leaks(world) end)
    world:settle() -- the garbage collector has taken it
    assert.no_leaks(world)
  end)

  it("says in which of two worlds an object or a value is", function()
    local path = copier()
    local world, other = test.world{ scripts = path }, test.world{ scripts = path }
    world:create(config("a", { x = "1" }))
    other:create(config("a", { x = "2" }))
    other:create(config("b"))
    world:external("records")
    local ok, message = pcall(assert.same_state, world, other)
    assert.is_false(ok)
    for _, line in ipairs({ "v1/ConfigMap default/a data.x is 1 in the first world, 2 in the second one",
      "v1/ConfigMap default/b is in the second world only", "external records is in the first world only" }) do
      assert.truthy(tostring(message):find(line, 1, true), tostring(message))
    end
  end)

  it("takes a second host on the same server", function()
    local world = test.world{ scripts = copier() }
    local second = world:replica("second")
    world:create(config("a", { x = "1" }))
    world:settle()
    second:crash()
    world:create(config("b", { x = "1" }))
    world:settle()
    local hosts = {}
    for _, run in ipairs(world:runs("copy")) do
      hosts[run.key .. " " .. run.host] = true
    end
    assert.is_true(hosts["default/a main"] and hosts["default/a second"])
    assert.is_true(hosts["default/b main"] and not hosts["default/b second"])
  end)

  it("is the same world again with the same seed, and another one with another", function()
    local path = copier()
    local function trace(seed)
      local world = test.world{ scripts = path, seed = seed }
      world:simulate("deployments", { delay = "1s" })
      world:create(config("a", { x = "1" }))
      world:create(deployment("web"))
      world:settle()
      world:crash()
      world:start()
      world:settle()
      local lines = {}
      for _, request in ipairs(world:requests()) do
        lines[#lines + 1] = ("%s %s %s?%s %d %s"):format(request.at, request.method, request.path,
          request.query, request.status, request.key or "")
      end
      lines[#lines + 1] = world:get("v1/Secret", "default/a").metadata.uid
      return table.concat(lines, "\n")
    end
    local first = trace(3)
    for _ = 1, 3 do
      assert.equal(first, trace(3))
    end
    assert.is_not.equal(first, trace(4))
  end)
end)
