-- Port of pravega/zookeeper-operator#312 (casskop#316 and elastic/cloud-on-k8s#5249 are alike). The
-- finalizer deletes the claim by its name. If a cluster of the same name has been created
-- meanwhile, its claim is deleted.
local perilune = require("perilune")
local client = perilune.client

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
        if not client:get("v1/PersistentVolumeClaim", claim_of(request)) then
          client:create({ apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = claim_of(request),
            spec = { accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } } } })
        end
      end,
      cleanup = function()
        client:delete("v1/PersistentVolumeClaim", claim_of(request))
      end,
    })
  end)
