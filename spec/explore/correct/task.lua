-- A task that counts clusters, and a controller that runs beside it.
local perilune = require("perilune")
local client = perilune.client

perilune.every("1m", { name = "census", reads = { "example.com/v1/Cluster" }, writes = { "v1/ConfigMap" } },
  function()
    local n = #client:list("example.com/v1/Cluster", {})
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "default", name = "census" },
      data = { clusters = tostring(n) } })
  end)

perilune.controller("beside", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Service")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    client:apply({ apiVersion = "v1", kind = "Service",
      metadata = { namespace = request.namespace, name = request.name },
      spec = { selector = { app = request.name }, ports = { { port = 80 + cluster.spec.size } } } },
      { owner = cluster })
  end)
