-- Run by `perilune test examples/careful-rollout`. The specification does the work of the
-- StatefulSet controller: it creates pods and sets the revision of the StatefulSet.
local test = require("perilune.test")

local SET, POD = "apps/v1/StatefulSet", "v1/Pod"

describe("careful-rollout", function()
  local world, set

  local function pod(number, revision, annotations)
    world:create{ apiVersion = "v1", kind = "Pod",
      metadata = { name = "store-" .. number, namespace = "default", annotations = annotations,
        labels = { app = "store", ["controller-revision-hash"] = revision },
        ownerReferences = { { apiVersion = "apps/v1", kind = "StatefulSet", name = "store",
          uid = set.metadata.uid, controller = true } } },
      spec = { containers = { { name = "store", image = "postgres:16" } } } }
    world:patch_status(POD, "default/store-" .. number,
      { status = { conditions = { { type = "Ready", status = "True" } } } })
  end

  local function there()
    local names = {}
    for i, one in ipairs(world:list(POD, { namespace = "default" })) do
      names[i] = one.metadata.name
    end
    table.sort(names)
    return table.concat(names, " ")
  end

  before_each(function()
    world = test.world{ scripts = ".", manifests = "manifests" }
    set = world:get(SET, "default/store")
    for number = 0, 2 do
      pod(number, "old")
    end
    world:settle()
  end)

  local function want(revision)
    world:patch_status(SET, "default/store",
      { status = { updateRevision = revision, replicas = 3 } })
    world:settle()
  end

  it("leaves pods alone that have the wanted revision", function()
    want("old")
    assert.equal("store-0 store-1 store-2", there())
  end)

  it("takes one pod at a time, the highest number first", function()
    want("new")
    assert.equal("store-0 store-1", there())
    pod(2, "new")
    world:settle()
    assert.equal("store-0 store-2", there())
  end)

  it("waits for a pod that is not ready", function()
    world:patch_status(POD, "default/store-0",
      { status = { conditions = { { type = "Ready", status = "False" } } } })
    want("new")
    assert.equal("store-0 store-1 store-2", there())
  end)

  it("stops at a pod that is held", function()
    world:patch(POD, "default/store-2",
      { metadata = { annotations = { ["example.com/hold"] = "until Monday" } } })
    want("new")
    assert.equal("store-0 store-1 store-2", there())
  end)
end)
