-- Not from a public issue; providers of cluster-api have had it. The bucket outside of the cluster is
-- made first, and the finalizer is added after it. An object that is deleted between the two is gone
-- at once, and the bucket stays.
local perilune = require("perilune")
local client = perilune.client
local BUCKETS = "https://buckets.example.com/buckets/"
local FINALIZER = "example.com/bucket"

local function ask(method, name)
  local answer = perilune.http.request({ method = method, url = BUCKETS .. name, json = { of = name } })
  if method == "DELETE" and answer.status == 404 then return end
  if answer.status >= 300 then error(method .. " of the bucket is answered " .. answer.status) end
end

perilune.controller("cluster")
  :For("example.com/v1/Cluster", { finalizers = { FINALIZER }, writes = { "patch" } })
  :Reconcile(function(request)
    local cluster = perilune.live:get("example.com/v1/Cluster", request)
    if not cluster then return end
    if cluster.metadata.deletionTimestamp then
      if perilune.finalizer.has(cluster, FINALIZER) then
        ask("DELETE", request.name)
        perilune.finalizer.remove(cluster, FINALIZER)
        client:update(cluster)
      end
      return
    end
    ask("PUT", request.name)
    if perilune.finalizer.add(cluster, FINALIZER) then client:update(cluster) end
  end)
