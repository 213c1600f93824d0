-- Not from a public issue. A predicate notes in memory which clusters have changed their size, and
-- a run deletes the note when it has restarted the pod. Only the leader runs, so the notes of a
-- standby replica stay. When that replica takes over, it restarts the pod again.
local perilune = require("perilune")
local client = perilune.client
local resized = {}

local function note(event)
  local old, object = event.old, event.object
  if old and old.spec.size ~= object.spec.size then
    resized[object.metadata.name] = true
  end
  return true
end

local function pod(cluster)
  return { apiVersion = "v1", kind = "Pod", metadata = { namespace = cluster.metadata.namespace,
    name = cluster.metadata.name, annotations = { size = tostring(cluster.spec.size) } },
    spec = { containers = { { name = "x", image = "x" } } } }
end

perilune.controller("cluster")
  :For("example.com/v1/Cluster", { predicates = { note } })
  :Owns("v1/Pod")
  :Reconcile(function(request)
    local cluster = perilune.live:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local is = perilune.live:get("v1/Pod", request)
    if is and (resized[request.name] or is.metadata.annotations.size ~= tostring(cluster.spec.size)) then
      client:delete(is)
      is = nil
    end
    resized[request.name] = nil
    if not is then
      client:create(pod(cluster), { owner = cluster })
    end
    cluster.status = { size = cluster.spec.size, note = cluster.spec.note }
    client:update_status(cluster)
  end)
