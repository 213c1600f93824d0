-- The pod's annotation says which size it was started with; the controller keeps nothing in memory.
local perilune = require("perilune")
local client = perilune.client

local function pod(cluster)
  return { apiVersion = "v1", kind = "Pod", metadata = { namespace = cluster.metadata.namespace,
    name = cluster.metadata.name, annotations = { size = tostring(cluster.spec.size) } },
    spec = { containers = { { name = "x", image = "x" } } } }
end

perilune.controller("cluster")
  :For("example.com/v1/Cluster")
  :Owns("v1/Pod")
  :Reconcile(function(request)
    local cluster = perilune.live:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local is = perilune.live:get("v1/Pod", request)
    if is and is.metadata.annotations.size ~= tostring(cluster.spec.size) then
      client:delete(is)
      is = nil
    end
    if not is then
      client:create(pod(cluster), { owner = cluster })
    end
    cluster.status = { size = cluster.spec.size, note = cluster.spec.note }
    client:update_status(cluster)
  end)
