-- The explorer with scenarios in a real world: what it reports and what it leaves out.

local executor = require("perilune.explore.executor")
local plans = require("perilune.explore.plan")
local search = require("perilune.explore.search")
local support = dofile("spec/support/explorations.lua")
local worlds = require("perilune.explore.worlds")

local HEAD = [[
local perilune = require("perilune")
local client = perilune.client
local function map_of(map, name, data)
  return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name, namespace = map.metadata.namespace },
    data = data }
end
]]

local function controller(body)
  return HEAD .. [[
perilune.controller("maps"):For("v1/ConfigMap", { labels = "app=yes" }):Owns("v1/Secret"):Reads("v1/Pod")
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if not map then return end
]] .. body .. "\n  end)\n"
end

local function apply(world, text)
  world:apply{ apiVersion = "v1", kind = "ConfigMap", data = { text = text },
    metadata = { name = "a", namespace = "default", labels = { app = "yes" } } }
end

describe("an exploration", function()
  local explorations = support.new()
  local options, found = explorations.options, support.found
  before_each(explorations.begin)
  after_each(explorations.remove)

  local COPY = controller([[client:apply(map_of(map, "copy", map.data), { owner = map })]])

  local SECRET = controller([[
    client:apply({ apiVersion = "v1", kind = "Secret", metadata = { namespace = "default", name = "copy" },
      stringData = map.data }, { owner = map })]])

  it("reads stored objects as the newest definition has them", function()
    local scenario = { name = "sizes", folder = explorations.folder, options = {} }
    local world = worlds.open(scenario, { seed = 3 }, function() end)
    local function define(size)
      world:apply({ apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
        metadata = { name = "sizes.example.com" }, spec = { group = "example.com", scope = "Namespaced",
          names = { plural = "sizes", singular = "size", kind = "Size" }, versions = { { name = "v1",
            served = true, storage = true, schema = { openAPIV3Schema = { type = "object", properties = {
              spec = { type = "object", properties = { size = size } } } } } } } } })
    end
    define({ type = "string" })
    world:apply({ apiVersion = "example.com/v1", kind = "Size", spec = {},
      metadata = { name = "a", namespace = "default" } })
    define({ type = "string", default = "small" })
    assert.equal("small", world:get("example.com/v1/Size", "default/a").spec.size)
    world.resources = { "example.com/v1/sizes" }
    for _, record in ipairs(world:explore_objects()) do
      if record.key == "default/a" then
        assert.equal("small", record.flat["spec.size"])
        return
      end
    end
    error("there is no record of the object")
  end)

  it("gives up when one key has run a thousand times, and waits when many keys have", function()
    local function explore(keys, most)
      local script = controller(([[
    local n = tonumber(map.data.n)
    if n < %d then client:patch(map, { data = { n = tostring(n + 1) } }) end]]):format(most))
      return search.explore(options(script, function(world)
        for i = 1, keys do
          world:apply{ apiVersion = "v1", kind = "ConfigMap", data = { n = "1" },
            metadata = { name = "a" .. i, namespace = "default", labels = { app = "yes" } } }
        end
        world:settle()
      end, { executions = 1 }))
    end
    local endless = explore(1, 1000000).groups[1].finding
    assert.equal("unsettled", endless.class)
    assert.truthy(endless.is:find("(1001 runs)", 1, true), endless.is)
    assert.same({}, found(explore(5, 300)))
  end)

  it("starts a host again that is killed while time passes", function()
    local counts = {}
    local o = options(HEAD .. [[
perilune.controller("hours"):For("v1/ConfigMap"):Reconcile(function(request)
  local map = client:get("v1/ConfigMap", request)
  if not map or request.name ~= "a" then return end
  local hour = math.floor(perilune.time.now() / 3600)
  client:apply(map_of(map, "hour-" .. hour, {}))
  return { requeue_after = (hour + 1) * 3600 - perilune.time.now() }
end)
]], function(world)
      apply(world, "1")
      world:settle{ limit = "1m" }
      world:advance("5h")
      counts[#counts + 1] = #world:list("v1/ConfigMap", { namespace = "default" })
    end)
    o.execute({}, { seed = 3 })
    local plan = "crash before hours default/a patch ConfigMap default/hour-490898 @1"
    assert.same({}, o.execute(plans.parse(plan), { seed = 3 }).unmet)
    assert.equal(7, counts[1]) -- the map, and the hours from 0 to 5
    assert.equal(counts[1], counts[2])
  end)

  it("lets a scenario look at a settled world between its steps", function()
    local result = search.explore(options(COPY, function(world)
      apply(world, "1")
      world:settle()
      assert.equal("1", world:get("v1/ConfigMap", "default/copy").data.text)
      world:patch("v1/ConfigMap", "default/a", { data = { text = "2" } })
      world:settle()
      assert.equal("2", world:get("v1/ConfigMap", "default/copy").data.text)
    end))
    assert.same({}, found(result))
    assert.equal(result.singles.total, result.singles.done)
  end)

  it("leaves out what fails because a step came too early", function()
    local result = search.explore(options(SECRET, function(world)
      apply(world, "1")
      world:settle()
      world:delete("v1/Secret", "default/copy") -- of the controller, which creates it again
      world:settle()
    end))
    assert.same({}, found(result))
    assert.is_true(result.left_out["the scenario needs what the step before it leads to"] > 0)
  end)

  it("lets no step come before a whole one has settled", function()
    local o = options(COPY, function(world)
      apply(world, "1")
      world:settle{ whole = true }
      world:patch("v1/ConfigMap", "default/a", { data = { text = "2" } })
      world:settle()
    end)
    for _, text in ipairs({ "unobserved ConfigMap @1", "early @2 after 0" }) do
      local execution = o.execute(assert(plans.parse(text)), { seed = 3 })
      assert.is_true(execution.settles[1].over)
      assert.is_falsy(execution.settles[1].merged)
    end
  end)

  it("judges the point at which a scenario looks at its world", function()
    local o = options(COPY, function(world)
      for _, text in ipairs({ "1", "2" }) do
        apply(world, text)
        world:settle()
        assert.equal(text, world:get("v1/ConfigMap", "default/copy").data.text)
      end
    end)
    for _, text in ipairs({ "unobserved ConfigMap @1", "early @2 after 0", "unobserved ConfigMap @2" }) do
      local execution = o.execute(assert(plans.parse(text)), { seed = 3 })
      assert.same({}, execution.unmet)
      assert.equal(2, #execution.settles)
      for _, settle in ipairs(execution.settles) do
        assert.is_true(settle.over, text)
        assert.is_falsy(settle.merged, text)
      end
    end
  end)

  local ORDINALS = controller([[
    local names = { "a", "b" }
    local secrets = client:list("v1/Secret", { namespace = request.namespace, owner = map })
    for i = #secrets + 1, tonumber(map.data.text) do
      client:create({ apiVersion = "v1", kind = "Secret", metadata = { namespace = "default", name = names[i] } },
        { owner = map })
    end
    local now = perilune.live:get("v1/ConfigMap", request)
    if now and now.data.text == map.data.text and #secrets > tonumber(map.data.text) then
      client:delete(secrets[#secrets])
    end]])

  local function fewer(world)
    apply(world, "2")
    world:settle()
    world:patch("v1/ConfigMap", "default/a", { data = { text = "1" } })
    world:settle()
  end

  it("finds what relies on the order of a list", function()
    local o = options(ORDINALS, fewer)
    local result = search.replay(o, assert(plans.parse("lists reversed @2")))
    assert.same({ "replaced v1/Secret default/a metadata.uid: lists reversed @2" }, found(result))
    assert.same({}, result.unmet)
  end)

  it("lets a controller pause when it is told to, wherever it is", function()
    local result = search.explore(options(controller([[
      if map.metadata.annotations and map.metadata.annotations.paused then return end
      for _, name in ipairs({ "one", "two" }) do
        client:apply({ apiVersion = "v1", kind = "Secret", metadata = { namespace = "default", name = name },
          stringData = { of = map.data.text } }, { owner = map })
      end
    ]]), function(world)
      apply(world, "1")
      world:settle()
      world:patch("v1/ConfigMap", "default/a", { metadata = { annotations = { paused = "yes" } } })
      world:settle()
      world:patch("v1/ConfigMap", "default/a", { data = { text = "2" } })
      world:settle()
    end))
    assert.same({}, found(result))
    local all = require("perilune.explore.options").of_execution(result.reference, {})
    local text = require("perilune.explore.plan").print(all)
    assert.is_nil(text:find("early @2", 1, true), text)
  end)

  it("does not report an order that the next run corrects", function()
    local result = search.explore(options(controller([[
      for _, name in ipairs({ "one", "two" }) do
        client:apply({ apiVersion = "v1", kind = "Secret", metadata = { namespace = "default", name = name } },
          { owner = map })
      end
      local names = {}
      for i, one in ipairs(client:list("v1/Secret", { namespace = "default" })) do
        names[i] = one.metadata.name
      end
      client:patch("v1/ConfigMap", request, { metadata = { annotations = { names = table.concat(names, " ") } } })
    ]]), function(world)
      apply(world, "1")
      world:settle()
    end))
    assert.same({}, found(result))
    local all = require("perilune.explore.options").of_execution(result.reference, {})
    assert.is_true(require("perilune.explore.plan").print(all):find("lists reversed @1", 1, true) ~= nil)
  end)

  local function status_first(first, second)
    return HEAD .. [[
perilune.controller("sets"):For("apps/v1/StatefulSet"):Owns("v1/ConfigMap"):Reconcile(function(request)
  local set = client:get("apps/v1/StatefulSet", request)
  if not set then return end
  local copy = map_of(set, "copy", { size = tostring(set.spec.replicas) })
  local status = { observedGeneration = set.metadata.generation, replicas = 0 }
]] .. first .. "\n" .. second .. "\nend)"
  end

  local function with_set(world)
    local labels = { app = "a" }
    world:apply{ apiVersion = "apps/v1", kind = "StatefulSet", metadata = { namespace = "default", name = "a" },
      spec = { replicas = 1, serviceName = "a", selector = { matchLabels = labels }, template = {
        metadata = { labels = labels }, spec = { containers = { { name = "c", image = "c" } } } } } }
    world:settle()
  end

  local WRITE = "client:apply(copy, { owner = set })"
  local SAY = "client:patch_status(set, { status = status })"

  it("finds a status that says done before it is", function()
    local result = search.explore(options(status_first(SAY, WRITE), with_set))
    assert.same({ "rewritten apps/v1/StatefulSet default/a status.observedGeneration: " }, found(result))
    assert.is_truthy(result.groups[1].finding.is:find("main.lua:%d+ patch v1/ConfigMap default/copy"))
  end)

  it("finds none in a status that is last, or that says first that work goes on", function()
    assert.same({}, found(search.explore(options(status_first(WRITE, SAY), with_set))))
    local on = [[
  if perilune.dig(set, "status", "observedGeneration") ~= set.metadata.generation then
    client:patch_status(set, { status = { observedGeneration = set.metadata.generation, replicas = 1 } })
  end]]
    assert.same({}, found(search.explore(options(status_first(on, WRITE .. "\n" .. SAY), with_set))))
  end)

  it("does not report what only the clock has removed at that point", function()
    local result = search.explore(options(HEAD .. [[
perilune.every("10m", { name = "collector", reads = { "v1/Secret" }, writes = { ["v1/Secret"] = { "delete" } } },
  function()
    for _, one in ipairs(client:list("v1/Secret", { namespace = "default" })) do
      if perilune.time.now() - perilune.time.parse(one.metadata.creationTimestamp) > 900 then client:delete(one) end
    end
  end)
]] .. controller([[
    local name = "made-for-" .. map.data.text
    if (map.metadata.annotations or {}).made == name then return end
    perilune.try(client.create, client, { apiVersion = "v1", kind = "Secret",
      metadata = { namespace = "default", name = name } })
    client:patch("v1/ConfigMap", request, { metadata = { annotations = { made = name } } })]]):sub(#HEAD + 1),
      function(world)
        apply(world, "1")
        world:settle()
      end, { executions = 100 }))
    assert.is_true((result.left_out["hours later nothing differs"] or 0) > 0)
    assert.same({}, found(result))
  end)

  -- The controller does not see that its object has gone, and makes again what the collector deletes.
  it("does not take endless work for a finding while a cache is held back and the scenario lets time pass", function()
    local o = options(SECRET, function(world)
      apply(world, "1")
      world:settle()
      world:delete("v1/ConfigMap", "default/a")
      world:advance("1m")
      world:settle()
    end)
    local result = search.replay(o, assert(plans.parse("unobserved ConfigMap @2")))
    assert.same({}, found(result))
    assert.same({}, result.unmet)
  end)

  -- Appends each text that it has seen, so it shows which steps were skipped.
  local SEEN = controller([[
    local copy = perilune.live:get("v1/ConfigMap", "default/copy")
    local all, text = copy and copy.data.all or "", perilune.live:get("v1/ConfigMap", request).data.text
    if all:sub(-1) ~= text then
      client:apply(map_of(map, "copy", { all = all .. text }), { owner = map })
    end]])

  local function three_texts(after_second)
    return function(world)
      apply(world, "1")
      world:settle()
      world:patch("v1/ConfigMap", "default/a", { data = { text = "2" } })
      after_second(world)
      world:patch("v1/ConfigMap", "default/a", { data = { text = "3" } })
      world:settle()
    end
  end

  for _, plan in ipairs({ "lag ConfigMap @2", "outage patch ConfigMap @2",
    "lag ConfigMap @2, crash before maps default/a patch ConfigMap default/copy @2" }) do
    it("ends what is late when the scenario has let time pass: " .. plan, function()
      local o = options(SEEN, three_texts(function(world) world:advance("10s") end))
      local result = search.replay(o, assert(plans.parse(plan)))
      assert.same({}, found(result))
      assert.same({}, result.unmet)
    end)
  end

  it("does not report what a step leaves out that comes at once after two settled points", function()
    local o = options(SEEN, three_texts(function(world) world:settle() world:settle() end))
    local result = search.replay(o, assert(plans.parse("early @3 after 0, early @3 after 0")))
    assert.same({}, found(result))
    assert.same({}, result.unmet)
    assert.equal(1, result.left_out["a controller cannot know of a step that was skipped"])
  end)

  it("lets a key try again only a few times, without a change, while its cache is held back", function()
    local o = options(controller([[
    map.data.copy = map.data.text
    client:update(map)]]), function(world)
      apply(world, "1")
      world:settle()
    end)
    local execution = o.execute(assert(plans.parse("stale ConfigMap 1.1 @1")), { seed = 3 })
    local conflicts = 0
    for _, e in ipairs(execution.trace) do
      conflicts = conflicts + (e.outcome == "answered 409" and 1 or 0)
    end
    assert.same({}, execution.unmet)
    assert.equal(3, conflicts)
    assert.is_true(execution.settles[1].over)
  end)

  it("gives a key whose cache is held back as many runs as it needs undisturbed", function()
    local END = [[
    local two = live:get("v1/Secret", "default/two")
    if map.data.text == "2" and not two then
      client:create({ apiVersion = "v1", kind = "Secret", metadata = { namespace = "default", name = "two" } },
        { owner = map })
    elseif map.data.text == "1" and two then
      client:delete(two)
    end]]
    for _, steps in ipairs({ [[
    local state = live:get("v1/Secret", "default/state")
    local of, step = map.data.text, state and tonumber(perilune.base64.decode(state.data.step)) or 0
    if not state or state.data.of ~= perilune.base64.encode(of) then
      step = -1
    end
    if step < 15 then
      client:apply({ apiVersion = "v1", kind = "Secret", metadata = { namespace = "default", name = "state" },
        stringData = { of = of, step = tostring(step + 1) } }, { owner = map })
      return
    end]], [[
    waits = waits or {}
    waits[map.data.text] = (waits[map.data.text] or 0) + 1
    if waits[map.data.text] < 7 then return { requeue = true } end]] }) do
      local o = options("local waits\n" .. controller("local live = perilune.live\n" .. steps .. END), function(world)
        apply(world, "1")
        world:settle()
        world:patch("v1/ConfigMap", "default/a", { data = { text = "2" } })
        world:settle()
      end)
      local result = search.replay(o, assert(plans.parse("stale ConfigMap 1.1 @2")))
      assert.same({ "replaced v1/Secret default/two metadata.uid: stale ConfigMap 1.1 @2" }, found(result))
      assert.same({}, result.unmet)
    end
  end)

  it("starts a host again that is killed while the cluster's own controllers have work left", function()
    local o = options(controller([[
    if client:get("v1/Secret", "default/copy") then return end
    local pod = perilune.live:get("v1/Pod", "default/a")
    if not pod then
      client:create({ apiVersion = "v1", kind = "Pod", metadata = { namespace = "default", name = "a" },
        spec = { containers = { { name = "a", image = "a" } } } }, { owner = map })
    end
    client:patch(map, { data = { first = pod and pod.status.phase or "none" } })
    client:apply({ apiVersion = "v1", kind = "Secret", metadata = { namespace = "default", name = "copy" } },
      { owner = map })]]), function(world)
      world:simulate("pods", { delay = "10s" })
      apply(world, "1")
      world:settle()
    end)
    for _, how in ipairs({ "after", "unanswered" }) do
      local result = search.replay(o, assert(plans.parse(("crash %s maps default/a create Pod @1"):format(how))))
      assert.same({}, result.unmet)
      assert.equal("Pending", result.groups[1].finding.is)
    end
  end)

  it("lets a key try again during an outage until that is over", function()
    local result = search.replay(options("local failures = 0\n" .. controller([[
    if client:get("v1/Secret", "default/copy") or map.data.failed then return end
    local _, e = perilune.try(client.create, client, { apiVersion = "v1", kind = "Secret",
      metadata = { namespace = "default", name = "copy" } }, { owner = map })
    failures = e and failures + 1 or 0
    if failures == 8 then
      client:patch(map, { data = { failed = "yes" } })
    elseif e then
      error(e)
    end]]), function(world)
      apply(world, "1")
      world:settle()
    end), assert(plans.parse("outage create Secret @1")))
    assert.same({ "state v1/ConfigMap default/a data.failed: outage create Secret @1" }, found(result))
    assert.same({}, result.unmet)
  end)

  it("gives up an object that somebody else's finalizer keeps before the scenario makes it again", function()
    for _, between in ipairs({ function() end, function(world) world:advance("1m") end }) do
      local o = options(SECRET, function(world)
        apply(world, "1")
        world:settle()
        world:delete("v1/ConfigMap", "default/a")
        between(world)
        apply(world, "2")
        world:settle()
      end)
      local result = search.replay(o, assert(plans.parse("finalizer ConfigMap default/a @2")))
      assert.same({}, found(result))
      assert.same({}, result.unmet)
    end
  end)

  it("does not report an address that the server has given to a Service, and its copies", function()
    local o = options(controller([[
    local service = perilune.live:get("v1/Service", request)
    if service and service.metadata.labels.text ~= map.data.text then
      client:delete(service)
      service = nil
    end
    service = service or client:create({ apiVersion = "v1", kind = "Service", metadata = { namespace = "default",
      name = "a", labels = map.data }, spec = { ports = { { port = 80 } } } }, { owner = map })
    client:apply(map_of(map, "copy", { address = service.spec.clusterIP }))
    ]]), function(world)
      for _, text in ipairs({ "1", "2" }) do
        apply(world, text)
        world:settle()
      end
    end)
    local finalizer = assert(plans.parse("finalizer Service default/a @2"))
    local result = search.replay(o, finalizer)
    assert.same({}, found(result))
    assert.same({}, result.unmet)
    local function address(state)
      for _, item in ipairs(state) do
        if item.id == "v1/ConfigMap default/copy" then return item.flat["data.address"] end
      end
    end
    local disturbed = o.execute(finalizer, { seed = 3 })
    assert.not_equal(address(result.reference.settles[2].state), address(disturbed.settles[2].state))
  end)

  it("tells the error of a map function that is tried again without end", function()
    local result = search.explore(options(HEAD .. [[
perilune.controller("maps"):For("v1/ConfigMap", { labels = "app=yes" })
  :Watches("v1/Secret", function(secret)
    return { namespace = "default", name = secret.metadata.labels.of }
  end)
  :Reconcile(function() end)
]], function(world)
      apply(world, "1")
      world:create{ apiVersion = "v1", kind = "Secret", metadata = { name = "a", namespace = "default" } }
      world:settle()
    end))
    assert.same({ "unsettled maps  : " }, found(result))
    assert.matches("^the map function of v1/Secret is tried again: %S*main.lua:%d+: attempt to index field 'labels'",
      result.groups[1].finding.is)
  end)

  it("finds mistakes of predicates and index functions, also those that only a disturbance shows", function()
    local function errors(declared, f)
      local result = search.explore(options(HEAD .. declared, f, { executions = 100 }))
      local group = result.groups[1]
      return table.concat(found(result), "\n"), group and group.finding.is or ""
    end
    local text, message = errors([[
perilune.controller("maps"):For("v1/ConfigMap", { labels = "app=yes", predicates = {
  function(event) return event.object.metadata.annotations.wanted ~= nil end } }):Reconcile(function() end)
]], function(world)
      apply(world, "1")
      world:settle()
    end)
    assert.equal("error v1/ConfigMap default/a : ", text)
    assert.matches("main.lua:%d+: attempt to index field 'annotations'", message)

    text, message = errors([[
perilune.index("v1/ConfigMap", "text", function(map) return map.data.text:lower() end)
perilune.controller("maps"):For("v1/ConfigMap"):Reconcile(function() end)
]], function(world)
      world:create{ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a", namespace = "default" } }
      world:settle()
    end)
    assert.equal("error v1/ConfigMap default/a : ", text)
    assert.matches("main.lua:%d+: attempt to index field 'data'", message)

    -- What a predicate has noted is lost when the host starts again.
    text, message = errors([[
local noted = {}
perilune.controller("maps"):For("v1/ConfigMap", { labels = "app=yes", predicates = { function(event)
  local text = event.object.data.text
  noted[text] = { before = event.old and event.old.data.text }
  return text ~= "3" or noted["2"].before == "1"
end } }):Reconcile(function() end)
]], function(world)
      apply(world, "1")
      world:settle()
      apply(world, "2")
      apply(world, "3")
      world:settle()
    end)
    assert.equal("error v1/ConfigMap default/a : restart @3", text)
    assert.matches("main.lua:%d+: attempt to index", message)
  end)

  it("changes a value of a sample to another one of the same form", function()
    local out = {}
    for _, change in ipairs(require("perilune.explore.sample").changes({ a = "1Gi", b = "app:1.09", c = "0 3 * * *",
      d = "10.0.0.9", e = "name", f = true, g = 7, h = { i = "2026-01-01" } })) do
      local path, value = change.text:match("[^.]+$"), change.patch.spec
      out[#out + 1] = path .. "=" .. tostring(value[path] == nil and value.h.i or value[path])
    end
    assert.equal("g=8, a=2Gi, b=app:1.10, c=0 4 * * *, d=10.0.0.10, e=namex, f=false, i=2026-01-02",
      table.concat(out, ", "))
  end)

  it("has workloads that become ready, if there is only a sample", function()
    local function write(name, text)
      local file = assert(io.open(explorations.folder .. "/" .. name, "w"))
      file:write(text)
      file:close()
      return explorations.folder .. "/" .. name
    end
    local labels = "{app: a}"
    local scenario = require("perilune.explore.sample").of({ paths = { write("main.lua", HEAD .. [[
perilune.controller("ready"):For("apps/v1/Deployment"):Reconcile(function(request)
  local deployment = client:get("apps/v1/Deployment", request)
  if deployment and perilune.rolled_out(deployment) then
    client:apply(map_of(deployment, "ready", { replicas = tostring(deployment.spec.replicas) }), { owner = deployment })
  end
end)
]]) }, flags = { filename = { write("sample.yaml", "apiVersion: apps/v1\nkind: Deployment\n"
      .. "metadata: {namespace: default, name: a}\nspec: {replicas: 2, selector: {matchLabels: " .. labels
      .. "}, template: {metadata: {labels: " .. labels .. "}, spec: {containers: [{name: a, image: a}]}}}\n") } } })
    local result = search.explore({ seed = 3, executions = 30, clock = worlds.clock,
      execute = executor.new({ f = scenario.f, kind_of = worlds.kind_of, open = function(...)
        return worlds.open(scenario, ...)
      end }) })
    assert.same({}, found(result))
    local replicas
    for _, item in ipairs(result.reference.settles[2].state) do
      replicas = item.id == "v1/ConfigMap default/ready" and item.flat["data.replicas"] or replicas
    end
    assert.equal("3", replicas)
  end)

  it("does not take a write that was sent before for one that removes somebody else's finalizer", function()
    local o = options(controller([[
    client:apply({ apiVersion = "v1", kind = "Secret", metadata = { namespace = "default", name = "b" },
      stringData = { of = map.data.text } })
    ]]), function(world)
      apply(world, "1")
      world:settle()
      world:patch("v1/ConfigMap", "default/a", { data = { text = "2" } })
      world:settle()
      world:delete("v1/Secret", "default/b")
      world:settle()
    end)
    local result = search.replay(o, assert(plans.parse("finalizer Secret default/b @3, early @3 after 1")))
    assert.same({}, found(result))
    assert.same({}, result.unmet)
  end)

  it("reports a write that removes somebody else's finalizer, and none that removes only its own", function()
    for text, want in pairs({
      ["client:patch(map, { metadata = { finalizers = perilune.null } })"] = {
        "state v1/ConfigMap default/a metadata.finalizers: finalizer ConfigMap default/a @2" },
      ["perilune.finalizer.remove(map, 'example.com/own')\nclient:update(map)"] = {},
    }) do
      local o = options(controller([[
    if not map.metadata.deletionTimestamp then
      if perilune.finalizer.add(map, "example.com/own") then client:update(map) end
      return
    elseif not perilune.finalizer.has(map, "example.com/own") then
      return
    end
]] .. text), function(world)
        apply(world, "1")
        world:settle()
        world:delete("v1/ConfigMap", "default/a")
        world:settle()
      end)
      local result = search.replay(o, assert(plans.parse("finalizer ConfigMap default/a @2")))
      assert.same(want, found(result))
      assert.same({}, result.unmet)
      local lost = ", lose reset maps default/a " .. (want[1] and "patch" or "update") .. " ConfigMap @2"
      result = search.replay(o, assert(plans.parse("finalizer ConfigMap default/a @2" .. lost)))
      assert.same({ want[1] and want[1] .. lost }, found(result))
      assert.same({}, result.unmet)
    end
  end)

  it("does not report seconds in a status that follow the clock, but other numbers", function()
    for body, want in pairs({ ["left = 1200 - math.floor(now) % 1200"] = {},
      ["left = left or 1 + (set.status.replicas or 0)"] = { "state", "restart" } }) do
      local o = options(HEAD .. [[
local left
perilune.controller("sets"):For("apps/v1/StatefulSet"):Reconcile(function(request)
  local set = client:get("apps/v1/StatefulSet", request)
  if not set then return end
  local now = perilune.time.now() - perilune.time.parse(set.metadata.creationTimestamp)
]] .. body .. [[

  client:patch_status(set, { status = { replicas = left } })
  return { requeue_after = 1200 - math.floor(now) % 1200 }
end)
]], with_set)
      local result = search.replay(o, assert(plans.parse("restart @1")))
      local classes = {}
      for _, group in ipairs(result.groups) do
        classes = { group.finding.class, group.also[1].class }
      end
      assert.same(want, classes)
      assert.same({}, result.unmet)
    end
  end)

  -- A conflict is left to the next event, which the predicate drops: a bug, which the restart repairs.
  it("does not report what a restart repairs", function()
    local o = options(HEAD .. [[
local function is_new(event)
  return not event.old or event.old.data.text ~= event.object.data.text
end
perilune.controller("maps"):For("v1/ConfigMap", { labels = "app=yes", predicates = { is_new } })
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if not map then return end
    map.metadata.annotations = { seen = map.data.text }
    perilune.try(client.update, client, map)
  end)
]], function(world)
      apply(world, "1")
      world:settle()
    end)
    local touch = "touch maps default/a update ConfigMap @1"
    assert.same({ "state v1/ConfigMap default/a metadata.annotations.seen: " .. touch },
      found(search.replay(o, assert(plans.parse(touch)))))
    local result = search.replay(o, assert(plans.parse(touch .. ", restart @1")))
    assert.same({}, found(result))
    assert.same({}, result.unmet)
  end)

  local WORKER = HEAD .. [[
local me
]] .. controller([[
    me = me or perilune.hash(perilune.random(8))
    client:apply(map_of(map, "copy", { worker = me }), { owner = map })]]):sub(#HEAD + 1)

  it("leaves out ignored fields that are written again", function()
    local function scenario(world)
      apply(world, "1")
      world:settle()
    end
    local found_without = found(search.explore(options(WORKER, scenario)))
    assert.matches("^rewritten v1/ConfigMap default/copy data.worker: ", found_without[1])
    for _, rule in ipairs({ "data.worker", "v1/ConfigMap default/copy data.worker", "v1/ConfigMap copy" }) do
      assert.same({}, found(search.explore(options(WORKER, scenario, { ignore = { rule } }))), rule)
    end
    assert.same(found_without, found(search.explore(options(WORKER, scenario, { ignore = { "v1/ConfigMap other" } }))))
  end)

  it("does not report what a schedule has made while a host was started again", function()
    local o = options(controller([[
      local name = ("made-%d"):format(perilune.time.now())
      client:apply(map_of(map, name, { at = name }), { owner = map })
      return { requeue_after = 300 }]]), function(world)
      apply(world, "1")
      world:advance("6m")
      world:settle()
    end)
    local last = {}
    for _, p in ipairs(o.execute({}, { seed = 3 }).points) do
      last = p.what == "effect" and not p.reads and p or last
    end
    local plan = { { what = "crash", how = "after", place = last.place, step = last.step, n = last.n } }
    local result = search.replay(o, plan)
    assert.same({}, found(result))
    assert.same({}, result.unmet)
    assert.equal(1, result.left_out["hours later nothing differs"])
  end)

  -- With an event that comes after the next step, whatever that changes, no controller can know what was before it.
  it("does not report what is also there when the next step, of another kind, comes at once", function()
    local o = options(controller([[
      local pod = perilune.live:get("v1/Pod", "default/p")
      if not client:get("v1/ConfigMap", "default/copy") then
        client:create(map_of(map, "copy", { of = pod and pod.spec.containers[1].image }), { owner = map })
      end]]), function(world)
      world:create{ apiVersion = "v1", kind = "Pod", spec = { containers = { { name = "a", image = "i:1" } } },
        metadata = { name = "p", namespace = "default" } }
      world:settle()
      apply(world, "1")
      world:settle()
      world:patch("v1/Pod", "default/p", { spec = { containers = { { name = "a", image = "i:2" } } } })
      world:settle()
    end)
    assert.same({}, found(search.explore(o)))
    local result = search.replay(o, plans.parse("unobserved ConfigMap @2"))
    assert.same({}, found(result))
    assert.equal(1, result.left_out["a controller cannot know of a step that was skipped"])
  end)

  it("finds a loop that only the passing time keeps going, with the field", function()
    local result = search.explore(options(controller([[
      client:patch(map, { data = { at = perilune.time.format(perilune.time.now()) } })]]), function(world)
      apply(world, "1")
      world:settle()
    end))
    assert.same({ "unsettled maps default/a data.at: " }, found(result))
    assert.matches("v1/ConfigMap default/a data.at changes again and again %(2026%-", result.groups[1].finding.is)
  end)

  it("knows random values of a rule as random", function()
    local result = search.explore(options(controller([[
      if client:get("v1/ConfigMap", "default/copy") then return end
      local answer = perilune.http.request({ method = "POST", url = "https://tokens.example.com/" })
      if not answer.ok then error("answered " .. answer.status) end
      client:create(map_of(map, "copy", { token = answer.body }), { owner = map })]]), function(world)
      world:http("https://tokens.example.com/*", function()
        return { status = 201, body = ("token-%08x"):format(math.random(2 ^ 31)) }
      end)
      apply(world, "1")
      world:settle()
    end))
    assert.same({}, found(result))
    assert.is_nil(result.differing)
    assert.is_true(result.singles.done > 5)
  end)

  it("knows a copy of a random value as a copy, though nobody has answered the write of that value", function()
    local o = options(controller([[
      local live = perilune.live
      local function secret(name, key)
        return { apiVersion = "v1", kind = "Secret", metadata = { namespace = "default", name = name },
          data = { key = key } }
      end
      local authority = live:get("v1/Secret", "default/authority")
        or client:create(secret("authority", perilune.base64.encode(perilune.random(16))), { owner = map })
      client:apply(secret("leaf", authority.data.key), { owner = map })]]), function(world)
      apply(world, "1")
      world:settle()
      world:delete("v1/Secret", "default/authority")
      world:settle()
    end)
    for _, what in ipairs({ "lose timeout", "lose reset", "crash after", "crash unanswered" }) do
      local plan = ("%s maps default/a create Secret default/authority @"):format(what)
      local result = search.replay(o, assert(plans.parse(plan .. "1, " .. plan .. "2")))
      assert.same({}, found(result))
      assert.same({}, result.unmet)
    end
  end)

  it("takes what a rule reads and writes for neither a look nor a step of the scenario", function()
    local o = options(controller([[
      local answer = perilune.http.request({ method = "PUT", url = "https://api.example.com/a", body = map.data.text })
      if not answer.ok then error("answered " .. answer.status) end
      if map.data.told ~= map.data.text then client:patch(map, { data = { told = map.data.text } }) end]]),
      function(world)
        world:create{ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "log", namespace = "default" } }
        world:http("https://api.example.com/*", function(request)
          if not world:get("v1/ConfigMap", "default/log") then return { status = 500 } end
          world:patch("v1/ConfigMap", "default/log", { data = { last = request.body } })
          return { status = 200 }
        end)
        world:always("few maps", function() return #world:list("v1/ConfigMap", {}) < 9 or "many" end)
        apply(world, "1")
        world:settle()
        world:patch("v1/ConfigMap", "default/a", { data = { text = "2" } })
        world:settle()
      end)
    assert.equal(3, o.execute({}, { seed = 3 }).steps)
    local result = search.explore(o)
    assert.same({}, found(result))
    assert.is_nil(result.left_out["the caches could not catch up"])
    for _, plan in ipairs({ "early @3 after 0", "early @3 after 1", "outage patch ConfigMap @3" }) do
      local replayed = search.replay(o, plans.parse(plan))
      assert.same({}, replayed.unmet)
      assert.same({}, found(replayed))
    end
  end)

  local TASK = HEAD .. [[
perilune.run("leader", { writes = { ["v1/ConfigMap"] = { "create", "patch" } } }, function(context)
  while not context:stopping() do
    client:apply(map_of({ metadata = { namespace = "default" } }, "leader", {}))
    perilune.sleep("45s")
  end
end)
]]

  it("knows requests before the first step, and survives a crash at one of them", function()
    local o = options(TASK, function(world)
      apply(world, "1")
      world:settle()
    end, { replicas = 2, executions = 30 })
    assert.same({}, found(search.explore(o)))
    local place = { controller = "leader", key = "leader", verb = "patch", kind = "ConfigMap",
      object = "default/leader" }
    local execution = o.execute({ { what = "crash", how = "after", place = place, step = 0, n = 1 } }, { seed = 3 })
    assert.same({}, execution.unmet)
    assert.is_nil(execution.unsettled)
  end)
end)
