-- Not from a public issue. The finalizer is removed first, and then the claims. If it
-- crashes between the two, nobody deletes the claims.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

local FINALIZER = "example.com/data"

perilune.controller("cluster"):For(KIND, { finalizers = { FINALIZER } }):Reads("v1/PersistentVolumeClaim")
  :Writes("v1/PersistentVolumeClaim", { "create", "delete" })
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster then return end
    local function at(i)
      return { namespace = request.namespace, name = "data-" .. request.name .. "-" .. i }
    end
    if cluster.metadata.deletionTimestamp then
      if not perilune.finalizer.remove(cluster, FINALIZER) then return end
      client:update(cluster)
      for i = 0, cluster.spec.size - 1 do
        local _, e = perilune.try(client.delete, client, "v1/PersistentVolumeClaim", at(i))
        if e and not perilune.errors.is_not_found(e) then error(e) end
      end
      return
    end
    if perilune.finalizer.add(cluster, FINALIZER) then
      cluster = client:update(cluster)
    end
    for i = 0, cluster.spec.size - 1 do
      if not client:get("v1/PersistentVolumeClaim", at(i)) then
        client:create({ apiVersion = "v1", kind = "PersistentVolumeClaim", metadata = at(i),
          spec = { accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } } } })
      end
    end
  end)
