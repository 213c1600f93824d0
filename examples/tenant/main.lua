-- Namespaces for teams. A Tenant becomes a namespace with a quota, a network policy that isolates
-- it, and rights for its members. The Tenant owns all of these objects, so they are deleted with
-- it.
local perilune = require("perilune")
local client = perilune.client

local function children(tenant)
  local name, spec = tenant.metadata.name, tenant.spec
  local subjects = perilune.array({})
  for _, member in ipairs(spec.members or {}) do
    subjects[#subjects + 1] = {
      apiGroup = "rbac.authorization.k8s.io", kind = "User", name = member,
    }
  end
  return perilune.manifests("children.yaml", {
    name = name, pods = tostring(spec.pods or 20), subjects = subjects,
  })
end

perilune.controller("tenant")
  :For("example.com/v1/Tenant")
  :Owns("v1/Namespace")
  :Owns("v1/ResourceQuota")
  :Owns("networking.k8s.io/v1/NetworkPolicy")
  :Owns("rbac.authorization.k8s.io/v1/RoleBinding")
  :Reconcile(function(request)
    -- Read from the server: after a restart, the cache may still contain a deleted Tenant of this
    -- name. Objects with that owner would be deleted again.
    local tenant = perilune.live:get("example.com/v1/Tenant", request)
    if not tenant or tenant.metadata.deletionTimestamp then
      return
    end
    local namespace
    for _, child in ipairs(children(tenant)) do
      local stored = client:apply(child, { owner = tenant })
      namespace = stored.kind == "Namespace" and stored or namespace
    end
    tenant.status = tenant.status or {}
    perilune.conditions.set(tenant, { type = "Ready", status = true, reason = "Provisioned",
      message = "namespace " .. namespace.metadata.name .. " is there" })
    client:update_status(tenant)
  end)
