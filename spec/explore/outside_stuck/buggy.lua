-- Not from a public issue. The finalizer deletes a bucket outside of the cluster. If the bucket is
-- gone already, because a crash came after the deletion, the answer is 404. The script treats it as
-- a failure, so the finalizer stays for ever.
local perilune = require("perilune")
local BUCKETS = "https://buckets.example.com/buckets/"

local function ask(method, name)
  local answer = perilune.http.request({ method = method, url = BUCKETS .. name, json = { of = name } })
  if answer.status >= 300 then error(method .. " of the bucket is answered " .. answer.status) end
end

perilune.controller("cluster")
  :For("example.com/v1/Cluster")
  :Reconcile(function(request)
    local cluster = perilune.client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    return perilune.finalizer.handle(cluster, "example.com/bucket", {
      apply = function() ask("PUT", request.name) end,
      cleanup = function() ask("DELETE", request.name) end,
    })
  end)
