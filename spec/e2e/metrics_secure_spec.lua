-- --metrics-secure: the metrics are served over TLS, and only to users whom the API server allows
-- to read them.

local e2e = require("spec.support.e2e")

describe("metrics with --metrics-secure", function()
  local server, namespace, host

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local RBAC = "/apis/rbac.authorization.k8s.io/v1/"

  local function start(flags)
    host = e2e.start_host(server, [[
require("perilune").controller("c"):For("v1/ConfigMap"):Reconcile(function() end)
]], { "--metrics-secure", unpack(flags or {}) })
  end

  local function account(name)
    local accounts = "/api/v1/namespaces/" .. namespace .. "/serviceaccounts"
    server:create(accounts, { apiVersion = "v1", kind = "ServiceAccount", metadata = { name = name } })
    return server:create(accounts .. "/" .. name .. "/token", { apiVersion = "authentication.k8s.io/v1",
      kind = "TokenRequest", spec = { expirationSeconds = 3600 } }).status.token
  end

  local function let_in(name)
    local role = namespace .. "-metrics"
    server:create(RBAC .. "clusterroles", { apiVersion = "rbac.authorization.k8s.io/v1",
      kind = "ClusterRole", metadata = { name = role },
      rules = { { nonResourceURLs = { "/metrics" }, verbs = { "get" } } } })
    server:create(RBAC .. "clusterrolebindings", { apiVersion = "rbac.authorization.k8s.io/v1",
      kind = "ClusterRoleBinding", metadata = { name = role },
      roleRef = { apiGroup = "rbac.authorization.k8s.io", kind = "ClusterRole", name = role },
      subjects = { { kind = "ServiceAccount", name = name, namespace = namespace } } })
  end

  -- Status and body of /metrics with this token; ca: a file; without it the certificate is not
  -- checked.
  local function get(token, ca)
    local address = host:logged("^serving metrics$").address
    local command = "curl -sS --max-time 30 " .. (ca and "--cacert " .. ca or "-k")
    if token then
      command = command .. " -H 'Authorization: Bearer " .. token .. "'"
    end
    local pipe = io.popen(command .. " -w '\n%{http_code}' https://" .. address .. "/metrics 2>&1")
    local body, status = pipe:read("*a"):match("^(.*)\n(%d+)$")
    pipe:close()
    return tonumber(status), body
  end

  it("are for who may, and for nobody else", function()
    local token, other = account("scraper"), account("other")
    let_in("scraper")
    start()
    host:logged("^controller started$")
    assert.equal(401, (get()))
    assert.equal(401, (get("no-token-of-anybody")))
    assert.equal(403, (get(other)))
    local body
    e2e.eventually("the role is known", function() -- an authorizer may lag, and a refusal is cached
      local status, text = get(token)
      body = text
      return status == 200
    end)
    assert.truthy(body:find("controller_runtime_max_concurrent_reconciles{", 1, true))
    assert.equal(200, (get(token))) -- from the host's cache
    local address = host:logged("^serving metrics$").address
    local pipe = io.popen("curl -sS --max-time 10 -o /dev/null -w '%{http_code}' http://" .. address
      .. "/metrics 2>/dev/null")
    assert.is_nil(pipe:read("*a"):find("200", 1, true)) -- plain HTTP is refused
    pipe:close()
    host:stop()
  end)

  local function make_pair(folder)
    local code = os.execute("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1"
      .. " -subj /CN=metrics -addext subjectAltName=IP:127.0.0.1 -keyout " .. folder .. "/tls.key -out "
      .. folder .. "/tls.crt 2>/dev/null")
    assert.truthy(code == 0 or code == true)
  end

  it("have the certificate of a folder, and the next one", function()
    local folder = e2e.folder() .. "/" .. e2e.unique("certs")
    os.execute("mkdir " .. folder)
    make_pair(folder)
    local token = account("scraper")
    let_in("scraper")
    start({ "--metrics-cert-dir", folder })
    e2e.eventually("the role is known", function()
      return get(token, folder .. "/tls.crt") == 200
    end)
    local first = folder .. "/first.crt"
    os.rename(folder .. "/tls.crt", first)
    make_pair(folder)
    e2e.eventually("the next certificate is shown", function()
      return get(token, folder .. "/tls.crt") == 200
    end)
    assert.is_not.equal(200, (get(token, first)))
    host:stop()
    assert.equal(2, (e2e.run("run", "examples/hello", "--metrics-cert-dir", folder)))
  end)
end)
