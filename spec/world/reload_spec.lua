-- Runs that are in flight when other scripts take over. Run by `perilune test`.
local test = require("perilune.test")

describe("a reload", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()

  after_each(files.remove)

  local function printed(world)
    local out = {}
    for _, line in ipairs(world:logs("info")) do
      out[#out + 1] = line.msg:match("^RUN (.*)")
    end
    return out
  end

  local slow = [[
perilune.controller("slow"):For("v1/Secret"):Reconcile(function()
  perilune.sleep("10s")
  print("RUN " .. tostring(select(2, pcall(perilune.enqueue, "other", "default/a"))))
end)
]]
  local other = 'perilune.controller("other"):For("v1/ConfigMap"):Reconcile(function() end)\n'

  it("without a controller leaves a run that queues a key for it with an error", function()
    local world = test.world{ scripts = files.script(other .. slow) }
    world:create{ apiVersion = "v1", kind = "Secret", metadata = { name = "a", namespace = "default" } }
    world:advance("1s")
    world:reload{ scripts = files.script(slow .. "-- without the other one") }
    world:advance("1s")
    world:reload{ scripts = files.script(slow .. "-- once more") }
    world:advance("9s")
    local lines = printed(world)
    assert.equal(1, #lines)
    assert.truthy(lines[1]:find('enqueue: there is no controller "other"', 1, true), lines[1])
    assert.falsy(lines[1]:find('did you mean "other"', 1, true))
  end)

  it("without a task asks its run to stop", function()
    local world = test.world{ scripts = files.script([[
perilune.run("gone", {}, function(context)
  while not context:stopping() do perilune.sleep("1h") end
  print("RUN ends")
end)]]) }
    world:advance("1s")
    world:reload{ scripts = files.script(other) }
    world:advance("1s")
    assert.same({ "ends" }, printed(world))
  end)
end)
