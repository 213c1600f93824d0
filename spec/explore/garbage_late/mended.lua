-- The ConfigMap belongs to the object only if its owner reference has the object's uid. If it has
-- another uid, the controller waits until the garbage collector has deleted it.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local child = client:get("v1/ConfigMap", request)
    if child and child.metadata.ownerReferences[1].uid ~= cluster.metadata.uid then
      return { requeue_after = "5s" }
    elseif not child then
      client:create({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
        name = request.name }, data = { of = request.name } }, { owner = cluster })
    end
  end)
