-- Not from a public issue. A hash of the names of the rules, in the order of a list from the cache, is in the
-- pod template. A cache has no order: with another one all pods are replaced, although nothing has changed.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster")
  :For("example.com/v1/Cluster")
  :Owns("apps/v1/Deployment")
  :Watches("v1/ConfigMap", function(map)
    return { namespace = map.metadata.namespace, name = map.metadata.labels.cluster }
  end, { labels = "cluster" })
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local names = {}
    for i, map in ipairs(client:list("v1/ConfigMap", { namespace = request.namespace })) do
      names[i] = map.metadata.name
    end
    local labels = { app = request.name }
    client:apply({ apiVersion = "apps/v1", kind = "Deployment",
      metadata = { namespace = request.namespace, name = request.name },
      spec = { replicas = cluster.spec.size, selector = { matchLabels = labels }, template = {
        metadata = { labels = labels, annotations = { rules = perilune.hash(table.concat(names, ",")) } },
        spec = { containers = { { name = "c", image = "c" } } } } } }, { owner = cluster })
  end)
