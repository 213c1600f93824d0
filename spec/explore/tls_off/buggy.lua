-- Port of yugabyte/yugabyte-operator#35. The controller deletes the TLS Secret if the cluster does
-- not want TLS. After a restart a stale cache may show an old spec without TLS; then a Secret in
-- use is deleted, and made again with another key.
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
      client:delete(secret)
    end
  end)
