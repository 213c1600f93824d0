-- examples/webhook does what its README says, on an existing server and with `perilune dev`.

local e2e = require("spec.support.e2e")
local held_ports = require("spec.support.held_ports")

local SITES = "/apis/hosting.example.com/%s/namespaces/%s/sites"

describe("the example webhook", function()
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function create(server, namespace, name, spec, version)
    version = version or "v1"
    return server:request("POST", SITES:format(version, namespace), { kind = "Site",
      apiVersion = "hosting.example.com/" .. version, metadata = { name = name }, spec = spec })
  end

  local function check(server, namespace)
    e2e.eventually("sites are defaulted, and converted", function()
      local name = e2e.unique("site")
      local status, answer = create(server, namespace, name, { replicas = 1 })
      return status == 201 and answer.spec.plan == "small"
        and server:request("GET", SITES:format("v2", namespace) .. "/" .. name) == 200,
        type(answer) == "table" and answer.message or status
    end)
    local status, answer = create(server, namespace, "blog", { plan = "large", scale = { replicas = 3 } }, "v2")
    assert.equal(201, status, type(answer) == "table" and answer.message)
    assert.equal(3, server:get(SITES:format("v1", namespace) .. "/blog").spec.replicas)
    status, answer = create(server, namespace, "many", { plan = "small", replicas = 3 })
    assert.equal(403, status)
    assert.truthy(answer.message:find("plan small allows 2 replicas, not 3", 1, true), answer.message)
    status, answer = create(server, namespace, "odd", { plan = "none", replicas = 1 })
    assert.equal(422, status)
    assert.equal("spec.plan", answer.details.causes[1].field)
    status = server:request("PATCH", SITES:format("v2", namespace) .. "/blog",
      { spec = { scale = { replicas = 11 } } }, "application/merge-patch+json")
    assert.equal(403, status)
  end

  it("runs on a server that is there", function()
    local server, address = e2e.server(), held_ports.address()
    local namespace = server:new_namespace()
    server:apply_crd(e2e.read_file("examples/webhook/manifests/crd.yaml"))
    server:apply_yaml(e2e.read_file("examples/webhook/manifests/plans.yaml"), namespace)
    local host = e2e.start_host(server, "examples/webhook", { "--webhook-bind-address", address,
      "--webhook-url", "https://" .. address, "--leader-elect-resource-name", e2e.unique("example") })
    check(server, namespace)
    host:stop(0)
  end)

  it("needs nothing else with perilune dev", function()
    local host = e2e.start_host(nil, "examples/webhook", { "--webhook-bind-address", "127.0.0.1:0" },
      { command = "dev" })
    local kubeconfig = e2e.eventually("its kubeconfig", function()
      host:must_run()
      return e2e.read_file(host.out_file):match("kubeconfig: (%S+)")
    end)
    check(e2e.read_kubeconfig(kubeconfig), "default")
    host:stop(0)
  end)

  it("is a Service for the API server of perilune dev", function()
    local host = e2e.start_host(nil, "examples/webhook", { "--webhook-bind-address", "127.0.0.1:0",
      "--webhook-service", "web/hooks:8443" }, { command = "dev" })
    local kubeconfig = e2e.eventually("its kubeconfig", function()
      host:must_run()
      return e2e.read_file(host.out_file):match("kubeconfig: (%S+)")
    end)
    local server = e2e.read_kubeconfig(kubeconfig)
    check(server, "default")
    local list = server:get("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations").items
    assert.same({ namespace = "web", name = "hooks", port = 8443, path = "/validate-hosting-example-com-v1-site" },
      list[1].webhooks[1].clientConfig.service)
    host:stop(0)
  end)
end)
