-- Run by `perilune test examples/certificates`, and explored with --explore. Keys are random (from
-- the world's seed), so only a change of a Secret is compared.
local test = require("perilune.test")

local SECRET = "v1/Secret"

describe("certificates", function()
  local world

  local function data(name)
    return world:get(SECRET, "default/" .. name).data
  end

  before_each(function()
    world = test.world{ scripts = ".", manifests = "manifests", config = { life = "3d" } }
    world:settle()
  end)

  it("issues a certificate, and makes the authority for it", function()
    local issued, authority = data("web-tls"), data("authority")
    assert.is_string(issued["tls.crt"])
    assert.is_string(issued["tls.key"])
    assert.equal(authority["tls.crt"], issued["ca.crt"])
    assert.equal("Issued", world:events(SECRET, "default/web-tls")[1].reason)
  end)

  it("renews it when two thirds of its life are over, and not before", function()
    local before = data("web-tls")
    world:advance("47h")
    assert.same(before, data("web-tls"))
    world:advance("2h")
    assert.is_not.equal(before["tls.crt"], data("web-tls")["tls.crt"])
    assert.equal(before["ca.crt"], data("web-tls")["ca.crt"])
  end)

  it("issues another one for other names", function()
    local before = data("web-tls")
    world:patch(SECRET, "default/web-tls",
      { metadata = { annotations = { ["example.com/certificate-for"] = "other.default.svc" } } })
    world:settle()
    assert.is_not.equal(before["tls.crt"], data("web-tls")["tls.crt"])
  end)

  it("leaves Secrets alone that do not ask for one", function()
    world:create{ apiVersion = "v1", kind = "Secret",
      metadata = { name = "plain", namespace = "default" } }
    world:settle()
    assert.is_nil(data("plain"))
  end)
end)

test.explore("certificates survive", { scripts = ".", manifests = "manifests",
  config = { life = "3d" } }, function(world)
  world:settle()
  world:patch(SECRET, "default/web-tls",
    { metadata = { annotations = { ["example.com/certificate-for"] = "other.default.svc" } } })
  world:settle()
  world:advance("49h")
  world:settle()
  world:delete(SECRET, "default/authority")
  world:settle()
end)
