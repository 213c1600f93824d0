-- Not from a public issue. The status has the new generation before the ConfigMap has the new size. Whoever waits
-- for the status goes on too early.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

local function map_of(request, cluster)
  return { apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace, name = request.name },
    data = { size = tostring(cluster.spec.size) } }
end

perilune.controller("cluster"):For(KIND):Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster then return end
    client:patch_status(cluster, { status = { observedGeneration = cluster.metadata.generation } })
    client:apply(map_of(request, cluster), { owner = cluster })
  end)
