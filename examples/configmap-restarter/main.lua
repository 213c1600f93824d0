-- Restarts Deployments when a ConfigMap that they name changes:
--
--   metadata.annotations["example.com/restart-on"]: "settings,feature-flags"
local perilune = require("perilune")
local client = perilune.client

local NAMES = "example.com/restart-on"
local HASH = "example.com/config-hash"

local function names_of(deployment)
  local names = {}
  local text = perilune.dig(deployment, "metadata", "annotations", NAMES) or ""
  for name in text:gmatch("[^,%s]+") do
    names[#names + 1] = name
  end
  return names
end

perilune.index("apps/v1/Deployment", "restart-on", names_of)

perilune.controller("configmap-restarter")
  :For("apps/v1/Deployment", { writes = { "patch" } })
  :Watches("v1/ConfigMap", function(config)
    return client:list("apps/v1/Deployment", {
      namespace = config.metadata.namespace,
      index = { name = "restart-on", value = config.metadata.name },
    })
  end)
  :Reconcile(function(request, context)
    local deployment = client:get("apps/v1/Deployment", request)
    local names = names_of(deployment)
    if #names == 0 then
      return
    end
    local contents = perilune.array({})
    for i, name in ipairs(names) do
      local config = client:get("v1/ConfigMap", { namespace = request.namespace, name = name })
      contents[i] = config and { config.data or {}, config.binaryData or {} } or perilune.null
    end
    local hash = perilune.hash(contents)
    if perilune.dig(deployment, "spec", "template", "metadata", "annotations", HASH) ~= hash then
      client:patch(deployment, {
        spec = { template = { metadata = { annotations = { [HASH] = hash } } } },
      })
      context.log:info("restarted", { because_of = table.concat(names, ",") })
    end
  end)
