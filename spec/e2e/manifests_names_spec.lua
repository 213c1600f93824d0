-- Names that YAML readers take for something else: what `manifests`, `rbac` and `new` print means the
-- names as they were given.

local e2e = require("spec.support.e2e")

describe("printed names", function()
  local folder, server

  setup(function() server = e2e.server() end)
  before_each(function()
    folder = e2e.folder() .. "/" .. e2e.unique("n")
    os.execute("mkdir -p " .. folder)
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function documents(text)
    local out = {}
    for document in (text .. "\n---\n"):gmatch("(.-)\n%-%-%-\n") do
      out[#out + 1] = document .. "\n"
    end
    return out
  end

  local PATHS = { Namespace = "/api/v1/namespaces", ServiceAccount = "/api/v1/namespaces/%s/serviceaccounts",
    ConfigMap = "/api/v1/namespaces/%s/configmaps", Service = "/api/v1/namespaces/%s/services",
    Deployment = "/apis/apps/v1/namespaces/%s/deployments",
    ClusterRole = "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    ClusterRoleBinding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    Role = "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles",
    RoleBinding = "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings" }

  -- Creates all of it; the stored objects by kind, the last one of each.
  local function create(text)
    local out = {}
    for _, document in ipairs(documents(text)) do
      local kind = document:match("\nkind: (%S+)")
      local namespace = document:match('\n  namespace: "?([^"\n]+)')
      local status, answer = server:request("POST", PATHS[kind]:format(namespace), document, "application/yaml")
      assert(status == 201, kind .. ": " .. tostring(answer and answer.message) .. "\n" .. document)
      out[kind] = answer
    end
    return out
  end

  local script = [[
local perilune = require("perilune")
perilune.controller("c"):For("v1/ConfigMap")
  :Reconcile(function() perilune.manifest("null"); perilune.manifest("-"); perilune.manifest("1.5") end)
perilune.webhook.validate("v1/ConfigMap", function() end)
]]

  local cases = { { "no", "on" }, { "123", "42" }, { "null", "true" }, { "1e3", "0x1f" }, { "y", "2026-11-21" },
    { "0777", "0b1" } }
  for _, case in ipairs(cases) do
    local namespace, name = case[1], case[2]
    it(("manifests -n %s --name %s"):format(namespace, name), function()
      e2e.write_file(folder .. "/main.lua", script)
      for _, file in ipairs({ "null", "-", "1.5" }) do
        e2e.write_file(folder .. "/" .. file, "a: 1\n")
      end
      local code, out, err = e2e.run("manifests", folder, "--image", "1", "-n", namespace, "--name", name,
        "--replicas", "2", "--create-namespace", "--metrics-secure")
      assert.equal(0, code, err)
      local stored = create(out)
      assert.equal(namespace, stored.Namespace.metadata.name)
      local deployment = stored.Deployment
      assert.equal(name, deployment.metadata.name)
      assert.equal(namespace, deployment.metadata.namespace)
      assert.equal(name, deployment.metadata.labels["app.kubernetes.io/name"])
      assert.equal("1", deployment.spec.template.spec.containers[1].image)
      assert.equal(name, stored.Service.spec.selector["app.kubernetes.io/name"])
      assert.same({ kind = "ServiceAccount", name = name, namespace = namespace }, stored.RoleBinding.subjects[1])
      for _, file in ipairs({ "null", "-", "1.5" }) do
        assert.equal("a: 1\n", stored.ConfigMap.data[file])
      end
    end)
  end

  local function decoded(text)
    local pipe = io.popen("printf %s " .. text .. " | base64 -d")
    text = pipe:read("*a")
    pipe:close()
    return text
  end

  -- The files of the volume by their paths, as the stored objects have them.
  local function mounted(stored)
    local out, map = {}, stored.ConfigMap
    for _, source in ipairs(stored.Deployment.spec.template.spec.volumes[1].projected.sources) do
      for _, item in ipairs(source.configMap.items) do
        local text = (map.data or {})[item.key]
        out[item.path] = text or decoded(map.binaryData[item.key])
      end
    end
    return out
  end

  it("keeps characters that YAML refuses, in files and in their names", function()
    local files = { ["t/fffe.yaml"] = "a\239\191\190b\n", ["t/ffff.yaml"] = "a\239\191\191b",
      ["t/n\194\133l.yaml"] = "next line\n", ["t/\226\128\168.yaml"] = "separator\n",
      ["t/\239\191\190.yaml"] = "no character\n", ["t/\239\187\191.yaml"] = "mark\n", ["t/q\"'\\.yaml"] = "quotes\n" }
    local lines = { 'local perilune = require("perilune")\nperilune.controller("odd"):For("v1/ConfigMap")'
      .. ":Reconcile(function()\n" }
    os.execute("mkdir -p " .. folder .. "/t")
    for name, text in pairs(files) do
      e2e.write_file(folder .. "/" .. name, text)
      lines[#lines + 1] = ("perilune.manifest(%q)\n"):format(name)
    end
    files["main.lua"] = table.concat(lines) .. "end)\n"
    e2e.write_file(folder .. "/main.lua", files["main.lua"])
    local code, out, err = e2e.run("manifests", folder, "--image", "i", "-n", "odd", "--create-namespace")
    assert.equal(0, code, err)
    assert.is_nil(out:find("\194\133") or out:find("\226\128\168") or out:find("\239\191[\190\191]"), out)
    local stored = create(out)
    assert.same(files, mounted(stored))
    assert.truthy(stored.ConfigMap.binaryData["t-fffe.yaml"])
  end)

  -- rbac names the files in comments.
  it("a comment has no character that ends it", function()
    local dir = folder .. "/n\194\133\226\128\168\239\191\190l"
    os.execute("mkdir -p '" .. dir .. "'")
    e2e.write_file(dir .. "/main.lua", script)
    local code, out, err = e2e.run("rbac", dir, "--name", "comment", "--namespace", "default")
    assert.equal(0, code, err)
    assert(out:find("/n???l/main.lua:2: For v1/ConfigMap", 1, true), out)
  end)

  it("refuses a place that Kubernetes does not take", function()
    for _, name in ipairs({ "..a.yaml", "..t/a.yaml", "../a.yaml" }) do
      e2e.write_file(folder .. "/main.lua", ('require("perilune").controller("c"):For("v1/ConfigMap")'
        .. ":Reconcile(function() require('perilune').manifest(%q) end)\n"):format(name))
      os.execute("mkdir -p " .. folder .. "/..t")
      e2e.write_file(folder .. "/" .. name, "a: 1\n")
      local code, out, err = e2e.run("manifests", folder, "--image", "i", "-n", "x")
      assert.equal(1, code, out)
      assert.equal("", out)
      assert(err:find(folder .. "/" .. name .. ": a volume holds no file", 1, true), err)
    end
  end)

  it("rbac --namespace no --name off", function()
    local code, out, err = e2e.run("rbac", "examples/hello", "--namespace", "no", "--name", "off")
    assert.equal(0, code, err)
    assert(out:find('\n  name: "off"\n  namespace: "no"\n', 1, true), out)
  end)

  for _, case in ipairs({ { "on" }, { "y" }, { "yes" }, { "true" }, { "null" }, { "x", "--group", "1.5" },
      { "x", "--kind", "No" } }) do
    it("new " .. table.concat(case, " "), function()
      local dir = folder .. "/it"
      local code, _, err = e2e.run("new", "--dir", dir, unpack(case))
      assert.equal(0, code, err)
      local out
      code, out, err = e2e.run("test", dir, "-o", "tap")
      assert.equal(0, code, out .. err)
      local status, answer = server:request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        e2e.read_file(dir .. "/manifests/crd.yaml"), "application/yaml")
      assert.equal(201, status, answer.message)
      assert.equal(case[2] == "--group" and case[3] or "example.com", answer.spec.group)
    end)
  end
end)
