-- A Website becomes a ConfigMap with its page, a Deployment that serves the page, and a Service.
-- Its host is added to the ConfigMap `website-directory`; a finalizer removes it there.
local perilune = require("perilune")
local client = perilune.client

local DIRECTORY = "website-directory"
local FINALIZER = "example.com/website-directory"

-- Adds the site's host to the directory; host = nil removes it. The directory is read from the
-- server: nothing wakes this controller when a cache that was behind shows it as it is.
local function set_directory_entry(site, host)
  local directory = {
    apiVersion = "v1",
    kind = "ConfigMap",
    metadata = { name = DIRECTORY, namespace = site.metadata.namespace },
  }
  perilune.live:create_or_update(directory, function(current)
    current.data = current.data or {}
    current.data[site.metadata.name] = host
  end)
end

local function apply_children(site)
  local values = {
    name = site.metadata.name,
    namespace = site.metadata.namespace,
    replicas = site.spec.replicas or 1,
    page = site.spec.page,
    -- A new page changes the pod template, which starts a rollout.
    page_hash = perilune.hash(site.spec.page),
  }
  local deployment
  for _, child in ipairs(perilune.manifests("children.yaml", values)) do
    local stored = client:apply(child, { owner = site })
    if stored.kind == "Deployment" then
      deployment = stored
    end
  end
  return deployment
end

local function report(site, deployment)
  local ready, message = perilune.rolled_out(deployment)
  site.status = site.status or {}
  site.status.host = site.spec.host
  site.status.readyReplicas = perilune.dig(deployment, "status", "readyReplicas") or 0
  perilune.conditions.set(site, {
    type = "Ready",
    status = ready,
    reason = ready and "RolledOut" or "Progressing",
    message = message,
  })
  client:update_status(site)
end

perilune.controller("website", { max_concurrent_reconciles = 4 })
  :For("example.com/v1/Website", { finalizers = { FINALIZER } })
  :Owns("apps/v1/Deployment")
  :Owns("v1/Service")
  :Owns("v1/ConfigMap")
  :Writes("v1/ConfigMap", { "create", "update" })
  :Reconcile(function(request, context)
    -- Read from the server: after a restart, the cache may still contain a deleted site. Nobody
    -- would remove the entry that is added for it.
    local website = perilune.live:get("example.com/v1/Website", request)
    return perilune.finalizer.handle(website, FINALIZER, {
      apply = function(site)
        set_directory_entry(site, site.spec.host)
        report(site, apply_children(site))
      end,
      cleanup = function(site)
        set_directory_entry(site, nil)
        context.log:info("removed from the directory", { host = site.spec.host })
      end,
    })
  end)
