-- A child is known by its name alone; that of the namesake, which garbage is still to be collected, is
-- taken for the new one's. Nobody watches it go.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Reads("v1/ConfigMap")
  :Writes("v1/ConfigMap", { "create" })
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster or client:get("v1/ConfigMap", request) then return end
    client:create({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
      name = request.name }, data = { of = request.name } }, { owner = cluster })
  end)
