-- Kinds that come and go: a CRD is deleted and created again under a live watch or served in other
-- versions, and the discovery of a group fails. Other kinds are not affected.

local e2e = require("spec.support.e2e")
local proxies = require("spec.support.proxy")

local crd = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.GROUP
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions:
    - name: VERSION
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          x-kubernetes-preserve-unknown-fields: true
]]

local script = [[
local perilune = require("perilune")
local function tell(event)
  print(event.type:lower() .. (event.stale and " stale " or " ") .. event.object.metadata.name)
  return true
end
perilune.controller("gadgets", { rate_limiter = { base = "50ms", max = "1s" } })
  :For("GROUP/v1/Gadget", { predicates = { tell } })
  :Reconcile(function(request, context)
    context.log:info("gadget " .. request.name .. " reconciled")
  end)
perilune.controller("maps")
  :For("v1/ConfigMap", { labels = "mirror=yes" })
  :Reconcile(function(request, context)
    context.log:info("map " .. request.name .. " reconciled")
  end)
]]

describe("a kind", function()
  local server, namespace, proxy, host, group

  local function start()
    host = e2e.start_host(proxy, (script:gsub("GROUP", group)), { "--namespace", namespace })
  end

  local function install(version)
    server:apply_crd((crd:gsub("GROUP", group):gsub("VERSION", version)))
  end

  local function uninstall()
    local path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets." .. group
    server:delete(path)
    e2e.eventually("the CRD is gone", function()
      return server:request("GET", path) == 404
    end)
  end

  local function create(name)
    server:create("/apis/" .. group .. "/v1/namespaces/" .. namespace .. "/gadgets",
      { apiVersion = group .. "/v1", kind = "Gadget", metadata = { name = name } })
  end

  local function create_map(name)
    server:create("/api/v1/namespaces/" .. namespace .. "/configmaps", { apiVersion = "v1",
      kind = "ConfigMap", metadata = { name = name, labels = { mirror = "yes" } } })
    host:logged("map " .. name .. " reconciled")
  end

  before_each(function()
    server = e2e.server()
    group = e2e.unique("g") .. ".example.com"
    namespace = server:new_namespace()
    proxy = proxies.start(server)
  end)
  after_each(function()
    e2e.clean_up()
    proxy:stop()
  end)
  teardown(e2e.finish)

  it("that is deleted and made anew takes its objects along and comes back (F43)", function()
    install("v1")
    create("first")
    start()
    host:logged("gadget first reconciled")
    uninstall()
    host:logged("^deleted.* first")
    create_map("meanwhile")
    install("v2") -- the same kind, but not in the version that is watched
    uninstall()
    install("v1")
    create("second")
    host:logged("gadget second reconciled")
    uninstall()
    host:logged("^deleted.* second")
    install("v1")
    create("third")
    host:logged("gadget third reconciled")
    assert.equal(1, host:count_logged("^added first$"))
    assert.equal(1, host:count_logged("^deleted.* first$"))
    -- One line each time the kind disappears, and none for retries.
    local said = {}
    for _, line in ipairs(host:complaints()) do
      if tostring(line.source):find("Gadget", 1, true) then
        said[#said + 1] = line.msg .. ": " .. tostring(line.error)
      end
    end
    assert.is_true(#said <= 4, table.concat(said, "\n"))
    host:stop()
  end)

  it("whose group fails in discovery holds up its own controller alone", function()
    install("v1")
    create("waiting")
    proxy:add({ { name = "broken", path = "^/apis/" .. group:gsub("%.", "\\.") .. "/v1$", times = 0,
      status = 503, body = "service unavailable" } })
    local mark = proxy:mark()
    start()
    host:logged(function(line)
      return line.level == "warn" and tostring(line.error):find(group, 1, true)
    end)
    create_map("one")
    -- It is asked again and again, and logged once.
    e2e.eventually("it was asked three times", function()
      return #proxy:requests("/apis/" .. group .. "/v1", mark) >= 3
    end)
    assert.equal(0, host:count_logged("gadget"))
    local told = 0
    for _, line in ipairs(host:complaints()) do
      told = told + (tostring(line.error):find(group, 1, true) and 1 or 0)
    end
    assert.equal(1, told)
    create_map("two")
    proxy:clear("broken")
    host:logged("gadget waiting reconciled")
    host:stop()
  end)
end)
