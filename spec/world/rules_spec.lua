-- Mistakes in calls of a world, and in the rules that a spec gives it: each is an error at the line of
-- the spec. Run by `perilune test`.
local test = require("perilune.test")

local CONFIG = "v1/ConfigMap"

local function config(name)
  return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name, namespace = "default" } }
end

local function line_here()
  return debug.getinfo(2, "l").currentline
end

-- The error of f, which has to begin with a line of this file, and with that one if it is given.
local function mistake(f, ...)
  local ok, e = pcall(f, ...)
  assert.is_false(ok)
  assert.truthy(tostring(e):find("^%S*rules_spec%.lua:%d+: "), tostring(e))
  return tostring(e)
end

local function assert_has(text, part)
  assert.truthy(text:find(part, 1, true), text)
end

-- Asks an external server for each ConfigMap, and keeps the status of the answer.
local ASKS = [[
perilune.controller("ask"):For("v1/ConfigMap"):Writes("v1/ConfigMap", { "patch" }):Reconcile(function(request)
  local c = client:get("v1/ConfigMap", request)
  if not c or c.data then return end
  local a = perilune.http.request{ url = "http://api.example.com/" }
  client:patch(c, { data = { status = tostring(a.status) } })
end)
]]

describe("a rule of a world", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()
  local script = files.script

  after_each(files.remove)

  local RUNS = [[
perilune.controller("run"):For("v1/Pod"):Reconcile(function(request)
  if client:get("v1/Pod", request) then client:exec(request, { command = { "ls" } }) end
end)
]]

  for name, call in pairs({
    crash = function(world) world:crash() end,
    stop = function(world) world:stop() end,
    start = function(world) world:start() end,
    reload = function(world) world:reload() end,
    replica = function(world) world:replica("second") end,
    settle = function(world) world:settle() end,
    advance = function(world) world:advance(1) end,
    step = function(world) world:step() end,
  }) do
    it("can't move the world: " .. name, function()
      local world = test.world{ scripts = { script(ASKS), script(RUNS) } }
      local tries = 0
      local function refuses()
        tries = tries + 1
        assert_has(mistake(call, world), "a rule (http, exec, always, simulate) can't move the world")
      end
      world:http("*", function()
        refuses()
        assert.is_nil(world:get(CONFIG, "default/a").data)
        return { status = 201 }
      end)
      world:exec("default/*", function()
        refuses()
        return { stdout = "" }
      end)
      world:create(config("a"))
      world:apply{ apiVersion = "v1", kind = "Pod", metadata = { name = "p", namespace = "default" },
        spec = { containers = { { name = "c", image = "i" } } } }
      world:settle()
      assert.equal("201", world:get(CONFIG, "default/a").data.status)
      assert.equal(2, tries)
      local writes = false
      world:always("no moves", function()
        return writes and refuses() or nil
      end)
      writes = true
      world:create(config("b"))
      assert.equal(3, tries)
    end)
  end

  it("ends the call under which it tries that, with its own line", function()
    local world = test.world{ scripts = script(ASKS) }
    local line
    world:http("*", function()
      line = line_here() + 1
      world:crash()
      return {}
    end)
    world:create(config("a"))
    local e = mistake(world.settle, world)
    assert_has(e, ("rules_spec.lua:%d: a rule (http,"):format(line))
    world:http("*", function() return {} end)
    world:settle()
  end)
end)

describe("a rule of always", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()

  after_each(files.remove)

  it("that a write breaks ends that write, and is no timeout", function()
    local world = test.world{}
    world:always("no configs", function(now)
      return now:get(CONFIG, "default/a") and "there is one" or nil
    end)
    local line = line_here() + 1
    local ok, e = pcall(function() world:create(config("a")) end)
    assert.is_false(ok)
    assert.truthy(tostring(e):find(('rules_spec.lua:%d: always "no configs": there is one$'):format(line)),
      tostring(e))
    assert.is_table(world:get(CONFIG, "default/a"))
  end)

  it("that writes ends the test at its line, and writes nothing", function()
    local world = test.world{}
    local line
    world:always("no writes", function(now)
      if now:get(CONFIG, "default/a") then
        line = line_here() + 1
        now:patch(CONFIG, "default/a", { data = { b = "c" } })
      end
    end)
    local e = mistake(world.create, world, config("a"))
    assert_has(e, ('rules_spec.lua:%d: always "no writes": a rule may only read, so it can\'t patch v1/ConfigMap')
      :format(line))
    assert.is_nil((world:get(CONFIG, "default/a").data or {}).b)
    assert.is_table(world:list("v1/Secret"))
  end)

  it("that is broken in a step ends it", function()
    local world = test.world{ scripts = files.script[[
perilune.controller("copy"):For("v1/ConfigMap"):Writes("v1/Secret", { "create" }):Reconcile(function(request)
  if request.name ~= "a" then return end
  client:create{ apiVersion = "v1", kind = "Secret", metadata = { name = "a", namespace = "default" } }
end)
]] }
    world:settle()
    world:always("no secrets", function(now)
      return #now:list("v1/Secret") > 0 and "there is one" or nil
    end)
    world:create(config("a"))
    assert_has(mistake(function()
      for _ = 1, 100 do
        world:step()
      end
    end), 'always "no secrets": there is one')
  end)
end)

