-- Server-side apply removes the labels that are no longer in the spec.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

local function service_of(cluster)
  return { apiVersion = "v1", kind = "Service", metadata = { namespace = cluster.metadata.namespace,
    name = cluster.metadata.name, labels = cluster.spec.labels }, spec = { ports = { { port = 80 } } } }
end

perilune.controller("cluster"):For(KIND):Owns("v1/Service")
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster then return end
    client:apply(service_of(cluster), { owner = cluster })
  end)
