-- A kind of bug that Acto has found in several operators: the image is copied into the StatefulSet
-- only when the StatefulSet is created.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("cluster"):For(KIND):Owns("apps/v1/StatefulSet")
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster then return end
    if client:get("apps/v1/StatefulSet", request) then return end
    local labels = { app = request.name }
    client:create({ apiVersion = "apps/v1", kind = "StatefulSet",
      metadata = { namespace = request.namespace, name = request.name },
      spec = { replicas = 1, serviceName = request.name, selector = { matchLabels = labels },
        template = { metadata = { labels = labels },
          spec = { containers = { { name = "db", image = cluster.spec.image } } } } } }, { owner = cluster })
  end)
