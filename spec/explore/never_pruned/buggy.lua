-- The kind of bug of cass-operator#330 (Acto): labels of the spec are merged into those of the Service. One that
-- is no longer in the spec stays.
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
    local service = client:get("v1/Service", request)
    if not service then
      client:create(service_of(cluster), { owner = cluster })
      return
    end
    service.metadata.labels = service.metadata.labels or {}
    for name, value in pairs(cluster.spec.labels or {}) do
      service.metadata.labels[name] = value
    end
    client:update(service)
  end)
