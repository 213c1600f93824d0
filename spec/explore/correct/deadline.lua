-- The status becomes Late when the cluster is twenty minutes old.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("deadline", {})
  :For("example.com/v1/Cluster")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local left = perilune.time.parse(cluster.metadata.creationTimestamp) + 1200 - perilune.time.now()
    local phase = left > 0 and "Waiting" or "Late"
    if not cluster.status or cluster.status.phase ~= phase then
      client:patch_status(cluster, { status = { phase = phase } })
    end
    if left > 0 then return { requeue_after = left } end
  end)
