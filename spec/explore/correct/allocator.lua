-- Each cluster takes the lowest free number. Which one it gets depends on the order of runs.
local perilune = require("perilune")
local client = perilune.client

local function free_number(namespace)
  local taken = {}
  for _, cluster in ipairs(perilune.live:list("example.com/v1/Cluster", { namespace = namespace })) do
    taken[cluster.status and cluster.status.number or 0] = true
  end
  local number = 1
  while taken[number] do
    number = number + 1
  end
  return number
end

perilune.controller("allocator")
  :For("example.com/v1/Cluster")
  :Reconcile(function(request)
    local cluster = perilune.live:get("example.com/v1/Cluster", request)
    if not cluster or cluster.status and cluster.status.number then return end
    cluster.status = { number = free_number(request.namespace) }
    client:update_status(cluster)
  end)
