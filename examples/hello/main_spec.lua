-- Run by `perilune test examples/hello`.
local test = require("perilune.test")

describe("hello", function()
  it("greets every ConfigMap that asks for it, and no other", function()
    local world = test.world{ scripts = ".", manifests = "manifests" }
    world:create{ apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "quiet", namespace = "default" }, data = { greeting = "hey" } }
    world:settle()
    local greetings = {}
    for _, line in ipairs(world:logs("info")) do
      greetings[#greetings + 1] = line.msg:match("^.*!$")
    end
    assert.same({ "hello, world!" }, greetings)
  end)
end)
