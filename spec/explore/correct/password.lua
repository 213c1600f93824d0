-- A password is made once and only read afterwards. Its hash goes into another object.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("password", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local secret = perilune.live:get("v1/Secret", request)
    if not secret then
      secret = client:create({ apiVersion = "v1", kind = "Secret",
        metadata = { namespace = request.namespace, name = request.name },
        stringData = { password = perilune.base64.encode(perilune.random(12)) } }, { owner = cluster })
    end
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
      name = request.name }, data = { hash = perilune.hash(secret.data.password) } }, { owner = cluster })
  end)
