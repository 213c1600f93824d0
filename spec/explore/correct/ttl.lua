-- A ConfigMap that is deleted ten minutes after the cluster's creation, and is not created again.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("ttl", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local left = perilune.time.parse(cluster.metadata.creationTimestamp) + 600 - perilune.time.now()
    if left > 0 then
      client:apply({ apiVersion = "v1", kind = "ConfigMap",
        metadata = { namespace = request.namespace, name = request.name }, data = { hint = "new" } },
        { owner = cluster })
      return { requeue_after = left }
    end
    client:delete("v1/ConfigMap", request)
  end)
