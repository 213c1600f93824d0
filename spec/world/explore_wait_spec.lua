-- What an exploration waits for before it judges, lets the scenario look, or begins the next step. A point that
-- comes too soon would be a finding in a correct controller.

local plans = require("perilune.explore.plan")
local search = require("perilune.explore.search")
local support = dofile("spec/support/explorations.lua")

local HEAD = [[
local perilune = require("perilune")
local client, live = perilune.client, perilune.live
local function secret(name, annotations)
  return { apiVersion = "v1", kind = "Secret",
    metadata = { name = name, namespace = "default", annotations = annotations } }
end
]]

local function controller(body)
  return HEAD .. [[
perilune.controller("maps"):For("v1/ConfigMap"):Owns("v1/Secret"):Reads("v1/Pod"):Reconcile(function(request)
  local map = live:get("v1/ConfigMap", request)
  if not map then return end
]] .. body .. "\nend)\n"
end

local function apply(world, text)
  world:apply{ apiVersion = "v1", kind = "ConfigMap", data = { text = text },
    metadata = { name = "a", namespace = "default" } }
end

local function apply_secret(world)
  world:apply{ apiVersion = "v1", kind = "Secret", metadata = { name = "b", namespace = "default" } }
end

describe("an exploration waits", function()
  local explorations = support.new()
  before_each(explorations.begin)
  after_each(explorations.remove)

  local function replay(plan, script, f, more)
    return search.replay(explorations.options(script, f, more), assert(plans.parse(plan)))
  end

  -- The findings with the plan, which must apply.
  local function found(plan, script, f)
    local result = replay(plan, script, f)
    assert.same({}, result.unmet)
    return support.found(result)
  end

  it("for what somebody's finalizer held up, before it says what a restart has replaced", function()
    -- "two" is replaced after "one", which is made anew only when it is gone.
    assert.same({}, found("finalizer Secret default/one @2, stale Secret 1.1 @2", controller([[
  for _, name in ipairs({ "one", "two" }) do
    local now = live:get("v1/Secret", "default/" .. name)
    if now and now.metadata.annotations.text ~= map.data.text then
      client:delete(now)
      now = nil
    end
    if not now then client:create(secret(name, { text = map.data.text }), { owner = map }) end
  end]]), function(world)
      apply(world, "1")
      world:settle()
      world:patch("v1/ConfigMap", "default/a", { data = { text = "2" } })
      world:settle()
    end))
  end)

  -- Marks each Secret without an owner once, while there is a map.
  local function marks(is_marked)
    return HEAD .. [[
perilune.controller("marks"):For("v1/ConfigMap"):Watches("v1/Secret", function()
  return client:list("v1/ConfigMap", { namespace = "default" })
end, { writes = { "patch" } }):Reconcile(function(request)
  local map = client:get("v1/ConfigMap", request)
  for _, one in ipairs(map and client:list("v1/Secret", { namespace = "default" }) or {}) do
    if not (]] .. is_marked .. [[) then
      client:patch(one, { metadata = { annotations = { mark = "yes" } } })
    end
  end
  if map then
    local known = client:get("v1/Secret", "default/b") and "b" or "none"
    client:patch(map, { metadata = { annotations = { known = known, text = map.data.text } } })
  end
end)
]]
  end
  local MARKS = marks([[perilune.dig(one, "metadata", "annotations", "mark")]])

  -- A Secret is deleted and made anew, the map is changed, the map is deleted.
  local function made_anew(world)
    apply(world, "1")
    apply_secret(world)
    world:settle()
    world:delete("v1/Secret", "default/b")
    world:settle()
    apply_secret(world)
    world:settle()
    world:patch("v1/ConfigMap", "default/a", { data = { text = "2" } })
    world:settle()
    world:delete("v1/ConfigMap", "default/a")
    world:settle()
  end

  it("for a list after a cut watch, however early steps come, before a third step", function()
    assert.same({}, found("early @5 after 0, unobserved Secret @5", MARKS, made_anew))
    local result = replay("unobserved Secret @4, early @6 after 0", MARKS, made_anew)
    assert.same({}, support.found(result))
    assert.equal(1, #result.unmet) -- the step that would be the third one does not come early
  end)

  it("for no more than a controller can know: an object that was made anew lacks what the first one had", function()
    local is_known = [[perilune.dig(map, "metadata", "annotations", "known") == one.metadata.name]]
    assert.same({ "state v1/Secret default/b metadata.annotations.mark: unobserved Secret @3" },
      found("unobserved Secret @3", marks(is_known), made_anew))
    assert.same({}, found("unobserved Secret @3", MARKS, made_anew))
  end)

  it("for the lists of all replicas after a cut watch", function()
    -- Restarts for a version that nobody can see let the replicas list at different times.
    local plan = "unobserved ConfigMap @2, stale ConfigMap 2.9 @2"
    local result = replay(plan, HEAD .. [[
perilune.controller("maps"):For("v1/ConfigMap"):Watches("v1/Secret", function(one)
  return { namespace = "default", name = "a" }
end, { writes = { "create", "delete" } }):Reconcile(function(request)
  local map = live:get("v1/ConfigMap", request)
  for _, text in ipairs({ "1", "2", "3" }) do
    local copy = client:get("v1/Secret", "default/copy-" .. text)
    if map and not copy and text <= map.data.text then
      client:create(secret("copy-" .. text))
    elseif copy and not map then
      client:delete(copy)
    end
  end
end)
]], function(world)
      for _, text in ipairs({ "2", "3" }) do
        apply(world, text)
        world:settle()
        assert.is_table(world:get("v1/Secret", "default/copy-" .. text))
      end
      world:delete("v1/ConfigMap", "default/a")
      world:settle()
      assert.equal(0, #world:list("v1/Secret"))
    end, { replicas = 2, seed = 1 })
    assert.same({}, support.found(result))
  end)

  local POLLER = HEAD .. [[
perilune.every("1m", { name = "poll", reads = { "v1/ConfigMap" }, writes = { "v1/Secret" } }, function()
  for _, map in ipairs(client:list("v1/ConfigMap", { namespace = "default" })) do
    perilune.try(client.apply, client, secret("copy", { text = map.data.text }))
  end
end)
]]

  local function polled(world)
    apply(world, "1")
    world:settle()
    assert.is_table(world:get("v1/Secret", "default/copy"))
  end

  for _, plan in ipairs({ "outage patch Secret @1", "refuse 500 poll poll patch Secret default/copy @1" }) do
    it("for another round of a task that a disturbance has met: " .. plan, function()
      assert.same({}, found(plan, POLLER, polled))
    end)
  end

  it("no longer than the scenario has asked for, when that looks at its world", function()
    local plan = "late collection @2, reload after expire expire delete ConfigMap default/a @2"
    local result = replay(plan, HEAD .. [[
perilune.every("1m", { name = "expire", reads = { "v1/ConfigMap" }, writes = { "v1/ConfigMap" } }, function()
  for _, map in ipairs(client:list("v1/ConfigMap", { namespace = "default" })) do
    if perilune.time.parse(map.metadata.creationTimestamp) + 600 <= perilune.time.now() then
      client:delete(map)
    end
  end
end)
perilune.controller("maps"):For("v1/ConfigMap"):Reconcile(function(request)
  local map = live:get("v1/ConfigMap", request)
  if map then client:patch(map, { metadata = { annotations = { text = map.data.text } } }) end
end)
]], function(world)
      for _, text in ipairs({ "1", "2" }) do
        apply(world, text)
        world:settle{ limit = "1m" }
        assert.is_table(world:get("v1/ConfigMap", "default/a"))
      end
    end)
    assert.same({}, support.found(result))
    assert.equal(1, #result.unmet) -- nothing expires so soon
  end)
end)

describe("the message of an assertion", function()
  local explorations = support.new()
  before_each(explorations.begin)
  after_each(explorations.remove)

  it("names no address, which is another one in each process", function()
    local result = search.replay(explorations.options(controller(""), function(world)
      apply(world, "1")
      world:settle()
      assert.same({ a = 1 }, {})
      error(tostring({}) .. " of " .. tostring(print))
    end), {})
    assert.equal(1, #result.groups)
    assert.is_nil(result.groups[1].finding.is:find("0x", 1, true))
  end)
end)
