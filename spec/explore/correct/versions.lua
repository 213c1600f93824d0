-- The status has the version of the child that was seen last, as many operators write it.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("versions", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster or cluster.metadata.deletionTimestamp then return end
    local map = client:apply({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = request.name, namespace = request.namespace },
      data = { size = tostring(cluster.spec.size) } }, { owner = cluster })
    client:patch_status(cluster, { status = { syncedVersion = map.metadata.resourceVersion } })
  end)
