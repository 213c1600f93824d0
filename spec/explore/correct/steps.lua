-- Jobs one after the other. observedGeneration says that the spec was seen, and later runs go on.
local perilune = require("perilune")
local client = perilune.client
local CLUSTER, JOB = "example.com/v1/Cluster", "batch/v1/Job"

local function job_of(cluster, n)
  return { apiVersion = "batch/v1", kind = "Job",
    metadata = { namespace = cluster.metadata.namespace, name = cluster.metadata.name .. "-" .. n },
    spec = { template = { spec = { restartPolicy = "Never", containers = { { name = "step", image = "step:1" } } } } } }
end

perilune.controller("steps"):For(CLUSTER):Owns(JOB):Reconcile(function(request)
  local cluster = perilune.live:get(CLUSTER, request)
  if not cluster then return end
  for n = 1, cluster.spec.size do
    local job = perilune.live:get(JOB, job_of(cluster, n).metadata)
    if not job then
      client:patch(cluster, { metadata = { annotations = { step = tostring(n) } } })
      client:create(job_of(cluster, n), { owner = cluster })
    end
    if not job or not perilune.conditions.is_true(job, "Complete") then break end
  end
  client:patch_status(CLUSTER, request, { status = { observedGeneration = cluster.metadata.generation } })
end)
