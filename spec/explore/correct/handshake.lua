-- Two controllers: one asks in a ConfigMap, the other one answers there two seconds later.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("handshake"):For(KIND):Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster then return end
    local map = client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
      name = request.name, labels = { ask = "yes" } }, data = { want = tostring(cluster.spec.size) } },
      { owner = cluster })
    local done = perilune.dig(map, "metadata", "annotations", "done") == map.data.want
    client:patch_status(cluster, { status = { phase = done and "Done" or "Waiting",
      observedGeneration = cluster.metadata.generation } })
  end)

perilune.controller("answer"):For("v1/ConfigMap", { labels = "ask=yes" })
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if not map then return end
    perilune.sleep("2s")
    client:patch(map, { metadata = { annotations = { done = map.data.want } } })
  end)
