-- The least role is least, on a real kube-apiserver with OwnerReferencesPermissionEnforcement and an
-- audit log: each example works under exactly the roles that `perilune rbac` prints, without one 403, and
-- is refused something without any one rule.

local e2e = require("spec.support.e2e")
local cjson = require("cjson")

local POLICY = [[
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: ["RequestReceived", "ResponseStarted"]
rules:
  - level: Metadata
]]

local EXAMPLES = {
  hello = {
    crd = false,
    -- Makes it do all that it does; true once that has happened.
    drive = function(t)
      t.server:apply_yaml(e2e.read_file("examples/hello/manifests/sample.yaml"), t.namespace)
      t.host:logged("hello, world!")
    end,
  },
  website = {
    crd = true,
    drive = function(t)
      local sites = "/apis/example.com/v1/namespaces/" .. t.namespace .. "/websites/blog"
      t.server:apply_yaml(e2e.read_file("examples/website/sample.yaml"), t.namespace)
      e2e.eventually("the status", function()
        local now = t.server:get(sites)
        return now and now.status and now.status.conditions
      end)
      t.server:delete(sites)
      e2e.eventually("it is gone", function() return not t.server:get(sites) end)
    end,
  },
  ["namespace-quota"] = {
    crd = false,
    drive = function(t)
      t.server:patch("/api/v1/namespaces/" .. t.namespace,
        { metadata = { labels = { ["example.com/tier"] = "small" } } })
      e2e.eventually("a quota", function()
        return t.server:get("/api/v1/namespaces/" .. t.namespace .. "/resourcequotas/tier")
      end)
    end,
  },
  ["configmap-restarter"] = {
    crd = false,
    drive = function(t)
      t.server:apply_yaml(e2e.read_file("examples/configmap-restarter/manifests/sample.yaml"), t.namespace)
      e2e.eventually("a hash", function()
        local deployment = t.server:get("/apis/apps/v1/namespaces/" .. t.namespace .. "/deployments/web")
        return deployment and (deployment.spec.template.metadata.annotations or {})["example.com/config-hash"]
      end)
    end,
  },
}

describe("the least role of the example", function()
  local server, audit, host

  setup(function()
    local policy = e2e.write_file(e2e.folder() .. "/policy.yaml", POLICY)
    audit = e2e.folder() .. "/audit.log"
    server = e2e.start_kube("--enable-admission-plugins=OwnerReferencesPermissionEnforcement --audit-policy-file="
      .. policy .. " --audit-log-path=" .. audit .. " --audit-log-mode=blocking")
  end)
  after_each(e2e.clean_up)
  teardown(function()
    server:stop()
    e2e.finish()
  end)

  -- What the user was refused, as "VERB group/resource/sub: why".
  local function refused(user)
    local out = {}
    for line in io.lines(audit) do
      if line:find(user, 1, true) and line:find('"code":403', 1, true) then
        local event = cjson.decode(line)
        local ref = event.objectRef or {}
        out[#out + 1] = ("%s %s/%s/%s: %s"):format(event.verb, ref.apiGroup or "", ref.resource or "",
          ref.subresource or "", (event.responseStatus or {}).message or "")
      end
    end
    return out
  end

  local function apply(yaml)
    local file = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("roles") .. ".yaml", yaml)
    assert.equal(0, os.execute((e2e.kubectl() .. " --kubeconfig %s apply -f %s >/dev/null"):format(
      server.kubeconfig, file)))
  end

  local function bind(role, user)
    apply(([[
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %s}]
]]):format(role, role, user))
  end

  local function kubeconfig_as(user)
    local text = e2e.read_file(server.kubeconfig):gsub("user: {client%-certificate", "user: {as: " .. user
      .. ", client-certificate")
    return e2e.write_file(e2e.folder() .. "/" .. user .. ".kubeconfig", text)
  end

  -- Starts the example under these rules; its user.
  local function start(name, roles)
    local user = e2e.unique("user")
    apply((roles:gsub("\n  name: [^\n]+", "\n  name: " .. user)))
    bind(user, user)
    host = e2e.start_host({ kubeconfig = kubeconfig_as(user) }, "examples/" .. name)
    return user
  end

  for name, example in pairs(EXAMPLES) do
    it(name .. " is enough, and each of its rules is needed", function()
      if example.crd then
        server:apply_crd(e2e.read_file("examples/" .. name .. "/manifests/crd.yaml"))
      end
      local code, roles, err = e2e.run("rbac", "examples/" .. name)
      assert.equal(0, code, err)
      local user = start(name, roles)
      example.drive({ server = server, namespace = server:new_namespace(), host = host })
      host:stop()
      assert.same({}, refused(user))

      local _, count = roles:gsub("\n  %- apiGroups", "")
      for left_out = 1, count do
        local at, text = 0, nil
        local less = roles:gsub("\n  %- apiGroups.-verbs: %b[]", function(rule)
          at = at + 1
          text = at == left_out and rule or text
          return at == left_out and "" or rule
        end)
        user = start(name, count > 1 and less or less:gsub("rules:.*", "rules: []\n"))
        local namespace = server:new_namespace()
        -- It is refused, or waits for a source that it may not read.
        local driven = pcall(function()
          local patience = e2e.patience
          e2e.patience = 4
          local ok, e = pcall(example.drive, { server = server, namespace = namespace, host = host })
          e2e.patience = patience
          assert(ok, e)
        end)
        local list = refused(user)
        assert(#list > 0, ("without %s nothing is refused (%s)"):format(text, tostring(driven)))
        host:stop()
      end
    end)
  end
end)
