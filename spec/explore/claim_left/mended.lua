-- The controller looks at the claim itself, not at the status. The status is written last.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/PersistentVolumeClaim")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local name = { namespace = request.namespace, name = "rack-" .. request.name }
    local claim = client:get("v1/PersistentVolumeClaim", name)
    if cluster.spec.racks > 0 and not claim then
      client:create({ apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = name,
        spec = { accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } } } },
        { owner = cluster })
    elseif cluster.spec.racks == 0 and claim then
      local now = perilune.live:get("example.com/v1/Cluster", request)
      if not now or now.spec.racks > 0 then return end
      client:delete(claim)
    end
    cluster.status = { racks = cluster.spec.racks }
    client:update_status(cluster)
  end)
