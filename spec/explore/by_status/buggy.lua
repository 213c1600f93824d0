-- Port of K8SPSMDB-578 (Percona Operator for MongoDB). The controller sets a phase in the status
-- first, and creates the Secrets only while there is no phase. If it crashes between the two, the
-- phase is there, and the next run never creates the Secrets.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    if not perilune.dig(cluster, "status", "phase") then
      cluster.status = { phase = "Starting" }
      cluster = client:update_status(cluster)
      for _, suffix in ipairs({ "-users", "-key" }) do
        client:create({ apiVersion = "v1", kind = "Secret", metadata = { namespace = request.namespace,
          name = request.name .. suffix }, stringData = { of = request.name } }, { owner = cluster })
      end
    end
    cluster.status = { phase = "Ready" }
    client:update_status(cluster)
  end)
