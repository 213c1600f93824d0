-- `perilune dev`: --simulate acts for the controllers of a cluster; --as-serviceaccount gives
-- scripts only the rights of their declarations.

local e2e = require("spec.support.e2e")

describe("perilune dev", function()
  local host

  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function dev(path, ...)
    host = e2e.start_host(nil, path, { ... }, { command = "dev" })
    return e2e.read_kubeconfig(e2e.eventually("a kubeconfig", function()
      return e2e.read_file(host.out_file):match("kubeconfig: (%S+)\n")
    end))
  end

  it("lets a website become ready with --simulate, as its own service account", function()
    local server = dev("examples/website", "--simulate", "--as-serviceaccount", "-f", "examples/website/sample.yaml")
    local path = "/apis/example.com/v1/namespaces/default/websites/blog"
    e2e.eventually("it is ready", function()
      local website = server:get(path) -- nil until the host has applied it
      local status = website and website.status
      return status and status.conditions and status.conditions[1].status == "True"
    end)
    assert.equal(2, server:get("/apis/apps/v1/namespaces/default/deployments/blog").status.readyReplicas)
    assert.equal("system:serviceaccount:default:website",
      host:logged("^the scripts run as a service account$").user)
    assert.same({}, host:complaints())
    host:stop()
  end)

  it("refuses as a cluster does what the scripts have not declared", function()
    local server = dev(e2e.write_file(e2e.folder() .. "/least.lua", [[
local perilune = require("perilune")
perilune.controller("least")
  :For("v1/ConfigMap")
  :Writes("v1/ServiceAccount", { "create" })
  :Reconcile(function(request)
    if request.name == "a" then
      perilune.client:create{ apiVersion = "v1", kind = "ServiceAccount",
        metadata = { name = "made", namespace = "default" } }
      local _, problem = pcall(perilune.live.list, perilune.live, "v1/Secret", { namespace = "default" })
      print("secrets: " .. tostring(problem))
    end
  end)
]]), "--as-serviceaccount")
    host:logged("^controller started$")
    server:create("/api/v1/namespaces/default/configmaps", { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "a" } })
    host:logged('^secrets: .*User "system:serviceaccount:default:least" cannot list resource "secrets"')
    assert.truthy(server:get("/api/v1/namespaces/default/serviceaccounts/made"))
    host:stop()
  end)

  it("says so and ends when the roles cannot be made", function()
    local code, _, err = e2e.run("dev", e2e.write_file(e2e.folder() .. "/lease.lua", [[
require("perilune").controller("lease"):For("v1/ConfigMap"):Reconcile(function() end)
]]), "--as-serviceaccount", "--namespace", "nowhere", "--metrics-bind-address", "0", "--health-probe-bind-address",
      "0", "--admin-socket", "0")
    assert.equal(1, code)
    local said = '--as-serviceaccount: Role perilune-dev-lease: namespaces "nowhere" not found'
    assert.truthy(err:find(said, 1, true), err)
  end)
end)
