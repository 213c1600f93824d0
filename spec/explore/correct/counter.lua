-- The script counts its runs in memory and logs the number. Nothing else depends on it.
local perilune = require("perilune")
local client = perilune.client

local runs = 0

perilune.controller("counter", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/ConfigMap")
  :Reconcile(function(request, context)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    runs = runs + 1
    context.log:info("a run", { runs = runs })
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
      name = request.name }, data = { size = tostring(cluster.spec.size) } }, { owner = cluster })
  end)
