-- Only the controller's own finalizer is added and removed.
local perilune = require("perilune")
local client = perilune.client
local KIND, FINALIZER = "example.com/v1/Cluster", "example.com/config"

perilune.controller("cluster"):For(KIND, { finalizers = { FINALIZER } })
  :Writes("v1/ConfigMap", { "create", "patch", "delete" })
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    local map = { apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "kube-public", name = request.name } }
    return perilune.finalizer.handle(cluster, FINALIZER, {
      apply = function()
        map.data = { size = tostring(cluster.spec.size) }
        client:apply(map)
      end,
      cleanup = function()
        client:delete(map)
      end,
    })
  end)
