-- The status belongs to the version that was read from the server. A later one is a conflict, which leads to another
-- run.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("cluster"):For(KIND):Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster or perilune.dig(cluster, "status", "observedGeneration") == cluster.metadata.generation then
      return
    end
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
      name = request.name }, data = { size = tostring(cluster.spec.size) } }, { owner = cluster })
    cluster.status = { size = cluster.spec.size, observedGeneration = cluster.metadata.generation }
    client:update_status(cluster)
  end)
