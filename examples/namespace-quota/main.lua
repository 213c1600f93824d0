-- Gives every namespace with a tier label the ResourceQuota of its tier.
local perilune = require("perilune")
local client = perilune.client

local TIER = "example.com/tier"

local tiers = {
  small = { pods = "10", ["requests.cpu"] = "2", ["requests.memory"] = "4Gi" },
  large = { pods = "100", ["requests.cpu"] = "20", ["requests.memory"] = "40Gi" },
}

perilune.controller("namespace-quota")
  :For("v1/Namespace")
  :Owns("v1/ResourceQuota")
  :Reconcile(function(request, context)
    local namespace = client:get("v1/Namespace", request)
    if not namespace or namespace.metadata.deletionTimestamp then
      return
    end
    local tier = perilune.dig(namespace, "metadata", "labels", TIER)
    local quota = { namespace = request.name, name = "tier" }
    if tier == nil then
      if client:get("v1/ResourceQuota", quota) then
        client:delete("v1/ResourceQuota", quota)
      end
    elseif not tiers[tier] then
      context.log:warn("there is no such tier", { tier = tier })
    else
      client:apply({
        apiVersion = "v1",
        kind = "ResourceQuota",
        metadata = quota,
        spec = { hard = tiers[tier] },
      }, { owner = namespace })
    end
  end)
