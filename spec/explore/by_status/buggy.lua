-- K8SPSMDB-578: a cluster that has a phase is no new one, and what a new one gets is not made.
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
