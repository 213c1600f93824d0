-- A task that runs on the leader writes a report every five minutes, from the cache.
local perilune = require("perilune")
local client = perilune.client

perilune.every("5m", { name = "report", reads = { "example.com/v1/Cluster" }, writes = { "v1/ConfigMap" } },
  function()
    local total = 0
    for _, cluster in ipairs(client:list("example.com/v1/Cluster", {})) do
      total = total + cluster.spec.size
    end
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "default", name = "report" },
      data = { total = tostring(total) } })
  end)
