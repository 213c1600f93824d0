-- sync, reconciled, memory, scale, idle: caches a kind; a reconcile reads three fields.
local perilune = require("perilune")
local milestone = require("milestone")
local client, config = perilune.client, milestone.config

local kind = assert(milestone.kinds[config.kind], "kind: pods or websites")
local count = milestone.counter(config.count)

perilune.controller("bench", { max_concurrent_reconciles = config.workers })
  :For(kind, { metadata_only = config.metadata or nil })
  :Reconcile(function(request, context)
    local object = client:get(kind, request, config.metadata and { metadata_only = true } or nil)
    if object then
      local metadata = object.metadata
      assert(metadata.name and metadata.resourceVersion and metadata.uid)
    end
    count(context.log)
  end)
