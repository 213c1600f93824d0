-- Before the controller deletes a claim, it asks the server for the current size.
local perilune = require("perilune")
local client = perilune.client

local function claim_of(cluster, i)
  return { apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = { namespace = cluster.metadata.namespace,
    name = ("data-%s-%d"):format(cluster.metadata.name, i) }, spec = { accessModes = { "ReadWriteOnce" },
      resources = { requests = { storage = "1Gi" } } } }
end

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/PersistentVolumeClaim")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    for i = 0, 4 do
      local wanted = claim_of(cluster, i)
      local claim = client:get("v1/PersistentVolumeClaim", wanted.metadata)
      if i < cluster.spec.size and not claim then
        client:create(wanted, { owner = cluster })
      elseif i >= cluster.spec.size and claim then
        local now = perilune.live:get("example.com/v1/Cluster", request)
        if now and now.metadata.uid == cluster.metadata.uid and i >= now.spec.size then
          client:delete(claim)
        end
      end
    end
  end)
