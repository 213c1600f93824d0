-- Each run writes what it finds, and asks for the next run in half a minute.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("poller", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    client:apply({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = request.namespace, name = request.name },
      data = { size = tostring(cluster.spec.size) } }, { owner = cluster })
    return { requeue_after = "30s" }
  end)
