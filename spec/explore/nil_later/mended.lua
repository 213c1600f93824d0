-- If the Secret is not there, it is created, and its content is taken from the server's answer.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local secret = client:get("v1/Secret", request)
    if not secret then
      secret = client:apply({ apiVersion = "v1", kind = "Secret",
        metadata = { namespace = request.namespace, name = request.name },
        stringData = { key = "of " .. request.name } }, { owner = cluster })
    end
    client:apply({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = request.namespace, name = request.name },
      data = { size = tostring(cluster.spec.size), key = perilune.hash(secret.data.key) } }, { owner = cluster })
    cluster.status = { phase = "Made" }
    client:update_status(cluster)
  end)
