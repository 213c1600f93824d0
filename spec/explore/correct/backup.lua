-- A Job every twenty minutes, named by its time. The last three are kept.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("backup"):For(KIND):Owns("batch/v1/Job")
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster then return end
    local slot = math.floor(perilune.time.now() / 1200)
    local at = { namespace = request.namespace, name = request.name .. "-" .. slot }
    if not perilune.live:get("batch/v1/Job", at) then
      client:create({ apiVersion = "batch/v1", kind = "Job", metadata = at, spec = { template = { spec = {
        restartPolicy = "Never", containers = { { name = "b", image = "b" } } } } } }, { owner = cluster })
    end
    local jobs = perilune.live:list("batch/v1/Job", { namespace = request.namespace })
    table.sort(jobs, function(x, y) return x.metadata.name < y.metadata.name end)
    while #jobs > 3 do
      client:delete(table.remove(jobs, 1), { propagation = "Background" })
    end
    client:patch_status(cluster, { status = { last = perilune.time.format(slot * 1200) } })
    return { requeue_after = (slot + 1) * 1200 - perilune.time.now() }
  end)
