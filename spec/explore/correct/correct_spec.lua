-- Controllers that only look suspicious: random names, times in a status, pollers, what ends by
-- itself, rotations, tasks. Nothing is to be found.
local test = require("perilune.test")

local function scenario(world)
  world:apply({ apiVersion = "example.com/v1", kind = "Cluster", metadata = { namespace = "default", name = "a" },
    spec = { size = 2 } })
  world:settle()
  world:patch("example.com/v1/Cluster", "default/a", { spec = { size = 3 } })
  world:settle()
end

for _, name in ipairs({ "pool", "clock_status", "poller", "ttl", "rotation", "task", "two", "conditions" }) do
  test.explore(name, { scripts = name .. ".lua", manifests = "../manifests" }, scenario)
end
