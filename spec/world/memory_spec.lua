-- What a host knows besides its caches, as the explorer compares it. Run by `perilune test`.
local native = require("perilune.world")
local test = require("perilune.test")

local MAP = "v1/ConfigMap"

describe("the memory of a host", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()
  local world

  after_each(files.remove)

  -- A controller with these lines before it, and in each run.
  local function start(before, run)
    world = test.world{ scripts = files.script(([[
local perilune = require("perilune")
%s
perilune.controller("maps")
  :For("v1/ConfigMap", { labels = "app=yes" })
  :Reconcile(function(request, context)
    local map = perilune.client:get("v1/ConfigMap", request)
    %s
  end)]]):format(before, run)) }
    world:settle()
  end

  local function memory()
    world:settle()
    return native.memory(world.handle, "main")
  end

  local function change(size)
    world:apply{ apiVersion = MAP:match("^[^/]*"), kind = "ConfigMap", data = { size = size },
      metadata = { name = "a", namespace = "default", labels = { app = "yes" } } }
  end

  it("is the same after runs that keep nothing, and after a restart", function()
    start("local words = { 'a', 'b' }", "context.log:info(words[1], { size = map and map.data.size })")
    local first = memory()
    assert.is_string(first)
    change("1")
    assert.equal(first, memory())
    world:crash()
    world:start()
    assert.equal(first, memory())
  end)

  it("is another one when a run keeps something, until a restart", function()
    start("local seen = {}", "seen[request.name] = map and map.data.size")
    local first = memory()
    change("1")
    local second = memory()
    change("2")
    local third = memory()
    assert.not_equal(first, second)
    assert.not_equal(second, third)
    change("1")
    assert.equal(second, memory())
    world:crash()
    world:start()
    assert.equal(second, memory()) -- it has run again
    world:delete(MAP, "default/a")
    assert.equal(first, memory())
  end)

  it("is unknown while an object of the cluster is kept", function()
    start("local last", "last = map")
    assert.is_string(memory())
    change("1")
    assert.is_nil(memory())
  end)

  it("is unknown while the core will do something later, or keeps something for the script", function()
    start("", "return { requeue_after = '1h' }")
    change("1")
    assert.is_nil(memory())
    start("", "perilune.memo(request).size = map.data.size")
    change("1")
    assert.is_nil(memory())
    start("perilune.run('loop', {}, function() while true do perilune.sleep('1h') end end)", "")
    assert.is_nil(memory())
    assert.is_nil(native.memory(world.handle, "nobody"))
  end)
end)
