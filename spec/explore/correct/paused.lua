-- An annotation pauses the controller. Then it leaves everything as it is, and says so in the status.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("paused"):For(KIND):Owns("v1/ConfigMap"):Owns("v1/Service")
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster then return end
    local paused = perilune.dig(cluster, "metadata", "annotations", "paused") == "yes"
    cluster = client:patch_status(cluster, { status = { paused = paused } })
    if paused then return end
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
      name = request.name }, data = { size = tostring(cluster.spec.size) } }, { owner = cluster })
    client:apply({ apiVersion = "v1", kind = "Service", metadata = { namespace = request.namespace,
      name = request.name }, spec = { ports = { { port = 80 + cluster.spec.size } } } }, { owner = cluster })
    client:patch_status(cluster, { status = { size = cluster.spec.size } })
  end)
