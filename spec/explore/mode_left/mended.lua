-- The Service itself is compared with the spec in each run; the status follows.
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
    local service = client:get("v1/Service", at)
    if cluster.spec.arbiter then
      client:apply(service_of(at), { owner = cluster })
    elseif service then
      local now = perilune.live:get(KIND, request)
      if not now or now.spec.arbiter then return { requeue_after = "1s" } end
      client:delete(service)
    end
    client:patch_status(cluster, { status = { arbiter = cluster.spec.arbiter } })
  end)