describe("an answer of a rule for HTTP", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()

  after_each(files.remove)

  for said, case in pairs({
    ['unknown option "stat"; did you mean "status"?'] = { stat = 200 },
    ['status must be a whole number of at least 0, not the string "200"'] = { status = "200" },
    ["status must be 200 to 599, not 99"] = { status = 99 },
    ["body must be a string, not the number 5"] = { body = 5 },
    ["has both json and body"] = { body = "x", json = { a = 1 } },
    ["headers must be a table, not the string"] = { headers = "x" },
    ["headers must be names and texts"] = { headers = { "x" } },
    ["must be a table, not the number 5"] = 5,
  }) do
    it("is an error: " .. said, function()
      local world = test.world{ scripts = files.script(ASKS) }
      world:http("*", function() return case end)
      world:create(config("a"))
      local line = line_here() + 1
      local ok, e = pcall(function() world:settle() end)
      assert.is_false(ok)
      assert_has(e, ("rules_spec.lua:%d: http: the answer to GET http://api.example.com/"):format(line))
      assert_has(e, said)
    end)
  end

  it("may say little, or all", function()
    for _, answer in ipairs({ {}, { status = 204, headers = { A = 1 } }, { json = false },
      { status = 500, body = "" } }) do
      local world = test.world{ scripts = files.script(ASKS) }
      world:http("*", function() return answer end)
      world:create(config("a"))
      world:settle()
      assert.equal(tostring(answer.status or 200), world:get(CONFIG, "default/a").data.status)
    end
  end)
end)

