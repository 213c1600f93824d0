-- Not from a public issue. The controller knows its ConfigMap by the name alone. If the object is
-- deleted and created again before the garbage collector has deleted the old ConfigMap, the
-- controller takes the old one for its own. The collector then deletes it, and no event about it
-- starts a run, because the controller does not watch ConfigMaps as their owner.
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
