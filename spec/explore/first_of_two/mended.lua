-- Each Secret is applied by itself, so a run creates whichever is missing.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster")
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    for _, suffix in ipairs({ "-ssl", "-ssl-internal" }) do
      client:apply({ apiVersion = "v1", kind = "Secret", metadata = { namespace = cluster.metadata.namespace,
        name = cluster.metadata.name .. suffix }, stringData = { ca = "of " .. cluster.metadata.name } },
        { owner = cluster })
    end
  end)
