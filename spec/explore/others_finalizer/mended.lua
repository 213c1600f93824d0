-- The controller makes nothing for an object that is being deleted, even if another finalizer keeps
-- it.
local perilune = require("perilune")
local client = perilune.client
local FINALIZER, BUCKETS = "example.com/bucket", "https://buckets.example.com/buckets/"

local function ask(method, name)
  local answer = perilune.http.request({ method = method, url = BUCKETS .. name, json = { of = name } })
  if method == "DELETE" and answer.status == 404 then return end
  if answer.status >= 300 then error(method .. " of the bucket is answered " .. answer.status) end
end

perilune.controller("cluster")
  :For("example.com/v1/Cluster")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local deleting = cluster.metadata.deletionTimestamp
    if deleting and not perilune.finalizer.has(cluster, FINALIZER) then return end
    if deleting then
      ask("DELETE", request.name)
      perilune.finalizer.remove(cluster, FINALIZER)
      client:update(cluster)
      return
    end
    local now = perilune.live:get("example.com/v1/Cluster", request)
    if not now or now.metadata.deletionTimestamp then return end
    if not deleting and perilune.finalizer.add(cluster, FINALIZER) then client:update(cluster) end
    ask("PUT", request.name)
  end)
