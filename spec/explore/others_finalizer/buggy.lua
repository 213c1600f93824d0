-- Not from a public issue. The controller deletes the bucket and removes its finalizer. Another
-- finalizer keeps the object. The next run sees an object without the controller's finalizer, takes
-- it for a new one, and makes the bucket again.
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
    if deleting and perilune.finalizer.has(cluster, FINALIZER) then
      ask("DELETE", request.name)
      perilune.finalizer.remove(cluster, FINALIZER)
      client:update(cluster)
      return
    end
    if not perilune.live:get("example.com/v1/Cluster", request) then return end
    if not deleting and perilune.finalizer.add(cluster, FINALIZER) then client:update(cluster) end
    ask("PUT", request.name)
  end)
