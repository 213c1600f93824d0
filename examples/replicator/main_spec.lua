-- Run by `perilune test examples/replicator`, and explored with --explore.
local test = require("perilune.test")

local SECRET, CONFIG = "v1/Secret", "v1/ConfigMap"
local TO = "replicate.example.com/to"

local function namespace(name)
  return { apiVersion = "v1", kind = "Namespace", metadata = { name = name } }
end

local function secret(to, password)
  return { apiVersion = "v1", kind = "Secret", type = "Opaque",
    metadata = { name = "registry", namespace = "default", annotations = { [TO] = to } },
    data = { password = password } }
end

local options = { scripts = ".", manifests = { namespace("team-a"), namespace("team-b"),
  namespace("prod"), namespace("other") } }

describe("replicator", function()
  local world

  local function copy(name)
    return world:get(SECRET, name .. "/registry")
  end

  before_each(function()
    world = test.world(options)
    world:create(secret("team-[a-z]+, prod", "czNjcmV0"))
    world:settle()
  end)

  it("copies into the namespaces that an expression matches whole", function()
    assert.equal("czNjcmV0", copy("team-a").data.password)
    local from = copy("prod").metadata.annotations["replicate.example.com/from"]
    assert.equal("default/registry", from)
    assert.is_nil(copy("other"))
  end)

  it("follows the source, and mends a copy that somebody changed or deleted", function()
    world:patch(SECRET, "default/registry", { data = { password = "bmV3" } })
    world:settle()
    assert.equal("bmV3", copy("team-b").data.password)
    world:patch(SECRET, "team-b/registry", { data = { password = "b3RoZXI=" } })
    world:delete(SECRET, "team-a/registry")
    world:settle()
    assert.equal("bmV3", copy("team-b").data.password)
    assert.equal("bmV3", copy("team-a").data.password)
  end)

  it("reaches namespaces that come later, and leaves those that are not meant any more", function()
    world:create(namespace("team-c"))
    world:settle()
    assert.truthy(copy("team-c"))
    world:patch(SECRET, "default/registry", { metadata = { annotations = { [TO] = "prod" } } })
    world:settle()
    assert.is_nil(copy("team-c"))
    assert.truthy(copy("prod"))
  end)

  it("takes its copies with it", function()
    world:delete(SECRET, "default/registry")
    world:settle()
    assert.is_nil(copy("prod"))
    assert.is_nil(world:get(SECRET, "default/registry"))
  end)

  it("leaves alone what is no copy, and says so", function()
    world:create{ apiVersion = "v1", kind = "ConfigMap", data = { mine = "yes" },
      metadata = { name = "settings", namespace = "prod" } }
    world:create{ apiVersion = "v1", kind = "ConfigMap", data = { a = "1" },
      metadata = { name = "settings", namespace = "default", annotations = { [TO] = "prod" } } }
    world:settle()
    assert.equal("yes", world:get(CONFIG, "prod/settings").data.mine)
    assert.equal("NotReplicated", world:events(CONFIG, "default/settings")[1].reason)
  end)

  it("says what is wrong with an expression, and keeps the copies", function()
    world:patch(SECRET, "default/registry", { metadata = { annotations = { [TO] = "team-(" } } })
    world:settle()
    assert.equal("BadExpression", world:events(SECRET, "default/registry")[1].reason)
    assert.truthy(copy("prod"))
  end)
end)

test.explore("replicator survives", options, function(world)
  world:create(secret("team-[a-z]+", "czNjcmV0"))
  world:settle()
  world:patch(SECRET, "default/registry", { data = { password = "bmV3" } })
  world:settle()
  world:create(namespace("team-c"))
  world:settle()
  world:patch(SECRET, "default/registry", { metadata = { annotations = { [TO] = "team-a" } } })
  world:settle()
  world:delete(SECRET, "default/registry")
  world:settle()
end)
