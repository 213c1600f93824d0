-- The second Secret gets the password that the first one has.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local secret = perilune.live:get("v1/Secret", request)
    if not secret then
      secret = client:create({ apiVersion = "v1", kind = "Secret",
        metadata = { namespace = request.namespace, name = request.name },
        stringData = { password = perilune.base64.encode(perilune.random(12)) } }, { owner = cluster })
    end
    client:apply({ apiVersion = "v1", kind = "Secret", metadata = { namespace = request.namespace,
      name = request.name .. "-internal" }, data = { password = secret.data.password } }, { owner = cluster })
  end)
