-- A kind with two versions: defaulted, checked against another object, and converted.

local perilune = require("perilune")
local client = perilune.client

local V1, V2 = "hosting.example.com/v1/Site", "hosting.example.com/v2/Site"

local function replicas_of(object)
  if object.apiVersion:match("/v2$") then
    return perilune.dig(object, "spec", "scale", "replicas")
  end
  return object.spec.replicas
end

-- How many replicas the plan allows. The ConfigMap "plans" of the namespace has data such as {small
-- = "2", large = "10"}.
local function most(namespace, plan)
  local plans = client:get("v1/ConfigMap", { namespace = namespace, name = "plans" })
  return tonumber(perilune.dig(plans, "data", plan))
end

-- The API server sends objects in the version that is named here, whatever version the client used.
perilune.webhook.mutate(V1, function(object)
  object.spec.plan = object.spec.plan or "small"
  object.spec.replicas = object.spec.replicas or 1
end)

perilune.webhook.validate({ V1, V2 }, function(object)
  local plan, replicas = object.spec.plan, replicas_of(object)
  local limit = most(object.metadata.namespace, plan)
  if not limit then
    return perilune.webhook.invalid({ { field = "spec.plan",
      message = ("the ConfigMap \"plans\" has no plan %q"):format(plan) } })
  elseif replicas > limit then
    return ("plan %s allows %d replicas, not %d"):format(plan, limit, replicas)
  elseif replicas == limit then
    return nil, { ("that is all that plan %s allows"):format(plan) }
  end
end, { reads = { "v1/ConfigMap" } })

perilune.webhook.convert("hosting.example.com/Site", function(object, version)
  local spec = object.spec
  if version == "v2" then
    spec.scale = spec.scale or {}
    spec.scale.replicas, spec.replicas = spec.replicas, nil
  else
    spec.replicas, spec.scale = perilune.dig(spec, "scale", "replicas"), nil
  end
  return object
end)
