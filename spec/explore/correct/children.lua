-- One ConfigMap for each number below the size; those beyond are deleted.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("children", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = perilune.live:get("example.com/v1/Cluster", request)
    if not cluster then return end
    for i = 0, cluster.spec.size - 1 do
      client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
        name = request.name .. "-" .. i, labels = { of = request.name } }, data = { ordinal = tostring(i) } },
        { owner = cluster })
    end
    for _, map in ipairs(perilune.live:list("v1/ConfigMap", { namespace = request.namespace,
      labels = "of=" .. request.name })) do
      if tonumber(map.data.ordinal) >= cluster.spec.size then
        client:delete(map)
      end
    end
  end)
