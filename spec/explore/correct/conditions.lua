-- The status has a phase, and a condition with the time of its last change.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("conditions", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    client:apply({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = request.namespace, name = request.name },
      data = { size = tostring(cluster.spec.size) } }, { owner = cluster })
    cluster.status = cluster.status or {}
    cluster.status.phase = "Ready"
    perilune.conditions.set(cluster, { type = "Ready", status = true, reason = "Made", message = "it is there" })
    client:update_status(cluster)
  end)
