-- A record outside of the cluster has the name of its object. The answer goes into the status.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("outside", {})
  :For("example.com/v1/Cluster")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local answer = perilune.http.request({ method = "PUT", url = "https://records.example.com/" .. request.name,
      json = { size = cluster.spec.size } })
    if answer.status ~= 200 then error("the record is answered " .. answer.status) end
    if not cluster.status or cluster.status.record ~= answer.json.id then
      client:patch_status(cluster, { status = { record = answer.json.id } })
    end
  end)
