-- The claim's size is compared with the wanted size in each run, independently of the StatefulSet.
local perilune = require("perilune")
local client = perilune.client

local function claim_of(cluster)
  return { apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = { namespace = cluster.metadata.namespace,
    name = "data-" .. cluster.metadata.name .. "-0" }, spec = { accessModes = { "ReadWriteOnce" },
      resources = { requests = { storage = cluster.spec.storage } } } }
end

local function set_of(cluster)
  local labels = { app = cluster.metadata.name }
  return { apiVersion = "apps/v1", kind = "StatefulSet", metadata = { namespace = cluster.metadata.namespace,
    name = cluster.metadata.name, annotations = { storage = cluster.spec.storage } }, spec = { replicas = 1,
      serviceName = cluster.metadata.name, selector = { matchLabels = labels }, template = {
        metadata = { labels = labels }, spec = { containers = { { name = "mq", image = "mq" } } } } } }
end

perilune.controller("cluster")
  :For("example.com/v1/Cluster")
  :Owns("apps/v1/StatefulSet")
  :Owns("v1/PersistentVolumeClaim")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local set = client:get("apps/v1/StatefulSet", request)
    local claim = claim_of(cluster)
    local old = client:get("v1/PersistentVolumeClaim", claim.metadata)
    if not old then
      client:create(claim, { owner = cluster })
    end
    if old and old.spec.resources.requests.storage ~= cluster.spec.storage then
      client:patch("v1/PersistentVolumeClaim", claim.metadata, { spec = { resources = claim.spec.resources } })
    end
    if set and set.metadata.annotations.storage ~= cluster.spec.storage then
      local now = perilune.live:get("example.com/v1/Cluster", request)
      if not now or now.spec.storage ~= cluster.spec.storage then return end
      client:delete(set)
      set = nil
    end
    if not set then
      client:create(set_of(cluster), { owner = cluster })
    end
  end)
