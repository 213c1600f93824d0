-- The Deployment's annotation has the hash of the configuration that its pods were started with.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("reloader")
  :For("v1/ConfigMap")
  :Writes("apps/v1/Deployment", { "patch" })
  :Reconcile(function(request)
    local config = perilune.live:get("v1/ConfigMap", request)
    if not config or not perilune.live:get("apps/v1/Deployment", request) then return end
    client:patch("apps/v1/Deployment", request, { spec = { template = { metadata = { annotations = {
      config = perilune.hash(config.data or {}) } } } } })
  end)
