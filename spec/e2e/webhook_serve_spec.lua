-- Serving webhooks: answers, statuses, deadlines, limits, certificates. The tests post reviews to
-- the host as an API server would.

local e2e = require("spec.support.e2e")
local hooks = require("spec.support.webhooks")

local VALIDATE, MUTATE = "/validate-example-com-v1-website", "/mutate-example-com-v1-website"

local script = [[
local perilune = require("perilune")
local client, live = perilune.client, perilune.live
local running, most = 0, 0

local does = {
  error = function(object) error("no luck with " .. object.metadata.name) end,
  deny = function() return "not this one" end,
  invalid = function() return perilune.webhook.invalid{{field = "spec.n", message = "too many"}} end,
  warn = function() return nil, {"be\ncareful"} end,
  wrong = function() return 7 end,
  sleep = function() perilune.sleep(30) end,
  loop = function() while true do end end,
  allocate = function() local t = {} while true do t[#t + 1] = ("x"):rep(1e6) .. #t end end,
  whole = function(object, old, request)
    request.audit_annotations.request = perilune.json.encode(request)
    request.audit_annotations.old = tostring(old)
    request.audit_annotations.object = tostring(object and object.kind)
  end,
  late = function(object)
    perilune.try(perilune.sleep, 30)
    client:create{apiVersion = "v1", kind = "ConfigMap",
      metadata = {name = object.spec.name, namespace = object.spec.namespace}}
  end,
  write = function(object)
    client:create{apiVersion = "v1", kind = "ConfigMap",
      metadata = {name = object.spec.name, namespace = object.spec.namespace}}
  end,
  event = function(object, _, request)
    perilune.event({apiVersion = "v1", kind = "ConfigMap", metadata = {name = object.spec.name,
      namespace = object.spec.namespace}}, "Normal", request.dry_run and "Dry" or "Seen", "seen")
  end,
  late_event = function(object)
    local _, e = perilune.try(perilune.sleep, 30)
    local ok, raised = pcall(perilune.event, {apiVersion = "v1", kind = "ConfigMap",
      metadata = {name = object.spec.name, namespace = object.spec.namespace}}, "Warning", "Late", "too late")
    print(("late: %s %s %s"):format(ok, raised.type, tostring(raised.message == e.message)))
  end,
  read = function(object)
    local map = client:get("v1/ConfigMap", {namespace = object.spec.namespace, name = object.spec.name})
    return map and "taken by " .. map.metadata.name or nil
  end,
  count = function()
    running = running + 1
    most = math.max(most, running)
    perilune.sleep(0.2)
    running = running - 1
    return "most " .. most
  end,
}

perilune.webhook.validate("example.com/v1/Website", function(object, old, request)
  return (does[object and object.spec.what or "whole"] or print)(object, old, request)
end, { operations = {"CREATE", "UPDATE", "DELETE"}, timeout = "2s", max_concurrent = 2,
  reads = {"v1/ConfigMap"}, writes = {["v1/ConfigMap"] = {"create"}}, side_effects = "NoneOnDryRun" })

perilune.webhook.mutate("example.com/v1/Website", function(object)
  object.spec.replicas = object.spec.replicas or 1
  object.spec.gone = nil
  table.insert(object.spec.list or {}, 1, "first")
end)

perilune.webhook.convert("example.com/Website", function(object, version)
  if object.spec.bad == "raise" then error("cannot") end
  if object.spec.bad == "nil" then return nil end
  if object.spec.bad == "rename" then object.metadata.name = "other" end
  if object.metadata.labels then object.metadata.labels.converted = version end
  if version == "v2" then object.spec.size, object.spec.replicas = object.spec.replicas, nil
  else object.spec.replicas, object.spec.size = object.spec.size, nil end
  return object
end)
]]

describe("a host with webhooks", function()
  local server, namespace, host

  local function start(flags)
    local all = { "--lua-memory", "64MiB" }
    for _, list in ipairs({ hooks.flags, flags or {} }) do
      for _, flag in ipairs(list) do
        all[#all + 1] = flag
      end
    end
    host = e2e.start_host(server, script, all)
    hooks.address(host)
    return host
  end

  setup(function()
    server = e2e.server()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function validate(spec, fields, options)
    return hooks.answer(host, VALIDATE, hooks.review(spec, fields), options)
  end

  it("answers reviews", function()
    start()
    local response = validate({ what = "nothing" })
    assert.is_true(response.allowed)
    assert.equal("11111111-2222-3333-4444-555555555555", response.uid)
    assert.is_nil(response.patch)
    response = validate({ what = "deny" })
    assert.same({ false, 403, "Forbidden", "not this one" },
      { response.allowed, response.status.code, response.status.reason, response.status.message })
    response = validate({ what = "invalid" })
    assert.same({ 422, "Invalid", "spec.n: too many" },
      { response.status.code, response.status.reason, response.status.message })
    assert.same({ group = "example.com", kind = "Website", name = "blog",
      causes = { { reason = "FieldValueInvalid", field = "spec.n", message = "too many" } } },
      response.status.details)
    assert.same({ "be careful" }, validate({ what = "warn" }).warnings)
    host:stop(0)
  end)

  it("answers without the lead, and while a kind cannot be listed", function()
    server:create("/apis/coordination.k8s.io/v1/namespaces/" .. namespace .. "/leases", {
      metadata = { name = "held" }, spec = { holderIdentity = "another", leaseDurationSeconds = 3600,
        renewTime = os.date("!%Y-%m-%dT%H:%M:%S.000000Z") } })
    host = e2e.start_host(server, script .. [[
perilune.controller("waits"):For("missing.example.com/v1/Thing"):Reconcile(function() end)
]], { "--lua-memory", "64MiB", "--webhook-bind-address", "127.0.0.1:0", "--leader-elect",
      "--leader-elect-resource-name", "held", "--leader-elect-resource-namespace", namespace })
    hooks.address(host)
    assert.is_true(validate({ what = "nothing" }).allowed)
    local status = host:ask("health", "/readyz")
    assert.not_equal(200, status)
    assert.is_true(host:metrics():value("leader_election_master_status", { name = "held" }) == 0)
    host:stop(0)
  end)

  it("shows handlers the request by their names, and nil for what is not there", function()
    start()
    local cjson = require("cjson")
    local notes = validate({}, { operation = "DELETE", object = cjson.null,
      oldObject = { kind = "Website", spec = {} } }).auditAnnotations
    assert.equal("nil", notes.object)
    assert.matches("^table", notes.old)
    local request = cjson.decode(notes.request)
    assert.same({ "DELETE", "example.com/v1/Website", "websites", "default", "blog", false, "jo" },
      { request.operation, request.kind, request.resource, request.namespace, request.name,
        request.dry_run, request.user.username })
    assert.is_nil(request.subresource)
    assert.is_nil(request.options)
    host:stop(0)
  end)

  it("patches what differs and nothing else", function()
    start()
    local text = '{"gone":true,"list":["x"],"a":null,"b":[],"c":{},"d":1.000,"e":123456789012345678901234567890}'
    local body = require("cjson").encode(hooks.review("SPEC")):gsub('"SPEC"', function() return text end)
    local operations = hooks.patch(hooks.answer(host, MUTATE, body))
    table.sort(operations, function(a, b) -- for members it is the order of a Lua table
      return a.path < b.path
    end)
    assert.same({ { op = "remove", path = "/spec/gone" }, { op = "add", path = "/spec/list/0", value = "first" },
      { op = "add", path = "/spec/replicas", value = 1 } }, operations)
    local response = hooks.answer(host, MUTATE, hooks.review({ replicas = 3 }))
    assert.same({ true }, { response.allowed, response.patch, response.patchType })
    host:stop(0)
  end)

  it("converts, or says at which object it could not", function()
    start()
    local function site(name, spec, version)
      return { apiVersion = "example.com/" .. (version or "v1"), kind = "Website",
        metadata = { name = name, uid = "u", labels = { a = "b" } }, spec = spec }
    end
    local response = hooks.answer(host, "/convert", hooks.conversion("example.com/v2",
      { site("a", { replicas = 3 }), site("b", { size = 4 }, "v2") }))
    assert.equal("Success", response.result.status)
    assert.same({ 3, 4, "example.com/v2", "v2" }, { response.convertedObjects[1].spec.size,
      response.convertedObjects[2].spec.size, response.convertedObjects[1].apiVersion,
      response.convertedObjects[1].metadata.labels.converted })
    for bad, part in pairs({ raise = "cannot", rename = "metadata.name", ["nil"] = "must return the object" }) do
      response = hooks.answer(host, "/convert", hooks.conversion("example.com/v2",
        { site("a", { replicas = 1 }), site("b", { bad = bad }) }))
      assert.equal("Failure", response.result.status)
      assert.matches("^b: ", response.result.message)
      assert.truthy(response.result.message:find(part, 1, true), response.result.message)
      assert.is_nil(response.convertedObjects)
    end
    response = hooks.answer(host, "/convert", hooks.conversion("example.com/v2",
      { { apiVersion = "example.com/v1", kind = "Other", metadata = { name = "x" } } }))
    assert.matches("^x: no handler converts example.com/Other", response.result.message)
    local line = host:logged(function(found)
      return found.msg == "webhook failed" and tostring(found.error):find("cannot", 1, true)
    end)
    assert.same({ "b", "CONVERT" }, { line.key, line.operation })
    host:stop(0)
  end)

  it("refuses what is no review with its status", function()
    start()
    local function check(want, path, body, options, part)
      local status, _, text = hooks.post(host, path, body, options)
      assert.equal(want, status, text)
      assert.truthy(not part or text:find(part, 1, true), text)
    end
    local good = hooks.review({})
    check(404, "/validate--v1-pod", good)
    check(405, VALIDATE, "", { method = "PUT" })
    check(415, VALIDATE, good, { type = "application/yaml" })
    check(200, VALIDATE, good, { type = "application/json; charset=utf-8" })
    check(400, VALIDATE, "{", nil, "not JSON")
    check(400, VALIDATE, '{"a":"\255"}', nil, "not JSON")
    check(400, VALIDATE, "{}")
    check(400, VALIDATE, hooks.conversion("a/v1", {}), nil, "AdmissionReview")
    local old = hooks.review({})
    old.apiVersion = "admission.k8s.io/v1beta1"
    check(400, VALIDATE, old, nil, "admission.k8s.io/v1")
    check(413, VALIDATE, (" "):rep(7 * 1024 * 1024 + 1))
    local text = require("cjson").encode(good)
    check(200, VALIDATE, text:sub(1, -2) .. ',"kind":"AdmissionReview"}')
    local deep = ("["):rep(500) .. ("]"):rep(500)
    check(200, VALIDATE, (require("cjson").encode(hooks.review("DEEP")):gsub('"DEEP"', '{"a":' .. deep .. "}")))
    deep = ("["):rep(600) .. ("]"):rep(600)
    check(400, VALIDATE, (require("cjson").encode(hooks.review("DEEP")):gsub('"DEEP"', '{"a":' .. deep .. "}")))
    local twice = require("cjson").encode(hooks.review("TWICE")):gsub('"TWICE"', '{"what":"deny","what":"nothing"}')
    assert.is_true(hooks.answer(host, VALIDATE, twice).allowed) -- the last one counts
    check(200, MUTATE, hooks.review({ big = ("x"):rep(3 * 1024 * 1024) }))
    host:stop(0)
  end)

  it("answers 500 when a handler fails, and says so once a minute", function()
    start()
    for _ = 1, 3 do
      local status, _, text = hooks.post(host, VALIDATE, hooks.review({ what = "error" }))
      assert.equal(500, status)
      assert.matches("^validate.website.example.com: [^\n]*no luck with blog\n$", text)
    end
    local status, _, text = hooks.post(host, VALIDATE, hooks.review({ what = "wrong" }))
    assert.equal(500, status)
    assert.truthy(text:find("it may return nothing", 1, true))
    assert.equal(500, (hooks.post(host, VALIDATE, hooks.review({ what = "allocate" }))))
    local line = host:logged(function(line)
      return line.msg == "webhook failed" and tostring(line.error):find("no luck", 1, true)
    end)
    assert.matches("no luck", line.traceback)
    e2e.eventually("each error is logged once", function() -- the answer may arrive before its log line
      return host:count_logged("^webhook failed$") == 3
    end)
    local metrics = host:metrics()
    assert.equal(5, metrics:value("controller_runtime_webhook_requests_total", { webhook = VALIDATE, code = "500" }))
    assert.is_true(validate({}).allowed)
    host:stop(0)
  end)

  it("ends handlers at the deadline, and nothing of them is written after it", function()
    start()
    local began = e2e.now()
    local status, _, text = hooks.post(host, VALIDATE .. "?timeout=1s", hooks.review({ what = "sleep" }))
    assert.equal(500, status)
    assert.matches("the deadline of 0.9 s has passed", text)
    assert.is_true(e2e.now() - began < 25)
    for _, what in ipairs({ "loop", "late" }) do
      status, _, text = hooks.post(host, VALIDATE .. "?timeout=1s",
        hooks.review({ what = what, name = "late", namespace = namespace }))
      assert.equal(500, status)
      assert.matches("deadline", text)
    end
    status = hooks.post(host, VALIDATE .. "?timeout=never", hooks.review({ what = "deny" }))
    assert.equal(200, status)
    assert.is_nil(server:get("/api/v1/namespaces/" .. namespace .. "/configmaps/late"))
    host:stop(0)
  end)

  it("reads declared kinds from its caches, and writes as a dry run for dry runs", function()
    start()
    local function map(name)
      return "/api/v1/namespaces/" .. namespace .. "/configmaps/" .. name
    end
    assert.is_true(validate({ what = "read", namespace = namespace, name = "m" }).allowed)
    assert.is_true(validate({ what = "write", namespace = namespace, name = "m" }, { dryRun = true }).allowed)
    assert.is_nil(server:get(map("m")))
    assert.equal("validate.website.example.com", host:logged("^dry run$").controller)
    assert.is_true(validate({ what = "write", namespace = namespace, name = "m" }).allowed)
    assert.truthy(server:get(map("m")))
    assert.equal("taken by m", validate({ what = "read", namespace = namespace, name = "m" }).status.message)
    assert.same({}, host:complaints())
    host:stop(0)
  end)

  it("writes no Event for dry runs and after the deadline", function()
    start()
    local fields = { name = "m", namespace = namespace }
    local function say(what, more)
      return hooks.post(host, VALIDATE .. "?timeout=1s", hooks.review({ what = what, name = fields.name,
        namespace = fields.namespace }, more))
    end
    assert.equal(200, (say("event", { dryRun = true })))
    local line = host:logged("^dry run: Event$")
    assert.same({ "Dry", "ConfigMap", "m" }, { line.reason, line.kind, line.name })
    assert.equal(500, (say("late_event")))
    host:logged("^late: false timeout true$")
    assert.equal(200, (say("event")))
    local events = "/apis/events.k8s.io/v1/namespaces/" .. namespace .. "/events"
    local reasons = e2e.eventually("the real one is written", function()
      local found = {}
      for _, event in ipairs(server:get(events).items) do
        found[#found + 1] = event.reason
      end
      return #found > 0 and found
    end)
    assert.same({ "Seen" }, reasons)
    host:stop(0)
  end)

  it("says how a handler declares a write", function()
    host = e2e.start_host(server, [[
local perilune = require("perilune")
perilune.webhook.validate("example.com/v1/Website", function(object)
  perilune.client:create{apiVersion = "v1", kind = "ConfigMap",
    metadata = {name = "undeclared", namespace = object.spec.namespace}}
end)
]], hooks.flags)
    assert.is_true(validate({ namespace = namespace }).allowed)
    local line = host:logged("undeclared write")
    assert.equal('writes = {["v1/ConfigMap"] = {"create"}}, side_effects = "NoneOnDryRun"', line.add)
    host:stop(0)
  end)

  it("runs at most max_concurrent handlers of a registration", function()
    start()
    local stop = hooks.load(host, VALIDATE, hooks.review({ what = "count" }), 1000, 8)
    e2e.eventually("some were answered", function()
      return (host:metrics():value("perilune_webhook_denied_total", { webhook = VALIDATE }) or 0) > 10
    end)
    assert.equal(0, stop().failed)
    assert.equal("most 2", validate({ what = "count" }).status.message)
    host:stop(0)
  end)

  it("bears connections that say nothing", function()
    start()
    local address = hooks.address(host)
    local name, port = address:match("^(.*):(%d+)$")
    local out = e2e.folder() .. "/idle"
    local idle = e2e.process.start({ "python3", "spec/support/reviews.py", "idle", name, port, "1000" },
      { stdout = out, stderr = out .. ".err" })
    e2e.eventually("they are open", function()
      return e2e.read_file(out):find("held 1000", 1, true), e2e.read_file(out .. ".err")
    end, 4 * e2e.patience)
    assert.is_true(validate({}).allowed)
    if not os.getenv("PL_SANITIZED") then
      assert.is_true(host.child:rss() < 150 * 1024 * 1024)
    end
    idle:signal("TERM")
    idle:wait(30)
    host:stop(0)
  end)

  it("answers what is under way when it stops, and drains as long as it is told", function()
    start({ "--webhook-drain", "1s", "--health-probe-bind-address", "127.0.0.1:0" })
    local stop = hooks.load(host, VALIDATE, hooks.review({ what = "count" }), 20, 4)
    e2e.eventually("some were answered", function()
      return (host:metrics():value("perilune_webhook_denied_total", { webhook = VALIDATE }) or 0) > 3
    end)
    host.child:signal("TERM")
    host:logged("^stopping$")
    e2e.eventually("it is not ready", function()
      return host:ask("health", "/readyz") == 500
    end)
    local got = stop()
    assert.equal(0, got.failed, got.first)
    assert.equal(0, (host.child:wait(e2e.patience)))
  end)

  it("shows itself", function()
    start()
    validate({ what = "deny" })
    local metrics = host:metrics()
    local labels = { webhook = VALIDATE }
    assert.equal(1, metrics:value("perilune_webhook_denied_total", labels))
    assert.equal(0, metrics:value("controller_runtime_webhook_requests_in_flight", labels))
    assert.is_true(metrics:value("perilune_webhook_certificate_expiry_timestamp_seconds", {}) > os.time() + 86400)
    e2e.eventually("its caches have synced", function()
      local status, body = host:ask("health", "/readyz/webhook")
      return status == 200, body
    end)
    local pipe = io.popen(e2e.binary .. " status -o json --pid " .. host.child.pid .. " 2>&1")
    local shown = require("cjson").decode(pipe:read("*a"))
    pipe:close()
    assert.equal(3, #shown.webhooks)
    assert.same({ "validate.website.example.com", 1, 1, 0 }, { shown.webhooks[1].name,
      shown.webhooks[1].requests, shown.webhooks[1].denied, shown.webhooks[1].errors })
    host:stop(0)
  end)

  it("is shown by perilune check before it runs", function()
    local path = e2e.write_file(e2e.folder() .. "/hooks.lua", script)
    local code, out, err = e2e.run("check", path)
    assert.equal(0, code, err)
    for _, part in ipairs({ "webhook validate.website.example.com", VALIDATE, MUTATE,
      "on       CREATE,UPDATE,DELETE failure_policy=Fail timeout=2s", "convert  example.com/Website" }) do
      assert.truthy(out:find(part, 1, true), part .. " is not in:\n" .. out)
    end
  end)
end)

describe("the certificate of webhooks", function()
  local server, folder

  local function sh(command)
    local pipe = io.popen("cd " .. folder .. " && { " .. command .. "; } 2>&1")
    local text = pipe:read("*a")
    pipe:close()
    return text
  end

  -- A certificate of a new CA, in a new folder.
  local function make(name)
    sh(("mkdir -p %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
      .. "-subj /CN=%s -addext subjectAltName=IP:127.0.0.1 -keyout %s/tls.key -out %s/tls.crt")
      :format(name, name, name, name))
  end

  local function start(flags)
    local all = { hooks.flags[1], hooks.flags[2] }
    for _, flag in ipairs(flags) do
      all[#all + 1] = flag
    end
    local host = e2e.start_host(server, script, all)
    return host
  end

  local function verifies(host, name, curl)
    local status = hooks.post(host, VALIDATE, hooks.review({ what = "deny" }),
      { trust = "--cacert " .. folder .. "/" .. name .. "/tls.crt", curl = curl })
    return status == 200
  end

  setup(function()
    server = e2e.server()
    folder = e2e.folder() .. "/certs"
    os.execute("mkdir -p " .. folder)
    for _, name in ipairs({ "one", "two", "client" }) do
      make(name)
    end
    sh("mkdir place && cp one/* place")
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  it("is taken anew from a folder, also from a Secret's volume, and a broken one is left alone", function()
    sh("mkdir -p vol/..a vol/..b && cp one/* vol/..a && cp two/* vol/..b && cd vol && ln -sfn ..a ..data "
      .. "&& ln -s ..data/tls.crt tls.crt && ln -s ..data/tls.key tls.key")
    local host = start({ "--webhook-cert-dir", folder .. "/vol" })
    assert.is_true(verifies(host, "one"))
    local stop = hooks.load(host, VALIDATE, hooks.review({ what = "deny" }), 100, 2)
    sh("cd vol && ln -sfn ..b ..tmp && mv -T ..tmp ..data")
    e2e.eventually("the other one is served", function()
      return verifies(host, "two")
    end)
    sh("cp one/tls.crt vol/..b/tls.crt.new && mv vol/..b/tls.crt.new vol/..b/tls.crt && touch vol/tls.crt && "
      .. "cd vol && mkdir ..c && cp ../one/tls.crt ..c/ && cp ../two/tls.key ..c/ "
      .. "&& ln -sfn ..c ..tmp && mv -T ..tmp ..data")
    host:logged("can't be used")
    assert.is_true(verifies(host, "two"))
    assert.equal(0, stop().failed)
    host:stop(0)
  end)

  -- The path is followed, not the folder that was there at first.
  it("is taken anew after its folder was replaced, again and again", function()
    local host = start({ "--webhook-cert-dir", folder .. "/place" })
    local function is_served(name)
      e2e.eventually(name .. " is served", function()
        return verifies(host, name)
      end)
    end
    is_served("one")
    sh("rm -r place && mkdir place && cp two/* place")
    is_served("two")
    sh("cp one/* place")
    is_served("one")
    sh("mv place gone")
    host:logged("can't be used")
    assert.is_true(verifies(host, "one"))
    sh("mkdir new && cp two/* new && mv new place")
    is_served("two")
    sh("cp one/tls.key place/k && cp one/tls.crt place/c && mv place/k place/tls.key && mv place/c place/tls.crt")
    is_served("one")
    host:stop(0)
  end)

  it("must be there when its folder is named", function()
    local host = start({ "--webhook-cert-dir", folder .. "/nowhere" })
    assert.equal(1, (host.child:wait(e2e.patience)))
    assert.matches("webhook%-cert%-dir: .*tls.crt", host:text())
  end)

  it("is asked of clients, too", function()
    local host = start({ "--webhook-cert-dir", folder .. "/one", "--webhook-client-ca", folder .. "/client/tls.crt" })
    assert.is_false(verifies(host, "one"))
    assert.is_true(verifies(host, "one", ("--cert %s/client/tls.crt --key %s/client/tls.key"):format(folder, folder)))
    assert.is_false(verifies(host, "one", ("--cert %s/two/tls.crt --key %s/two/tls.key"):format(folder, folder)))
    host:stop(0)
  end)
end)
