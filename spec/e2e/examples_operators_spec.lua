-- Examples for typical operators do what their READMEs say: certificates, tenants, an external API,
-- a schedule, a careful rollout.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")

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

  local function openssl(command, secret, member)
    local file = e2e.folder() .. "/" .. e2e.unique("pem")
    assert(os.execute(("printf %%s '%s' | base64 -d > %s"):format(secret.data[member], file)) == 0)
    local pipe = io.popen(command:gsub("FILE", file) .. " 2>&1")
    local text = pipe:read("*a")
    pipe:close()
    return text, file
  end

  it("certificates issues them, and again for other names", function()
    host = e2e.start_host(server, "examples/certificates", { "--namespace", namespace })
    server:apply_yaml(e2e.read_file("examples/certificates/manifests/sample.yaml"), namespace)
    local function issued(before)
      return e2e.eventually("a certificate", function()
        local secret = server:get(path("v1", "secrets", "web-tls"))
        return secret.data and secret.data["tls.crt"] and secret.data["tls.crt"] ~= before and secret
      end)
    end
    local secret = issued()
    local _, ca = openssl("true", secret, "ca.crt")
    assert.truthy(openssl("openssl verify -CAfile " .. ca .. " FILE", secret, "tls.crt"):find("OK", 1, true))
    local text = openssl("openssl x509 -in FILE -noout -ext subjectAltName", secret, "tls.crt")
    assert.truthy(text:find("DNS:web.default.svc, DNS:web", 1, true), text)
    assert.equal(secret.data["ca.crt"], server:get(path("v1", "secrets", "authority")).data["tls.crt"])
    server:patch(path("v1", "secrets", "web-tls"), { metadata = { annotations = {
      ["example.com/certificate-for"] = "other.default.svc" } } })
    local other = issued(secret.data["tls.crt"])
    text = openssl("openssl x509 -in FILE -noout -ext subjectAltName", other, "tls.crt")
    assert.truthy(text:find("DNS:other.default.svc", 1, true), text)
    assert.equal(secret.data["ca.crt"], other.data["ca.crt"])
    -- Another CA: all its certificates are issued again.
    server:delete(path("v1", "secrets", "authority"))
    server:patch(path("v1", "secrets", "web-tls"), { metadata = { labels = { touched = "yes" } } })
    assert.are_not.equal(other.data["ca.crt"], issued(other.data["tls.crt"]).data["ca.crt"])
    host:stop()
  end)

  it("certificates renews them when two thirds of their life are over", function()
    local config = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("config") .. ".yaml", "life: 3s\n")
    host = e2e.start_host(server, "examples/certificates", { "--namespace", namespace, "--config", config })
    server:apply_yaml(e2e.read_file("examples/certificates/manifests/sample.yaml"), namespace)
    host:logged(function(line)
      return line.msg == "issued a certificate" and line.why == "two thirds of its life are over"
    end)
    host:stop()
  end)

  it("tenant makes a namespace with its rules, and puts back what somebody takes away", function()
    server:apply_crd(e2e.read_file("examples/tenant/manifests/crd.yaml"))
    host = e2e.start_host(server, "examples/tenant")
    local name = e2e.unique("team")
    server:create("/apis/example.com/v1/tenants", { apiVersion = "example.com/v1", kind = "Tenant",
      metadata = { name = name }, spec = { members = { "jane", "joe" }, pods = 10 } })
    e2e.eventually("it is ready", function()
      local tenant = server:get("/apis/example.com/v1/tenants/" .. name)
      return tenant.status and tenant.status.conditions and tenant.status.conditions[1].status == "True"
    end)
    namespace = name
    assert.equal(name, server:get("/api/v1/namespaces/" .. name).metadata.labels["example.com/tenant"])
    assert.equal("10", server:get(path("v1", "resourcequotas", "tenant")).spec.hard.pods)
    local binding = path("rbac.authorization.k8s.io/v1", "rolebindings", "members")
    assert.same({ 2, "joe", "edit" }, { #server:get(binding).subjects, server:get(binding).subjects[2].name,
      server:get(binding).roleRef.name })
    server:delete(path("networking.k8s.io/v1", "networkpolicies", "tenant"))
    e2e.eventually("the policy is there again", function()
      return server:get(path("networking.k8s.io/v1", "networkpolicies", "tenant"))
    end)
    server:patch("/apis/example.com/v1/tenants/" .. name, { spec = { members = { "jane" } } })
    e2e.eventually("joe is out", function()
      return #server:get(binding).subjects == 1
    end)
    server:delete("/apis/example.com/v1/tenants/" .. name)
    e2e.eventually("the namespace goes", function()
      local left = server:get("/api/v1/namespaces/" .. name)
      return not left or left.metadata.deletionTimestamp
    end, 90) -- kube's garbage collector looks for new kinds every 30 s
    host:stop()
  end)

  it("dns-record keeps records of an API, through its failures, and deletes them", function()
    server:apply_crd(e2e.read_file("examples/dns-record/manifests/crd.yaml"))
    local folder = e2e.folder() .. "/" .. e2e.unique("records")
    assert(os.execute("mkdir -p " .. folder) == 0)
    local child = e2e.process.start({ "python3", "spec/support/records.py", folder },
      { stdout = folder .. "/out", stderr = folder .. "/err" })
    local port = e2e.eventually("the API is there", function()
      return e2e.read_file(folder .. "/out"):match("^(%d+)\n")
    end)
    local function holds(name)
      local ok, records = pcall(cjson.decode, e2e.read_file(folder .. "/records"))
      return ok and records[name] or nil
    end
    local config = e2e.write_file(folder .. "/config.yaml", "api: http://127.0.0.1:" .. port .. "\nevery: 1s\n")
    host = e2e.start_host(server, "examples/dns-record", { "--config", config, "--namespace", namespace })
    local file = e2e.read_file("examples/dns-record/sample.yaml")
    local record = path("example.com/v1", "dnsrecords")
    e2e.write_file(folder .. "/down", "")
    server:create(record, { apiVersion = "example.com/v1", kind = "DnsRecord", metadata = { name = "blog" },
      spec = { host = file:match("host: (%S+)"), address = file:match("address: (%S+)") } })
    host:logged(function(line)
      return tostring(line.error):find("503", 1, true)
    end)
    os.remove(folder .. "/down")
    e2e.eventually("the record is there", function()
      local one = holds("blog.example.com")
      return one and one.address == "192.0.2.7" and one.ttl == 300
    end)
    -- A change by others at the service is undone.
    assert(os.execute(("curl -s -X PUT -d '{\"address\":\"192.0.2.9\",\"ttl\":5}' http://127.0.0.1:%s/records/%s")
      :format(port, "blog.example.com") .. " >/dev/null") == 0)
    e2e.eventually("it is as it was", function()
      return holds("blog.example.com").address == "192.0.2.7"
    end)
    server:patch(record .. "/blog", { spec = { host = "www.example.com" } })
    e2e.eventually("it is under its new name alone", function()
      return holds("www.example.com") and not holds("blog.example.com")
    end)
    e2e.write_file(folder .. "/down", "")
    server:delete(record .. "/blog")
    host:logged(function(line)
      return tostring(line.error):find("DELETE %S+: 503")
    end)
    assert.truthy(server:get(record .. "/blog"))
    os.remove(folder .. "/down")
    e2e.eventually("it goes", function()
      return not server:get(record .. "/blog") and not holds("www.example.com")
    end)
    host:stop()
    child:signal("TERM")
    child:wait(10)
  end)

  it("office-hours sends Deployments to sleep and wakes them", function()
    host = e2e.start_host(server, "examples/office-hours", { "--namespace", namespace })
    server:apply_yaml(e2e.read_file("examples/office-hours/manifests/sample.yaml"), namespace)
    local deployment = path("apps/v1", "deployments", "web")
    -- Every minute is later than once a year, except in the first minute of a year.
    local function hours(sleep, wake)
      server:patch(deployment, { metadata = { annotations = { ["example.com/sleep"] = sleep,
        ["example.com/wake"] = wake } } })
    end
    hours("* * * * *", "0 0 1 1 *")
    e2e.eventually("it sleeps", function()
      return server:get(deployment).spec.replicas == 0
    end)
    assert.equal("3", server:get(deployment).metadata.annotations["example.com/replicas-awake"])
    hours("0 0 1 1 *", "* * * * *")
    e2e.eventually("it wakes", function()
      return server:get(deployment).spec.replicas == 3
    end)
    assert.is_nil(server:get(deployment).metadata.annotations["example.com/replicas-awake"])
    hours("now and then", "* * * * *")
    host:logged(function(line)
      return tostring(line.error):find("example.com/sleep", 1, true)
    end)
    host:stop()
  end)

  if not e2e.is_kube then -- there the StatefulSet controller creates the pods, and none becomes ready
    it("careful-rollout deletes old pods one by one, and stops where one is held", function()
      host = e2e.start_host(server, "examples/careful-rollout", { "--namespace", namespace })
      server:apply_yaml(e2e.read_file("examples/careful-rollout/manifests/sample.yaml"), namespace)
      local sets, pods = path("apps/v1", "statefulsets", "store"), path("v1", "pods")
      local set = server:get(sets)
      local function pod(number, revision, annotations)
        server:create(pods, { apiVersion = "v1", kind = "Pod", metadata = { name = "store-" .. number,
          annotations = annotations, labels = { app = "store", ["controller-revision-hash"] = revision },
          ownerReferences = { { apiVersion = "apps/v1", kind = "StatefulSet", name = "store", uid = set.metadata.uid,
            controller = true } } }, spec = { containers = { { name = "store", image = "postgres" } } } })
      end
      local function ready(number)
        server:patch(pods .. "/store-" .. number .. "/status", { status = { conditions = {
          { type = "Ready", status = "True" } } } })
      end
      local function uid(number)
        local one = server:get(pods .. "/store-" .. number)
        return one and one.metadata.uid
      end
      server:patch(sets .. "/status", { status = { replicas = 3, updateRevision = "old" } })
      for number = 0, 2 do
        pod(number, "old", number == 1 and { ["example.com/hold"] = "look-first" } or nil)
        ready(number)
      end
      local first, second = uid(2), uid(1)
      server:patch(sets .. "/status", { status = { replicas = 3, updateRevision = "new" } })
      e2e.eventually("the highest goes", function()
        return not uid(2)
      end)
      pod(2, "new")
      e2e.eventually("it waits for it", function()
        return host:count_logged("^step$") == 1 and uid(2) ~= first
      end)
      assert.equal(second, uid(1))
      ready(2)
      e2e.process.pause(0.3)
      assert.equal(second, uid(1)) -- held
      server:patch(pods .. "/store-1", { metadata = { annotations = { ["example.com/hold"] = e2e.null } } })
      e2e.eventually("the next goes", function()
        return not uid(1)
      end)
      assert.truthy(uid(0))
      host:stop()
    end)
  end
end)
