-- The kind of bug of K8SSAND-559 (cass-operator). When a cluster is deleted, its claims are deleted
-- by a label with its name. If the cache lags after a restart, these claims belong to a cluster
-- that was created again with this name.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("cluster"):For(KIND):Reads("v1/PersistentVolumeClaim")
  :Writes("v1/PersistentVolumeClaim", { "create", "delete" })
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster then
      for _, claim in ipairs(client:list("v1/PersistentVolumeClaim", { namespace = request.namespace,
        labels = "cluster=" .. request.name })) do
        client:delete(claim)
      end
      return
    end
    local at = { namespace = request.namespace, name = "data-" .. request.name, labels = { cluster = request.name } }
    if not client:get("v1/PersistentVolumeClaim", at) then
      client:create({ apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = at,
        spec = { accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } } } })
    end
  end)
