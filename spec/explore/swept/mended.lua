-- Before the task deletes a claim, it asks the server for the cluster.
local perilune = require("perilune")
local client = perilune.client
local KIND, CLAIM, LABEL = "example.com/v1/Cluster", "v1/PersistentVolumeClaim", "example.com/cluster"

perilune.controller("cluster"):For(KIND):Reads(CLAIM):Writes(CLAIM, { "create" })
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster then return end
    local at = { namespace = request.namespace, name = "data-" .. request.name }
    if not client:get(CLAIM, at) then
      at.labels = { [LABEL] = request.name }
      client:create({ apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = at, spec = {
        accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } } } })
    end
    client:patch_status(cluster, { status = { claim = at.name } })
  end)

perilune.every("5m", { name = "sweep", reads = { KIND, CLAIM }, writes = { [CLAIM] = { "delete" } } }, function()
  for claim in client:each(CLAIM, { labels = LABEL }) do
    local at = { namespace = claim.metadata.namespace, name = claim.metadata.labels[LABEL] }
    if not perilune.live:get(KIND, at) then
      client:delete(claim)
    end
  end
end)
