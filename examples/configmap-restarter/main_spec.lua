-- Run by `perilune test examples/configmap-restarter`.
local test = require("perilune.test")

local DEPLOYMENT, HASH = "apps/v1/Deployment", "example.com/config-hash"

describe("configmap-restarter", function()
  local world

  local function config(value)
    world:apply{ apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "settings", namespace = "default" }, data = { color = value } }
    world:settle()
  end

  local function hash(name)
    local template = world:get(DEPLOYMENT, "default/" .. name).spec.template
    return (template.metadata.annotations or {})[HASH]
  end

  local function deploy(name, restart_on)
    world:create{ apiVersion = "apps/v1", kind = "Deployment",
      metadata = { name = name, namespace = "default",
        annotations = { ["example.com/restart-on"] = restart_on } },
      spec = { selector = { matchLabels = { app = name } },
        template = { metadata = { labels = { app = name } },
          spec = { containers = { { name = "web", image = "web:1" } } } } } }
  end

  before_each(function()
    world = test.world{ scripts = "." }
    config("red")
    deploy("web", "settings,flags")
    deploy("other", nil)
    world:settle()
  end)

  it("restarts who names a ConfigMap that changed, and nobody else", function()
    local before = hash("web")
    assert.is_string(before)
    config("blue")
    assert.is_not.equal(before, hash("web"))
    assert.is_nil(hash("other"))
  end)

  it("comes back to the same hash with the same content", function()
    local before = hash("web")
    config("blue")
    config("red")
    assert.equal(before, hash("web"))
  end)
end)
