-- What the table of lost answers shows (casskop#342's kind): a create whose answer was lost is tried
-- again for ever, as what is there already is taken for a failure that nothing heals.
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
