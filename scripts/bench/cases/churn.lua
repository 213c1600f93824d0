-- churn: reconciles that only read one field; for the sentinel object, they write.
local perilune = require("perilune")
local milestone = require("milestone")
local client, config = perilune.client, milestone.config

local kind = milestone.kinds.websites
local count = milestone.counter(config.count)

perilune.controller("bench", { max_concurrent_reconciles = config.workers })
  :For(kind, { writes = { "patch" } })
  :Reconcile(function(request, context)
    local site = client:get(kind, request)
    local seen = count(context.log)
    if site and site.spec.revision == milestone.sentinel then
      milestone.say(context.log, "sentinel", { reconciles = seen - config.count })
      client:patch_status(kind, request, { status = { observedRevision = milestone.sentinel } })
    end
  end)
