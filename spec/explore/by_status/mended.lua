-- Every run creates what is missing. The phase reports the result; no decision depends on it.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    for _, suffix in ipairs({ "-users", "-key" }) do
      client:apply({ apiVersion = "v1", kind = "Secret", metadata = { namespace = request.namespace,
        name = request.name .. suffix }, stringData = { of = request.name } }, { owner = cluster })
    end
    cluster.status = { phase = "Ready" }
    client:update_status(cluster)
  end)
