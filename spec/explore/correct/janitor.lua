-- A ConfigMap for each generation, which a task deletes when it is a quarter of an hour old.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.every("10m", { name = "collector", reads = { "v1/ConfigMap" }, writes = { ["v1/ConfigMap"] = { "delete" } } },
  function()
    for _, map in ipairs(client:list("v1/ConfigMap", { namespace = "default", labels = "temp=yes" })) do
      if perilune.time.now() - perilune.time.parse(map.metadata.creationTimestamp) > 900 then
        client:delete(map)
      end
    end
  end)

perilune.controller("janitor"):For(KIND):Reads("v1/ConfigMap"):Writes("v1/ConfigMap", { "create" })
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    local generation = cluster and cluster.metadata.generation
    if not cluster or perilune.dig(cluster, "status", "observedGeneration") == generation then return end
    local _, e = perilune.try(client.create, client, { apiVersion = "v1", kind = "ConfigMap", metadata = {
      namespace = request.namespace, name = request.name .. "-" .. generation, labels = { temp = "yes" } } })
    if e and not perilune.errors.is_already_exists(e) then return nil, e end
    client:patch_status(cluster, { status = { observedGeneration = generation } })
  end)
