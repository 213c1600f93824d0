-- The webhooks of scripts in worlds: the server calls them as it would over a connection. Run by
-- `perilune test`.
local test = require("perilune.test")

local CONFIG, WIDGET = "v1/ConfigMap", "example.com/v1/Widget"
local VALIDATING = "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration"
local MUTATING = "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration"
local CRDS = "apiextensions.k8s.io/v1/CustomResourceDefinition"

local CRD = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object,
        properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}
    - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object,
        properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}
]]

local VALIDATE = [[
perilune.webhook.validate("v1/ConfigMap", function(object)
  if object.data and object.data.bad then return "bad is not allowed" end
end)
]]

local CONVERT = [[
perilune.webhook.convert("example.com/Widget", function(object, version)
  if version == "v2" then
    object.spec.count, object.spec.size = object.spec.size, nil
  else
    object.spec.size, object.spec.count = object.spec.count, nil
  end
  return object
end)
]]

local function config(name, data)
  return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name, namespace = "default" },
    data = data }
end

local function widget(name, version, spec)
  return { apiVersion = "example.com/" .. version, kind = "Widget",
    metadata = { name = name, namespace = "default" }, spec = spec }
end

describe("webhooks in a world", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()
  local script = files.script

  -- The error object of a failed call.
  local function problem(f, ...)
    local ok, err = pcall(f, ...)
    assert.is_false(ok)
    return err
  end

  after_each(files.remove)

  it("deny with an error object that has the message, and let others pass", function()
    local world = test.world{ scripts = script(VALIDATE) }
    local err = problem(world.create, world, config("one", { bad = "yes" }))
    assert.equal(403, err.code)
    assert.truthy(err.message:find("bad is not allowed", 1, true), err.message)
    assert.is_nil(world:get(CONFIG, "default/one"))
    world:create(config("one", { good = "yes" }))
    err = problem(world.patch, world, CONFIG, "default/one", { data = { bad = "yes" } })
    assert.truthy(err.message:find("bad is not allowed", 1, true), err.message)
    assert.same({ good = "yes" }, world:get(CONFIG, "default/one").data)
  end)

  it("of several kinds are named in errors as the one that was asked", function()
    local world = test.world{ scripts = script[[
      perilune.webhook.validate({ "v1/Secret", "v1/ConfigMap" }, function() return 5 end)
    ]] }
    local err = problem(world.create, world, config("one", { good = "yes" }))
    assert.truthy(err.message:find('webhook "validate.configmap.core" returned the number 5', 1, true), err.message)
    assert.is_nil(err.message:find("validate.secret", 1, true), err.message)
  end)

  it("are given what they have parameters for", function()
    local world = test.world{ scripts = script([[
      local function hook(name, f)
        perilune.webhook.validate("v1/" .. name, f, { operations = { "CREATE", "UPDATE" } })
      end
      hook("ConfigMap", function(object, old, request)
        return ("%s %s %s"):format(object.data.a, old and old.data.a or "-", request.operation)
      end)
      hook("Secret", function(...)
        local object, old, request = ...
        return ("%d %s %s %s"):format(select("#", ...), object.metadata.name, tostring(old),
          request.operation)
      end)
      hook("ServiceAccount", function(object, ...)
        return object.metadata.name .. " " .. select(2, ...).operation
      end)
      hook("PersistentVolumeClaim", function() return "nothing is asked for" end)
      hook("Endpoints", function(object)
        return perilune.webhook.invalid{ { field = "a", message = object.metadata.name } }
      end)
    ]]) }
    local function denied(kind, more)
      local object = { apiVersion = "v1", kind = kind, metadata = { name = "one",
        namespace = "default" } }
      for name, value in pairs(more or {}) do object[name] = value end
      return problem(world.create, world, object)
    end
    local function says(text, kind, more)
      local message = denied(kind, more).message
      assert.truthy(message:find(text, 1, true), message)
    end
    says("x - CREATE", "ConfigMap", { data = { a = "x" } })
    says("3 one nil CREATE", "Secret")
    says("one CREATE", "ServiceAccount")
    says("nothing is asked for", "PersistentVolumeClaim", { spec = { accessModes = {
      "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } } } })
    assert.equal(422, denied("Endpoints").code)
  end)

  it("answer what hosts write, too", function()
    local world = test.world{ scripts = script(VALIDATE .. [[
perilune.controller("copy"):For("v1/ConfigMap", { labels = "copy=yes" }):Reconcile(function(request)
  local source = client:get("v1/ConfigMap", request)
  local ok, err = pcall(client.create, client, { apiVersion = "v1", kind = "ConfigMap",
    metadata = { name = "copy", namespace = request.namespace }, data = { bad = "yes" } })
  if not source.data then
    client:patch(source, { data = { ok = tostring(ok), err = err.message } })
  end
end)
]]) }
    local object = config("source")
    object.metadata.labels = { copy = "yes" }
    world:create(object)
    world:settle()
    local data = world:get(CONFIG, "default/source").data
    assert.equal("false", data.ok)
    assert.truthy(data.err:find("bad is not allowed", 1, true), data.err)
  end)

  it("change what is stored, and are told of dry runs", function()
    local world = test.world{ scripts = script[[
perilune.webhook.mutate("v1/ConfigMap", function(object, _, request)
  object.data = object.data or {}
  object.data.by = request.dry_run and "dry run" or "webhook"
end)
perilune.controller("tries"):For("v1/Secret"):Reconcile(function(request)
  local tried = client:create({ apiVersion = "v1", kind = "ConfigMap",
    metadata = { name = "dry", namespace = request.namespace } }, { dry_run = true })
  client:apply({ apiVersion = "v1", kind = "ConfigMap",
    metadata = { name = "said", namespace = request.namespace }, data = { said = tried.data.by } })
end)
]] }
    world:create(config("one"))
    assert.same({ by = "webhook" }, world:get(CONFIG, "default/one").data)
    world:create{ apiVersion = "v1", kind = "Secret",
      metadata = { name = "try", namespace = "default" } }
    world:settle()
    assert.equal("dry run", world:get(CONFIG, "default/said").data.said)
    assert.is_nil(world:get(CONFIG, "default/dry"))
  end)

  it("are asked once about a Service, which keeps the address and port that they saw", function()
    local world = test.world{ scripts = script([[
local asked = 0
perilune.webhook.mutate("v1/Service", function(object)
  asked = asked + 1
  object.metadata.annotations = { asked = tostring(asked) }
end, { operations = { "CREATE" } })
perilune.webhook.validate("v1/Service", function(object)
  return nil, { object.spec.clusterIP .. " " .. object.spec.ports[1].nodePort }
end, { operations = { "CREATE" } })
]]) }
    local function service(name)
      world:create{ apiVersion = "v1", kind = "Service",
        metadata = { name = name, namespace = "default" },
        spec = { type = "NodePort", selector = { app = name }, ports = { { port = 80 } } } }
      return world:get("v1/Service", "default/" .. name)
    end
    local one, two = service("one"), service("two")
    assert.equal("1", one.metadata.annotations.asked)
    assert.equal("2", two.metadata.annotations.asked)
    assert.not_equal(one.spec.clusterIP, two.spec.clusterIP)
    assert.not_equal(one.spec.ports[1].nodePort, two.spec.ports[1].nodePort)
  end)

  it("are asked once about an object with times of its own, however long they take", function()
    local world = test.world{ scripts = script([[
local asked = 0
perilune.webhook.mutate("v1/Pod", function(object)
  asked = asked + 1
  perilune.sleep(3)
  object.metadata.labels = { asked = tostring(asked) }
end, { operations = { "CREATE" } })
]]) }
    world:create{ apiVersion = "v1", kind = "Pod", metadata = { name = "one", namespace = "default" },
      spec = { schedulingGates = { { name = "example.com/wait" } },
        containers = { { name = "main", image = "main" } } } }
    assert.equal("1", world:get("v1/Pod", "default/one").metadata.labels.asked)
  end)

  it("convert between versions", function()
    local world = test.world{ manifests = CRD, scripts = script(CONVERT) }
    assert.equal("Webhook", world:get(CRDS, "widgets.example.com").spec.conversion.strategy)
    world:create(widget("a", "v2", { count = 3 }))
    assert.equal(3, world:get(WIDGET, "default/a").spec.size)
    world:create(widget("b", "v1", { size = 4 }))
    assert.equal(4, world:get("example.com/v2/Widget", "default/b").spec.count)
    local all = world:list("example.com/v2/Widget")
    assert.equal(2, #all)
    assert.equal(3, all[1].spec.count)
  end)

  it("are asked of kinds that come later", function()
    local world = test.world{ scripts = script(CONVERT .. [[
perilune.webhook.validate("example.com/v1/Widget", function() return "never" end)
]]) }
    assert.is_nil(world:get(VALIDATING, "perilune-test"))
    world:apply(CRD)
    local err = problem(world.create, world, widget("a", "v2", { count = 3 }))
    assert.truthy(err.message:find("never", 1, true), err.message)
  end)

  it("are others after a reload, and none when the scripts have none", function()
    local world = test.world{ manifests = CRD, scripts = script(VALIDATE .. CONVERT) }
    world:reload{ scripts = script[[
perilune.webhook.validate("v1/ConfigMap", function(object)
  if object.data and object.data.good then return "good is not allowed" end
end)
]] }
    assert.not_equal("Webhook", (world:get(CRDS, "widgets.example.com").spec.conversion or {}).strategy)
    world:create(config("bad", { bad = "yes" }))
    local err = problem(world.create, world, config("good", { good = "yes" }))
    assert.truthy(err.message:find("good is not allowed", 1, true), err.message)
    world:reload{ scripts = script[[
perilune.controller("none"):For("v1/ConfigMap"):Reconcile(function() end)
]] }
    world:create(config("good", { good = "yes" }))
    assert.is_nil(world:get(VALIDATING, "perilune-test"))
  end)

  it("fail by their policy when the host has crashed, and answer after its start", function()
    local world = test.world{ scripts = script(VALIDATE .. [[
perilune.webhook.mutate("v1/Secret", function(object) object.data = { seen = "eWVz" } end,
  { failure_policy = "Ignore" })
]]) }
    world:crash()
    local err = problem(world.create, world, config("one"))
    assert.equal(500, err.code)
    assert.truthy(err.message:find("failed calling webhook", 1, true), err.message)
    local secret = { apiVersion = "v1", kind = "Secret",
      metadata = { name = "one", namespace = "default" } }
    world:create(secret)
    assert.is_nil(world:get("v1/Secret", "default/one").data)
    world:start()
    world:create(config("one"))
    secret.metadata.name = "two"
    world:create(secret)
    assert.equal("eWVz", world:get("v1/Secret", "default/two").data.seen)
    assert.is_table(world:get(MUTATING, "perilune-test"))
  end)

  it("are taken back by a graceful stop", function()
    local world = test.world{ scripts = script(VALIDATE) }
    world:stop()
    assert.is_nil(world:get(VALIDATING, "perilune-test"))
    world:create(config("one", { bad = "yes" }))
  end)

  it("have a deadline on the world's clock", function()
    local world = test.world{ scripts = script[[
perilune.webhook.validate("v1/ConfigMap", function() perilune.sleep("1h") end, { timeout = "5s" })
]] }
    local before = world:now()
    local err = problem(world.create, world, config("one"))
    assert.equal(500, err.code)
    assert.is_true(world:now() - before <= 5)
    assert.is_nil(world:get(CONFIG, "default/one"))
  end)

  it("end with a host that is killed while it is asked", function()
    local world = test.world{ scripts = script(VALIDATE .. [[
perilune.webhook.mutate("v1/Secret", function() perilune.sleep("5s") end)
perilune.controller("writer"):For("v1/ConfigMap"):Reconcile(function(request)
  client:apply({ apiVersion = "v1", kind = "Secret", metadata = { name = request.name,
    namespace = request.namespace }, stringData = { a = "b" } })
end)
]]) }
    world:create(config("one"))
    world:advance("1s") -- the Secret is on its way
    assert.is_nil(world:get("v1/Secret", "default/one"))
    world:crash()
    world:advance("1m")
    assert.is_nil(world:get("v1/Secret", "default/one"))
    world:start()
    world:settle()
    assert.is_table(world:get("v1/Secret", "default/one"))
  end)

  it("go on with another replica", function()
    local world = test.world{ scripts = script(VALIDATE) }
    local second = world:replica("second")
    world:crash()
    local err = problem(world.create, world, config("one", { bad = "yes" }))
    assert.truthy(err.message:find("bad is not allowed", 1, true), err.message)
    second:stop()
    assert.is_nil(world:get(VALIDATING, "perilune-test"))
  end)

  it("cost a world without them nothing", function()
    local world = test.world{ scripts = script[[
perilune.controller("none"):For("v1/ConfigMap"):Reconcile(function() end)
]] }
    assert.same({}, world:list(VALIDATING))
    assert.is_nil(world:metrics("controller_runtime_webhook_requests_total"))
  end)
end)
