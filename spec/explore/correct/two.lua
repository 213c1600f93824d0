-- Two controllers of one kind, each with its own ConfigMaps.
local perilune = require("perilune")
local client = perilune.client

for _, name in ipairs({ "left", "right" }) do
  perilune.controller(name, {})
    :For("example.com/v1/Cluster")
    :Owns("v1/ConfigMap")
    :Reconcile(function(request)
      local cluster = client:get("example.com/v1/Cluster", request)
      if not cluster then return end
      client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
        name = request.name .. "-" .. name }, data = { size = tostring(cluster.spec.size) } }, { owner = cluster })
    end)
end
