-- The status has the time of the last look, which is written every ten minutes at most.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("last-seen", {})
  :For("example.com/v1/Cluster")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local now, seen = perilune.time.now(), cluster.status and cluster.status.lastSeen
    local left = seen and perilune.time.parse(seen) + 600 - now or 0
    if left <= 0 then
      client:patch_status(cluster, { status = { lastSeen = perilune.time.format(now) } })
      left = 600
    end
    return { requeue_after = left }
  end)
