-- Not from a public issue. So that the status never conflicts, it is written onto the newest version, with the
-- generation of that version. A spec that came during the run then counts as done.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

local function report(request, size)
  local newest = perilune.live:get(KIND, request)
  if newest then
    newest.status = { size = size, observedGeneration = newest.metadata.generation }
    client:update_status(newest)
  end
end

perilune.controller("cluster"):For(KIND):Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster or perilune.dig(cluster, "status", "observedGeneration") == cluster.metadata.generation then
      return
    end
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
      name = request.name }, data = { size = tostring(cluster.spec.size) } }, { owner = cluster })
    report(request, cluster.spec.size)
  end)
