-- Run by `perilune test examples/website`.
local test = require("perilune.test")

local WEBSITE, DEPLOYMENT = "example.com/v1/Website", "apps/v1/Deployment"

describe("website", function()
  local world

  before_each(function()
    world = test.world{ scripts = ".", manifests = "manifests" }
    world:apply("sample.yaml")
    world:settle()
  end)

  it("serves the page", function()
    assert.equal(2, world:get(DEPLOYMENT, "default/blog").spec.replicas)
    assert.is_table(world:get("v1/Service", "default/blog"))
    local directory = world:get("v1/ConfigMap", "default/website-directory")
    assert.equal("blog.example.com", directory.data.blog)
  end)

  it("follows its size", function()
    world:patch(WEBSITE, "default/blog", { spec = { replicas = 3 } })
    world:settle()
    assert.equal(3, world:get(DEPLOYMENT, "default/blog").spec.replicas)
  end)

  it("tells when it is rolled out", function()
    local function ready()
      return world:get(WEBSITE, "default/blog").status.conditions[1].status
    end
    assert.equal("False", ready())
    world:patch_status(DEPLOYMENT, "default/blog", { status = {
      observedGeneration = 1, replicas = 2, updatedReplicas = 2, readyReplicas = 2,
      availableReplicas = 2 } })
    world:settle()
    assert.equal("True", ready())
    assert.equal(2, world:get(WEBSITE, "default/blog").status.readyReplicas)
  end)

  it("leaves the directory when it goes, and takes its children along", function()
    world:delete(WEBSITE, "default/blog")
    world:settle()
    assert.is_nil(world:get(WEBSITE, "default/blog"))
    assert.is_nil(world:get(DEPLOYMENT, "default/blog"))
    assert.is_nil(world:get("v1/ConfigMap", "default/website-directory").data)
  end)

  it("goes on where it was killed", function()
    world:crash()
    world:delete(WEBSITE, "default/blog")
    assert.is_string(world:get(WEBSITE, "default/blog").metadata.deletionTimestamp)
    world:start()
    world:settle()
    assert.is_nil(world:get(WEBSITE, "default/blog"))
  end)
end)
