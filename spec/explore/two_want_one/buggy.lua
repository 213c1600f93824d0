-- Not from a public issue. The controller makes itself the controller of an object that belongs to another cluster. The
-- two take it from each other for ever.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("cluster"):For(KIND):Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster then return end
    local at = { namespace = request.namespace, name = cluster.spec.target }
    local map = client:get("v1/ConfigMap", at) or { apiVersion = "v1", kind = "ConfigMap", metadata = at }
    map.metadata.ownerReferences = nil
    perilune.set_controller_reference(cluster, map)
    map.data = { of = request.name }
    if map.metadata.uid then client:update(map) else client:create(map) end
    return { requeue_after = "30s" }
  end)
