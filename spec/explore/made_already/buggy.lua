-- The kind of bug of Orange-OpenSource/casskop#342. The server carries out a create, but its answer
-- is lost. Every later try gets AlreadyExists, which the controller treats as a failure, so it
-- never gets to the status.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Writes("v1/ConfigMap", { "create" })
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster or perilune.dig(cluster, "status", "made") then return end
    client:create({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = request.namespace, name = request.name }, data = { of = "cluster" } },
      { owner = cluster })
    cluster.status = { made = true }
    client:update_status(cluster)
  end)
