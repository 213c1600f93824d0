-- `perilune uninstall` removes, in order, everything that the host has added to a cluster, and
-- nothing of others.

local e2e = require("spec.support.e2e")
local proxies = require("spec.support.proxy")

describe("perilune uninstall", function()
  local server, namespace, folder

  setup(function() server = e2e.server() end)
  before_each(function()
    namespace = server:new_namespace()
    folder = e2e.folder() .. "/" .. e2e.unique("u")
    os.execute("mkdir " .. folder)
    e2e.write_file(folder .. "/main.lua", [[
local perilune = require("perilune")
perilune.controller("keeper")
  :For("v1/ConfigMap", { finalizers = { "example.com/kept" } })
  :Reconcile(function(request, context)
    local map = perilune.client:get("v1/ConfigMap", request)
    return perilune.finalizer.handle(map, "example.com/kept", {
      apply = function() context.log:info("kept") end, cleanup = function() end })
  end)
]])
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function uninstall(...)
    return e2e.run("uninstall", folder, "--kubeconfig", server.kubeconfig, "-n", namespace,
      "--leader-elect-resource-namespace", namespace, ...)
  end

  local function maps(name)
    return "/api/v1/namespaces/" .. namespace .. "/configmaps/" .. name
  end

  local function lease()
    return server:get("/apis/coordination.k8s.io/v1/namespaces/" .. namespace .. "/leases/perilune-keeper")
  end

  local function start()
    return e2e.start_host(server, folder, { "--namespace", namespace, "--leader-elect",
      "--leader-elect-resource-namespace", namespace })
  end

  it("refuses while a host holds the Lease, and takes everything back afterwards", function()
    server:create("/api/v1/namespaces/" .. namespace .. "/configmaps",
      { metadata = { name = "a", finalizers = { "other.com/theirs" } }, data = { x = "1" } })
    local host = start()
    host:logged("^kept$")
    e2e.eventually("the finalizer is there", function()
      return #(server:get(maps("a")).metadata.finalizers or {}) == 2
    end)
    local holder = lease().spec.holderIdentity
    local code, out, err = uninstall()
    assert.equal(1, code)
    assert.equal("", out)
    assert(err:find(holder, 1, true) and err:find("--force", 1, true), err)
    code, out, err = uninstall("--dry-run")
    assert.equal(0, code, err)
    assert(err:find(holder, 1, true), err)
    assert(out:find("would remove the finalizers of ConfigMap " .. namespace .. "/a", 1, true), out)
    assert(out:find("would delete Lease " .. namespace .. "/perilune-keeper", 1, true), out)
    assert.equal(2, #server:get(maps("a")).metadata.finalizers)
    host:stop()

    code, out, err = uninstall()
    assert.equal(0, code, err)
    assert(out:find("remove the finalizers of ConfigMap " .. namespace .. "/a\n", 1, true), out)
    local map = server:get(maps("a"))
    assert.same({ "other.com/theirs" }, map.metadata.finalizers)
    assert.equal("1", map.data.x)
    assert.is_nil(lease())
    code, out = uninstall()
    assert.equal(0, code)
    assert.equal("nothing is left to remove\n", out)
    server:patch(maps("a"), { metadata = { finalizers = e2e.null } })
  end)

  it("looks for the Lease in all namespaces if its own is not given", function()
    local function without_namespace(...)
      return e2e.run("uninstall", folder, "--kubeconfig", server.kubeconfig, "-n", namespace, ...)
    end
    local host = start()
    host:logged("controller started")
    local code, out, err = without_namespace()
    assert.equal(1, code)
    assert.equal("", out)
    assert(err:find("the Lease " .. namespace .. "/perilune-keeper is held by ", 1, true), err)
    assert(err:find("say with --leader-elect-resource-namespace where", 1, true), err)
    code, out, err = without_namespace("--dry-run")
    assert.equal(0, code, out .. err)
    assert(err:find("a host still runs", 1, true), err)
    host:stop()
    code, out, err = without_namespace()
    assert.equal(0, code, out .. err)
    assert(err:find("Leases are not removed", 1, true), err)
    assert.is_truthy(lease())
    assert.equal(0, (uninstall()))
    assert.is_nil(lease())
  end)

  it("says that it cannot know whether a host runs if it may not look for its Lease", function()
    local proxy = proxies.start(server)
    proxy:add({ { name = "leases", path = "/apis/coordination.k8s.io/v1/leases", status = 403, times = 0,
      body = proxies.status(403, "Forbidden", "leases are forbidden") } })
    local code, _, err = e2e.run("uninstall", folder, "--kubeconfig", proxy.kubeconfig, "-n", namespace)
    proxy.child:signal("KILL")
    proxy.child:wait()
    assert.equal(0, code, err)
    assert(err:find("whether a host still runs is unknown: ", 1, true), err)
    assert(err:find("leases are forbidden", 1, true), err)
  end)

  it("goes on with --force though the Lease is held", function()
    local host = start()
    host:logged("controller started")
    host.child:signal("STOP")
    local code, _, err = uninstall("--force")
    assert.equal(0, code, err)
    assert(err:find("a host still runs", 1, true), err)
    assert.is_nil(lease())
    host.child:signal("KILL")
    host.child:wait(10)
  end)

  it("lets an object go that waits for the finalizer alone", function()
    server:create("/api/v1/namespaces/" .. namespace .. "/configmaps",
      { metadata = { name = "b", finalizers = { "example.com/kept" } } })
    server:delete(maps("b"))
    assert.is_truthy(server:get(maps("b")))
    local code, _, err = uninstall()
    assert.equal(0, code, err)
    assert.is_nil(server:get(maps("b")))
  end)

  it("takes registrations, its own Secret and the conversion back", function()
    local group = e2e.unique("g"):gsub("%-", "") .. ".example.com"
    e2e.write_file(folder .. "/main.lua", e2e.read_file(folder .. "/main.lua") .. ([[
perilune.webhook.convert("%s/Thing", function(object) return object end)
]]):format(group))
    local function version(name, storage)
      return { name = name, served = true, storage = storage,
        schema = { openAPIV3Schema = { type = "object" } } }
    end
    local crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    server:create(crd, { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
      metadata = { name = "things." .. group }, spec = { group = group, scope = "Namespaced",
        names = { kind = "Thing", plural = "things", singular = "thing", listKind = "ThingList" },
        versions = { version("v1", true), version("v2", false) },
        conversion = { strategy = "Webhook", webhook = { conversionReviewVersions = { "v1" },
          clientConfig = { url = "https://127.0.0.1:1/convert" } } } } })
    local hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    server:create(hooks, { metadata = { name = "perilune-keeper" } })
    local secrets = "/api/v1/namespaces/" .. namespace .. "/secrets"
    local data = { ["tls.crt"] = "YQ==", ["tls.key"] = "YQ==", ["ca.crt"] = "YQ==", ["ca.key"] = "YQ==" }
    server:create(secrets, { metadata = { name = "perilune-webhook" }, data = data })
    e2e.eventually("the CRD is there", function()
      local now = server:get(crd .. "/things." .. group)
      return now.status and now.status.storedVersions and #now.status.storedVersions == 1
    end)
    local code, out, err = uninstall()
    assert.equal(0, code, err)
    assert(out:find("delete ValidatingWebhookConfiguration perilune-keeper", 1, true), out)
    assert.is_nil(server:get(hooks .. "/perilune-keeper"))
    assert.is_nil(server:get(secrets .. "/perilune-webhook"))
    assert.equal("None", server:get(crd .. "/things." .. group).spec.conversion.strategy)
    data["mine"] = "YQ=="
    server:create(secrets, { metadata = { name = "perilune-webhook" }, data = data })
    code, out, err = uninstall()
    assert.equal(0, code, out)
    assert(err:find("it is kept", 1, true), err)
    server:delete(crd .. "/things." .. group)
  end)

  -- Two ways to write a cleanup; the third object has only a finalizer of another owner. The tasks
  -- and the other controller must not run.
  local leaver = [[
local perilune = require("perilune")
local client = perilune.client
local function trace(word, map)
  client:create({ apiVersion = "v1", kind = "Secret", metadata = { namespace = map.metadata.namespace,
    name = word .. "-" .. map.metadata.name } })
end
perilune.controller("keeper")
  :For("v1/ConfigMap", { finalizers = { "example.com/kept" } })
  :Writes("v1/Secret", { "create" })
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if not map or map.metadata.name == "kube-root-ca.crt" then return end
    if map.metadata.name == "by-hand" then
      if not map.metadata.deletionTimestamp then return trace("applied", map) end
      trace("cleaned", map)
      perilune.finalizer.remove(map, "example.com/kept")
      return nil, client:update(map) and nil
    end
    return perilune.finalizer.handle(map, "example.com/kept", {
      apply = function() trace("applied", map) end,
      cleanup = function()
        if map.data and map.data.fail then error("the door is stuck") end
        trace("cleaned", map)
      end })
  end)
perilune.controller("other"):For("v1/ConfigMap"):Writes("v1/Secret", { "create" }):Reconcile(function(request)
  trace("other", client:get("v1/ConfigMap", request))
end)
perilune.every("1s", { immediate = true, writes = { ["v1/Secret"] = { "create" } } }, function()
  trace("task", { metadata = { name = "a", namespace = NAMESPACE } })
end)
]]

  local function secrets()
    local names = {}
    for _, secret in ipairs(server:get("/api/v1/namespaces/" .. namespace .. "/secrets").items) do
      names[#names + 1] = secret.metadata.name
    end
    table.sort(names)
    return names
  end

  it("runs the cleanup of each object that has a finalizer, and nothing else", function()
    e2e.write_file(folder .. "/main.lua", (leaver:gsub("NAMESPACE", string.format("%q", namespace))))
    local finalizers = { "other.com/theirs", "example.com/kept" }
    for name, fields in pairs({ good = {}, ["by-hand"] = {}, bad = { fail = "yes" } }) do
      server:create("/api/v1/namespaces/" .. namespace .. "/configmaps",
        { metadata = { name = name, finalizers = finalizers }, data = fields })
    end
    server:create("/api/v1/namespaces/" .. namespace .. "/configmaps",
      { metadata = { name = "theirs", finalizers = { "other.com/theirs" } } })
    local code, out, err = uninstall("--cleanup", "--dry-run")
    assert.equal(0, code, err)
    assert(out:find("would run the cleanup of ConfigMap " .. namespace .. "/good\n", 1, true), out)
    assert.is_nil(out:find("theirs", 1, true))
    assert.same({}, secrets())

    code, out, err = uninstall("--cleanup", "--yes")
    assert.equal(1, code, err)
    assert(out:find("run the cleanup of ConfigMap " .. namespace .. "/good\n", 1, true), out)
    assert(err:find("the door is stuck", 1, true), err)
    assert(err:find("ConfigMap " .. namespace .. "/bad keeps its finalizers", 1, true), err)
    assert.same({ "cleaned-by-hand", "cleaned-good" }, secrets())
    for name, left in pairs({ good = 1, ["by-hand"] = 1, bad = 2, theirs = 1 }) do
      local metadata = server:get(maps(name)).metadata
      assert.equal(left, #metadata.finalizers, name)
      assert.is_nil(metadata.deletionTimestamp)
    end

    server:patch(maps("bad"), { data = { fail = e2e.null } })
    code, out, err = uninstall("--cleanup", "--yes")
    assert.equal(0, code, err)
    assert(out:find("run the cleanup of ConfigMap " .. namespace .. "/bad\n", 1, true), out)
    assert.same({ "cleaned-bad", "cleaned-by-hand", "cleaned-good" }, secrets())
    assert.equal(0, (uninstall("--cleanup", "--yes")))
    for _, name in ipairs({ "good", "by-hand", "bad", "theirs" }) do
      server:patch(maps(name), { metadata = { finalizers = e2e.null } })
    end
  end)

  it("says what is wrong", function()
    local code, _, err = e2e.run("uninstall", folder, "--server", "http://127.0.0.1:1",
      "--leader-elect-resource-namespace", "x")
    assert.equal(1, code)
    assert(err:find("127.0.0.1:1", 1, true), err)
    code, _, err = uninstall("--cleanup")
    assert.equal(2, code)
    assert(err:find("confirm it with --yes", 1, true), err)
  end)
end)
