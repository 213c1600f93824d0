-- Run by `perilune test examples/janitor`.
local test = require("perilune.test")

describe("janitor", function()
  local world

  local function leave(name, annotations)
    world:create{ apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = name, namespace = "default", annotations = annotations } }
  end

  local function is_there(name)
    return world:get("v1/ConfigMap", "default/" .. name) ~= nil
  end

  before_each(function()
    world = test.world{ scripts = ".", time = "2026-06-01T12:00:00Z",
      config = { every = "10m" } }
    leave("day", { ["example.com/ttl"] = "24h" })
    leave("noon", { ["example.com/expires"] = "2026-06-02T12:30:00Z" })
    leave("for-ever")
  end)

  it("deletes what is old enough, and nothing sooner", function()
    world:advance("23h55m")
    assert.is_true(is_there("day"))
    world:advance("10m")
    assert.is_false(is_there("day"))
    assert.is_true(is_there("noon"))
  end)

  it("deletes at a named time", function()
    world:advance("24h41m")
    assert.is_false(is_there("noon"))
    assert.is_true(is_there("for-ever"))
  end)
end)
