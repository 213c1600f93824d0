-- Not from a public issue. The script ignores a failed write of the Secret and reports Ready. The
-- status write starts one more run, so a single refusal is repaired by chance. If the server
-- refuses for a minute, the Secret stays missing.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    pcall(function()
      client:apply({ apiVersion = "v1", kind = "Secret", metadata = { namespace = request.namespace,
        name = request.name }, stringData = { of = request.name } }, { owner = cluster })
    end)
    cluster.status = { phase = "Ready" }
    client:update_status(cluster)
  end)
