-- The cluster owns the claim, so the garbage collector deletes it even if no run sees the deletion.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/PersistentVolumeClaim")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local name = { namespace = request.namespace, name = "data-" .. request.name }
    local claim = client:get("v1/PersistentVolumeClaim", name)
    if cluster.metadata.deletionTimestamp then
      if claim then client:delete(claim) end
    elseif not claim then
      client:create({ apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = name,
        spec = { accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } } } },
        { owner = cluster })
    end
  end)
