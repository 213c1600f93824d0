-- Not from a public issue. The status says that there is an arbiter before its Service is made. If it crashes
-- between the two, the next run sees no difference.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

local function service_of(at)
  return { apiVersion = "v1", kind = "Service", metadata = at, spec = { ports = { { port = 27017 } } } }
end

perilune.controller("cluster"):For(KIND):Owns("v1/Service")
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster then return end
    local at = { namespace = request.namespace, name = request.name .. "-arbiter" }
    local had = cluster.status and cluster.status.arbiter or false
    if cluster.spec.arbiter and not had then
      client:patch_status(cluster, { status = { arbiter = true } })
      client:apply(service_of(at), { owner = cluster })
    elseif had and not cluster.spec.arbiter then
      client:patch_status(cluster, { status = { arbiter = false } })
      client:delete("v1/Service", at)
    end
  end)
