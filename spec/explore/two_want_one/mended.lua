-- The first one keeps the object. The other one says in its status that it is taken.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("cluster"):For(KIND):Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster then return end
    local at = { namespace = request.namespace, name = cluster.spec.target }
    local map = perilune.live:get("v1/ConfigMap", at)
    local owner = map and perilune.controller_of(map)
    if owner and owner.uid ~= cluster.metadata.uid then
      client:patch_status(cluster, { status = { taken = true } })
      return { requeue_after = "10m" }
    end
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = at, data = { of = request.name } },
      { owner = cluster })
    client:patch_status(cluster, { status = { taken = false } })
  end)
