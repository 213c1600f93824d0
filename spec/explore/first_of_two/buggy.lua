-- Port of K8SPXC-896 (Percona Operator for MySQL). The controller creates two Secrets if the first
-- one is missing. If it crashes between the two creates, the second one is never created.
local perilune = require("perilune")
local client = perilune.client

local function secret(cluster, suffix)
  return { apiVersion = "v1", kind = "Secret", metadata = { namespace = cluster.metadata.namespace,
    name = cluster.metadata.name .. suffix }, stringData = { ca = "of " .. cluster.metadata.name } }
end

perilune.controller("cluster")
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local ssl = secret(cluster, "-ssl")
    if not client:get("v1/Secret", ssl.metadata) then
      client:create(ssl, { owner = cluster })
      client:create(secret(cluster, "-ssl-internal"), { owner = cluster })
    end
  end)
