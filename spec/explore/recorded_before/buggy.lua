-- Port of Orange-OpenSource/casskop#370. The controller records the new image in the status before
-- it writes the ConfigMap. If it crashes between the two, later runs believe the status, and the
-- ConfigMap keeps the old image.
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
