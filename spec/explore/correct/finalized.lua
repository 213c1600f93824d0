-- A finalizer deletes a ConfigMap that has no owner.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("finalized", {})
  :For("example.com/v1/Cluster")
  :Reconcile(function(request)
    local cluster = perilune.live:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local map = { apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "kube-public", name = request.name } }
    return perilune.finalizer.handle(cluster, "example.com/map", {
      apply = function()
        map.data = { size = tostring(cluster.spec.size) }
        client:apply(map)
      end,
      cleanup = function()
        client:delete(map)
      end,
    })
  end)
