-- Run by `perilune test examples/webhook`.
local test = require("perilune.test")

local V1, V2 = "hosting.example.com/v1/Site", "hosting.example.com/v2/Site"

local function site(version, spec)
  return { apiVersion = "hosting.example.com/" .. version, kind = "Site",
    metadata = { name = "shop", namespace = "default" }, spec = spec }
end

describe("webhook", function()
  local world

  before_each(function()
    world = test.world{ scripts = ".", manifests = "manifests" }
    world:apply("sample.yaml")
  end)

  -- The error of a call that is refused.
  local function refusal(f, ...)
    local ok, err = pcall(f, world, ...)
    assert.is_false(ok)
    return err
  end

  it("fills in what is left out", function()
    local stored = world:create(site("v1", {}))
    assert.same({ plan = "small", replicas = 1 }, stored.spec)
  end)

  it("converts between the versions", function()
    assert.same({ plan = "large", replicas = 3 }, world:get(V1, "default/blog").spec)
    world:patch(V1, "default/blog", { spec = { replicas = 4 } })
    assert.same({ plan = "large", scale = { replicas = 4 } }, world:get(V2, "default/blog").spec)
  end)

  it("allows as many replicas as the plan does", function()
    local err = refusal(world.create, site("v1", { replicas = 3 }))
    assert.equal(403, err.code)
    assert.truthy(err.message:find("plan small allows 2 replicas, not 3", 1, true), err.message)
    err = refusal(world.patch, V2, "default/blog", { spec = { scale = { replicas = 11 } } })
    assert.truthy(err.message:find("plan large allows 10 replicas, not 11", 1, true), err.message)
    world:patch("v1/ConfigMap", "default/plans", { data = { large = "20" } })
    world:settle()
    world:patch(V2, "default/blog", { spec = { scale = { replicas = 11 } } })
    assert.equal(11, world:get(V1, "default/blog").spec.replicas)
  end)

  it("names the field when there is no such plan", function()
    local err = refusal(world.create, site("v1", { plan = "huge" }))
    assert.equal(422, err.code)
    assert.truthy(err.message:find('no plan "huge"', 1, true), err.message)
    assert.is_nil(world:get(V1, "default/shop"))
  end)
end)
