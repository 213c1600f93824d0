-- The bucket's name follows from the object's name, so making it again changes nothing.
local perilune = require("perilune")
local client = perilune.client
local BUCKETS = "https://buckets.example.com/buckets"

perilune.controller("cluster")
  :For("example.com/v1/Cluster")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster or (cluster.status and cluster.status.bucket) then return end
    local answer = perilune.http.request({ method = "PUT", url = BUCKETS .. "/" .. request.name,
      json = { of = request.name } })
    if answer.status >= 300 then error("the bucket is not made: " .. answer.status) end
    client:patch_status(cluster, { status = { bucket = answer.json.id } })
  end)
