-- A key is made once. Its certificate request is kept as base64; the length of the signature in it
-- varies, and so does the padding.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("csr", {})
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
        stringData = { key = perilune.x509.key() } }, { owner = cluster })
    end
    if not perilune.live:get("v1/ConfigMap", request) then
      local csr = perilune.x509.request(perilune.base64.decode(secret.data.key), { subject = request.name })
      client:create({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = request.namespace,
        name = request.name }, data = { request = perilune.base64.encode(csr) } }, { owner = cluster })
    end
  end)
