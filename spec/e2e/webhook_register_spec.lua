-- Webhooks as API servers call them: registration, conversion, shared certificates, failure policies.

local e2e = require("spec.support.e2e")
local held_ports = require("spec.support.held_ports")
local record_file = require("spec.support.record_file")

local group = e2e.unique("w") .. ".example.com"
local plural = "websites." .. group

local script = ([[
local perilune = require("perilune")

perilune.webhook.validate({"GROUP/v1/Website", "GROUP/v2/Website"}, function(object, old, request)
  if (object.spec.replicas or object.spec.size or 0) > 10 then return "spec.replicas: at most 10" end
  if object.spec.slow then return nil, {"this is slow"} end
end, { match_policy = "Equivalent" EXTRA })

perilune.webhook.mutate("GROUP/v1/Website", function(object)
  object.spec.replicas = object.spec.replicas or 1
end)

perilune.webhook.convert("GROUP/Website", function(object, version)
  if version == "v2" then object.spec.size, object.spec.replicas = object.spec.replicas, nil
  else object.spec.replicas, object.spec.size = object.spec.size, nil end
  return object
end)
]]):gsub("GROUP", group)

local open_schema = { openAPIV3Schema = { type = "object", properties = { spec = { type = "object",
  ["x-kubernetes-preserve-unknown-fields"] = true } } } }
local crd = { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
  metadata = { name = plural },
  spec = { group = group, scope = "Namespaced",
    names = { plural = "websites", singular = "website", kind = "Website", listKind = "WebsiteList" },
    versions = { { name = "v1", served = true, storage = true, schema = open_schema },
      { name = "v2", served = true, storage = false, schema = open_schema } } } }

local CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
local CONFIGS = "/apis/admissionregistration.k8s.io/v1/"

