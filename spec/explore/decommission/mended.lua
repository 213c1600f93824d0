-- A pod that is already deleted is no failure.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

local function claim_of(at)
  return { apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = at, spec = { accessModes = { "ReadWriteOnce" },
    resources = { requests = { storage = "1Gi" } } } }
end

-- Written only if nobody has written the cluster meanwhile.
local function record(cluster, nodes)
  return client:patch_status(cluster, { metadata = { resourceVersion = cluster.metadata.resourceVersion },
    status = { nodes = nodes } })
end

perilune.controller("cluster"):For(KIND):Owns("v1/Pod"):Reads("v1/PersistentVolumeClaim")
  :Writes("v1/PersistentVolumeClaim", { "create", "delete" })
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster then return end
    local function at(prefix, i)
      return { namespace = request.namespace, name = prefix .. request.name .. "-" .. i }
    end
    local nodes, size = cluster.status and cluster.status.nodes or 0, cluster.spec.size
    if nodes < size then
      cluster, nodes = record(cluster, size), size
    end
    for i = 0, size - 1 do
      if not perilune.live:get("v1/PersistentVolumeClaim", at("data-", i)) then
        client:create(claim_of(at("data-", i)))
      end
      if not client:get("v1/Pod", at("", i)) then
        client:create({ apiVersion = "v1", kind = "Pod", metadata = at("", i),
          spec = { containers = { { name = "c", image = "c" } } } }, { owner = cluster })
      end
    end
    if nodes > size then
      local i = nodes - 1
      local pod = perilune.live:get("v1/Pod", at("", i))
      if pod then client:delete(pod) end
      local claim = perilune.live:get("v1/PersistentVolumeClaim", at("data-", i))
      if claim then client:delete(claim) end
      record(cluster, i)
    end
  end)
