-- Each run sends an Event, and writes what it saw into the status.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("events", {})
  :For("example.com/v1/Cluster")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    perilune.event(cluster, "Normal", "Looked", "it has size " .. cluster.spec.size)
    client:patch_status(cluster, { status = { observedGeneration = cluster.metadata.generation,
      size = cluster.spec.size } })
  end)
