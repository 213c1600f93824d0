-- Port of stakater/Reloader#299. The controller keeps in memory which configuration it has seen. After a
-- restart it takes each ConfigMap for a new one, and restarts every Deployment that uses it.
local perilune = require("perilune")
local client = perilune.client
local seen = {}

perilune.controller("reloader")
  :For("v1/ConfigMap")
  :Writes("apps/v1/Deployment", { "patch" })
  :Reconcile(function(request)
    local config = client:get("v1/ConfigMap", request)
    local hash = config and perilune.hash(config.data or {})
    if not config or seen[request.key] == hash then return end
    if perilune.live:get("apps/v1/Deployment", request) then
      client:patch("apps/v1/Deployment", request, { spec = { template = { metadata = { annotations = {
        restartedAt = perilune.time.format(perilune.time.now()) } } } } })
    end
    seen[request.key] = hash
  end)
