-- The status has the time of the last change of the spec.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("clock", {})
  :For("example.com/v1/Cluster")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local status = cluster.status or {}
    if status.observedGeneration ~= cluster.metadata.generation then
      cluster.status = { observedGeneration = cluster.metadata.generation,
        changedAt = perilune.time.format(perilune.time.now(), "seconds") }
      client:update_status(cluster)
    end
  end)
