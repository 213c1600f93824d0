-- Run by `perilune test examples/tenant`.
local test = require("perilune.test")

local TENANT, BINDING = "example.com/v1/Tenant", "rbac.authorization.k8s.io/v1/RoleBinding"
local options = { scripts = ".", manifests = "manifests" }

describe("tenant", function()
  local world

  before_each(function()
    world = test.world(options)
    world:apply("sample.yaml")
    world:settle()
  end)

  local function members()
    local names = {}
    for i, subject in ipairs(world:get(BINDING, "team-blue/members").subjects) do
      names[i] = subject.name
    end
    return names
  end

  it("makes a namespace with its rules", function()
    local labels = world:get("v1/Namespace", "team-blue").metadata.labels
    assert.equal("team-blue", labels["example.com/tenant"])
    assert.equal("10", world:get("v1/ResourceQuota", "team-blue/tenant").spec.hard.pods)
    assert.is_table(world:get("networking.k8s.io/v1/NetworkPolicy", "team-blue/tenant"))
    assert.same({ "jane", "joe" }, members())
    assert.equal("Provisioned", world:get(TENANT, "team-blue").status.conditions[1].reason)
  end)

  it("follows its members", function()
    world:patch(TENANT, "team-blue", { spec = { members = { "jane" } } })
    world:settle()
    assert.same({ "jane" }, members())
  end)

  it("brings back what somebody deletes or changes", function()
    world:delete(BINDING, "team-blue/members")
    world:patch("v1/ResourceQuota", "team-blue/tenant", { spec = { hard = { pods = "99" } } })
    world:settle()
    assert.same({ "jane", "joe" }, members())
    assert.equal("10", world:get("v1/ResourceQuota", "team-blue/tenant").spec.hard.pods)
  end)

  it("takes everything along when it goes", function()
    world:delete(TENANT, "team-blue")
    world:settle()
    assert.is_nil(world:get(BINDING, "team-blue/members"))
    assert.is_nil(world:get("v1/ResourceQuota", "team-blue/tenant"))
  end)
end)

test.explore("tenant survives", options, function(world)
  world:apply("sample.yaml")
  world:settle()
  world:patch(TENANT, "team-blue", { spec = { members = { "jane" } } })
  world:settle()
  world:delete(TENANT, "team-blue")
  world:settle()
end)
