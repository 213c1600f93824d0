-- Objects that a script has read in part, with `select`. Run by `perilune test`.
local test = require("perilune.test")

describe("finalizer.handle of an object read with select", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()

  after_each(files.remove)

  local function open(finalizers)
    local world = test.world{ scripts = files.script([[
perilune.controller("partial"):For("v1/ConfigMap"):Reconcile(function(request)
  for _, object in ipairs(client:list("v1/ConfigMap", { select = { "data" }, fields = "metadata.name=a" })) do
    perilune.finalizer.handle(object, "example.com/mine", {
      apply = function(o) print("APPLIED " .. o.metadata.name .. " " .. #o.metadata.finalizers) end,
      cleanup = function() print("CLEANED") end,
    })
  end
end)]]) }
    world:create{ apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "a", namespace = "default", finalizers = finalizers } }
    world:settle()
    return world
  end

  local function printed(world, text)
    local count = 0
    for _, line in ipairs(world:logs("info")) do
      count = count + (line.msg == text and 1 or 0)
    end
    return count
  end

  it("keeps the finalizers of others", function()
    local world = open({ "example.com/other" })
    assert.same({ "example.com/other", "example.com/mine" },
      world:get("v1/ConfigMap", "default/a").metadata.finalizers)
    assert.is_true(printed(world, "APPLIED a 2") > 0)
  end)

  it("sees that it is being deleted", function()
    local world = open({ "example.com/mine" })
    world:forget()
    world:delete("v1/ConfigMap", "default/a")
    world:settle()
    assert.equal(1, printed(world, "CLEANED"))
    assert.is_nil(world:get("v1/ConfigMap", "default/a"))
  end)
end)
