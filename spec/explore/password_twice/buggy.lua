-- The kind of bug of K8SPXC (Percona Operator for MySQL) and its Secret of users. The controller
-- writes one password into two Secrets. If it crashes between the two writes, the next run does not
-- find the second Secret, and makes a new password for both. Users of the first password lose
-- access.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local internal = { namespace = request.namespace, name = request.name .. "-internal" }
    if not client:get("v1/Secret", internal) then
      local password = perilune.base64.encode(perilune.random(12))
      client:apply({ apiVersion = "v1", kind = "Secret",
        metadata = { namespace = request.namespace, name = request.name },
        stringData = { password = password } }, { owner = cluster })
      client:apply({ apiVersion = "v1", kind = "Secret", metadata = internal,
        stringData = { password = password } }, { owner = cluster })
    end
  end)
