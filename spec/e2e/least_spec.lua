-- The smallest role is sufficient and necessary, on a real kube-apiserver with
-- OwnerReferencesPermissionEnforcement and an audit log: each example works with exactly the roles
-- that `perilune rbac` prints, without any 403. Without any one of their rules it gets a 403.

local e2e = require("spec.support.e2e")
local cjson = require("cjson")

local POLICY = [[
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: ["RequestReceived", "ResponseStarted"]
rules:
  - level: Metadata
]]

-- The host has logged its actions.
local function an_event(t)
  e2e.eventually("an Event", function()
    for _, event in ipairs(t.server:get("/apis/events.k8s.io/v1/namespaces/" .. t.namespace .. "/events").items) do
      if event.reportingInstance and event.reportingInstance:find("^perilune") then
        return true
      end
    end
  end)
end

-- The API of examples/dns-record, while the specification runs.
local records
local function records_port()
  local folder = e2e.folder() .. "/records"
  if not records then
    assert(os.execute("mkdir -p " .. folder) == 0)
    records = e2e.process.start({ "python3", "spec/support/records.py", folder },
      { stdout = folder .. "/out", stderr = folder .. "/err" })
  end
  return e2e.eventually("the API is there", function()
    return e2e.read_file(folder .. "/out"):match("^(%d+)\n")
  end)
end

