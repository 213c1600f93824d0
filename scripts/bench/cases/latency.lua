-- latency: a change of spec.revision is answered with a patch of status.observedRevision.
local perilune = require("perilune")
local milestone = require("milestone")
local client, config = perilune.client, milestone.config

local kind = milestone.kinds.websites
local count = milestone.counter(config.count)

perilune.controller("bench", { max_concurrent_reconciles = config.workers })
  :For(kind, { writes = { "patch" } })
  :Reconcile(function(request, context)
    count(context.log)
    local site = client:get(kind, request)
    if site and site.spec.revision ~= site.status.observedRevision then
      client:patch_status(kind, request, { status = { observedRevision = site.spec.revision } })
    end
  end)
