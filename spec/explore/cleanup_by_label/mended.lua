-- The cluster owns its claim. If a claim belongs to a deleted cluster of the same name, the
-- controller waits until it is deleted.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("cluster"):For(KIND):Owns("v1/PersistentVolumeClaim")
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster then return end
    local at = { namespace = request.namespace, name = "data-" .. request.name }
    local claim = client:get("v1/PersistentVolumeClaim", at)
    if claim and not perilune.is_controlled_by(claim, cluster) then return { requeue_after = "1s" } end
    if not claim then
      client:create({ apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = at,
        spec = { accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } } } },
        { owner = cluster })
    end
  end)
