-- The pod's annotation says which configuration it was started with. The controller compares that
-- with the wanted one.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/ConfigMap")
  :Owns("v1/Pod")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    client:apply({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = request.namespace, name = request.name },
      data = { text = cluster.spec.config } }, { owner = cluster })
    local pod = client:get("v1/Pod", request)
    if pod and pod.metadata.annotations.config ~= cluster.spec.config then
      local now = perilune.live:get("example.com/v1/Cluster", request)
      if not now or now.spec.config ~= cluster.spec.config then return end
      client:delete(pod)
      pod = nil
    end
    if not pod then
      client:create({ apiVersion = "v1", kind = "Pod", metadata = { namespace = request.namespace,
        name = request.name, annotations = { config = cluster.spec.config } },
        spec = { containers = { { name = "nifi", image = "nifi" } } } }, { owner = cluster })
    end
  end)
