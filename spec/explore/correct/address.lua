-- The address and the node port of a Service, which the server chooses, are copied.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("address"):For(KIND):Owns("v1/Service"):Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster then return end
    local at = { namespace = request.namespace, name = request.name }
    local size = tostring(cluster.spec.size)
    local service = perilune.live:get("v1/Service", at)
    if service and service.metadata.labels.size ~= size then
      client:delete(service)
      service = nil
    end
    service = service or client:create({ apiVersion = "v1", kind = "Service", metadata = { namespace = at.namespace,
      name = at.name, labels = { size = size } }, spec = { type = "NodePort", ports = { { port = 80 } } } },
      { owner = cluster })
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = at,
      data = { url = ("http://%s:80/"):format(service.spec.clusterIP) } }, { owner = cluster })
    client:patch_status(cluster, { status = { port = service.spec.ports[1].nodePort } })
  end)
