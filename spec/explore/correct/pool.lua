-- As many pods with random names as the spec wants. The script finds them by their owner, not by
-- name.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("pool", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Pod")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local live = {}
    for _, pod in ipairs(perilune.live:list("v1/Pod", { namespace = request.namespace })) do
      if perilune.is_controlled_by(pod, cluster) and not pod.metadata.deletionTimestamp then
        live[#live + 1] = pod
      end
    end
    local size = perilune.live:get("example.com/v1/Cluster", request)
    if not size then return end
    for _ = #live + 1, size.spec.size do
      client:create({ apiVersion = "v1", kind = "Pod", metadata = { namespace = request.namespace,
        generateName = request.name .. "-" }, spec = { containers = { { name = "x", image = "x" } } } },
        { owner = cluster })
    end
    for i = size.spec.size + 1, #live do
      client:delete(live[i])
    end
  end)
