-- The actors of a world, which do the work of a cluster's own controllers. Run by `perilune test`.
local test = require("perilune.test")

local DEPLOYMENT, POD, BUDGET = "apps/v1/Deployment", "v1/Pod", "policy/v1/PodDisruptionBudget"

local function deployment(name)
  return { apiVersion = "apps/v1", kind = "Deployment",
    metadata = { name = name, namespace = "default" },
    spec = { replicas = 2, selector = { matchLabels = { app = name } },
      template = { metadata = { labels = { app = name } },
        spec = { containers = { { name = "web", image = "web:1" } } } } } }
end

local function pod(name, owner)
  return { apiVersion = "v1", kind = "Pod", metadata = { name = name, namespace = "default", labels = { app = "web" },
    ownerReferences = owner and { { apiVersion = "apps/v1", kind = "ReplicaSet", controller = true,
      name = owner.metadata.name, uid = owner.metadata.uid } } },
    spec = { containers = { { name = "c", image = "x" } } } }
end

local function budget(spec)
  spec.selector = { matchLabels = { app = "web" } }
  return { apiVersion = "policy/v1", kind = "PodDisruptionBudget", metadata = { name = "web", namespace = "default" },
    spec = spec }
end

describe("a world", function()
  it("has actors for what a cluster's own controllers do", function()
    local world = test.world{}
    world:simulate("deployments", { delay = "5s" })
    world:create(deployment("web"))
    local before = world:now()
    assert.is_nil(world:get(DEPLOYMENT, "default/web").status.readyReplicas)
    world:settle()
    assert.equal(2, world:get(DEPLOYMENT, "default/web").status.readyReplicas)
    assert.is_true(world:now() - before >= 5)
    world:patch(DEPLOYMENT, "default/web", { spec = { replicas = 3 } })
    world:settle()
    local status = world:get(DEPLOYMENT, "default/web").status
    assert.equal(3, status.readyReplicas)
    assert.equal(2, status.observedGeneration)
    assert.has_error(function() world:simulate("deployment") end)
  end)

  it("has an actor that ends the grace period of Pods, and one that leaves Jobs alone that have failed", function()
    local world = test.world{}
    world:simulate("pods", { delay = "5s" }):simulate("jobs", { delay = "5s" })
    world:create{ apiVersion = "v1", kind = "Pod", metadata = { name = "p", namespace = "default" },
      spec = { nodeName = "n", containers = { { name = "c", image = "i" } } } }
    for _, name in ipairs({ "failed", "suspended", "other" }) do
      world:create{ apiVersion = "batch/v1", kind = "Job", metadata = { name = name, namespace = "default" },
        spec = { suspend = name == "suspended", template = { spec = { restartPolicy = "Never",
          containers = { { name = "c", image = "i" } } } } } }
    end
    world:patch_status("batch/v1/Job", "default/failed", { status = { startTime = "2026-01-01T00:00:00Z",
      conditions = { { type = "FailureTarget", status = "True" }, { type = "Failed", status = "True" } } } })
    world:settle()
    assert.equal("Running", world:get("v1/Pod", "default/p").status.phase)
    assert.is_nil(world:get("batch/v1/Job", "default/suspended").status.completionTime)
    assert.truthy(world:get("batch/v1/Job", "default/other").status.completionTime)
    world:delete("v1/Pod", "default/p")
    assert.truthy(world:get("v1/Pod", "default/p").metadata.deletionTimestamp)
    world:settle()
    assert.is_nil(world:get("v1/Pod", "default/p"))
  end)

  it("has actors that write what `dev --simulate` writes, and leave alone what has ended", function()
    local world = test.world{}
    world:simulate("pods"):simulate("jobs"):simulate("claims")
    world:create(pod("a"))
    world:create{ apiVersion = "batch/v1", kind = "Job", metadata = { name = "j", namespace = "default" },
      spec = { completions = 3, template = { spec = { restartPolicy = "Never",
        containers = { { name = "c", image = "i" } } } } } }
    world:create{ apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = { name = "p", namespace = "default" },
      spec = { accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } } } }
    world:settle()
    local running = world:get(POD, "default/a").status
    assert.same({ "Running", "c", true }, { running.phase, running.containerStatuses[1].name,
      running.containerStatuses[1].ready })
    assert.equal(3, world:get("batch/v1/Job", "default/j").status.succeeded)
    assert.same({ "Bound", "1Gi" }, { world:get("v1/PersistentVolumeClaim", "default/p").status.phase,
      world:get("v1/PersistentVolumeClaim", "default/p").status.capacity.storage })
    world:patch_status(POD, "default/a", { status = { phase = "Succeeded" } })
    world:settle()
    assert.equal("Succeeded", world:get(POD, "default/a").status.phase)
  end)

  it("has an actor for ReplicaSets", function()
    local world = test.world{}
    world:simulate("replicasets")
    local set = deployment("web")
    set.kind = "ReplicaSet"
    world:create(set)
    world:settle()
    local status = world:get("apps/v1/ReplicaSet", "default/web").status
    assert.same({ 2, 2, 1 }, { status.availableReplicas, status.fullyLabeledReplicas, status.observedGeneration })
  end)

  it("has an actor that counts disruption budgets, which evictions obey", function()
    local path = os.tmpname() .. ".lua"
    local file = assert(io.open(path, "w"))
    file:write([[
local perilune = require("perilune")
perilune.controller("drain"):For("v1/Node"):Reads("v1/Pod"):Writes("v1/Pod", { "delete" })
  :Reconcile(function(request, context)
    for _, pod in ipairs(perilune.client:list("v1/Pod")) do
      local _, e = perilune.try(perilune.client.evict, perilune.client, pod)
      local busy = e ~= nil and perilune.errors.is_too_many_requests(e)
      context.log:info("evicted", { pod = pod.metadata.name, busy = busy })
    end
  end)
]])
    file:close()
    local world = test.world{ scripts = path }
    os.remove(path)
    world:simulate("pods"):simulate("budgets")
    world:create(budget{ minAvailable = 2 })
    for _, name in ipairs({ "a", "b", "c" }) do
      world:create(pod(name))
    end
    world:settle()
    local status = world:get(BUDGET, "default/web").status
    assert.same({ 3, 2, 3, 1, "True" }, { status.currentHealthy, status.desiredHealthy, status.expectedPods,
      status.disruptionsAllowed, status.conditions[1].status })
    world:create{ apiVersion = "v1", kind = "Node", metadata = { name = "n" } }
    world:settle()
    local told = {}
    for _, line in ipairs(world:logs("info")) do
      told[#told + 1] = line.msg == "evicted" and tostring(line.busy) or nil
    end
    table.sort(told)
    assert.same({ "false", "true", "true" }, told)
    assert.equal(2, #world:list(POD))
    assert.equal(0, world:get(BUDGET, "default/web").status.disruptionsAllowed)
    assert.is_nil(world:get(BUDGET, "default/web").status.disruptedPods)
  end)

  it("expects as many Pods as their controllers want, and rounds percentages up", function()
    for _, case in ipairs({
      { { maxUnavailable = 1 }, { 4, 3, 0 } },
      { { maxUnavailable = "50%" }, { 4, 2, 0 } },
      { { minAvailable = "26%" }, { 4, 2, 0 } },
      { { minAvailable = "25%" }, { 4, 1, 1 } },
      { { minAvailable = 1 }, { 2, 1, 1 } },
    }) do
      local world = test.world{}
      world:simulate("pods"):simulate("budgets")
      local set = deployment("web")
      set.kind, set.spec.replicas = "ReplicaSet", 4
      set = world:create(set)
      world:create(pod("a", set))
      world:create(pod("b", set))
      world:create(budget(case[1]))
      world:settle()
      local status = world:get(BUDGET, "default/web").status
      assert.same(case[2], { status.expectedPods, status.desiredHealthy, status.disruptionsAllowed })
    end
  end)

  it("takes an actor of the spec for any kind", function()
    local world = test.world{}
    world:simulate("v1/Pod", function(object)
      return object.metadata.labels.app == "web" and { phase = "Succeeded" } or nil
    end, { delay = "3s" })
    world:create(pod("a"))
    local other = pod("b")
    other.metadata.labels.app = "other"
    world:create(other)
    local before = world:now()
    world:settle()
    assert.is_true(world:now() - before >= 3)
    assert.equal("Succeeded", world:get(POD, "default/a").status.phase)
    assert.equal("Pending", world:get(POD, "default/b").status.phase)
  end)

  it("ends the test with such an actor's mistake", function()
    local world = test.world{}
    assert.has_error(function() world:simulate("Pods", print) end)
    world:simulate("v1/Pod", function() return "ready" end)
    local ok, message = pcall(world.create, world, pod("a"))
    assert.is_false(ok)
    local expected = 'simulate: the status of v1/Pod must be a table or nil, not the string "ready"'
    assert.truthy(tostring(message):find(expected, 1, true), tostring(message))
  end)

  it("ends the test when an actor writes one object without end, and names both", function()
    for _, case in ipairs({ { nil, "%(1000 runs while no time passes%)" },
      { "1ms", "%(10000 runs in one settle%)" } }) do
      local world = test.world{}
      world:simulate("v1/Pod", function(object)
        return { message = tostring(object.status.message or 0):match("%d+") + 1 .. " times" }
      end, { delay = case[1] })
      world:create(pod("a"))
      local ok, message = pcall(world.settle, world)
      assert.is_false(ok)
      assert.truthy(tostring(message):find("actors_spec.lua:%d+: it does not settle: the actor of v1/Pod default/a "
        .. case[2]), tostring(message))
    end
  end)

  it("lets an actor write as often as it wants while time passes", function()
    local world = test.world{}
    world:simulate("v1/Pod", function(object)
      return { message = tostring(tonumber(object.status.message or 0) + 1) }
    end, { delay = "1s" })
    world:create(pod("a"))
    world:advance("1200s")
    assert.is_true(tonumber(world:get(POD, "default/a").status.message) > 1100)
  end)

  it("forgets an actor that it has refused", function()
    local world = test.world{}
    local ok, message = pcall(world.simulate, world, "v1/Foo", function() end)
    assert.is_false(ok)
    assert.truthy(tostring(message):find("the server does not serve v1/Foo", 1, true), tostring(message))
    world:simulate("pods")
    world:create(pod("a"))
    assert.is_false(pcall(world.simulate, world, "v1/Pod", function() error("no") end))
    world:settle()
    assert.equal("Running", world:get(POD, "default/a").status.phase)
  end)
end)
