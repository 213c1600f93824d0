-- Mistakes in a run: the error names the file, the line and what to do. Run by `perilune test`.
local test = require("perilune.test")

describe("a kind that the server does not have", function()
  it("ends the host, and the spec says so with the kind", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write('require("perilune").controller("web"):For("example.com/v1/Web"):Reconcile(function() end)\n')
    file:close()
    local world = test.world{ scripts = path, start = false }
    local ok, e = pcall(world.start, world)
    os.remove(path)
    assert.is_false(ok)
    assert.truthy(e:find('the host "main" has ended, as no controller could start: errors of its log', 1, true), e)
    assert.truthy(world:logs("error")[1].unsynced:find("the server does not serve example.com/v1/Web", 1, true))
  end)
end)

describe("a mistake in a run", function()
  local path

  after_each(function()
    os.remove(path)
  end)

  -- The log of a run with this body; its lines begin at 6.
  local function errors_of(body)
    path = os.tmpname()
    os.remove(path)
    path = path .. ".lua"
    local file = assert(io.open(path, "w"))
    file:write('local perilune = require("perilune")\nlocal client = perilune.client\n',
      'perilune.controller("worker", { max_retries = 0 }):For("v1/ConfigMap")\n',
      '  :Writes("v1/ConfigMap", { "create", "patch", "delete" })\n',
      '  :Reconcile(function(request)\n', body, "\nend)\n")
    file:close()
    local world = test.world{ scripts = path, manifests = { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "a", namespace = "default" } } }
    world:settle()
    for _, line in ipairs(world:logs("error")) do
      if line.msg == "reconcile failed" then
        return line
      end
    end
    error("nothing has failed")
  end

  local loop = "local loop = {} loop.x = loop\n"
  for _, case in ipairs({
    { "an unknown controller", 'perilune.enqueue("worked", request)',
      'enqueue: there is no controller "worked"; did you mean "worker"?' },
    { "a key without a namespace", 'perilune.enqueue("worker", "a")', "needs a namespace" },
    { "a value that contains itself", loop .. 'perilune.manifest("a: ${b}\\n", { b = loop })',
      "a table that contains itself", line = 7 },
    { "a copy of it", loop .. "perilune.deepcopy(loop)", "a table that contains itself", line = 7 },
    { "words with names", 'perilune.pointer.build({ a = "b" })', "the words must be an array" },
    { "a number that is none", "perilune.quantity(0 / 0)", "is not a quantity" },
    { "no kind", "client:get(5, request)", 'get: the kind must be a text such as "apps/v1/Deployment"' },
    { "no reference", 'client:get("v1/ConfigMap", true)',
      "get v1/ConfigMap: the reference must be a key, a request or an object, not the boolean true" },
    { "no object", "client:update({})", "update: the object must have apiVersion and kind" },
    { "a text of a megabyte", 'perilune.ip.contains(("x"):rep(2000000), "10.0.0.1")',
      '...": not an IP address' },
    { "a name of a megabyte", 'client:get(("x"):rep(2000000), request)', "a kind of 2000000 bytes" },
    { "a reason of two megabytes", 'perilune.conditions.set({}, { type = "A", status = true, '
      .. 'reason = ("x"):rep(2000000) })', "reason has 2000000 bytes; it may have 1024" },
    { "a verb that nobody has", 'perilune.kinds{ verb = "lst" }', 'must be one of "get", "list", "watch"' },
    { "digits that are none", "perilune.number(nil)", "number needs a text of digits, not nil" },
    { "a list for one name", "perilune.metrics.counter(5, 'h')", "metrics.counter" },
  }) do
    it("is found where it is: " .. case[1], function()
      local line = errors_of(case[2])
      local name = path:match("[^/]+$")
      assert.truthy(line.error:find(("%s:%d: "):format(name, case.line or 6), 1, true), line.error)
      assert.truthy(line.error:find(case[3], 1, true), line.error)
      assert.is_true(#line.error < 2500)
    end)
  end

  it("in a memo names the function, as the run is over", function()
    local line = errors_of("perilune.memo(request).a = print")
    assert.truthy(line.error:find(".lua:5: memo: a: a function can't be encoded", 1, true), line.error)
  end)

  it("that the server finds has its line in the traceback, and in the error object", function()
    local line = errors_of('client:patch("v1/ConfigMap", "default/none", { data = { a = "b" } })')
    assert.equal('patch v1/ConfigMap default/none: configmaps "none" not found (404 NotFound)',
      line.error)
    assert.truthy(line.traceback:find(".lua:6:\n    client:patch(", 1, true), line.traceback)
    line = errors_of([[
local _, e = pcall(client.create, client, { apiVersion = "v1", kind = "ConfigMap",
  metadata = { name = "Bad_Name", namespace = "default" } })
error(e.at, 0)]])
    assert.truthy(line.error:find(".lua:6$"), line.error)
  end)

  it("is a circle of tasks that join each other", function()
    local line = errors_of([[
local last
local function join_last() perilune.sleep("1ms") perilune.join(last) end
local first = perilune.spawn(join_last)
local second = perilune.spawn(function() return perilune.join(first) end)
last = perilune.spawn(function() return perilune.join(second) end)
perilune.join(last)]])
    assert.truthy(line.error:find(".lua:7: join: that task waits for this one, so neither would end", 1, true),
      line.error)
  end)

  it("that is returned keeps the line of its call", function()
    local line = errors_of([[
local none, e = perilune.try(function()
  client:delete("v1/Nothing", "default/a")
end)
return none, e]])
    assert.truthy(line.traceback:find(".lua:7:\n    client:delete(", 1, true), line.traceback)
  end)
end)

