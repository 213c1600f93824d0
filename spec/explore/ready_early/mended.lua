-- The object is ready when its ConfigMap is there.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

local function map_of(request, cluster)
  return { apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace, name = request.name },
    data = { size = tostring(cluster.spec.size) } }
end

local READY = { status = { conditions = { { type = "Ready", status = "True", reason = "Made" } } } }

perilune.controller("cluster"):For(KIND):Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster then return end
    client:apply(map_of(request, cluster), { owner = cluster })
    client:patch_status(cluster, READY)
  end)
