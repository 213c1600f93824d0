-- reconcile: reads a site, lists its pages by owner, builds each page in its desired state and
-- compares. Nothing differs, so nothing is written.
local perilune = require("perilune")
local milestone = require("milestone")
local client, config = perilune.client, milestone.config

local kind, child = milestone.kinds.websites, "example.com/v1/Page"
local count = milestone.counter(config.count)

local function desired(site, number)
  return {
    apiVersion = "example.com/v1",
    kind = "Page",
    metadata = {
      name = site.metadata.name .. "-" .. number,
      namespace = site.metadata.namespace,
      labels = {
        ["app.kubernetes.io/managed-by"] = "perilune",
        site = site.metadata.name,
      },
    },
    spec = {
      domain = site.spec.domain,
      path = "/" .. number,
      replicas = site.spec.replicas,
    },
  }
end

local function differs(page, wanted)
  return not perilune.equal(page.metadata.labels, wanted.metadata.labels)
    or page.spec.domain ~= wanted.spec.domain
    or page.spec.path ~= wanted.spec.path
    or page.spec.replicas ~= wanted.spec.replicas
end

perilune.controller("bench", { max_concurrent_reconciles = config.workers })
  :For(kind)
  :Owns(child)
  :Reconcile(function(request, context)
    local site = client:get(kind, request)
    local pages = client:list(child, { namespace = request.namespace, owner = site })
    if #pages ~= 3 then
      error(("%s has %d pages"):format(request.key, #pages))
    end
    for i = 1, 3 do
      local page = pages[i]
      if differs(page, desired(site, page.spec.path:sub(2))) then
        error(request.key .. ": a page is not as it should be")
      end
    end
    count(context.log)
  end)