describe("a call of a world", function()
  local map = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a", namespace = "default" } }
  local world

  before_each(function()
    world = test.world{ manifests = map }
  end)

  for _, case in ipairs({
    { "stop", "b" }, { "compact", 1 }, { "now", 1 }, { "step", 2 }, { "crash", "b" },
    { "apply", map, { force = true } }, { "create", map, {} }, { "update", map, {} },
    { "get", "v1/ConfigMap", "default/a", {} }, { "get", map, {} }, { "list", "v1/ConfigMap", {}, 1 },
    { "patch", map, { data = { x = "1" } }, {}, 1 }, { "patch_status", "v1/Pod", "default/a", { status = {} }, {}, 1 },
    { "delete", "v1/ConfigMap", "default/a", {}, 1 }, { "settle", {}, 1 }, { "advance", "1s", 1 },
    { "always", "name", function() end, 1 }, { "events", "v1/ConfigMap", "default/a", 1 },
  }) do
    it("takes no more arguments than it knows: " .. case[1], function()
      local ok, e = pcall(world[case[1]], world, unpack(case, 2))
      assert.is_false(ok)
      local said = type(e) == "table" and e.message or e:match(": (.*)$")
      assert.equal(case[1] .. " got more arguments than it takes", said)
    end)
  end
end)

describe("a scenario inside a test", function()
  it("is an error at its line", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local ok, e = pcall(function() test.explore("inner", {}, function() end) end)
    assert.is_false(ok)
    local want = ("mistakes_spec.lua:%d: test.explore: it declares a test, so it stands in a file"):format(line)
    assert.truthy(e:find(want, 1, true), e)
  end)
end)

describe("a run that takes all memory", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()

  after_each(files.remove)

  it("ends the test at its first time, as one that computes without end does", function()
    local world = test.world{ scripts = files.script[[
perilune.controller("hog"):For("v1/ConfigMap"):Reconcile(function()
  local texts = {}
  for i = 1, 1000 do -- a slow build must not reach the CPU limit first
    texts[i] = ("x"):rep(5e7 + i)
    perilune.sleep("1s")
  end
end)
]], manifests = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a", namespace = "default" } } }
    local ok, e = pcall(world.settle, world)
    assert.is_false(ok)
    assert.truthy(tostring(e):find("main hog default/a: .*:%d+: script memory limit exceeded"), tostring(e))
    assert.equal(1, #world:runs("hog"))
  end)
end)
