-- Worlds themselves: time, settling, hosts that end and start again. Run by `perilune test`.
local test = require("perilune.test")

local CONFIG = "v1/ConfigMap"

local function config(name, data)
  return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name, namespace = "default" },
    data = data }
end

describe("a world", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()
  local script = files.script

  after_each(files.remove)

  it("is settled when its quotas are counted", function()
    local world = test.world{}
    world:apply{ apiVersion = "v1", kind = "ResourceQuota", metadata = { name = "q", namespace = "default" },
      spec = { hard = { pods = "2" } } }
    world:settle()
    assert.same({ hard = { pods = "2" }, used = { pods = "0" } }, world:get("v1/ResourceQuota", "default/q").status)
  end)

  it("refuses a time that its clock cannot show", function()
    for _, time in ipairs({ "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z" }) do
      local ok, e = pcall(test.world, { time = time })
      assert.is_false(ok)
      assert.truthy(tostring(e):find("time: " .. time .. ": the clock of a world goes from 1685 to 2254", 1, true), e)
    end
  end)

  local function list(kind, ...)
    return { apiVersion = "v1", kind = kind, metadata = { resourceVersion = "" }, items = { ... } }
  end

  local of_two = [[
apiVersion: v1
kind: List
metadata: {resourceVersion: ""}
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b, namespace: default, resourceVersion: "1234", uid: 3f0c1f5e-1111-4222-8333-444455556666,
    creationTimestamp: "2020-01-01T00:00:00Z"}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}}
]]

  it("takes the items of a list one by one", function()
    local world = test.world{ manifests = { of_two, list("ConfigMapList", config("d"), list("List", config("e"))) } }
    local first, second = world:apply(list("List", config("f"), config("g")))
    assert.same({ "f", "g" }, { first.metadata.name, second.metadata.name })
    world:apply(of_two)
    for _, name in ipairs({ "b", "c", "d", "e", "f", "g" }) do
      assert.truthy(world:get(CONFIG, "default/" .. name), name)
    end
    world:apply(list("List"))
  end)

  it("says which document or item of a list is wrong", function()
    local world = test.world{}
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(of_two, "---\napiVersion: v1\nkind: List\n")
    file:close()
    local function refuses(part, value)
      local ok, e = pcall(world.apply, world, value)
      assert.is_false(ok)
      assert.truthy(tostring(e):find(part, 1, true), tostring(e))
    end
    refuses(path .. ": document 2: List needs items, an array of objects, not nil", path)
    os.remove(path)
    refuses("apply: List needs items, an array of objects, not the number 5", { apiVersion = "v1", kind = "List",
      items = 5 })
    refuses("apply: items[2] must be an object, not the number 7", list("List", config("a"), 7))
    local ok, e = pcall(test.world, { manifests = of_two .. "---\napiVersion: v1\nkind: ConfigMap\n"
      .. "metadata: {name: UPPER, namespace: default}\n" })
    assert.is_false(ok)
    assert.truthy(tostring(e):find("the YAML text: document 2: ", 1, true), tostring(e))
    refuses("the YAML text: document 2: the object must have apiVersion and kind", of_two .. "---\na: b\n")
  end)

  it("refuses scripts that name other clusters, also in a reload", function()
    local path = script[[
perilune.cluster("east", { secret = "fleet/east" })
perilune.controller("maps"):For("v1/ConfigMap", { cluster = "east" }):Reconcile(function() end)
]]
    local why = 'perilune.cluster("east"): a world is a single cluster'
    local ok, e = pcall(test.world, { scripts = path })
    assert.is_false(ok)
    assert.truthy(tostring(e):find(why, 1, true), tostring(e))
    local world = test.world{ scripts = script[[
perilune.controller("maps"):For("v1/ConfigMap"):Reconcile(function() end)
]] }
    ok, e = pcall(world.reload, world, { scripts = path })
    assert.is_false(ok)
    assert.truthy(tostring(e):find(why, 1, true), tostring(e))
    world:create(config("a"))
    world:settle()
  end)

  it("refuses the patch of a status that has none", function()
    local world = test.world{ scripts = script[[
perilune.controller("maps"):For("v1/Pod"):Reconcile(function(request)
  client:patch_status("v1/Pod", request, { phase = "Running" })
end)
]] }
    world:create{ apiVersion = "v1", kind = "Pod", metadata = { name = "p", namespace = "default" },
      spec = { containers = { { name = "c", image = "i" } } } }
    local why = "the patch has no status, so the server would ignore it; write {status = {...}}"
    local ok, e = pcall(world.patch_status, world, "v1/Pod", "default/p", { phase = "Running" })
    assert.is_false(ok)
    assert.truthy(tostring(e):find(why, 1, true), tostring(e))
    world:advance("1s")
    assert.truthy(world:logs("error")[1].error:find("patch_status v1/Pod: " .. why, 1, true))
    world:patch_status("v1/Pod", "default/p", { status = { phase = "Running" } })
    world:patch_status("v1/Pod", "default/p", { { op = "add", path = "/status/reason", value = "x" } },
      { type = "json" })
    assert.equal("x", world:get("v1/Pod", "default/p").status.reason)
  end)

  it("keeps a script's fields apart from those that each line has", function()
    local world = test.world{ scripts = script[[
perilune.controller("maps"):For("v1/ConfigMap"):Reconcile(function(request, context)
  context.log:warn("said", { level = "z", msg = "q", ts = 0, key = "mine", controller = "other", reconcile_id = 1,
    task = "free", shadow = true, fields = 2, ["fields.level"] = "y", ["fields.free"] = 3 })
end)
perilune.every("1h", { name = "ticks", immediate = true }, function(context)
  context.log:info("ticked", { task = "other", key = "free" })
end)
]] }
    world:create(config("a"))
    world:settle()
    local lines = {}
    for _, line in ipairs(world:logs("info")) do
      lines[line.msg] = line
    end
    local said, ticked = lines.said, lines.ticked
    assert.same({ "warn", "maps", "default/a" }, { said.level, said.controller, said.key })
    assert.not_equal(1, said.reconcile_id)
    assert.same({ "z", "q", 0, "mine", "other", 1 }, { said["fields.level"], said["fields.msg"], said["fields.ts"],
      said["fields.key"], said["fields.controller"], said["fields.reconcile_id"] })
    assert.same({ "free", true, 2, "y", 3 }, { said.task, said.shadow, said.fields, said["fields.fields.level"],
      said["fields.free"] })
    assert.same({ "ticks", "other", "free" }, { ticked.task, ticked["fields.task"], ticked.key })
  end)

  it("has a time of its own, for scripts too", function()
    local world = test.world{ time = "2030-01-02T03:04:05Z", scripts = script[[
perilune.controller("clock"):For("v1/ConfigMap"):Reconcile(function(request)
  local c = client:get("v1/ConfigMap", request)
  if not c or c.metadata.name ~= "now" or c.data then return end
  perilune.sleep("10m")
  client:patch(c, { data = { now = perilune.time.format(perilune.time.now()),
    os = os.date("!%Y-%m-%d %H:%M", os.time()), same = os.date("!%Y-%m-%d %H:%M"),
    clock = os.clock() < 2000 and "small" or "large" } })
end)
]] }
    assert.equal(1893553445, math.floor(world:now()))
    world:create(config("now"))
    world:settle()
    local data = world:get(CONFIG, "default/now").data
    assert.truthy(data.now:find("^2030%-01%-02T03:14:05"), data.now)
    assert.equal("2030-01-02 03:14", data.os)
    assert.equal("2030-01-02 03:14", data.same)
    assert.equal("small", data.clock)
    assert.equal("2030-01-02T03:04:05Z", world:get(CONFIG, "default/now").metadata.creationTimestamp)
  end)

  it("is not settled while asking again changes something outside of the cluster", function()
    local world = test.world{ scripts = script[[
perilune.controller("op"):For("v1/ConfigMap", { labels = "op=yes" }):Reconcile(function(request)
  local c = client:get("v1/ConfigMap", request)
  if not c then return end
  local op = perilune.http.request({ url = "https://cloud.example.com/op" }).json
  if c.data.done ~= tostring(op.left == 0) then
    client:patch(c, { data = { done = tostring(op.left == 0) } })
  end
  return { requeue_after = "5s" }
end)
]] }
    local cloud, asked = world:external("cloud"), 0
    cloud.left = 7
    world:http("https://cloud.example.com/*", function()
      asked = asked + 1
      cloud.left = math.max(cloud.left - 1, 0)
      return { json = { left = cloud.left } }
    end)
    local object = config("op", { done = "false" })
    object.metadata.labels = { op = "yes" }
    world:create(object)
    world:settle()
    assert.equal("true", world:get(CONFIG, "default/op").data.done)
    assert.is_true(asked < 12)
  end)

  it("is settled when asking again for ever has changed nothing", function()
    local world = test.world{ scripts = script[[
perilune.controller("poll"):For("v1/ConfigMap", { labels = "poll=yes" }):Reconcile(function(request)
  local c = client:get("v1/ConfigMap", request)
  if not c then return end
  local n = tonumber(c.data and c.data.n or 0)
  if n < 5 then client:patch(c, { data = { n = tostring(n + 1) } }) end
  return { requeue_after = "1m" }
end)
]] }
    local object = config("polled")
    object.metadata.labels = { poll = "yes" }
    world:create(object)
    local before = world:now()
    world:settle()
    assert.equal("5", world:get(CONFIG, "default/polled").data.n)
    assert.is_true(world:now() - before < 600)
    before = world:now()
    world:settle()
    assert.equal(before, world:now())
  end)

  it("waits for what is due within the limit, and no longer", function()
    local world = test.world{ scripts = script[[
local first = {}
perilune.controller("later"):For("v1/ConfigMap", { labels = "late=yes" }):Reconcile(function(request)
  if not first[request.name] then first[request.name] = true; return { requeue_after = "30m" } end
  client:patch("v1/ConfigMap", request, { data = { done = "yes" } })
end)
]] }
    local object = config("late")
    object.metadata.labels = { late = "yes" }
    world:create(object)
    world:settle{ limit = "20m" }
    assert.is_nil(world:get(CONFIG, "default/late").data)
    world:settle()
    assert.equal("yes", world:get(CONFIG, "default/late").data.done)
  end)

  it("names the busiest keys when it never settles", function()
    local world = test.world{ scripts = script[[
perilune.controller("hot"):For("v1/ConfigMap", { labels = "hot=yes" }):Reconcile(function(request)
  local c = client:get("v1/ConfigMap", request)
  client:patch(c, { data = { n = tostring((tonumber(c.data and c.data.n) or 0) + 1) } })
end)
]] }
    local object = config("loop")
    object.metadata.labels = { hot = "yes" }
    world:create(object)
    local ok, message = pcall(world.settle, world)
    assert.is_false(ok)
    assert.truthy(message:find("10000 reconciles", 1, true), message)
    assert.truthy(message:find("hot default/loop (10000 runs)", 1, true), message)
    assert.truthy(message:find("; v1/ConfigMap default/loop data.n changes again and again (9", 1, true), message)
  end)

  it("names what is made and deleted again and again, and what two keys want otherwise", function()
    local world = test.world{ scripts = script[[
perilune.controller("pair"):For("v1/ConfigMap", { labels = "pair=yes" })
  :Watches("v1/Secret", function()
    return { { namespace = "default", name = "a" }, { namespace = "default", name = "b" } }
  end)
  :Reconcile(function(request)
  local name = request.name
  client:apply({ apiVersion = "v1", kind = "Secret", metadata = { namespace = "default", name = "shared" },
    stringData = { of = name } })
  if client:get("v1/Secret", "default/" .. name) then
    client:delete("v1/Secret", "default/" .. name)
  else
    client:create{ apiVersion = "v1", kind = "Secret", metadata = { namespace = "default", name = name } }
  end
end)
]] }
    for _, name in ipairs({ "a", "b" }) do
      local object = config(name)
      object.metadata.labels = { pair = "yes" }
      world:create(object)
    end
    local ok, message = pcall(world.settle, world)
    assert.is_false(ok)
    assert.truthy(message:find("; v1/Secret default/shared data.of flips between ", 1, true), message)
    assert.truthy(message:find("; v1/Secret default/a flips between ", 1, true), message)
    assert.truthy(message:find("; v1/Secret default/b flips between ", 1, true), message)
  end)

  it("tries again what failed, on its own clock", function()
    local world = test.world{ scripts = script[[
local tries = 0
perilune.controller("retry"):For("v1/ConfigMap", { labels = "retry=yes" }):Reconcile(function(request)
  if client:get("v1/ConfigMap", request).data then return end
  tries = tries + 1
  if tries < 10 then error("not yet") end
  client:patch("v1/ConfigMap", request, { data = { tries = tostring(tries) } })
end)
]] }
    local object = config("stubborn")
    object.metadata.labels = { retry = "yes" }
    world:create(object)
    world:settle()
    assert.equal("10", world:get(CONFIG, "default/stubborn").data.tries)
  end)

  it("loses what was in memory at a crash, and begins with the server's state", function()
    local path = script[[
local runs = 0
perilune.controller("count"):For("v1/ConfigMap", { labels = "count=yes" }):Reconcile(function(request)
  runs = runs + 1
  local seen = client:get("v1/ConfigMap", request)
  if seen.data and seen.data.runs ~= "gone" then return end
  client:patch("v1/ConfigMap", request, { data = { runs = tostring(runs) } })
end)
]]
    local world = test.world{ scripts = path }
    local object = config("counted")
    object.metadata.labels = { count = "yes" }
    world:create(object)
    world:step()
    world:settle()
    world:crash()
    assert.has_error(function() world:crash() end)
    world:patch(CONFIG, "default/counted", { data = { runs = "gone" } })
    world:settle()
    assert.equal("gone", world:get(CONFIG, "default/counted").data.runs)
    world:start()
    world:settle()
    assert.equal("1", world:get(CONFIG, "default/counted").data.runs)
    world:stop()
    world:start()
    world:settle()
  end)

  it("runs other scripts after a reload, and keeps the old ones when those do not load", function()
    local function says(word)
      return script(([[
perilune.controller("say"):For("v1/ConfigMap", { labels = "say=yes" }):Reconcile(function(request)
  client:patch("v1/ConfigMap", request, { data = { said = %q } })
end)
]]):format(word))
    end
    local world = test.world{ scripts = says("one") }
    local object = config("speaker")
    object.metadata.labels = { say = "yes" }
    world:create(object)
    world:settle()
    world:reload{ scripts = says("two") }
    world:settle()
    assert.equal("two", world:get(CONFIG, "default/speaker").data.said)
    local ok, message = pcall(world.reload, world, { scripts = script("nonsense(") })
    assert.is_false(ok)
    assert.truthy(message:find("unexpected symbol", 1, true), message)
    world:patch(CONFIG, "default/speaker", { data = { said = "?" } })
    world:settle()
    assert.equal("two", world:get(CONFIG, "default/speaker").data.said)
    world:replica("second")
    world:reload()
    world:crash()
    assert.is_false((pcall(world.start, world, { scripts = script("nonsense(") })))
    world:start()
    world:patch(CONFIG, "default/speaker", { data = { said = "again" } })
    world:settle()
    assert.equal("two", world:get(CONFIG, "default/speaker").data.said)
  end)

  it("lets claims grow, as there is nobody who binds them", function()
    local world = test.world{ start = false }
    world:create{ apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = { name = "a", namespace = "default" },
      spec = { accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } } } }
    local grown = world:patch("v1/PersistentVolumeClaim", "default/a",
      { spec = { resources = { requests = { storage = "2Gi" } } } })
    assert.equal("2Gi", grown.spec.resources.requests.storage)
    assert.has_error(function()
      world:patch("v1/PersistentVolumeClaim", "default/a", { spec = { accessModes = { "ReadOnlyMany" } } })
    end)
  end)

  it("has replicas whose clocks differ", function()
    local world = test.world{ scripts = script[[
perilune.controller("clock"):For("v1/ConfigMap", { labels = "clock=yes" }):Reconcile(function(request)
  local c = client:get("v1/ConfigMap", request)
  if c and not c.data then client:patch(c, { data = { now = tostring(perilune.time.now()) } }) end
end)
]] }
    local function seen(name)
      local clock = config(name)
      clock.metadata.labels = { clock = "yes" }
      world:create(clock)
      world:settle()
      return tonumber(world:get(CONFIG, "default/" .. name).data.now) - world:now()
    end
    assert.near(0, seen("a"), 2)
    world:stop()
    world:replica("late", { skew = "-60s" })
    assert.near(-60, seen("b"), 2)
  end)

  it("tells a user's mistakes as kubectl would, as error objects", function()
    local errors = require("perilune.errors").tests
    local world = test.world{}
    world:create(config("a"))
    local ok, e = pcall(world.create, world, config("a"))
    assert.is_false(ok)
    assert.is_true(errors.is_already_exists(e))
    ok, e = pcall(world.delete, world, CONFIG, "default/none")
    assert.is_true(not ok and errors.is_not_found(e))
    assert.is_nil(world:get(CONFIG, "default/none"))
    ok, e = pcall(world.get, world, "v1/ConfigMop", "default/a")
    assert.truthy(not ok and e:find('did you mean "ConfigMap"', 1, true), e)
    assert.equal(1, #world:list(CONFIG, { namespace = "default", fields = "metadata.name=a" }))
    local stale = world:get(CONFIG, "default/a")
    world:patch(CONFIG, "default/a", { data = { x = "1" } })
    stale.data = { x = "2" }
    ok, e = pcall(world.update, world, stale)
    assert.is_true(not ok and errors.is_conflict(e))
  end)

  it("makes up the same names whatever was read before", function()
    local function name_of(reads)
      local world = test.world{ seed = 5 }
      for _ = 1, reads do
        world:list(CONFIG)
      end
      world:create(config("other"))
      local object = config(nil)
      object.metadata.generateName = "made-"
      local first, second = world:create(object), world:create(object)
      return first.metadata.name .. " " .. second.metadata.uid
    end
    assert.equal(name_of(0), name_of(3))
    local world = test.world{ seed = 5 }
    local object = config(nil)
    object.metadata.generateName = "made-"
    assert.are_not.equal(world:create(object).metadata.name, world:create(object).metadata.name)
  end)

  it("takes YAML text and several objects at once", function()
    local world = test.world{}
    local one, two = world:apply[[
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, namespace: kube-system}
]]
    assert.equal("one", one.metadata.name)
    assert.equal("kube-system", two.metadata.namespace)
    assert.equal("default", world:get(CONFIG, "default/one").metadata.namespace)
  end)

  it("wakes a task that sleeps for ever, until a round has changed nothing", function()
    local world = test.world{ scripts = script[[
perilune.run("beat", { writes = { ["v1/ConfigMap"] = { "create", "patch" } } }, function(context)
  for i = 1, 1000000 do
    if i <= 3 then
      client:apply({ apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = "beat", namespace = "default" }, data = { n = tostring(i) } })
    end
    perilune.sleep("1m")
  end
end)
]] }
    local before = world:now()
    world:settle()
    assert.equal("3", world:get(CONFIG, "default/beat").data.n)
    assert.is_true(world:now() - before <= 300)
    world:advance("1h")
  end)
