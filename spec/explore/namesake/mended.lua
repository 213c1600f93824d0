-- The claim carries the uid of its cluster, and the finalizer deletes it only if the uid is its
-- own.
local perilune = require("perilune")
local client = perilune.client

local OWNER = "example.com/cluster-uid"

local function claim_of(request)
  return { namespace = request.namespace, name = "data-" .. request.name }
end

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster", { finalizers = { "example.com/claims" } })
  :Reads("v1/PersistentVolumeClaim")
  :Writes("v1/PersistentVolumeClaim", { "create", "delete" })
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    return perilune.finalizer.handle(cluster, "example.com/claims", {
      apply = function()
        local claim = client:get("v1/PersistentVolumeClaim", claim_of(request))
        if claim and claim.metadata.annotations[OWNER] ~= cluster.metadata.uid then
          return { requeue_after = "1s" } -- its own is on its way out
        elseif not claim then
          local now = perilune.live:get("example.com/v1/Cluster", request)
          if not now or now.metadata.uid ~= cluster.metadata.uid or now.metadata.deletionTimestamp then return end
          local metadata = claim_of(request)
          metadata.annotations = { [OWNER] = cluster.metadata.uid }
          client:create({ apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = metadata,
            spec = { accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } } } })
        end
      end,
      cleanup = function()
        local claim = perilune.live:get("v1/PersistentVolumeClaim", claim_of(request))
        if claim and claim.metadata.annotations[OWNER] == cluster.metadata.uid then
          client:delete(claim)
        end
      end,
    })
  end)
