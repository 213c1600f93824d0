-- The error ends the run, and the host retries the key.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    client:apply({ apiVersion = "v1", kind = "Secret", metadata = { namespace = request.namespace,
      name = request.name }, stringData = { of = request.name } }, { owner = cluster })
    cluster.status = { phase = "Ready" }
    client:update_status(cluster)
  end)
