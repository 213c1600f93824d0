-- Port of instaclustr/cassandra-operator#398. The controller deletes the claim in a run that sees
-- the cluster while it is being deleted. If the controller is down meanwhile, no run sees that
-- state, and the claim stays.
local perilune = require("perilune")
local client = perilune.client

local function claim_of(request)
  return { namespace = request.namespace, name = "data-" .. request.name }
end

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Reads("v1/PersistentVolumeClaim")
  :Writes("v1/PersistentVolumeClaim", { "create", "delete" })
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local claim = client:get("v1/PersistentVolumeClaim", claim_of(request))
    if cluster.metadata.deletionTimestamp then
      if claim then client:delete(claim) end
    elseif not claim then
      client:create({ apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = claim_of(request),
        spec = { accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } } } })
    end
  end)