describe("a mistake in a call of a world", function()
  local world

  before_each(function()
    world = test.world{}
  end)

  for said, call in pairs({
    ["fail: status must be the status of a failure, 400 to 599, not 200"] = function() world:fail{ status = 200 } end,
    ["fail: the reason Forbidden has the status 403; the status can't be 500"] = function()
      world:fail{ reason = "Forbidden", status = 500 }
    end,
    ["fail: the reason ConnectionRefused is no answer at all"] = function()
      world:fail{ reason = "ConnectionRefused", status = 503 }
    end,
    ["fail: an answer that is lost has no status"] = function() world:fail{ lost = true, status = 500 } end,
    ["fail: an answer that is lost has no reason"] = function() world:fail{ lost = true, reason = "Timeout" } end,
    ["advance must be zero or longer, not the number -50"] = function() world:advance(-50) end,
    ["settle: limit must be zero or longer, not the number -5"] = function() world:settle{ limit = -5 } end,
    ["lag must be zero or longer, not the number -1"] = function() world:lag(CONFIG, -1) end,
    ['writes: verb must be one of "create", "update", "patch"'] = function() world:writes{ verb = "updat" } end,
    ['the server does not serve v1/ConfigMpa; did you mean "ConfigMap"?'] = function()
      world:writes{ kind = "v1/ConfigMpa" }
    end,
    ["the server does not serve example.com/v1/Nothing; is its CRD among the manifests?"] = function()
      world:requests{ kind = "example.com/v1/Nothing" }
    end,
    ["the server does not serve v1/Nothing"] = function() world:events("v1/Nothing", "default/a") end,
    ["the server does not serve v1/Nowhere"] = function() world:why("v1/Nowhere", "default/a") end,
    ["runs must be a string, not the number 5"] = function() world:runs(5) end,
    ['always "told": too many'] = function()
      world:always("told", function() return false, "too many" end)
    end,
    ['always "an error": it is refused'] = function()
      world:always("an error", function() return { type = "api", message = "it is refused" } end)
    end,
  }) do
    it("is an error: " .. said, function()
      local before = world:now()
      assert_has(mistake(call), said)
      assert.equal(before, world:now())
    end)
  end

  it("is none", function()
    world:fail{ reason = "Forbidden", status = 403, lost = false }
    world:always("well", function() return true end)
    world:always("well too", function() end)
    world:always("few", function(now) return #now:list("v1/Secret") > 100 and "too many" end)
    world:always("looks", function(now) return assert.is_table(now:list("v1/Secret")) end)
    world:always("asserts", function(now) return assert.equal(0, #now:list("v1/Pod")) end)
    world:advance(0)
    world:create(config("a"))
  end)
end)

describe("a name that no host of a world has", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()
  local script = files.script

  after_each(files.remove)

  local function idle(name)
    return script(('perilune.controller(%q):For("v1/ConfigMap"):Reconcile(function() end)\n'):format(name))
  end

  it("is an error for runs; one that a host had is none", function()
    local world = test.world{ scripts = idle("web"), start = false }
    assert.equal(0, #world:runs("anything"))
    world:start()
    assert.equal(0, #world:runs("web"))
    assert_has(mistake(world.runs, world, "wbe"), 'runs: there is no controller "wbe"; did you mean "web"?')
    world:reload{ scripts = idle("other") }
    world:crash()
    assert.equal(0, #world:runs("web"))
    assert.equal(0, #world:runs("other"))
    assert_has(mistake(world.runs, world, "wbe"), 'did you mean "web"?')
  end)

  it("is nil for metrics and their labels", function()
    local world = test.world{ scripts = { idle("web"),
      script('perilune.metrics.counter("unused", "counts nothing yet", { "a" })\n') } }
    assert.is_nil(world:metrics("unused"))
    local name = "controller_runtime_reconcile_total"
    assert.is_nil(world:metrics(name, { controller = "other" }))
    assert.is_number(world:metrics("controller_runtime_reconcile_time_seconds_count"))
    assert_has(mistake(world.metrics, world, name, "x"), "metrics: the labels must be a table, not the string")
    world:crash()
    assert_has(mistake(world.metrics, world, name), 'no host "main" runs')
    assert_has(mistake(world.why, world, CONFIG, "default/a"), 'no host "main" runs')
  end)
end)

describe("a world that is used wrongly", function()
  for said, call in pairs({
    ['a world has no "setle"; did you mean "settle"?'] = function(world) world:setle() end,
    ["settle is a method of a world: write world:settle(...), with a colon"] = function(world) world.settle() end,
    ["apply is a method of a world: write world:apply(...), with a colon"] = function(world) world.apply("a: b") end,
    ["assert.settled: argument 1 must be a world, not the number 5"] = function() assert.settled(5) end,
    ["assert.no_leaks: argument 1 must be a world, not nil"] = function() assert.no_leaks() end,
    ["assert.same_state: argument 2 must be a world, not nil"] = function(world) assert.same_state(world) end,
  }) do
    it("is an error: " .. said, function()
      assert_has(mistake(call, test.world{}), said)
    end)
  end

  it("is a replica's error, too", function()
    local files = dofile("spec/support/one_file_scripts.lua").new()
    local second = test.world{ scripts = files.script[[
perilune.controller("idle"):For("v1/ConfigMap"):Reconcile(function() end)
]] }:replica("second")
    files.remove()
    assert_has(mistake(function() second:stopp() end), 'a replica has no "stopp"; did you mean "stop"?')
    assert_has(mistake(second.stop), "stop is a method of a replica: write replica:stop(...)")
    second:stop()
  end)

  it("is still a value that assertions compare", function()
    local world, other = test.world{}, test.world{}
    assert.equal(world, world)
    assert.are_not.equal(world, other)
    assert.has_error(function() assert.equal(world, other) end)
    assert.settled(world)
  end)

  local ended
  it("belongs to its test", function()
    ended = test.world{}
  end)
  it("is closed after it", function()
    assert_has(mistake(function() ended:settle() end), "this world was closed at the end of its test")
    assert_has(mistake(ended.get, ended, CONFIG, "default/a"), "this world was closed at the end of its test")
  end)
end)

describe("a kept finding", function()
  -- The error of a spec whose second line is test.keep(...), at its declaration or in its test.
  local function error_of(...)
    local body
    local chunk = loadstring('local test = require("perilune.test")\ntest.keep(...)', "@kept_spec.lua")
    setfenv(chunk, { require = require, it = function(_, f) body = f end })
    local ok, e = pcall(chunk, ...)
    if ok then
      ok, e = pcall(body)
    end
    assert.is_false(ok)
    return e
  end

  for said, arguments in pairs({
    ["test.keep: the scenario must be a spec file or a table of scripts and sample, not the number 5"] =
      { 5, "web", "" },
    ['test.keep: the scenario: unknown option "script"; did you mean "scripts"?'] = { { script = {} }, "web", "" },
    ["test.keep: the name must be a string, not the number 5"] = { "a_spec.lua", 5, "" },
    ["test.keep: the plan must be a string, not the number 5"] = { "a_spec.lua", "web", 5 },
    ["test.keep: cannot open ./nothing_spec.lua"] = { "./nothing_spec.lua", "web", "" },
  }) do
    it("that is none is an error at its line: " .. said, function()
      assert_has(error_of(unpack(arguments)), "kept_spec.lua:2: " .. said)
    end)
  end
end)
