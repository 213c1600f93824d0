-- A Job with a random suffix. The script finds the one of the current size by its label and deletes
-- the others.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("suffixed", {})
  :For("example.com/v1/Cluster")
  :Owns("batch/v1/Job")
  :Reconcile(function(request)
    local cluster = perilune.live:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local size = tostring(cluster.spec.size)
    local has = false
    for _, job in ipairs(perilune.live:list("batch/v1/Job", { namespace = request.namespace })) do
      if perilune.is_controlled_by(job, cluster) then
        local is = job.metadata.labels.size == size and not has
        has = has or is
        if not is then client:delete(job, { propagation = "Background" }) end
      end
    end
    if has then return end
    client:create({ apiVersion = "batch/v1", kind = "Job", metadata = { namespace = request.namespace,
      generateName = request.name .. "-", labels = { size = size } }, spec = { template = { spec = {
      restartPolicy = "Never", containers = { { name = "x", image = "x" } } } } } }, { owner = cluster })
  end)