local EXAMPLES = {
  hello = {
    crd = false,
    -- Makes the example do everything that it can do; true when that has happened.
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
  certificates = {
    crd = false,
    drive = function(t)
      t.server:apply_yaml(e2e.read_file("examples/certificates/manifests/sample.yaml"), t.namespace)
      e2e.eventually("a certificate", function()
        local secret = t.server:get(e2e.path("v1", t.namespace, "secrets", "web-tls"))
        return secret.data and secret.data["tls.crt"]
      end)
      an_event(t)
    end,
  },
  tenant = {
    crd = true,
    -- A user that gives a role must have its rights, or this right; the README of the example says
    -- so.
    more = [[
  - apiGroups: ["rbac.authorization.k8s.io"]
    resources: ["clusterroles"]
    resourceNames: ["edit"]
    verbs: ["bind"]
]],
    drive = function(t)
      local tenants, name = "/apis/example.com/v1/tenants", e2e.unique("team")
      t.server:create(tenants, { apiVersion = "example.com/v1", kind = "Tenant",
        metadata = { name = name }, spec = { members = { "jane" }, pods = 10 } })
      e2e.eventually("it is ready", function()
        local tenant = t.server:get(tenants .. "/" .. name)
        return tenant.status and tenant.status.conditions and tenant.status.conditions[1].status == "True"
      end)
    end,
  },
  ["dns-record"] = {
    crd = true,
    flags = function()
      return { "--config", e2e.write_file(e2e.folder() .. "/records.yaml", "api: http://127.0.0.1:" .. records_port()) }
    end,
    drive = function(t)
      local path = e2e.path("example.com/v1", t.namespace, "dnsrecords")
      t.server:create(path, { apiVersion = "example.com/v1", kind = "DnsRecord", metadata = { name = "blog" },
        spec = { host = t.namespace .. ".example.com", address = "192.0.2.7" } })
      e2e.eventually("the status", function()
        local now = t.server:get(path .. "/blog")
        return now.status and now.status.conditions
      end)
      t.server:delete(path .. "/blog")
      e2e.eventually("it is gone", function() return not t.server:get(path .. "/blog") end)
    end,
  },
  ["office-hours"] = {
    crd = false,
    drive = function(t)
      t.server:apply_yaml(e2e.read_file("examples/office-hours/manifests/sample.yaml"), t.namespace)
      local deployment = e2e.path("apps/v1", t.namespace, "deployments", "web")
      local function hours(sleep)
        t.server:patch(deployment, { metadata = { annotations = { ["example.com/sleep"] = sleep,
          ["example.com/wake"] = "0 0 1 1 *" } } })
      end
      hours("* * * * *")
      e2e.eventually("it sleeps", function() return t.server:get(deployment).spec.replicas == 0 end)
      hours("now and then")
      an_event(t)
    end,
  },
  ["careful-rollout"] = {
    crd = false,
    drive = function(t)
      t.server:apply_yaml(e2e.read_file("examples/careful-rollout/manifests/sample.yaml"), t.namespace)
      local set, pod = e2e.path("apps/v1", t.namespace, "statefulsets", "store"),
        e2e.path("v1", t.namespace, "pods", "store-0")
      t.server:patch(set, { spec = { replicas = 1 } })
      local first = e2e.eventually("a pod, which the StatefulSet controller makes", function()
        return t.server:get(pod)
      end)
      t.server:patch(pod .. "/status", { status = { conditions = { { type = "Ready", status = "True" } } } })
      t.server:patch(set, { spec = { template = { metadata = { labels = { app = "store", version = "2" } } } } })
      e2e.eventually("it is deleted", function()
        local now = t.server:get(pod)
        return not now or now.metadata.uid ~= first.metadata.uid or now.metadata.deletionTimestamp
      end)
      an_event(t)
    end,
  },
  replicator = {
    crd = false,
    drive = function(t)
      local to = e2e.unique("copies")
      t.server:create("/api/v1/namespaces", { metadata = { name = to } })
      for _, plural in ipairs({ "secrets", "configmaps" }) do
        t.server:create(e2e.path("v1", t.namespace, plural), { metadata = { name = "pull",
          annotations = { ["replicate.example.com/to"] = to } } })
        e2e.eventually("the copy", function() return t.server:get(e2e.path("v1", to, plural, "pull")) end)
      end
      t.server:create(e2e.path("v1", t.namespace, "secrets"), { metadata = { name = "wrong",
        annotations = { ["replicate.example.com/to"] = "(" } } })
      an_event(t)
    end,
  },
}

-- Not tested here: `janitor`, which needs rights that its declaration does not name (see its
-- README); `webhook`, which the API server would have to reach; and `cronjob`, because
-- kube-controller-manager runs CronJobs on this server.

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
    if records then
      records:signal("TERM")
      records:wait(e2e.patience)
    end
    server:stop()
    e2e.finish()
  end)

  -- The refused requests of the user, as "VERB group/resource/sub: why".
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

  -- OwnerReferencesPermissionEnforcement knows a new kind only after up to 10 s. Until then it
  -- refuses all users except those who may update the finalizers of all kinds, so only such a user
  -- may try.
  local function await_owners_of(kind)
    apply([[
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: asks-for-owners}
rules:
  - {apiGroups: [""], resources: [configmaps], verbs: [create]}
  - {apiGroups: [example.com], resources: ["*"], verbs: [update]}
]])
    bind("asks-for-owners", "asks-for-owners")
    local asker = setmetatable({ url = server.url,
      curl = server.curl .. " -H 'Impersonate-User: asks-for-owners'" }, getmetatable(server))
    local owner = { apiVersion = "example.com/v1", kind = kind, name = "x", uid = "1", blockOwnerDeletion = true }
    e2e.eventually("owners of kind " .. kind .. " are taken", function()
      return asker:request("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", { apiVersion = "v1",
        kind = "ConfigMap", metadata = { name = "owned", ownerReferences = { owner } } }) == 201
    end)
  end

  -- Starts the example with these rules; returns its user.
  local function start(name, roles)
    local user, example = e2e.unique("user"), EXAMPLES[name]
    apply((roles:gsub("\n  name: [^\n]+", "\n  name: " .. user)) .. (example.more or ""))
    bind(user, user)
    host = e2e.start_host({ kubeconfig = kubeconfig_as(user) }, "examples/" .. name, example.flags and example.flags())
    return user
  end

  for name, example in pairs(EXAMPLES) do
    it(name .. " is enough, and each of its rules is needed", function()
      if example.crd then
        local crd = e2e.read_file("examples/" .. name .. "/manifests/crd.yaml")
        server:apply_crd(crd)
        await_owners_of(crd:match("\n    kind: (%w+)"))
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
        user = start(name, count > 1 and less or less:gsub("rules:.*", example.more and "rules:\n" or "rules: []\n"))
        local namespace = server:new_namespace()
        -- The example is refused, or waits for a source that it may not read.
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
