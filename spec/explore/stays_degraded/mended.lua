-- A run that succeeds sets both conditions.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("cluster"):For(KIND):Owns("v1/Service")
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster then return end
    cluster.status = cluster.status or {}
    local service, problem = perilune.try(client.apply, client, { apiVersion = "v1", kind = "Service",
      metadata = { namespace = request.namespace, name = request.name },
      spec = { ports = { { port = cluster.spec.port } } } }, { owner = cluster })
    if not service then
      perilune.conditions.set(cluster, { type = "Degraded", status = true, reason = "ServiceFailed", message = "" })
      client:update_status(cluster)
      return nil, problem
    end
    perilune.conditions.set(cluster, { type = "Degraded", status = false, reason = "AllWell", message = "" })
    perilune.conditions.set(cluster, { type = "Ready", status = true, reason = "ServiceThere", message = "" })
    client:update_status(cluster)
  end)