describe("webhooks that register themselves", function()
  local server, namespace, name, port
  local running -- the last host that `start` has started

  setup(function()
    server = e2e.server()
    namespace = server:new_namespace()
    server:create(CRDS, crd)
    e2e.eventually("the kind is served", function()
      return server:get("/apis/" .. group .. "/v1/websites?limit=1")
    end)
  end)
  before_each(function()
    name = e2e.unique("hooks")
    port = held_ports.port()
  end)
  after_each(function()
    e2e.clean_up()
    for _, kind in ipairs({ "validatingwebhookconfigurations/", "mutatingwebhookconfigurations/" }) do
      server:delete(CONFIGS .. kind .. name)
    end
  end)
  teardown(e2e.finish)

  local function config(kind)
    return server:get(CONFIGS .. kind .. "webhookconfigurations/" .. name)
  end

  local function registered(count)
    e2e.eventually("they are registered", function()
      running:must_run()
      local validating, mutating = config("validating"), config("mutating")
      local conversion = server:get(CRDS .. "/" .. plural).spec.conversion
      return validating and #validating.webhooks == (count or 2) and mutating
        and conversion.strategy == "Webhook"
        and conversion.webhook.clientConfig.url == "https://127.0.0.1:" .. port .. "/convert"
    end)
  end

  local function start(options)
    options = options or {}
    local flags = { "--webhook-bind-address", "127.0.0.1:" .. port, "--webhook-url",
      "https://127.0.0.1:" .. port, "--leader-elect-resource-name", name }
    for _, flag in ipairs(options.flags or {}) do
      flags[#flags + 1] = flag
    end
    local text = (options.script or script):gsub("EXTRA", options.extra or "")
    running = e2e.start_host(server, text, flags)
    return running
  end

  local function path(version, site)
    return "/apis/" .. group .. "/" .. version .. "/namespaces/" .. namespace .. "/websites"
      .. (site and "/" .. site or "")
  end

  local function create(site, spec, version)
    return server:request("POST", path(version or "v1"), { apiVersion = group .. "/" .. (version or "v1"),
      kind = "Website", metadata = { name = site }, spec = spec })
  end

  -- kube-apiserver notices a configuration only after a moment.
  local function works(host)
    registered()
    e2e.eventually("objects are defaulted", function()
      local site = e2e.unique("probe")
      local status, answer = create(site, { a = 1 })
      host:must_run()
      return status == 201 and answer.spec.replicas == 1, tostring(status) .. " " ..
        tostring(type(answer) == "table" and answer.message or answer)
    end)
    e2e.eventually("versions are converted", function()
      local site = e2e.unique("probe")
      create(site, { replicas = 2 })
      local status, answer = server:request("GET", path("v2", site))
      return status == 200 and answer.spec.size == 2, tostring(status) .. " " ..
        tostring(type(answer) == "table" and answer.message or answer)
    end)
  end

  it("admit, deny, default and convert", function()
    local host = start()
    works(host)
    local status, answer = create("many", { replicas = 11 })
    assert.equal(403, status)
    assert.truthy(answer.message:find("spec.replicas: at most 10", 1, true), answer.message)
    status, answer = create("new", { size = 3 }, "v2")
    assert.equal(201, status, type(answer) == "table" and answer.message or answer)
    assert.equal(3, answer.spec.size)
    assert.equal(3, server:get(path("v1", "new")).spec.replicas)
    assert.equal(403, (create("few", { size = 11 }, "v2")))
    local list = server:get(path("v2"))
    for _, item in ipairs(list.items) do
      assert.equal(group .. "/v2", item.apiVersion)
      assert.is_nil(item.spec.replicas)
    end
    local webhook = config("validating").webhooks[1]
    assert.same({ { "CREATE", "UPDATE" }, { "websites" }, { "v1" }, { group } }, { webhook.rules[1].operations,
      webhook.rules[1].resources, webhook.rules[1].apiVersions, webhook.rules[1].apiGroups })
    assert.same({ "Fail", "None", 10, "Equivalent" }, { webhook.failurePolicy, webhook.sideEffects,
      webhook.timeoutSeconds, webhook.matchPolicy })
    host:stop(0)
    assert.is_nil(config("validating"))
    assert.is_nil(config("mutating"))
    assert.equal("None", server:get(CRDS .. "/" .. plural).spec.conversion.strategy)
  end)

  it("convert what a watch brings, from its beginning and as it changes", function()
    local host = start()
    works(host)
    create("seen", { replicas = 4 })
    local out = e2e.folder() .. "/" .. e2e.unique("watch")
    local command = ("exec %s -N '%s%s?watch=1&fieldSelector=metadata.name%%3Dseen'"):format(server.curl,
      server.url, path("v2"))
    local child = e2e.process.start({ "sh", "-c", command }, { stdout = out, stderr = out .. ".err" })
    e2e.eventually("it is told in v2", function()
      return e2e.read_file(out):find('"size":4', 1, true)
    end)
    server:patch(path("v1", "seen"), { spec = { replicas = 5 } })
    server:delete(path("v1", "seen"))
    e2e.eventually("its change and its end are, too", function()
      local text = e2e.read_file(out)
      return text:find('"size":5', 1, true) and text:find('"DELETED"', 1, true)
    end)
    assert.is_nil(e2e.read_file(out):find('"replicas"', 1, true))
    child:signal("TERM")
    child:wait(10)
    host:stop(0)
  end)

  it("convert what deletions answer", function()
    local host = start()
    works(host)
    local function held(site)
      server:create(path("v1"), { apiVersion = group .. "/v1", kind = "Website", spec = { replicas = 4 },
        metadata = { name = site, finalizers = { "spec.example.com/hold" }, labels = { held = "yes" } } })
    end
    held("one")
    held("two")
    local status, answer = server:request("DELETE", path("v2", "one"))
    assert.same({ 200, group .. "/v2", 4 }, { status, answer.apiVersion, answer.spec.size })
    assert.is_nil(answer.spec.replicas)
    assert.truthy(answer.metadata.deletionTimestamp)
    status, answer = server:request("DELETE", path("v2") .. "?labelSelector=held%3Dyes")
    assert.equal(200, status)
    assert.equal(2, #answer.items)
    for _, item in ipairs(answer.items) do
      assert.same({ group .. "/v2", 4 }, { item.apiVersion, item.spec.size })
      assert.is_nil(item.spec.replicas)
    end
    for _, site in ipairs({ "one", "two" }) do
      server:patch(path("v2", site), { metadata = { finalizers = e2e.null } })
      assert.is_nil(server:get(path("v1", site)))
    end
    host:stop(0)
  end)

  it("warn, see dry runs, and leave out what conditions and selectors do not match", function()
    local host = start({ script = [[
local perilune = require("perilune")
perilune.webhook.validate("v1/ConfigMap", function(object, old, request)
  if request.operation == "DELETE" then return "it stays" end
  if object.data.slow then perilune.sleep(2) end
  return object.data.deny and "no, " .. tostring(request.dry_run) or nil, {"be careful"}
end, { operations = {"CREATE", "UPDATE", "DELETE"}, object_selector = "hooked=yes",
  match_conditions = {{name = "not-exempt",
    expression = "request.operation == 'DELETE' || !('exempt' in object.data)"}} })
]] })
    e2e.eventually("they are registered", function()
      return config("validating")
    end)
    local function map(site, data, labels, query)
      return server:request("POST", "/api/v1/namespaces/" .. namespace .. "/configmaps" .. (query or ""), {
        apiVersion = "v1", kind = "ConfigMap", metadata = { name = site, labels = labels }, data = data })
    end
    local hooked = { hooked = "yes" }
    e2e.eventually("they are called", function()
      return map(e2e.unique("m"), { deny = "1" }, hooked) == 403
    end)
    local _, answer = map("dry", { deny = "1" }, hooked, "?dryRun=All")
    assert.truthy(answer.message:find("no, true", 1, true), answer.message)
    assert.equal(201, (map("other", { deny = "1" }, { hooked = "no" })))
    assert.equal(201, (map("exempt", { deny = "1", exempt = "1" }, hooked)))
    assert.equal(201, (map("good", { a = "1" }, hooked)))
    assert.equal(403, (server:request("DELETE", "/api/v1/namespaces/" .. namespace .. "/configmaps/good")))
    local file = e2e.write_file(os.tmpname(), '{"apiVersion":"v1","kind":"ConfigMap",'
      .. '"metadata":{"name":"warned",'
      .. '"labels":{"hooked":"yes"}},"data":{"a":"1"}}')
    local pipe = io.popen(server.curl .. " -D - -o /dev/null -H 'Content-Type: application/json' --data-binary @"
      .. file .. " '" .. server.url .. "/api/v1/namespaces/" .. namespace .. "/configmaps' 2>&1")
    local headers = pipe:read("*a"):lower()
    pipe:close()
    assert.truthy(headers:find('warning: 299 - "be careful"', 1, true), headers)
    -- While one request waits for its webhook, others are answered.
    local stop = server:bulk_start({ { "POST", "/api/v1/namespaces/" .. namespace .. "/configmaps",
      { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "slow", labels = hooked },
        data = { slow = "1" } } } })
    local waited = 0
    while not server:get("/api/v1/namespaces/" .. namespace .. "/configmaps/slow") do
      waited = waited + 1
    end
    assert.is_true(waited > 1)
    assert.equal(1, stop()[201])
    host:stop(0)
  end)

  it("are put back when somebody changes or removes them, and left to another replica", function()
    local host = start()
    registered()
    local first = config("validating").webhooks[1].name
    server:patch(CONFIGS .. "validatingwebhookconfigurations/" .. name, { { op = "replace",
      path = "/webhooks/0/failurePolicy", value = "Ignore" } }, "application/json-patch+json")
    e2e.eventually("it is Fail again", function()
      return config("validating").webhooks[1].failurePolicy == "Fail"
    end)
    server:delete(CONFIGS .. "mutatingwebhookconfigurations/" .. name)
    e2e.eventually("it is there again", function()
      return config("mutating")
    end)
    -- Another replica with other scripts: its configuration stays.
    local other = e2e.start_host(server, (script:gsub("EXTRA", ', timeout = "3s"')),
      { "--webhook-bind-address", "127.0.0.1:0", "--webhook-url", "https://127.0.0.1:" .. port,
        "--leader-elect-resource-name", name, "--webhook-keep" })
    e2e.eventually("the other one's is there", function()
      return config("validating").webhooks[1].timeoutSeconds == 3
    end)
    local version = config("validating").metadata.resourceVersion
    server:patch(CONFIGS .. "mutatingwebhookconfigurations/" .. name, { metadata = { labels = { a = "b" } } })
    e2e.process.pause(0.5)
    assert.equal(version, config("validating").metadata.resourceVersion)
    assert.equal(first, config("validating").webhooks[1].name)
    other:stop(0)
    assert.truthy(config("validating"))
    host:stop(0)
    assert.is_nil(config("validating"))
  end)

  it("follow reloads and names", function()
    local file = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("script") .. ".lua", (script:gsub("EXTRA", "")))
    local old = name
    local host = start({ script = file, flags = { "--webhook-keep" } })
    registered()
    e2e.write_file(file, (script:gsub("EXTRA", ""))
      .. 'perilune.webhook.validate("v1/ConfigMap", function() end, { object_selector = "never=set,a in (b,c)", '
      .. 'failure_policy = "Ignore", subresources = {"status"} })\n')
    registered(3)
    local added
    for _, webhook in ipairs(config("validating").webhooks) do
      added = webhook.name == "validate.configmap.core" and webhook or added
    end
    assert.same({ { "configmaps", "configmaps/status" }, "Ignore" }, { added.rules[1].resources, added.failurePolicy })
    assert.equal(2, #added.objectSelector.matchExpressions)
    e2e.write_file(file, 'local perilune = require("perilune")\n'
      .. 'perilune.webhook.validate("v1/ConfigMap", function() end, { object_selector = "never=set" })\n')
    e2e.eventually("what is handled no more is taken back", function()
      return config("mutating") == nil and #config("validating").webhooks == 1
        and server:get(CRDS .. "/" .. plural).spec.conversion.strategy == "None"
    end)
    host:stop(0)
    assert.truthy(config("validating"))
    name = e2e.unique("hooks")
    host = start({ script = file })
    e2e.eventually("the old name is gone", function()
      host:must_run()
      return config("validating") and not server:get(CONFIGS .. "validatingwebhookconfigurations/" .. old)
    end)
    host:stop(0)
  end)

  it("decide by their failure policy when nobody answers", function()
    for policy, want in pairs({ Fail = 500, Ignore = 201 }) do
      name = e2e.unique("hooks")
      local alone = script:gsub("perilune%.webhook%.mutate.-\nend%)\n", "")
        :gsub("perilune%.webhook%.convert.-\nend%)\n", "")
      local host = start({ flags = { "--webhook-keep" }, script = alone,
        extra = (', failure_policy = "%s", timeout = "1s"'):format(policy) })
      e2e.eventually("it denies", function()
        host:must_run()
        return create(e2e.unique("many"), { replicas = 11 }) == 403
      end)
      host:stop(0)
      assert.equal(want, (create(e2e.unique("site"), { replicas = 1 })))
      server:delete(CONFIGS .. "validatingwebhookconfigurations/" .. name)
      e2e.eventually("it is forgotten", function()
        return create(e2e.unique("many"), { replicas = 11 }) == 201
      end)
    end
  end)

  it("share a certificate through a Secret, which is made anew when somebody breaks it", function()
    local secret = "/api/v1/namespaces/" .. namespace .. "/secrets/certs"
    local flags = { "--webhook-secret", namespace .. "/certs" }
    local host = start({ flags = flags })
    works(host)
    local data = server:get(secret).data
    assert.equal("Opaque", server:get(secret).type)
    assert.equal(data["ca.crt"], config("validating").webhooks[1].clientConfig.caBundle)
    local other = e2e.start_host(server, (script:gsub("EXTRA", "")), { "--webhook-bind-address", "127.0.0.1:0",
      "--webhook-url", "https://127.0.0.1:" .. port, "--leader-elect-resource-name", name, "--webhook-keep",
      "--webhook-secret", namespace .. "/certs" })
    other:logged("webhooks use a new certificate")
    assert.same(data, server:get(secret).data)
    server:patch(secret, { data = { ["tls.key"] = "bm9uc2Vuc2U=" } })
    e2e.eventually("it is made anew", function()
      local now = server:get(secret).data
      return now["tls.key"] ~= "bm9uc2Vuc2U=" and now["ca.crt"] ~= data["ca.crt"] and
        config("validating").webhooks[1].clientConfig.caBundle == now["ca.crt"]
    end)
    works(host)
    other:stop(0)
    host:stop(0)
  end)

  -- Writes certificate NUMBER for 127.0.0.1 of one CA, in the form of a Secret volume.
  local function issue(folder, number)
    local command = ([[set -e; cd %s; mkdir ..v%d
[ -f ca.key ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca \
  -keyout ca.key -out ca.pem
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=v%d -keyout ..v%d/tls.key -out csr
printf 'subjectAltName=IP:127.0.0.1' > ext
openssl x509 -req -in csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out ..v%d/tls.crt
cp ca.pem ..v%d/ca.crt; ln -sfn ..v%d ..next; mv -T ..next ..data
for name in tls.crt tls.key ca.crt; do [ -L $name ] || ln -s ..data/$name $name; done]]):gsub("%%d", number)
    assert(os.execute("( " .. command:format(folder) .. " ) 2>/dev/null") == 0)
  end

  it("go on through changes of their certificate, while kubectl applies", function()
    local folder = e2e.folder() .. "/" .. e2e.unique("certs")
    assert(os.execute("mkdir -p " .. folder) == 0)
    issue(folder, 1)
    local host = start({ flags = { "--webhook-cert-dir", folder } })
    works(host)
    local requests = {}
    for i = 1, 400 do
      requests[i] = { "POST", path("v1"), { apiVersion = group .. "/v1", kind = "Website",
        metadata = { name = "turn-" .. i }, spec = { a = i } } }
    end
    local finish, is_running = server:bulk_start(requests, 200)
    local kubectl = ("%s --kubeconfig %s"):format(e2e.kubectl(), server.kubeconfig)
    local has_kubectl = os.execute("test -x " .. e2e.kubectl()) == 0
    local applied = 0
    for number = 2, 6 do
      issue(folder, number)
      e2e.eventually("the new one is taken", function()
        host:must_run()
        return host:count_logged("the webhooks use a new certificate") >= number - 1
      end)
      if has_kubectl then
        local file = e2e.write_file(folder .. "/site.yaml", ("apiVersion: %s/v1\nkind: Website\nmetadata:\n"
          .. "  name: applied\n  namespace: %s\nspec:\n  turn: %d\n"):format(group, namespace, number))
        local pipe = io.popen(("%s apply -f %s 2>&1"):format(kubectl, file))
        local said = pipe:read("*a")
        pipe:close()
        assert.truthy(said:find(number == 2 and "created" or "configured", 1, true), said)
        applied = applied + 1
      end
    end
    local counts = finish()
    assert.is_false(is_running())
    assert.same({ [201] = 400 }, counts)
    assert.equal(1, server:get(path("v1", "turn-400")).spec.replicas)
    if applied > 0 then
      local spec = server:get(path("v1", "applied")).spec
      assert.same({ 6, 1 }, { spec.turn, spec.replicas })
      local file = e2e.write_file(folder .. "/many.yaml", ("apiVersion: %s/v1\nkind: Website\nmetadata:\n"
        .. "  name: denied\n  namespace: %s\nspec:\n  replicas: 11\n"):format(group, namespace))
      local pipe = io.popen(("%s apply -f %s 2>&1"):format(kubectl, file))
      local said = pipe:read("*a")
      pipe:close()
      assert.truthy(said:find("spec.replicas: at most 10", 1, true), said)
    end
    host:stop(0)
  end)

  it("say that they are not registered when nobody says where they are", function()
    local host = e2e.start_host(server, (script:gsub("EXTRA", "")), { "--webhook-bind-address", "127.0.0.1:0" })
    host:logged("served but not registered")
    host:stop(0)
    host = e2e.start_host(server, (script:gsub("EXTRA", "")), { "--webhook-bind-address", "127.0.0.1:0",
      "--webhook-url", "https://127.0.0.1:" .. port })
    assert.equal(1, (host.child:wait(e2e.patience)))
    assert.matches("leader%-elect%-resource%-name", host:text())
  end)

  it("are recorded and replayed", function()
    local counting = script .. ([[
local count = 0
perilune.webhook.mutate("v1/Secret", function(secret)
  count = count + 1
  local namespace = perilune.live:get("v1/Namespace", secret.metadata.namespace)
  perilune.sleep("1ms")
  secret.metadata.annotations = { count = tostring(count), phase = namespace.status.phase .. SALT }
end, { object_selector = "counted=NAME", reads = { "v1/Namespace" } })
]]):gsub("NAME", name)
    local secrets = "/api/v1/namespaces/" .. namespace .. "/secrets"
    local record = e2e.folder() .. "/" .. name .. ".record"
    local function recorded(salt)
      local host = start({ script = counting:gsub("SALT", salt), flags = { "--record", record } })
      works(host)
      local secret = e2e.eventually("a Secret is counted", function()
        local status, secret = server:request("POST", secrets, { apiVersion = "v1", kind = "Secret",
          metadata = { name = e2e.unique("s"), labels = { counted = name }, annotations = {
            ["kubectl.kubernetes.io/last-applied-configuration"] = '{"data":{"was":"cmVtb3ZlZA=="}}' } },
          stringData = { word = "a-very-secret-word" } })
        return status == 201 and secret.metadata.annotations.count and secret
      end)
      assert.equal(403, (create("many", { replicas = 11 })))
      host:stop()
      local code, out, err = e2e.run("replay", record, "--key", "Secret",
        namespace .. "/" .. secret.metadata.name)
      return code, out .. err
    end
    local code, out = recorded('""')
    assert.equal(0, code, out)
    assert.matches("everything happened as it was recorded", out)
    assert.matches("hook_answer(", out, 1, true)
    assert.is_nil(out:find("a-very-secret-word", 1, true))
    assert.is_nil(record_file.texts(record):find("cmVtb3ZlZA==", 1, true))
    local others = counting:gsub("SALT", '""'):gsub("EXTRA", "")
    local function compared(text)
      local rc, said, err = e2e.run("replay", record, e2e.write_file(record .. ".lua", text))
      assert.equal(0, rc, err)
      return said
    end
    assert.matches("^0 of %d+ runs write something else\n$", compared(others))
    assert.matches("validate%.website%S* " .. namespace:gsub("%-", "%%-") .. "/many\n  ~ answer the answer\n"
      .. "      allowed: false %-> true", compared((others:gsub("> 10", "> 20"))))
    assert.matches('  ~ mutate the object\n      metadata.annotations.phase: "Active" %-> "Activex"',
      compared((counting:gsub("SALT", '"x"'):gsub("EXTRA", ""))))
    code, out = recorded("tostring({})")
    assert.equal(3, code, out)
    assert.matches("the replay differs at %S+Z mutate.*\n  now   calls hook_answer", out)
  end)
end)