end)

describe("a task in a world", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()
  after_each(files.remove)

  local function at_end(body)
    local head = 'perilune.run("slow", { writes = { "v1/ConfigMap" } }, function()\n'
    local world = test.world{ scripts = files.script(head .. body .. [[
  client:create{ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "made", namespace = "default" } }
end)
]]) }
    local before = world:now()
    world:settle{ limit = "1m" }
    return world:get(CONFIG, "default/made") ~= nil, world:now() - before
  end

  it("is waited for while it sleeps at another place, or for another time", function()
    assert.is_true((at_end('perilune.sleep("2s") perilune.sleep("3s") perilune.sleep("1s")\n')))
    assert.is_true((at_end('perilune.sleep("2s")\nperilune.sleep("2s")\nperilune.sleep("2s")\n')))
    assert.is_true((at_end('local function nap() perilune.sleep("2s") end\nnap()\nnap()\nnap()\n')))
    local made, took = at_end('perilune.sleep("2s")\nperilune.sleep("59s")\n')
    assert.is_false(made)
    assert.is_true(took >= 2 and took < 3, took)
  end)

  it("is not waited for when it would sleep for ever", function()
    for _, body in ipairs({ 'perilune.sleep("2s") perilune.sleep("1s")',
      'perilune.sleep("2s")\nperilune.sleep("2s")', 'perilune.sleep(1 + math.random())' }) do
      local made, took = at_end("while not perilune.config.never do " .. body .. "\nend\n")
      assert.is_false(made)
      assert.is_true(took < 20, body .. " " .. took)
    end
  end)
