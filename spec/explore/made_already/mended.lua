-- Apply succeeds whether the object exists or not.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Writes("v1/ConfigMap", { "create", "patch" })
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    client:apply({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = request.namespace, name = request.name }, data = { of = "cluster" } },
      { owner = cluster })
    cluster.status = { made = true }
    client:update_status(cluster)
  end)
