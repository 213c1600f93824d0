-- The number of the current half hour in the status: the controller changes it while nobody changes
-- anything else, and a world that waits sees it grow.
local perilune = require("perilune")
local client = perilune.client
local KIND, SLOT = "example.com/v1/Cluster", 1800

perilune.controller("beat"):For(KIND):Reconcile(function(request)
  local cluster = perilune.live:get(KIND, request)
  if not cluster then return end
  local now = perilune.time.now()
  local slot = math.floor(now / SLOT)
  if not cluster.status or cluster.status.slot ~= slot then
    client:patch_status(cluster, { status = { slot = slot } })
  end
  return { requeue_after = (slot + 1) * SLOT - now }
end)
