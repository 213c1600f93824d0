-- Run by `perilune test examples/office-hours`.
local test = require("perilune.test")

local DEPLOYMENT = "apps/v1/Deployment"

-- A Monday, at noon in Berlin.
local options = { scripts = ".", manifests = "manifests", time = "2026-01-05T11:00:00Z" }

local function replicas(world)
  return world:get(DEPLOYMENT, "default/web").spec.replicas
end

describe("office-hours", function()
  local world

  before_each(function()
    world = test.world(options)
    world:settle{ limit = "1m" }
  end)

  it("scales to zero in the evening, and back in the morning", function()
    assert.equal(3, replicas(world))
    world:advance("9h") -- 21:00
    assert.equal(0, replicas(world))
    world:advance("11h") -- Tuesday, 8:00
    assert.equal(3, replicas(world))
  end)

  it("sleeps through the weekend", function()
    world:advance("105h") -- Friday, 21:00
    assert.equal(0, replicas(world))
    world:advance("48h")
    assert.equal(0, replicas(world))
    world:advance("11h")
    assert.equal(3, replicas(world))
  end)

  it("says what is wrong with a schedule, and changes nothing", function()
    world:patch(DEPLOYMENT, "default/web",
      { metadata = { annotations = { ["example.com/wake"] = "soon" } } })
    world:settle{ limit = "1m" }
    assert.equal("BadSchedule", world:events(DEPLOYMENT, "default/web")[1].reason)
    world:advance("9h")
    assert.equal(3, replicas(world))
  end)
end)

-- One night of the year, so that its end is the end of all that happens.
test.explore("office-hours survives", options, function(world)
  local function wait(duration)
    world:advance(duration)
    world:settle{ limit = "1m" }
  end
  world:patch(DEPLOYMENT, "default/web", { spec = { replicas = 4 }, metadata = { annotations = {
    ["example.com/sleep"] = "0 20 5 1 *", ["example.com/wake"] = "0 7 6 1 *" } } })
  wait("9h")
  wait("11h")
end)
