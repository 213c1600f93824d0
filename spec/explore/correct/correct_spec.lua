-- Correct controllers that look suspicious: random names, times in a status, polling, objects that
-- expire, rotated secrets, tasks. The exploration must find nothing.
local test = require("perilune.test")

local function scenario(world)
  world:apply({ apiVersion = "example.com/v1", kind = "Cluster", metadata = { namespace = "default", name = "a" },
    spec = { size = 2 } })
  world:settle()
  world:patch("example.com/v1/Cluster", "default/a", { spec = { size = 3 } })
  world:settle()
end

local function with_records(world)
  local records = world:external("records")
  world:http("https://records.example.com/*", function(request)
    local id = request.url:match("[^/]+$")
    records[id] = { size = request.json.size }
    return { json = { id = id } }
  end)
  scenario(world)
end

for _, name in ipairs({ "pool", "clock_status", "poller", "ttl", "rotation", "task", "two", "conditions", "password",
  "last_seen", "children", "finalized", "outside", "counter", "retrying", "leader_task", "suffixed", "events",
  "deadline", "sleeper", "janitor", "handshake", "versions", "csr", "beat", "address" }) do
  test.explore(name, { scripts = name .. ".lua", manifests = "../manifests" },
    name == "outside" and with_records or scenario)
end

test.explore("allocator", { scripts = "allocator.lua", manifests = "../manifests",
  ignore = { "status.number" } }, function(world)
  for _, name in ipairs({ "a", "b", "c" }) do
    world:apply({ apiVersion = "example.com/v1", kind = "Cluster", metadata = { namespace = "default", name = name },
      spec = { size = 1 } })
  end
  world:settle()
end)

for _, of in ipairs({ { "progressing", "deployments" }, { "backup", "jobs" },
  { "steps", "jobs" } }) do
  test.explore(of[1], { scripts = of[1] .. ".lua", manifests = "../manifests" }, function(world)
    world:simulate(of[2], { delay = "5s" })
    scenario(world)
  end)
end

test.explore("paused", { scripts = "paused.lua", manifests = "../manifests" }, function(world)
  scenario(world)
  for _, value in ipairs({ "yes", "no" }) do
    world:patch("example.com/v1/Cluster", "default/a", { metadata = { annotations = { paused = value } } })
    world:settle()
    world:patch("example.com/v1/Cluster", "default/a", { spec = { size = value == "yes" and 4 or 5 } })
    world:settle()
  end
end)

test.explore("history", { scripts = "history.lua", manifests = "../manifests" }, function(world)
  scenario(world)
  for _, size in ipairs({ 4, 2 }) do
    world:patch("example.com/v1/Cluster", "default/a", { spec = { size = size } })
    world:settle()
  end
end)

test.explore("suspended", { scripts = "suspended.lua", manifests = "../manifests" }, function(world)
  local function is_told(patch)
    world:patch("example.com/v1/Cluster", "default/a", patch)
    world:settle()
  end
  world:simulate("statefulsets", { delay = "4s" })
  scenario(world)
  is_told({ spec = { suspend = true } })
  is_told({ spec = { size = 4 } })
  is_told({ spec = { suspend = false } })
  is_told({ metadata = { annotations = { suspend = "yes" } } })
  is_told({ spec = { size = 5 } })
end)

-- It looks at the world while the server refuses, and between steps.
test.explore("looked at", { scripts = "conditions.lua", manifests = "../manifests" }, function(world)
  scenario(world)
  assert.equal("3", world:get("v1/ConfigMap", "default/a").data.size)
  world:patch("example.com/v1/Cluster", "default/a", { spec = { size = 4 } })
  world:advance("2m")
  assert.equal("4", world:get("v1/ConfigMap", "default/a").data.size)
end)

test.explore("elected", { scripts = "elected.lua", manifests = "../manifests", replicas = 2 }, scenario)

test.explore("weather", { scripts = "weather.lua", replicas = 2 }, function(world)
  world:http("https://weather.example.com/*", function() return { status = 200, body = "fine" } end)
  world:settle()
  world:create({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "other", namespace = "default" } })
  world:settle()
end)

test.explore("replicas", { scripts = "replicas.lua", manifests = "../manifests", replicas = 2 }, function(world)
  scenario(world)
  world:delete("example.com/v1/Cluster", "default/a")
  world:settle()
end)
