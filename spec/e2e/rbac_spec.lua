-- `perilune rbac`: its output for the declarations of scripts, word by word, and the additions from
-- a running host.

local e2e = require("spec.support.e2e")

describe("perilune rbac", function()
  local folder, server, host

  setup(function() server = e2e.server() end)
  before_each(function()
    folder = e2e.folder() .. "/" .. e2e.unique("rbac")
    os.execute("mkdir " .. folder)
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function rbac(script, ...)
    e2e.write_file(folder .. "/main.lua", script)
    local code, out, err = e2e.run("rbac", folder, ...)
    assert.equal(0, code, err)
    return (out:gsub(folder:gsub("%p", "%%%0") .. "/", ""))
  end

  -- Rules as "ROLE/NAMESPACE group/resource[names]: verbs".
  local function rules(text)
    local out = {}
    for document in (text .. "\n---\n"):gmatch("(.-)\n%-%-%-\n") do
      local role = document:match("kind: (%S+)") .. (document:match("\n  namespace: (%S+)") or "")
      for rule in (document .. "\n"):gmatch("  %- apiGroups: (.-verbs: %b[])") do
        local names = rule:match("resourceNames: %[(.-)%]")
        out[#out + 1] = role .. " " .. rule:match('%["(.-)"%]') .. "/" .. rule:match('resources: %["(.-)"%]')
          .. (names and "(" .. names:gsub('"', "") .. ")" or "") .. ": "
          .. rule:match("verbs: %[(.-)%]"):gsub('[",]', "")
      end
    end
    return table.concat(out, "\n")
  end

  it("prints the least roles, with the place that needs each rule", function()
    local text = rbac([[
local perilune = require("perilune")
perilune.controller("site")
  :For("example.com/v1/Site", { finalizers = { "example.com/x" } })
  :Owns("apps/v1/Deployment")
  :Reads("v1/Secret")
  :Writes("v1/Service", { "create", "delete" })
  :Reconcile(function() end)
]])
    assert.equal([[
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: site
rules:
  # CAREFUL: it reads the Secrets of every namespace
  # main.lua:5: Reads v1/Secret
  - apiGroups: [""]
    resources: ["secrets"]
    verbs: ["get", "list", "watch"]
  # main.lua:6: Writes v1/Service
  - apiGroups: [""]
    resources: ["services"]
    verbs: ["create", "delete"]
]], text:match("^.-verbs.-verbs[^\n]*\n"))
    assert.equal([[
ClusterRole /secrets: get list watch
ClusterRole /services: create delete
ClusterRole apps/deployments: get list watch create update patch delete
ClusterRole example.com/sites: get list watch update patch
ClusterRole example.com/sites/finalizers: update
ClusterRole example.com/sites/status: update patch]], rules(text))
  end)

  it("includes the status of a kind that a task writes, if the scripts write statuses", function()
    local task = [[
local perilune = require("perilune")
perilune.every("1m", { name = "sender", reads = { "example.com/v1/Site" },
    writes = { ["example.com/v1/Site"] = { "patch" }, ["v1/ConfigMap"] = { "patch" },
      ["example.com/v1/Log"] = { "create" } } }, function()
    for _, site in ipairs(perilune.client:list("example.com/v1/Site")) do
      perilune.client:METHOD(site, { status = { sent = true } })
    end
  end)
]]
    local text = rbac((task:gsub("METHOD", "patch_status")))
    assert(text:find("# main.lua:6: it writes a status, perhaps that of example.com/v1/Site", 1, true), text)
    assert.equal([[
ClusterRole /configmaps: patch
ClusterRole example.com/logs: create
ClusterRole example.com/sites: get list watch patch
ClusterRole example.com/sites/status: update patch]], rules(text))
    assert.is_nil(rbac((task:gsub("METHOD", "patch"))):find("/status", 1, true))
  end)

  it("knows plurals from CRDs beside the scripts and from --schema, and says what it guesses", function()
    local script = [[
require("perilune").controller("c"):For("zoo.org/v1/Ox"):Reads("v9/Cherry"):Reconcile(function() end)
]]
    local text = rbac(script)
    assert(text:find("# the plural of Ox is guessed", 1, true), text)
    assert(rules(text):find("zoo.org/oxes: ", 1, true), text)
    local crd = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: oxen.zoo.org}
spec:
  group: zoo.org
  scope: Cluster
  names: {kind: Ox, plural: oxen}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
]]
    e2e.write_file(folder .. "/crd.json.txt", crd)
    text = rbac(script, "--schema", folder .. "/crd.json.txt", "--namespace", "a")
    assert.is_nil(text:find("plural of Ox", 1, true))
    assert(rules(text):find("ClusterRole zoo.org/oxen: get list watch", 1, true), text)
    assert.is_nil(rules(text):find("oxen/status", 1, true)) -- the kind has none
    os.execute("mkdir " .. folder .. "/manifests")
    e2e.write_file(folder .. "/manifests/crd.yaml", crd)
    assert.is_nil(rbac(script):find("plural of Ox", 1, true))
    e2e.write_file(folder .. "/none.yaml", "just: text\n")
    local code, _, err = e2e.run("rbac", folder, "--schema", folder .. "/none.yaml")
    assert.equal(1, code)
    assert(err:find("none.yaml: this is neither a CustomResourceDefinition", 1, true), err)
  end)

  it("asks the cluster with --cluster", function()
    local text = rbac([[
require("perilune").controller("c"):For("v1/Endpoints"):Reconcile(function() end)
]], "--cluster", "--kubeconfig", server.kubeconfig)
    assert.equal("ClusterRole /endpoints: get list watch", rules(text))
    local code, out, err = e2e.run("rbac", folder, "--cluster", "--server", "http://127.0.0.1:1")
    assert.same({ 1, "" }, { code, out }) -- although nothing is unknown
    assert(err:find("127.0.0.1:1", 1, true), err)
    e2e.write_file(folder .. "/main.lua", [[
require("perilune").controller("c"):For("none.org/v1/None"):Reconcile(function() end)
]])
    code, out, err = e2e.run("rbac", folder, "--cluster", "--server", "http://127.0.0.1:1")
    assert.same({ 1, "" }, { code, out })
    assert(err:find("127.0.0.1:1", 1, true), err)
  end)

  it("counts what modules do that are required in functions", function()
    os.execute("mkdir " .. folder .. "/lib")
    e2e.write_file(folder .. "/lib/tell.lua", [[
local perilune = require("perilune")
return function(object) perilune.event(object, "Normal", "A", "b") end
]])
    local text = rbac([[
require("perilune").controller("c"):For("v1/ConfigMap"):Reconcile(function(request)
  require("lib.tell")(request)
end)
]])
    assert(text:find("# lib/tell.lua:2: perilune.event", 1, true), text)
    assert.equal([[
ClusterRole /configmaps: get list watch
ClusterRole events.k8s.io/events: create patch]], rules(text))
  end)

  it("gives Roles where namespaces are enough", function()
    local script = [[
local perilune = require("perilune")
perilune.controller("c")
  :For("v1/ConfigMap", { namespaces = { "here" } })
  :Watches("v1/Node", function() end)
  :Writes("v1/Pod", { "create" })
  :Reconcile(function(request) perilune.event({}, "Normal", "A", "b") end)
]]
    assert.equal([[
ClusterRole /nodes: get list watch
ClusterRole /pods: create
ClusterRole events.k8s.io/events: create patch
Rolehere /configmaps: get list watch]], rules(rbac(script)))
    assert.equal([[
ClusterRole /nodes: get list watch
Rolehere /configmaps: get list watch
Rolehere /pods: create
Rolehere events.k8s.io/events: create patch
Rolethere /pods: create
Rolethere events.k8s.io/events: create patch]], rules(rbac(script, "--namespace", "here", "--namespace", "there")))
  end)

  it("counts what the source says plainly: owners, Events, subresources", function()
    local script = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("c")
  :For("v1/Pod")
  :Writes("v1/Service", { "create", "patch" })
  :Reconcile(function(request)
    client:list("v1/Pod", { owner = {} })
    client:apply({}, { owner = {} })
    client:subresource("v1/Pod", request, "eviction", "create", {})
    client:exec(request, { command = { "sync" } })
  end)
]]
    local all = [[
ClusterRole /pods: get list watch
ClusterRole /pods/eviction: create
ClusterRole /pods/exec: get create
ClusterRole /pods/finalizers: update
ClusterRole /services: get create patch]]
    assert.equal(all, rules(rbac(script)))
    assert(rbac(script):find("main.lua:8: v1/Pod owns what it makes", 1, true))
    assert.equal((all:gsub("\n[^\n]*finalizers: update", "")), rules(rbac(script, "--minimal")))
    local reads = script:gsub("    client:apply[^\n]*\n", "")
    assert.is_nil(rbac(reads):find("finalizers", 1, true))
  end)

  it("has tasks' rights, and the Lease's where it is asked for", function()
    local script = [[
local perilune = require("perilune")
perilune.every("5m", { name = "sweep", reads = { "v1/Pod" }, writes = { ["v1/Pod"] = { "delete" } } },
  function() end)
]]
    assert.equal("ClusterRole /pods: get list watch delete", rules(rbac(script)))
    assert(rules(rbac(script, "--leader-elect", "--leader-elect-resource-namespace", "ops",
      "--leader-elect-resource-name", "sweeper")):find([[
Roleops coordination.k8s.io/leases: create
Roleops coordination.k8s.io/leases(sweeper): get watch update
Roleops events.k8s.io/events: create patch]], 1, true))
    assert(rules(rbac(script, "--shards", "4", "--leader-elect-resource-namespace", "ops")):find([[
Roleops coordination.k8s.io/leases: get list watch create update delete]], 1, true))
    local code, _, err = e2e.run("rbac", folder, "--leader-elect")
    assert.equal(2, code)
    assert(err:find("--leader-elect-resource-namespace", 1, true), err)
  end)

  it("takes every kind for what it is", function()
    local text = rbac([[
require("perilune").controller("c"):For("v1/Namespace"):Writes("*", { "delete" }):Reconcile(function() end)
]])
    assert(text:find("CAREFUL: it is about every kind", 1, true), text)
    assert(rules(text):find("ClusterRole */*: delete", 1, true), text)
  end)

  it("tells the roles of another cluster from those at home", function()
    local text = [[
local perilune = require("perilune")
local edge = perilune.cluster("edge", { secret = "team-a/edge" })
perilune.controller("c"):For("v1/Pod", { cluster = "edge" }):Watches("v1/Node", "self")
  :Writes("v1/Service", { "create" }, { cluster = "edge" }):Writes("v1/Secret", { "patch" })
  :Reconcile(function() end)
]]
    local home = rules(rbac(text))
    assert(home:find("v1/nodes", 1, true) or home:find("nodes: get list watch", 1, true), home)
    assert(home:find("secrets: patch", 1, true), home)
    assert.is_nil(home:find("pods", 1, true), home)
    assert.is_nil(home:find("services", 1, true), home)
    assert(home:find("secrets%S*: get"), home)
    local code, out, err = e2e.run("rbac", folder, "--for-cluster", "edge")
    assert.equal(0, code, err)
    assert(rules(out):find("pods: get list watch", 1, true), out)
    assert(rules(out):find("services: create", 1, true), out)
    assert.is_nil(out:find("nodes", 1, true), out)
    code, out, err = e2e.run("rbac", folder, "--for-cluster", "edgy")
    assert.equal("", out)
    assert.equal(2, code)
    assert(err:find('name no cluster "edgy"', 1, true), err)
    code, out, err = e2e.run("check", folder)
    assert.equal(0, code, err)
    assert(out:find("cluster edge: Secret team-a/edge, key kubeconfig", 1, true), out)
    assert(out:find("v1/Pod cluster=edge", 1, true), out)
  end)

  it("counts kinds that are followed by their groups, and check names them so", function()
    local text = rbac([[
local function all() return true end
require("perilune").controller("c")
  :WatchesKinds(all, "self", { group = { "apps", "example.com" }, writes = { "delete" } })
  :Reconcile(function() end)
]])
    for _, line in ipairs({ "ClusterRole apps/*: get list watch delete",
      "ClusterRole example.com/*: get list watch delete" }) do
      assert(rules(text):find(line, 1, true), text)
    end
    assert(text:find("it reads every kind of the group", 1, true), text)
    local code, out, err = e2e.run("check", folder)
    assert.equal(0, code, err)
    assert(out:find("watches  * (kinds that a function selects)", 1, true), out)
    text = rbac([[
local function all() return true end
require("perilune").controller("c"):WatchesKinds(all, "self"):Reconcile(function() end)
]])
    assert(rules(text):find("ClusterRole */*: get list watch", 1, true), text)
  end)

  it("marks what may write roles, and refuses names that are none", function()
    local text = rbac([[
require("perilune").controller("c"):For("v1/Namespace")
  :Writes("rbac.authorization.k8s.io/v1/RoleBinding", { "create" }):Reconcile(function() end)
]])
    assert(text:find("# CAREFUL: it may write roles in every namespace", 1, true), text)
    assert.equal(2, (e2e.run("rbac", folder, "--name", "No Name")))
    e2e.write_file(folder .. "/main.lua", "error('no')")
    local code, out, err = e2e.run("rbac", folder)
    assert.equal(1, code)
    assert.equal("", out)
    assert(err:find("main.lua:1: no", 1, true), err)
  end)

  it("adds what a running host did and does not declare, and the host says what to declare", function()
    local namespace = server:new_namespace()
    local socket = folder .. "/host.sock"
    e2e.write_file(folder .. "/main.lua", [[
local perilune = require("perilune")
perilune.controller("writer"):For("v1/ConfigMap"):Reconcile(function(request)
  if request.name ~= "a" then return end
  perilune.try(perilune.client.evict, perilune.client, request)
  perilune.client:create_or_update({ apiVersion = "v1", kind = "Secret",
    metadata = { name = "s", namespace = request.namespace } }, function(s) s.type = "Opaque" end)
  perilune.client:apply({ apiVersion = "v1", kind = "Service", metadata = { name = "s", namespace = request.namespace },
    spec = { ports = { { port = 80 } } } })
end)
]])
    host = e2e.start_host(server, folder, { "--namespace", namespace, "--admin-socket", socket })
    server:create("/api/v1/namespaces/" .. namespace .. "/configmaps", { metadata = { name = "a" } })
    local line = host:logged("undeclared write") -- not of the eviction, which rbac finds itself
    assert.equal(':Writes("v1/Secret", {"create"})', line.add)
    assert.equal("v1/Secret", line.kind)
    line = host:logged(function(one) return one.kind == "v1/Service" and one.verb == "patch" end)
    assert.equal(':Writes("v1/Service", {"create", "patch"})', line.add) -- an apply needs both
    e2e.eventually("it is recorded", function()
      local _, out = e2e.run("rbac", folder, "--recorded", "--admin-socket", socket)
      return rules(out):find("ClusterRole /secrets: get create", 1, true), out
    end)
    local _, text = e2e.run("rbac", folder, "--recorded", "--admin-socket", socket, "--namespace", namespace)
    assert(text:find("# RECORDED, not declared: controller writer: create", 1, true), text)
    assert(rules(text):find("Role" .. namespace .. " /secrets: get create", 1, true), text)
    local _, status = e2e.run("status", "-o", "json", "--admin-socket", socket)
    local file = e2e.write_file(folder .. "/status.json", status)
    local _, from = e2e.run("rbac", folder, "--from", file, "--namespace", namespace)
    assert.equal(text, from)
    host:stop()
    local code, _, err = e2e.run("rbac", folder, "--recorded", "--admin-socket", socket)
    assert.equal(1, code)
    assert(err:find(socket, 1, true), err)
    local audit = e2e.write_file(folder .. "/audit.log", [[
{"verb":"delete","user":{"username":"sa"},"objectRef":{"resource":"secrets","apiVersion":"v1","namespace":"x"}}
]])
    _, text = e2e.run("rbac", folder, "--from", audit)
    assert(rules(text):find("ClusterRole /secrets: delete", 1, true), text)
    assert.equal(1, (e2e.run("rbac", folder, "--from", e2e.write_file(folder .. "/no", "nothing"))))
  end)
end)
