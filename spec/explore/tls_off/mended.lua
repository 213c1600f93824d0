-- Before the controller deletes the Secret, it asks the server whether TLS is still off.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local secret = client:get("v1/Secret", request)
    if cluster.spec.tls and not secret then
      client:create({ apiVersion = "v1", kind = "Secret",
        metadata = { namespace = request.namespace, name = request.name },
        stringData = { key = perilune.base64.encode(perilune.random(12)) } }, { owner = cluster })
    elseif not cluster.spec.tls and secret then
      local now = perilune.live:get("example.com/v1/Cluster", request)
      if now and not now.spec.tls then
        client:delete(secret)
      end
    end
  end)
