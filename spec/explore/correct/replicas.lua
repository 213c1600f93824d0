-- Two replicas, one of which leads. Each run asks for the next one in ten minutes.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("replicas")
  :For("example.com/v1/Cluster")
  :Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
      name = request.name }, data = { size = tostring(cluster.spec.size) } }, { owner = cluster })
    return { requeue_after = "10m" }
  end)
