-- Orange-OpenSource/casskop#370: what has been done is recorded before it is done, and whoever goes
-- on later believes the record.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local wanted = cluster.spec.image
    if perilune.dig(cluster, "status", "image") == wanted then return end
    cluster.status = { image = wanted }
    client:update_status(cluster)
    client:apply({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = request.namespace, name = request.name }, data = { image = wanted } },
      { owner = cluster })
  end)
