-- Port of K8SPSMDB-434 (Percona Operator for MongoDB). The controller creates a Secret in one run,
-- and later runs assume that it is there. If a stale cache does not show it yet, the script fails
-- because it indexes nil.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    if perilune.dig(cluster, "status", "phase") ~= "Made" then
      client:apply({ apiVersion = "v1", kind = "Secret",
        metadata = { namespace = request.namespace, name = request.name },
        stringData = { key = "of " .. request.name } }, { owner = cluster })
      cluster.status = { phase = "Made" }
      client:update_status(cluster)
    end
    local secret = client:get("v1/Secret", request)
    client:apply({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = request.namespace, name = request.name },
      data = { size = tostring(cluster.spec.size), key = perilune.hash(secret.data.key) } }, { owner = cluster })
  end)
