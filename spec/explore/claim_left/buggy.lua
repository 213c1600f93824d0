-- Port of K8SSAND-1023 (k8ssandra's cass-operator). When a rack is removed, the controller writes
-- the new number of racks into the status, and then deletes the rack's claim. If it crashes between
-- the two, the next run sees nothing to do, and the claim stays.
local perilune = require("perilune")
local client = perilune.client

local function claim_of(request)
  return { namespace = request.namespace, name = "rack-" .. request.name }
end

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/PersistentVolumeClaim")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local racks = perilune.dig(cluster, "status", "racks") or 0
    if racks < cluster.spec.racks then
      client:create({ apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = claim_of(request),
        spec = { accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } } } },
        { owner = cluster })
    end
    cluster.status = { racks = cluster.spec.racks }
    client:update_status(cluster)
    if racks > cluster.spec.racks then
      client:delete("v1/PersistentVolumeClaim", claim_of(request))
    end
  end)
