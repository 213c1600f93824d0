-- The status counts changes of the spec, and has the last three of them.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("history"):For(KIND):Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster then return end
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
      name = request.name }, data = { size = tostring(cluster.spec.size) } }, { owner = cluster })
    local status = cluster.status or {}
    if status.observedGeneration == cluster.metadata.generation then return end
    local last = status.history or perilune.array({})
    if not last[1] or last[1].size ~= cluster.spec.size then
      status.revision = (status.revision or 0) + 1
      table.insert(last, 1, { revision = status.revision, size = cluster.spec.size })
      last[4] = nil
    end
    status.history, status.observedGeneration = last, cluster.metadata.generation
    cluster.status = status
    client:update_status(cluster)
  end)
