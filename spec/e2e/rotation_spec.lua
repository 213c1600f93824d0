-- Tokens, certificates and CAs change while the host runs: nothing is restarted, running watches
-- continue, and new requests use the current ones.

local e2e = require("spec.support.e2e")
local mirror = require("spec.support.mirror")

local script = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("mirror", { rate_limiter = { base = "50ms", max = "500ms" } })
  :For("v1/ConfigMap", { labels = "mirror=yes", writes = { "patch" } })
  :Reconcile(function(request, context)
    local config = client:get("v1/ConfigMap", request)
    if config and perilune.dig(config, "metadata", "annotations", "seen") ~= config.data.v then
      client:patch("v1/ConfigMap", request, { metadata = { annotations = { seen = config.data.v } } })
    end
  end)
]]

describe("credentials that are rotated", function()
  local server, namespace, audit, folder

  local function shell(command)
    local pipe = io.popen("{ " .. command .. "; } 2>&1; echo status=$?")
    local text = pipe:read("*a")
    pipe:close()
    assert(text:find("status=0\n$"), command .. ": " .. text)
  end

  setup(function()
    folder = e2e.folder()
    audit = folder .. "/audit.log"
    local policy = e2e.write_file(folder .. "/policy.yaml", [[
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted]
rules:
- level: Metadata
]])
    server = e2e.start_kube(("--audit-log-path=%s --audit-policy-file=%s"):format(audit, policy))
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(function()
    e2e.clean_up()
  end)
  teardown(function()
    server:stop()
    e2e.finish()
  end)

  local function path(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function create(name, value)
    server:create(path(), mirror.config(name, value))
  end

  local function was_written(host, name, value)
    e2e.eventually(name .. " was written", function()
      host:must_run()
      return ((server:get(path(name)).metadata.annotations or {}).seen) == value
    end, 60)
  end

  -- The host's audited requests whose line holds all of these.
  local function audited(...)
    local count = 0
    for line in e2e.read_file(audit):gmatch("[^\n]+") do
      local is_ours = line:find('"userAgent":"perilune', 1, true)
        and line:find("/namespaces/" .. namespace .. "/", 1, true)
      for _, word in ipairs({ ... }) do
        is_ours = is_ours and line:find(word, 1, true)
      end
      count = count + (is_ours and 1 or 0)
    end
    return count
  end

  local function lists()
    return audited('"verb":"list"', '"stage":"ResponseComplete"')
  end

  local function kubeconfig(user)
    local file = folder .. "/" .. e2e.unique("kubeconfig")
    shell(("cp %s/ca.crt %s.ca"):format(server.state, file))
    e2e.write_file(file, ([[
apiVersion: v1
kind: Config
current-context: spec
contexts: [{name: spec, context: {cluster: spec, user: spec}}]
clusters: [{name: spec, cluster: {server: "%s", certificate-authority: "%s.ca"}}]
users: [{name: spec, user: {%s}}]
]]):format(server.url, file, user))
    return { kubeconfig = file }, file .. ".ca"
  end

  -- Like kubelet: the new content appears atomically.
  local function replace(file, text)
    e2e.write_file(file .. ".new", text)
    assert(os.rename(file .. ".new", file))
  end

  -- A token of the default service account that becomes invalid with its Secret.
  local function bound_token(secret)
    server:create("/api/v1/namespaces/" .. namespace .. "/secrets",
      { apiVersion = "v1", kind = "Secret", metadata = { name = secret } })
    local base = "/api/v1/namespaces/" .. namespace .. "/serviceaccounts/default"
    e2e.eventually("the service account is there", function() return server:get(base) end)
    local uid = server:get("/api/v1/namespaces/" .. namespace .. "/secrets/" .. secret).metadata.uid
    return server:create(base .. "/token", { apiVersion = "authentication.k8s.io/v1",
      kind = "TokenRequest", spec = { boundObjectRef = { apiVersion = "v1", kind = "Secret",
        name = secret, uid = uid } } }).status.token
  end

  local function revoke(secret)
    server:delete("/api/v1/namespaces/" .. namespace .. "/secrets/" .. secret)
  end

  -- F41
  it("are read from a token's file, and a running watch lives on", function()
    server:create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      apiVersion = "rbac.authorization.k8s.io/v1", kind = "ClusterRoleBinding",
      metadata = { name = namespace },
      roleRef = { apiGroup = "rbac.authorization.k8s.io", kind = "ClusterRole", name = "cluster-admin" },
      subjects = { { kind = "ServiceAccount", name = "default", namespace = namespace } } })
    local token = folder .. "/token"
    replace(token, bound_token("first"))
    local host = e2e.start_host(kubeconfig(('tokenFile: "%s"'):format(token)), script,
      { "--namespace", namespace })
    create("one", "a")
    was_written(host, "one", "a")
    -- Revoked before there is a new one: the server caches valid tokens for ten seconds.
    revoke("first")
    local tries = 0
    e2e.eventually("the token is refused", function()
      tries = tries + 1
      create("try-" .. tries, "a")
      e2e.process.pause(0.5)
      for _, line in ipairs(host:log()) do -- a connection may be cut before
        if line.msg == "reconcile failed" and line.error:find("Unauthorized") then
          return true
        end
      end
    end, 60)
    local refused = audited('"code":401')
    replace(token, bound_token("second"))
    was_written(host, "try-" .. tries, "a")
    create("two", "b")
    was_written(host, "two", "b")
    assert.equal(1, lists())
    assert.equal(1, audited('"verb":"watch"', '"stage":"RequestReceived"'))
    -- Replaced in time: no request is refused.
    replace(token, bound_token("third"))
    local before = audited('"code":401')
    revoke("second")
    create("three", "c")
    was_written(host, "three", "c")
    assert.equal(before, audited('"code":401'))
    assert.is_true(refused <= before)
    host:stop()
  end)

  local function sign(name, ca, subject, extensions)
    shell(([[cd %s && openssl ecparam -name prime256v1 -genkey -noout -out %s.key &&
      openssl req -new -key %s.key -subj '%s' -out %s.csr && printf '%s' >%s.ext &&
      openssl x509 -req -in %s.csr -CA %s.crt -CAkey %s.key -CAcreateserial -days 1 \
        -extfile %s.ext -out %s.crt]])
      :format(server.state, name, name, subject, name, extensions, name, name, ca, ca, name, name))
    return e2e.read_file(server.state .. "/" .. name .. ".crt"),
      e2e.read_file(server.state .. "/" .. name .. ".key")
  end

  -- F42
  it("are a certificate and a key that come one after the other, and are gone for a while", function()
    local cert, key = folder .. "/user.crt", folder .. "/user.key"
    local function pair(name)
      return sign(name, "ca", "/O=system:masters/CN=" .. name, "extendedKeyUsage=clientAuth\\n")
    end
    local first_cert, first_key = pair("first")
    replace(cert, first_cert)
    replace(key, first_key)
    local host = e2e.start_host(
      kubeconfig(('client-certificate: "%s", client-key: "%s"'):format(cert, key)), script,
      { "--namespace", namespace })
    local function check(name, who)
      create(name, "a")
      was_written(host, name, "a")
      assert.is_true(audited('"verb":"patch"', '"name":"' .. name .. '"', '"username":"' .. who) > 0)
      e2e.process.pause(1.1) -- after an incomplete pair there is a pause of a second
    end
    check("one", "first")
    local second_cert, second_key = pair("second")
    e2e.write_file(cert, second_cert:sub(1, 200))
    check("half-a-certificate", "first")
    os.remove(cert)
    os.remove(key)
    check("gone", "first")
    e2e.write_file(cert, second_cert)
    check("without-its-key", "first")
    e2e.write_file(key, first_key)
    check("with-the-old-key", "first")
    e2e.write_file(key, second_key)
    check("whole", "second")
    assert.equal(1, lists())
    assert.equal(1, audited('"verb":"watch"', '"stage":"RequestReceived"'))
    assert.same({}, host:complaints())
    host:stop()
  end)

  it("are a CA and the server's certificate", function()
    shell(([[cd %s && openssl ecparam -name prime256v1 -genkey -noout -out other.key &&
      openssl req -x509 -new -key other.key -subj /CN=other-ca -days 2 -out other.crt \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign]])
      :format(server.state))
    local link, ca = kubeconfig(('token: "%s"'):format(
      e2e.read_file(server.state .. "/token"):gsub("%s", "")))
    local host = e2e.start_host(link, script, { "--namespace", namespace })
    create("one", "a")
    was_written(host, "one", "a")
    server:kill()
    sign("server", "other", "/CN=kube-apiserver",
      "subjectAltName=IP:127.0.0.1,IP:10.0.0.1,DNS:localhost\\nextendedKeyUsage=serverAuth\\n")
    -- kubectl and the spec trust both CAs; the host's bundle is unchanged.
    shell(("cd %s && cp ca.crt old.crt && cat old.crt other.crt >both.crt && cp both.crt ca.crt")
      :format(server.state))
    server:again()
    host:logged(function(line)
      return line.level == "warn" and tostring(line.error):find("not trusted")
    end, 90)
    replace(ca, e2e.read_file(server.state .. "/both.crt"))
    create("two", "b")
    was_written(host, "two", "b")
    host:stop()
  end)
end)
