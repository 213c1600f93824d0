-- Run by `perilune test examples/namespace-quota`.
local test = require("perilune.test")

describe("namespace-quota", function()
  local world

  local function label(tier)
    world:apply{ apiVersion = "v1", kind = "Namespace",
      metadata = { name = "team-a", labels = { ["example.com/tier"] = tier } } }
    world:settle()
    local quota = world:get("v1/ResourceQuota", "team-a/tier")
    return quota and quota.spec.hard.pods
  end

  before_each(function()
    world = test.world{ scripts = "." }
  end)

  it("gives the quota of the tier, changes it and takes it back", function()
    assert.equal("10", label("small"))
    assert.equal("100", label("large"))
    assert.is_nil(label(nil))
  end)

  it("leaves the quota as it is for a tier that there is not", function()
    assert.equal("10", label("small"))
    assert.equal("10", label("smal"))
  end)
end)
