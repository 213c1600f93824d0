-- The ConfigMap is applied in each run, before the status is written.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local wanted = cluster.spec.image
    client:apply({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = request.namespace, name = request.name }, data = { image = wanted } },
      { owner = cluster })
    cluster.status = { image = wanted }
    client:update_status(cluster)
  end)