end)

describe("an election in a world", function()
  local SCRIPT = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("count"):For("v1/ConfigMap", { labels = "count=yes" }):Reconcile(function(request)
  local c = client:get("v1/ConfigMap", request)
  if not c then return end
  client:patch("v1/ConfigMap", request, { data = { of = c.metadata.annotations.text } })
  if c.metadata.annotations.polled then return { requeue_after = "10m" } end
end)
]]

  local path

  local function annotated(text)
    return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a", namespace = "default",
      labels = { count = "yes" }, annotations = { text = text } } }
  end

  local function open(elects)
    path = os.tmpname() .. ".lua"
    local file = assert(io.open(path, "w"))
    file:write(SCRIPT)
    file:close()
    return test.world{ scripts = path, flags = { ["leader-elect"] = elects } }
  end

  local function holder(world)
    local lease = world:get("coordination.k8s.io/v1/Lease", "default/perilune-count")
    return lease and lease.spec.holderIdentity:match("^[^_]+")
  end

  after_each(function()
    os.remove(path)
  end)

  it("has one host that runs controllers, and another one once that has been killed", function()
    local world = open(true)
    world:replica("second")
    world:apply(annotated("one"))
    world:settle()
    assert.equal("one", world:get(CONFIG, "default/a").data.of)
    assert.equal("main", holder(world))
    for _, run in ipairs(world:runs()) do
      assert.equal("main", run.host)
    end
    world:advance("1h")
    assert.equal("main", holder(world))
    world:crash()
    world:apply(annotated("two"))
    local before = world:now()
    world:settle()
    assert.equal("two", world:get(CONFIG, "default/a").data.of)
    assert.equal("second", holder(world))
    assert.is_true(world:now() - before >= 12 and world:now() - before < 60)
    world:start()
    world:settle()
    assert.equal("second", holder(world))
    local polled = annotated("two")
    polled.metadata.annotations.polled = "yes"
    world:apply(polled)
    before = world:now()
    world:settle() -- a Lease that is renewed is no change
    assert.is_true(world:now() - before >= 600 and world:now() - before < 1300)
  end)

  it("passes the lead on at once when the leader stops", function()
    local world = open(true)
    local second = world:replica("second")
    world:settle()
    world:stop()
    local before = world:now()
    world:apply(annotated("one"))
    world:settle()
    assert.equal("one", world:get(CONFIG, "default/a").data.of)
    assert.equal("second", holder(world))
    assert.is_true(world:now() - before < 12)
    second:stop()
    assert.equal("", world:get("coordination.k8s.io/v1/Lease", "default/perilune-count").spec.holderIdentity)
  end)

  it("is none without the flag", function()
    local world = open(false)
    world:apply(annotated("one"))
    world:settle()
    assert.equal("one", world:get(CONFIG, "default/a").data.of)
    assert.is_nil(holder(world))
  end)
end)

describe("a world that is made before each test", function()
  local world, first

  before_each(function()
    world = test.world{}
  end)
  after_each(function()
    assert.is_nil(world:get("v1/ConfigMap", "default/a")) -- it is still open
  end)

  for i = 1, 3 do
    it("is closed after it, " .. i, function()
      local open = #package.loaded["perilune.test_state"].worlds
      first = first or open
      assert.equal(first, open)
    end)
  end
end)
