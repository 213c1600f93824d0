-- Seen in many operators. The controller sets the list of finalizers with a merge patch, so that it removes those
-- which others have added meanwhile: the object goes before these others have cleaned up.
local perilune = require("perilune")
local client = perilune.client
local KIND, FINALIZER = "example.com/v1/Cluster", "example.com/config"

perilune.controller("cluster"):For(KIND, { finalizers = { FINALIZER } })
  :Writes("v1/ConfigMap", { "create", "patch", "delete" })
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster then return end
    local map = { apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "kube-public", name = request.name } }
    if cluster.metadata.deletionTimestamp then
      if not perilune.finalizer.has(cluster, FINALIZER) then return end
      client:delete(map)
      client:patch(cluster, { metadata = { finalizers = perilune.array({}) } })
      return
    end
    if not perilune.finalizer.has(cluster, FINALIZER) then
      client:patch(cluster, { metadata = { finalizers = { FINALIZER } } })
    end
    map.data = { size = tostring(cluster.spec.size) }
    client:apply(map)
  end)
