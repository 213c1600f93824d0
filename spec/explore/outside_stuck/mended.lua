-- 404 means that the bucket is gone, which is the goal. A bucket is made only if the server still
-- has the object, because a stale cache may show a deleted one.
local perilune = require("perilune")
local BUCKETS = "https://buckets.example.com/buckets/"

local function ask(method, name)
  local answer = perilune.http.request({ method = method, url = BUCKETS .. name, json = { of = name } })
  if method == "DELETE" and answer.status == 404 then return end
  if answer.status >= 300 then error(method .. " of the bucket is answered " .. answer.status) end
end

perilune.controller("cluster")
  :For("example.com/v1/Cluster")
  :Reconcile(function(request)
    local cluster = perilune.client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    return perilune.finalizer.handle(cluster, "example.com/bucket", {
      apply = function()
        local now = perilune.live:get("example.com/v1/Cluster", request)
        if now and not now.metadata.deletionTimestamp then ask("PUT", request.name) end
      end,
      cleanup = function() ask("DELETE", request.name) end,
    })
  end)
