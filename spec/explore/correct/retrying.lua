-- After a conflict the script reads again, and then updates the version that it has read.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("retrying", {})
  :For("example.com/v1/Cluster")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    for _ = 1, 5 do
      local _, e = perilune.try(function()
        local now = perilune.live:get("example.com/v1/Cluster", request)
        if not now or (now.metadata.annotations and now.metadata.annotations.size == tostring(now.spec.size)) then
          return
        end
        now.metadata.annotations = now.metadata.annotations or {}
        now.metadata.annotations.size = tostring(now.spec.size)
        client:update(now)
      end)
      if not e then return end
      if not perilune.errors.is_conflict(e) then error(e) end
    end
    return { requeue = true }
  end)
