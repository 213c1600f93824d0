-- A validating and a mutating webhook of websites. See scripts/bench/README.md.
local perilune = require("perilune")

perilune.webhook.validate("example.com/v1/Website", function(object)
  if object.spec.replicas and object.spec.replicas > 10 then return "spec.replicas: at most 10" end
end)

perilune.webhook.mutate("example.com/v1/Website", function(object)
  object.spec.replicas = object.spec.replicas or 1
  object.metadata.labels = object.metadata.labels or {}
  object.metadata.labels.bench = "yes"
end)
