-- A Secret that can't be made is passed over. The write of the status brings the next run, so that one
-- refusal heals by itself; a server that refuses for a minute outlasts it.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    pcall(function()
      client:apply({ apiVersion = "v1", kind = "Secret", metadata = { namespace = request.namespace,
        name = request.name }, stringData = { of = request.name } }, { owner = cluster })
    end)
    cluster.status = { phase = "Ready" }
    client:update_status(cluster)
  end)
