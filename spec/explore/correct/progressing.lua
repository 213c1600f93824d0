-- A status with the time since which a Deployment has been ready. It says first that work goes on.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("progressing"):For(KIND):Owns("apps/v1/Deployment")
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster then return end
    local labels = { app = request.name }
    local deployment = client:apply({ apiVersion = "apps/v1", kind = "Deployment",
      metadata = { namespace = request.namespace, name = request.name }, spec = { replicas = cluster.spec.size,
        selector = { matchLabels = labels }, template = { metadata = { labels = labels },
          spec = { containers = { { name = "x", image = "x" } } } } } }, { owner = cluster })
    local ready = perilune.rolled_out(deployment)
    local status = cluster.status or {}
    cluster.status = status
    perilune.conditions.set(cluster, { type = "Ready", status = ready and "True" or "False",
      reason = ready and "RolledOut" or "Progressing" })
    status.observedGeneration = cluster.metadata.generation
    status.since = ready and (status.since or perilune.time.format(perilune.time.now())) or nil
    client:update_status(cluster)
  end)
