-- The script sleeps between two writes. If it crashes there, the next run does both writes again.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("sleeper", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/ConfigMap")
  :Owns("v1/Service")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
      name = request.name }, data = { size = tostring(cluster.spec.size) } }, { owner = cluster })
    perilune.sleep("20s")
    client:apply({ apiVersion = "v1", kind = "Service", metadata = { namespace = request.namespace,
      name = request.name }, spec = { ports = { { port = 8000 + cluster.spec.size } } } }, { owner = cluster })
  end)
