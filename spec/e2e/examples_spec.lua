-- Every example does what its README says, on both servers.

local e2e = require("spec.support.e2e")

local function names(list)
  local out = {}
  for i, item in ipairs(list.items) do
    out[i] = item.metadata.name
  end
  table.sort(out)
  return table.concat(out, ",")
end

describe("the example", function()
  local server, namespace, host

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function path(version, plural, name)
    return e2e.path(version, namespace, plural, name)
  end

  local function appears(what)
    return e2e.eventually(what, function()
      return server:get(what)
    end)
  end

  it("hello greets the ConfigMaps that ask for it", function()
    host = e2e.start_host(server, "examples/hello")
    server:apply_yaml(e2e.read_file("examples/hello/manifests/sample.yaml"), namespace)
    host:logged("hello, world!")
    server:patch(path("v1", "configmaps", "world"), { data = { greeting = "good evening" } })
    host:logged("good evening, world!")
    host:stop()
  end)

  it("website makes children, reports, and cleans up", function()
    server:apply_crd(e2e.read_file("examples/website/manifests/crd.yaml"))
    host = e2e.start_host(server, "examples/website")
    server:apply_yaml(e2e.read_file("examples/website/sample.yaml"), namespace)

    local deployment = appears(path("apps/v1", "deployments", "blog"))
    assert.equal(2, deployment.spec.replicas)
    assert.equal("Website", deployment.metadata.ownerReferences[1].kind)
    assert.is_true(deployment.metadata.ownerReferences[1].controller)
    appears(path("v1", "services", "blog"))
    assert(appears(path("v1", "configmaps", "blog")).data["index.html"]:find("far side", 1, true))
    local sites = "example.com/v1"
    local site = e2e.eventually("the status", function()
      local now = server:get(path(sites, "websites", "blog"))
      return now.status and now.status.conditions and now
    end)
    assert.equal("Ready", site.status.conditions[1].type)
    assert.equal("False", site.status.conditions[1].status)
    assert.equal("example.com/website-directory", site.metadata.finalizers[1])
    assert.equal("blog.example.com",
      appears(path("v1", "configmaps", "website-directory")).data.blog)

    -- A child that someone deletes comes back; a change of the site reaches the children.
    server:delete(path("v1", "services", "blog"))
    appears(path("v1", "services", "blog"))
    server:patch(path(sites, "websites", "blog"), { spec = { replicas = 5 } })
    e2e.eventually("the Deployment has 5 replicas", function()
      return server:get(path("apps/v1", "deployments", "blog")).spec.replicas == 5
    end)

    if not e2e.is_kube then -- there the Deployment controller writes the status itself
      local generation = server:get(path("apps/v1", "deployments", "blog")).metadata.generation
      server:patch(path("apps/v1", "deployments", "blog") .. "/status", { status = {
        observedGeneration = generation, replicas = 5, updatedReplicas = 5, readyReplicas = 5,
        availableReplicas = 5 } })
      e2e.eventually("the site is ready", function()
        local now = server:get(path(sites, "websites", "blog"))
        return now.status.conditions[1].status == "True"
      end)
    end

    server:delete(path(sites, "websites", "blog"))
    e2e.eventually("the site and its children are gone", function()
      return not server:get(path(sites, "websites", "blog"))
        and not server:get(path("apps/v1", "deployments", "blog"))
        and not server:get(path("v1", "services", "blog"))
        and not server:get(path("v1", "configmaps", "blog"))
    end, 60) -- kube's garbage collector looks for new kinds every 30 s
    local directory = server:get(path("v1", "configmaps", "website-directory"))
    assert.is_nil((directory.data or {}).blog)
    host:stop()
  end)

  it("configmap-restarter rolls the Deployments that name a ConfigMap", function()
    -- Created before the host starts: its two watches have no order, and a Deployment whose
    -- ConfigMap is not seen yet gets another hash.
    server:apply_yaml(e2e.read_file("examples/configmap-restarter/manifests/sample.yaml"), namespace)
    host = e2e.start_host(server, "examples/configmap-restarter")
    local function hash()
      local deployment = server:get(path("apps/v1", "deployments", "web"))
      return (deployment.spec.template.metadata.annotations or {})["example.com/config-hash"]
    end
    local first = e2e.eventually("a hash", hash)
    server:patch(path("v1", "configmaps", "settings"), { data = { colour = "red" } })
    local second = e2e.eventually("another hash", function()
      local now = hash()
      return now ~= first and now
    end)
    server:patch(path("v1", "configmaps", "settings"), { data = { colour = "blue" } })
    e2e.eventually("the first hash for the first contents", function()
      local now = hash()
      return now ~= second and now == first
    end)
    host:stop()
  end)

  it("namespace-quota gives each tier its quota", function()
    host = e2e.start_host(server, "examples/namespace-quota")
    server:patch("/api/v1/namespaces/" .. namespace,
      { metadata = { labels = { ["example.com/tier"] = "small" } } })
    local quota = appears(path("v1", "resourcequotas", "tier"))
    assert.equal("10", quota.spec.hard.pods)
    assert.equal("Namespace", quota.metadata.ownerReferences[1].kind)
    server:delete(path("v1", "resourcequotas", "tier"))
    e2e.eventually("the quota comes back", function()
      local now = server:get(path("v1", "resourcequotas", "tier"))
      return now and now.metadata.uid ~= quota.metadata.uid
    end)
    server:patch("/api/v1/namespaces/" .. namespace,
      { metadata = { labels = { ["example.com/tier"] = "large" } } })
    e2e.eventually("the large quota", function()
      return server:get(path("v1", "resourcequotas", "tier")).spec.hard.pods == "100"
    end)
    server:patch("/api/v1/namespaces/" .. namespace,
      { metadata = { labels = { ["example.com/tier"] = e2e.null } } })
    e2e.eventually("the quota is gone", function()
      return names(server:get(path("v1", "resourcequotas"))) == ""
    end)
    host:stop()
  end)
end)
