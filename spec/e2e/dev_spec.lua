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

  local maps = e2e.folder() .. "/" .. e2e.unique("maps") .. ".lua"

  -- The errors of a start with this manifest.
  local function refused(text)
    e2e.write_file(maps, 'require("perilune").controller("maps"):For("v1/ConfigMap"):Reconcile(function() end)\n')
    local path = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("bad") .. ".yaml", text)
    local code, _, err = e2e.run("dev", maps, "-f", path, "--once", "--metrics-bind-address", "0",
      "--health-probe-bind-address", "0", "--ui-bind-address", "0", "--admin-socket", "0")
    assert.equal(1, code)
    return err, path
  end

  it("applies the items of a list as kubectl does", function()
    local list = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("list") .. ".yaml", [[
apiVersion: v1
kind: List
metadata: {resourceVersion: ""}
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: one, namespace: default, resourceVersion: "1234", uid: 3f0c1f5e-1111-4222-8333-444455556666,
    creationTimestamp: "2020-01-01T00:00:00Z", generation: 7}
  data: {a: b}
- {apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap,
    metadata: {name: two, namespace: default}}]}
]])
    local server = dev(e2e.write_file(maps,
      'require("perilune").controller("maps"):For("v1/ConfigMap"):Reconcile(function() end)\n'), "-f", list)
    host:logged("^controller started$")
    local path = "/api/v1/namespaces/default/configmaps/"
    assert.same({ a = "b" }, server:get(path .. "one").data)
    assert.truthy(server:get(path .. "two"))
    host:stop()
  end)

  it("applies what has no namespace to default, as kubectl does, also of a kind that it applies", function()
    local crd = ("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, "
      .. "metadata: {name: bells.example.com}, spec: {group: example.com, scope: Namespaced, "
      .. "names: {kind: Bell, plural: bells}, versions: [{name: v1, served: true, storage: true, "
      .. "schema: {openAPIV3Schema: {type: object}}}]}}\n---\n")
    local file = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("bare") .. ".yaml", crd
      .. "{apiVersion: v1, kind: ConfigMap, metadata: {name: bare}}\n---\n"
      .. "{apiVersion: v1, kind: Namespace, metadata: {name: bare}}\n---\n"
      .. "{apiVersion: example.com/v1, kind: Bell, metadata: {name: bare}}\n")
    local server = dev(e2e.write_file(maps,
      'require("perilune").controller("maps"):For("v1/ConfigMap"):Reconcile(function() end)\n'), "-f", file)
    host:logged("^controller started$")
    host:logged(function(line) return line.msg == "applied" and line.key == "default/bare" end)
    assert.truthy(server:get("/api/v1/namespaces/default/configmaps/bare"))
    assert.truthy(server:get("/api/v1/namespaces/bare"))
    assert.truthy(server:get("/apis/example.com/v1/namespaces/default/bells/bare"))
    host:stop()
  end)

  it("says which document and item of a manifest is wrong", function()
    local good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n---\n"
    local err, path = refused(good .. "apiVersion: v1\nkind: List\n")
    assert.truthy(err:find(path .. ": document 2: List needs items, an array of objects", 1, true), err)
    err, path = refused(good .. "{apiVersion: v1, kind: List, items: [5]}\n")
    assert.truthy(err:find(path .. ": document 2: items[1] must be an object", 1, true), err)
    err, path = refused(good .. "{apiVersion: v1, kind: ConfigMap, metadata: {name: UPPER, namespace: default}}\n")
    assert.truthy(err:find(path .. ': document 2: ConfigMap "UPPER" is invalid', 1, true), err)
    err, path = refused("{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap}]}\n")
    assert.truthy(err:find(path .. ": items[1]: the object has no metadata.name", 1, true), err)
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
