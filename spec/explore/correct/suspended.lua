-- A field of the spec, or an annotation, suspends the controller. Then it leaves everything as it is: also what the
-- status says of a rollout that goes on.
local perilune = require("perilune")
local client = perilune.client
local KIND, SET = "example.com/v1/Cluster", "apps/v1/StatefulSet"

local function set_of(request, cluster)
  local labels = { app = request.name }
  return { apiVersion = "apps/v1", kind = "StatefulSet",
    metadata = { namespace = request.namespace, name = request.name },
    spec = { replicas = cluster.spec.size, serviceName = request.name, selector = { matchLabels = labels },
      template = { metadata = { labels = labels }, spec = { containers = { { name = "db", image = "db:1" } } } } } }
end

perilune.controller("suspended"):For(KIND):Owns(SET)
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster then return end
    local suspended = cluster.spec.suspend or perilune.dig(cluster, "metadata", "annotations", "suspend") == "yes"
    cluster = client:patch_status(cluster, { status = { suspended = suspended or false } })
    if suspended then return end
    local set = client:apply(set_of(request, cluster), { owner = cluster })
    client:patch_status(cluster, { status = { ready = (perilune.rolled_out(set)) or false,
      replicas = set.status and set.status.readyReplicas or 0 } })
  end)
