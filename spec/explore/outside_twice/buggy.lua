-- Not from a public issue. The controller makes a bucket outside of the cluster, and then writes
-- its id into the status. If it crashes between the two, the id is lost, and the next run makes a
-- second bucket.
local perilune = require("perilune")
local client = perilune.client
local BUCKETS = "https://buckets.example.com/buckets"

perilune.controller("cluster")
  :For("example.com/v1/Cluster")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster or (cluster.status and cluster.status.bucket) then return end
    local answer = perilune.http.request({ method = "POST", url = BUCKETS, json = { of = request.name } })
    if answer.status ~= 201 then error("the bucket is not made: " .. answer.status) end
    client:patch_status(cluster, { status = { bucket = answer.json.id } })
  end)
