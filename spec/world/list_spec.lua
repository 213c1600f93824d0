-- Lists in pages: what the second result says. Run by `perilune test`.
local test = require("perilune.test")

describe("a page of a list", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()

  after_each(files.remove)

  -- The second result's `remaining` after one of three objects, as text.
  local function remaining(reads, call)
    local world = test.world{ scripts = { files.script(([[
perilune.controller("list"):For("v1/Namespace")%s:Reconcile(function(request)
  if request.name ~= "start" then return end
  local objects, info = %s
  print("LEFT " .. #objects .. " " .. tostring(info.continue ~= nil) .. " " .. tostring(info.remaining))
end)]]):format(reads, call)) } }
    for _, name in ipairs({ "a", "b", "c" }) do
      world:create{ apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = name, namespace = "default", labels = { app = "web" } } }
    end
    world:settle()
    world:create{ apiVersion = "v1", kind = "Namespace", metadata = { name = "start" } }
    world:settle()
    for _, line in ipairs(world:logs("info")) do
      local text = line.msg:match("LEFT (.*)")
      if text then
        return text
      end
    end
  end

  it("says how many objects are left", function()
    assert.equal("1 true 2", remaining("", 'perilune.live:list("v1/ConfigMap", { limit = 1 })'))
    assert.equal("1 true 2", remaining(':Reads("v1/ConfigMap")',
      'client:list("v1/ConfigMap", { limit = 1, labels = "app=web" })'))
  end)

  it("does not say 0 when the server has not counted them", function()
    assert.equal("1 true nil", remaining("",
      'perilune.live:list("v1/ConfigMap", { limit = 1, labels = "app=web" })'))
  end)

  it("comes once when several tasks share an iterator", function()
    assert.equal("3 false nil", remaining("", [[(function()
    local names = {}
    local following = perilune.live:each("v1/ConfigMap", { limit = 1, namespace = "default" })
    local function work()
      for object in following do names[#names + 1] = object.metadata.name end
    end
    local one, two = perilune.spawn(work), perilune.spawn(work)
    perilune.join(one)
    perilune.join(two)
    return names, {}
  end)()]]))
  end)
end)
