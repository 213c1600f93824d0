-- Admission webhooks as an API server calls them: order, reinvocation, timeouts, failure policies,
-- match conditions, dry runs, warnings. The webhooks are a separate program
-- (spec/support/hooks.py), so this compares the embedded server with kube-apiserver.

local e2e = require("spec.support.e2e")
local cjson = require("cjson")
local support = require("spec.support.webhooks")

local CONFIGS = "/apis/admissionregistration.k8s.io/v1/"

describe("an API server that calls webhooks", function()
  local server, namespace, program, url, port, ca, folder
  local made = {}

  setup(function()
    server = e2e.server()
    namespace = server:new_namespace()
    program = support.program(namespace)
    folder, port, url, ca = program.folder, program.port, program.url, program.ca
  end)
  after_each(function()
    for _, path in ipairs(made) do
      server:delete(path)
    end
    made = {}
  end)
  teardown(function()
    program.stop()
    e2e.finish()
  end)

  -- A configuration for ConfigMaps in the spec's namespace with the label hooks=MARK. webhooks:
  -- arrays of a path and the differences from the default.
  local function document(sort, name, mark, webhooks)
    local list = {}
    for i, one in ipairs(webhooks) do
      local webhook = { name = ("w%d.%s.example.com"):format(i, name), sideEffects = "None",
        admissionReviewVersions = { "v1" }, clientConfig = { url = url .. one[1], caBundle = ca },
        namespaceSelector = { matchLabels = { ["kubernetes.io/metadata.name"] = namespace } },
        objectSelector = { matchLabels = { hooks = mark } },
        rules = { { apiGroups = { "" }, apiVersions = { "v1" }, operations = { "CREATE", "UPDATE" },
          resources = { "configmaps" } } } }
      for field, value in pairs(one) do
        if type(field) == "string" then
          webhook[field] = value
        end
      end
      list[i] = webhook
    end
    return { apiVersion = "admissionregistration.k8s.io/v1", metadata = { name = name },
      kind = sort == "mutating" and "MutatingWebhookConfiguration" or "ValidatingWebhookConfiguration",
      webhooks = list }
  end

  local function configure(sort, name, mark, webhooks)
    local path = CONFIGS .. sort .. "webhookconfigurations"
    server:create(path, document(sort, name, mark, webhooks))
    made[#made + 1] = path .. "/" .. name
  end

  local function maps(name, query)
    return ("/api/v1/namespaces/%s/configmaps%s%s"):format(namespace, name and "/" .. name or "", query or "")
  end

  local function map(name, mark, annotations)
    return { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = name, labels = { hooks = mark }, annotations = annotations }, data = { a = "1" } }
  end

  local function post(mark, query, name)
    name = name or e2e.unique("m")
    local status, answer, text = server:request("POST", maps(nil, query), map(name, mark))
    return status, answer, name, text
  end

  -- The requests about one object that reached webhooks, in their order.
  local function reviews(name)
    local found = {}
    for line in e2e.read_file(folder .. "/reviews"):gmatch("([^\n]+)\n") do
      local review = cjson.decode(line)
      if review.request.name == name then
        found[#found + 1] = review
      end
    end
    return found
  end

  local function paths(name)
    local found = {}
    for i, review in ipairs(reviews(name)) do
      found[i] = review.path
    end
    return found
  end

  -- kube-apiserver notices each configuration separately, a moment later.
  local function comes_to(mark, want, query)
    local name, answer
    e2e.eventually("requests end as expected", function()
      local status, told, asked = post(mark, query)
      name, answer = asked, told
      local said = type(told) == "table" and (told.message
        or (told.metadata and told.metadata.annotations or {}).order) or tostring(told)
      return want(status, said, told), ("%d %s"):format(status, tostring(said))
    end)
    return name, answer
  end

  local function order_is(mark, order)
    return comes_to(mark, function(status, _, object)
      return status == 201 and object.metadata.annotations and object.metadata.annotations.order == order
    end)
  end

  it("calls them by the name of their configuration, and then in its order", function()
    local mark = e2e.unique("order")
    configure("mutating", mark .. "-b", mark, { { "/append/3" } })
    configure("mutating", mark .. "-a", mark, { { "/append/1" }, { "/append/2" } })
    configure("validating", mark .. "-0", mark, { { "/warn/seen" } })
    local name = order_is(mark, "123")
    e2e.eventually("the validating one is called, too", function()
      name = order_is(mark, "123")
      return #reviews(name) == 4
    end)
    local last = reviews(name)[4]
    assert.equal("/warn/seen", last.path)
    assert.equal("123", last.request.object.metadata.annotations.order)
  end)

  it("calls some again when the object has changed since", function()
    local mark = e2e.unique("again")
    configure("mutating", mark, mark, { { "/append/a", reinvocationPolicy = "IfNeeded" }, { "/append/b" },
      { "/append/c", reinvocationPolicy = "IfNeeded" } })
    order_is(mark, "abcac")
    mark = e2e.unique("again")
    configure("mutating", mark, mark, { { "/once/a", reinvocationPolicy = "IfNeeded" },
      { "/warn/b", reinvocationPolicy = "IfNeeded" }, { "/append/c" } })
    local name = order_is(mark, "aca") -- the webhook that was called last is not called for its own change
    assert.same({ "/once/a", "/warn/b", "/append/c", "/once/a", "/warn/b" }, paths(name))
    mark = e2e.unique("again")
    configure("mutating", mark, mark, { { "/append/a", reinvocationPolicy = "IfNeeded" } })
    assert.same({ "/append/a" }, paths((order_is(mark, "a"))))
  end)

  it("calls one again also when a change was undone", function()
    local mark = e2e.unique("undone")
    configure("mutating", mark, mark, { { "/set/x", reinvocationPolicy = "IfNeeded" }, { "/set/y" },
      { "/set/x/warn/1" } })
    local name = order_is(mark, "x")
    e2e.eventually("it is called again", function()
      name = order_is(mark, "x")
      return #reviews(name) == 4
    end)
    assert.same({ "/set/x", "/set/y", "/set/x/warn/1", "/set/x" }, paths(name))
  end)

  it("waits as long as it is told", function()
    local mark = e2e.unique("slow")
    configure("validating", mark, mark, { { "/sleep/5", timeoutSeconds = 1 } })
    local name = comes_to(mark, function(status, message)
      return status == 500 and message:find('failed calling webhook "w1.' .. mark .. '.example.com"', 1, true)
        and message:find("deadline exceeded", 1, true)
    end)
    assert.equal("timeout=1s", reviews(name)[1].query)
    mark = e2e.unique("slow")
    configure("validating", mark, mark, { { "/sleep/5", timeoutSeconds = 1, failurePolicy = "Ignore" }, { "/warn/2" } })
    name = nil
    e2e.eventually("it is called and not waited for", function()
      local status, _, asked = post(mark)
      name = asked
      return status == 201 and #reviews(asked) == 2
    end)
    for _, review in ipairs(reviews(name)) do
      assert.equal(review.path == "/warn/2" and "timeout=10s" or "timeout=1s", review.query)
    end
  end)

  -- The behaviour of a webhook, the error, and the result with the policy Ignore.
  for what, case in pairs({
    ["says 500"] = { "/status/500", "an error on the server", 201 },
    ["answers no JSON"] = { "/text/nonsense", "failed calling webhook", 201 },
    ["answers another review"] = { "/uid/other", "uid", 201 },
    ["gives a patch without its type"] = { "/untyped/append/a", "patchType", 201 },
    ["cannot be reached"] = { "https://127.0.0.1:9/x", "failed calling webhook", 201 },
  }) do
    it("decides by the failure policy when one " .. what, function()
      local where = case[1]:find("^https") and { url = case[1], caBundle = ca }
      for _, sort in ipairs(what:find("patch") and { "mutating" } or { "mutating", "validating" }) do
        local mark = e2e.unique("fails")
        configure(sort, mark, mark, { { case[1], clientConfig = where } })
        comes_to(mark, function(status, message)
          return status == 500 and message:find(case[2], 1, true)
            and message:find('failed calling webhook "w1.' .. mark .. '.example.com"', 1, true)
        end)
        mark = e2e.unique("ignored")
        configure(sort, mark, mark, { { case[1], clientConfig = where, failurePolicy = "Ignore" }, { "/deny/hello" } })
        comes_to(mark, function(status, message) -- the next one is called nevertheless
          return status == 400 and message:find("hello", 1, true)
        end)
      end
    end)
  end

  it("lets no policy ignore a patch that does not apply", function()
    local mark = e2e.unique("patch")
    configure("mutating", mark, mark, { { "/broken/x", failurePolicy = "Ignore" } })
    comes_to(mark, function(status)
      return status == 500
    end)
  end)

  it("calls those whose conditions hold", function()
    local mark = e2e.unique("conditions")
    local function condition(...)
      local list = {}
      for i, expression in ipairs({ ... }) do
        list[i] = { name = "c" .. i, expression = expression }
      end
      return list
    end
    configure("mutating", mark, mark, {
      { "/append/1", matchConditions = condition("object.data.a == '1'", "request.operation == 'CREATE'") },
      { "/append/2", matchConditions = condition("object.data.a == '1'", "oldObject != null") },
      { "/append/3", matchConditions = condition("object.data.none == '1'", "false") },
      { "/append/4", matchConditions = condition("has(object.metadata.annotations.order)") },
      { "/append/5", matchConditions = condition("object.data.none == '1'"), failurePolicy = "Ignore" },
      { "/append/6", matchConditions = condition("request.dryRun == false && request.userInfo.groups.size() > 0 && "
        .. "request.resource.resource == 'configmaps' && request.name.startsWith('m-')") } })
    local name = order_is(mark, "146")
    server:patch(maps(name), { data = { b = "2" } })
    assert.equal("1462" .. "46", server:get(maps(name)).metadata.annotations.order)
    local failing = e2e.unique("conditions")
    configure("validating", failing, failing, { { "/deny/x", matchConditions = condition("object.data.none == '1'") } })
    comes_to(failing, function(status, message)
      return status == 403 and message:find("is forbidden", 1, true) and message:find("none", 1, true)
    end)
  end)

  it("refuses what it could not call", function()
    local mark = e2e.unique("refused")
    for what, change in pairs({
      ["matchConditions"] = { matchConditions = { { name = "a", expression = "object.(" } } },
      ["expression"] = { matchConditions = { { name = "a", expression = "nothing.here == 1" } } },
      ["sideEffects"] = { sideEffects = "Some" },
      ["timeoutSeconds"] = { timeoutSeconds = 31 },
      ["failurePolicy"] = { failurePolicy = "Perhaps" },
      ["clientConfig"] = { clientConfig = { caBundle = ca } },
      ["url"] = { clientConfig = { url = "http://127.0.0.1/", caBundle = ca } },
      ["admissionReviewVersions"] = { admissionReviewVersions = { "v7" } },
      ["name"] = { name = "short" },
      ["operations"] = { rules = { { apiGroups = { "" }, apiVersions = { "v1" }, operations = { "READ" },
        resources = { "configmaps" } } } },
      ["reinvocationPolicy"] = { reinvocationPolicy = "Always" },
    }) do
      change[1] = "/warn/x"
      local status, answer = server:request("POST", CONFIGS .. "mutatingwebhookconfigurations",
        document("mutating", mark, mark, { change }))
      if status == 201 then
        server:delete(CONFIGS .. "mutatingwebhookconfigurations/" .. mark)
      end
      assert.equal(422, status, what)
      assert.truthy(answer.message:find(what, 1, true), answer.message)
    end
  end)

  it("fills in what a configuration leaves out", function()
    local mark = e2e.unique("defaults")
    configure("mutating", mark, mark, { { "/warn/x", namespaceSelector = cjson.null, objectSelector = {
      matchLabels = { hooks = mark } } } })
    local webhook = server:get(CONFIGS .. "mutatingwebhookconfigurations/" .. mark).webhooks[1]
    assert.same({ "Fail", "Equivalent", 10, "Never", "*" }, { webhook.failurePolicy, webhook.matchPolicy,
      webhook.timeoutSeconds, webhook.reinvocationPolicy, webhook.rules[1].scope })
    assert.same({}, webhook.namespaceSelector)
  end)

  it("says of a denial what the webhook said", function()
    for path, want in pairs({
      ["/deny/not this one"] = { 400, ': not this one' },
      ["/deny/not now/code/429"] = { 429, ': not now' },
      ["/deny/fine/code/200"] = { 400, ': fine' },
      ["/silent"] = { 400, ' without explanation' },
    }) do
      local mark = e2e.unique("denied")
      configure("validating", mark, mark, { { (path:gsub(" ", "%%20")) } })
      local _, answer = comes_to(mark, function(status)
        return status ~= 201
      end)
      assert.equal(want[1], answer.code)
      assert.equal(('admission webhook "w1.%s.example.com" denied the request%s'):format(mark, want[2]), answer.message)
    end
  end)

  it("tells webhooks of dry runs, and stores nothing", function()
    local mark = e2e.unique("dry")
    configure("validating", mark, mark, { { "/warn/dry", sideEffects = "NoneOnDryRun" } })
    local name
    e2e.eventually("it is called", function()
      local status, _, asked = post(mark, "?dryRun=All&fieldManager=me")
      name = asked
      return status == 201 and #reviews(asked) > 0
    end)
    local request = reviews(name)[1].request
    assert.is_true(request.dryRun)
    assert.same({ kind = "CreateOptions", apiVersion = "meta.k8s.io/v1", dryRun = { "All" }, fieldManager = "me" },
      request.options)
    assert.is_nil(server:get(maps(name)))
    server:create(maps(), map(name, mark))
    server:request("DELETE", maps(name) .. "?dryRun=All")
    assert.truthy(server:get(maps(name)))
    assert.is_false(reviews(name)[2].request.dryRun)
  end)

  -- Parameters of a deletion, its body, what webhooks are told of it, and whether it is a dry run.
  local META = "meta.k8s.io/v1"
  local deletions = {
    { "", nil, { kind = "DeleteOptions", apiVersion = META }, false },
    { "?dryRun=All&propagationPolicy=Background&gracePeriodSeconds=5&fieldManager=me", nil, { kind = "DeleteOptions",
      apiVersion = META, dryRun = { "All" }, propagationPolicy = "Background", gracePeriodSeconds = 5 }, true },
    { "", { kind = "DeleteOptions", apiVersion = "v1", dryRun = { "All" }, propagationPolicy = "Foreground",
      gracePeriodSeconds = 7, preconditions = { uid = "UID" }, unknown = 1 }, { kind = "DeleteOptions",
      apiVersion = META, dryRun = { "All" }, propagationPolicy = "Foreground", gracePeriodSeconds = 7,
      preconditions = { uid = "UID" } }, true },
    { "", { orphanDependents = false, dryRun = { "All" }, gracePeriodSeconds = cjson.null }, { kind = "DeleteOptions",
      apiVersion = META, orphanDependents = false, dryRun = { "All" } }, true },
    -- A body replaces all parameters.
    { "?dryRun=All&propagationPolicy=Orphan", { gracePeriodSeconds = 3 }, { kind = "DeleteOptions", apiVersion = META,
      gracePeriodSeconds = 3 }, false },
  }

  it("tells webhooks of deletions with which options they are made", function()
    local mark = e2e.unique("options")
    local rule = { { apiGroups = { "" }, apiVersions = { "v1" }, operations = { "DELETE" },
      resources = { "configmaps" } } }
    configure("validating", mark, mark, { { "/warn/gone", rules = rule, sideEffects = "NoneOnDryRun" } })
    local first = e2e.unique("m")
    server:create(maps(), map(first, mark))
    e2e.eventually("it is called", function()
      server:request("DELETE", maps(first), { dryRun = { "All" } })
      return #reviews(first) > 0
    end)
    for i, case in ipairs(deletions) do
      local name = e2e.unique("m")
      local body, want = case[2] and cjson.encode(case[2]), cjson.encode(case[3])
      local uid = server:create(maps(), map(name, mark)).metadata.uid
      assert.equal(200, (server:request("DELETE", maps(name, case[1]), body and (body:gsub("UID", uid)))))
      local request = reviews(name)[1].request
      assert.same(cjson.decode((want:gsub("UID", uid))), request.options, i)
      assert.equal(case[4], request.dryRun, i)
      assert.equal(case[4], server:get(maps(name)) ~= nil, i)
    end
  end)

  it("tells webhooks the same of the deletion of a collection", function()
    local mark = e2e.unique("options")
    local rule = { { apiGroups = { "" }, apiVersions = { "v1" }, operations = { "DELETE" },
      resources = { "configmaps" } } }
    configure("validating", mark, mark, { { "/warn/" .. mark, rules = rule } })
    local function told()
      local last
      for line in e2e.read_file(folder .. "/reviews"):gmatch("([^\n]+)\n") do
        local review = cjson.decode(line)
        last = review.path == "/warn/" .. mark and review.request or last
      end
      return last
    end
    local name = e2e.unique("m")
    server:create(maps(), map(name, mark))
    e2e.eventually("it is called", function()
      server:request("DELETE", maps(nil, "?labelSelector=hooks%3D" .. mark),
        { dryRun = { "All" }, propagationPolicy = "Background" })
      return told()
    end)
    assert.same({ kind = "DeleteOptions", apiVersion = META, dryRun = { "All" }, propagationPolicy = "Background" },
      told().options)
    assert.is_true(told().dryRun)
    assert.truthy(server:get(maps(name)))
  end)

  it("tells webhooks of writes how strict they are", function()
    local mark = e2e.unique("strict")
    configure("validating", mark, mark, { { "/warn/strict" } })
    local name
    e2e.eventually("it is called", function()
      local status, _, asked = post(mark, "?fieldValidation=Strict&fieldManager=me")
      name = asked
      return status == 201 and #reviews(asked) > 0
    end)
    assert.same({ kind = "CreateOptions", apiVersion = META, fieldValidation = "Strict", fieldManager = "me" },
      reviews(name)[1].request.options)
  end)

  it("passes warnings on, of denials too, and each once", function()
    local mark = e2e.unique("warned")
    configure("validating", mark, mark, { { "/warn/one/warn/two/warn/one" }, { "/warn/two/warn/say%20%22hi%22" } })
    local function headers()
      local file = e2e.write_file(os.tmpname(), cjson.encode(map(e2e.unique("m"), mark)))
      local pipe = io.popen(("%s -D - -o /dev/null -H 'Content-Type: application/json' --data-binary @%s '%s' 2>&1; "
        .. "rm -f %s"):format(server.curl, file, server.url .. maps(), file))
      local text, found = pipe:read("*a"), {}
      pipe:close()
      for line in text:gmatch("[Ww]arning: ([^\r\n]+)") do
        found[#found + 1] = line
      end
      return found
    end
    local found
    e2e.eventually("warnings come", function()
      found = headers()
      return #found > 0
    end)
    table.sort(found)
    assert.same({ '299 - "one"', [[299 - "say \"hi\""]], '299 - "two"' }, found)
    mark = e2e.unique("warned")
    configure("validating", mark, mark, { { "/warn/careful/deny/no" } })
    e2e.eventually("a denial warns", function()
      return headers()[1] == '299 - "careful"'
    end)
  end)

  it("tells of deletions, updates, patches and generated names as they are", function()
    local mark = e2e.unique("told")
    local rule = { { apiGroups = { "" }, apiVersions = { "v1" }, operations = { "*" }, resources = { "configmaps" } } }
    configure("mutating", mark, mark, { { "/append/a", rules = rule } })
    local name = order_is(mark, "a")
    server:patch(maps(name), { data = { b = "2" } })
    local object = server:get(maps(name))
    object.data.c = "3"
    server:update(maps(name), object)
    assert.equal("aaa", server:get(maps(name)).metadata.annotations.order)
    -- A deletion has nothing to patch.
    local status = server:request("DELETE", maps(name))
    assert.equal(500, status)
    server:patch(CONFIGS .. "mutatingwebhookconfigurations/" .. mark, { { op = "replace",
      path = "/webhooks/0/clientConfig/url", value = url .. "/warn/x" } }, "application/json-patch+json")
    e2e.eventually("the other path is called", function()
      return server:request("DELETE", maps(name)) == 200
    end)
    local all = reviews(name)
    local operations = {}
    for i, review in ipairs(all) do
      operations[i] = review.request.operation .. " " .. review.request.options.kind
    end
    assert.same({ "CREATE CreateOptions", "UPDATE UpdateOptions", "UPDATE UpdateOptions", "DELETE DeleteOptions" },
      { operations[1], operations[2], operations[3], operations[4] })
    local last = all[#all].request
    assert.equal(cjson.null, last.object)
    assert.equal("aaa", last.oldObject.metadata.annotations.order)
    assert.equal(cjson.null, all[1].request.oldObject)
    assert.equal("2", all[2].request.object.data.b)
    assert.is_nil(all[2].request.oldObject.data.b)
    assert.same({ group = "", version = "v1", kind = "ConfigMap" }, all[1].request.kind)
    assert.same({ group = "", version = "v1", resource = "configmaps" }, all[1].request.requestResource)
    local generated = map(nil, mark)
    generated.metadata.generateName = "gen-"
    server:create(maps(), generated)
    local request = {}
    for line in e2e.read_file(folder .. "/reviews"):gmatch("([^\n]+)\n") do
      local review = cjson.decode(line)
      local shown = type(review.request.object) == "table" and review.request.object.metadata
      request = shown and shown.generateName == "gen-" and review.request or request
    end
    assert.equal("CREATE", request.operation)
    assert.is_nil(request.name)
  end)

  it("tells of options, and of the generated name when it is known", function()
    local mark = e2e.unique("options")
    local rule = { { apiGroups = { "" }, apiVersions = { "v1" }, operations = { "*" }, resources = { "configmaps" } } }
    configure("validating", mark, mark, { { "/warn/a", rules = rule } })
    local name
    local function last()
      local all = reviews(name)
      local found = all[#all] and all[#all].request or {}
      found.options = found.options or {}
      found.options.kind, found.options.apiVersion = nil, nil
      return found.options, found.dryRun
    end
    local generated = map(nil, mark)
    generated.metadata.generateName = "gen-"
    e2e.eventually("it is called", function()
      name = server:create(maps(nil, "?fieldValidation=Strict&fieldManager=me"), generated).metadata.name
      return #reviews(name) > 0
    end)
    assert.same({ fieldValidation = "Strict", fieldManager = "me" }, (last()))
    server:request("PATCH", maps(name, "?fieldValidation=Ignore"), { data = { b = "2" } },
      "application/merge-patch+json")
    assert.same({ fieldValidation = "Ignore" }, (last()))
    local before = #reviews(name)
    assert.equal(409, (server:request("DELETE", maps(name), { preconditions = { uid = "x" } })))
    assert.equal(before, #reviews(name))
    local body = { gracePeriodSeconds = 3, propagationPolicy = "Background", dryRun = { "All" } }
    assert.equal(200, (server:request("DELETE", maps(name), body)))
    local options, dry = last()
    assert.same(body, options)
    assert.is_true(dry)
    assert.equal(200, (server:request("DELETE", maps(name, "?orphanDependents=false&fieldManager=me"))))
    options, dry = last()
    assert.same({ orphanDependents = false }, options)
    assert.is_false(dry)
  end)

  it("tells of each object of a collection that is deleted", function()
    local mark = e2e.unique("many")
    local rule = { { apiGroups = { "" }, apiVersions = { "v1" }, operations = { "DELETE" },
      resources = { "configmaps" } } }
    for i = 1, 3 do
      server:create(maps(), map(mark .. "-" .. i, mark))
    end
    configure("validating", mark, mark, { { "/deny/stay", rules = rule } })
    e2e.eventually("deletions are denied", function()
      return server:request("DELETE", maps(mark .. "-1") .. "?dryRun=All") == 400
    end)
    assert.equal(400, (server:request("DELETE", maps(nil, "?labelSelector=hooks%3D" .. mark))))
    assert.truthy(server:get(maps(mark .. "-1")))
    -- They are deleted one by one, until one is denied.
    server:patch(CONFIGS .. "validatingwebhookconfigurations/" .. mark, { { op = "add",
      path = "/webhooks/0/matchConditions", value = { { name = "second",
        expression = "oldObject.metadata.name == '" .. mark .. "-2'" } } } }, "application/json-patch+json")
    e2e.eventually("the others may go", function()
      return server:request("DELETE", maps(mark .. "-1") .. "?dryRun=All") == 200
    end)
    local status, answer = server:request("DELETE", maps(nil, "?labelSelector=hooks%3D" .. mark))
    assert.equal(400, status)
    assert.truthy(answer.message:find("denied the request: stay", 1, true), answer.message)
    assert.is_nil(server:get(maps(mark .. "-1")))
    assert.truthy(server:get(maps(mark .. "-2")))
    assert.truthy(server:get(maps(mark .. "-3")))
    local last
    for line in e2e.read_file(folder .. "/reviews"):gmatch("([^\n]+)\n") do
      last = cjson.decode(line).request
    end
    assert.same({ "DELETE", mark .. "-2" }, { last.operation, last.oldObject.metadata.name })
    assert.is_nil(last.name) -- nobody has named it
  end)

  it("shows new objects with their defaults, and Scales as Scales", function()
    local mark = e2e.unique("scaled")
    local rule = { { apiGroups = { "apps" }, apiVersions = { "v1" }, operations = { "CREATE", "UPDATE" },
      resources = { "deployments", "deployments/scale" } } }
    configure("mutating", mark, mark, { { "/append/a", rules = rule }, { "/deny/no", rules = rule,
      objectSelector = {}, matchConditions = { { name = "many",
        expression = "request.kind.kind == 'Scale' && object.spec.replicas > 5 && oldObject.spec.replicas == 1" } } } })
    local path = "/apis/apps/v1/namespaces/" .. namespace .. "/deployments"
    local name
    e2e.eventually("it is called", function()
      name = e2e.unique("d")
      local created = server:create(path, { apiVersion = "apps/v1", kind = "Deployment",
        metadata = { name = name, labels = { hooks = mark } }, spec = { selector = { matchLabels = { a = "b" } },
          template = { metadata = { labels = { a = "b" } },
            spec = { containers = { { name = "a", image = "b" } } } } } })
      return (created.metadata.annotations or {}).order == "a"
    end)
    local seen = reviews(name)[1].request.object
    assert.same({ 1, 10, "25%", "Always", namespace }, { seen.spec.replicas, seen.spec.revisionHistoryLimit,
      seen.spec.strategy.rollingUpdate.maxSurge, seen.spec.template.spec.containers[1].imagePullPolicy,
      seen.metadata.namespace })
    assert.is_nil(seen.metadata.uid)
    local status, answer = server:request("PATCH", path .. "/" .. name .. "/scale", { spec = { replicas = 7 } },
      "application/merge-patch+json")
    assert.equal(400, status)
    assert.truthy(answer.message:find("denied the request: no", 1, true), answer.message)
    assert.equal(3, server:patch(path .. "/" .. name .. "/scale", { spec = { replicas = 3 } }).spec.replicas)
    local last
    for _, review in ipairs(reviews(name)) do
      last = review.path == "/deny/no" and review.request or last
    end
    assert.same({ group = "autoscaling", version = "v1", kind = "Scale" }, last.kind)
    assert.same({ "deployments", "scale", "UPDATE", "Scale" }, { last.resource.resource, last.subResource,
      last.operation, last.object.kind })
  end)

  it("reaches those behind a Service that leads out, and says why it does not", function()
    local mark = e2e.unique("service")
    local services = "/api/v1/namespaces/" .. namespace .. "/services"
    local function at(name)
      return { caBundle = ca, service = { namespace = namespace, name = name, path = "/append/a",
        port = tonumber(port) } }
    end
    server:create(services, { apiVersion = "v1", kind = "Service", metadata = { name = "hooks" },
      spec = { type = "ExternalName", externalName = "localhost" } })
    server:create(services, { apiVersion = "v1", kind = "Service", metadata = { name = "wrong" },
      spec = { type = "ExternalName", externalName = "localhost" } })
    configure("mutating", mark, mark, { { "", clientConfig = at("hooks") } })
    order_is(mark, "a")
    for name, why in pairs({ wrong = "certificate", nowhere = 'service "nowhere" not found' }) do
      mark = e2e.unique("service")
      configure("mutating", mark, mark, { { "", clientConfig = at(name) } })
      comes_to(mark, function(status, message) -- the certificate is for another name
        return status == 500 and message:find(why, 1, true)
      end)
    end
  end)

  if not e2e.is_kube then
    it("is told where Services are", function()
      local other = e2e.start_embedded({ "--service", "there/hooks=127.0.0.1:" .. port, "--service",
        namespace .. "/hooks:8443=localhost:" .. port })
      other:create("/api/v1/namespaces", { apiVersion = "v1", kind = "Namespace", metadata = { name = namespace } })
      local config = document("mutating", "a", "yes", { { "", clientConfig = { caBundle = ca,
        service = { namespace = namespace, name = "hooks", path = "/append/a", port = 8443 } } } })
      config = other:create(CONFIGS .. "mutatingwebhookconfigurations", config)
      assert.equal("a", other:create(maps(), map("a", "yes")).metadata.annotations.order)
      config.webhooks[1].clientConfig.service.port = nil
      other:update(CONFIGS .. "mutatingwebhookconfigurations/a", config)
      local status, answer = other:request("POST", maps(), map("b", "yes"))
      assert.equal(500, status)
      assert.truthy(answer.message:find('service "hooks" not found', 1, true), answer.message)
      other:create("/api/v1/namespaces/" .. namespace .. "/services", { apiVersion = "v1", kind = "Service",
        metadata = { name = "hooks" }, spec = { ports = { { port = 443 } } } })
      status, answer = other:request("POST", maps(), map("b", "yes"))
      assert.equal(500, status)
      assert.truthy(answer.message:find("--service", 1, true), answer.message)
      other:stop()
      for _, wrong in ipairs({ "hooks=a:1", "a/b=c", "a/b:0=c:1", "a/b/c=d:1", "a/b:1", "a/b=:1", "/b=c:1",
        "a/=c:1" }) do
        local code, _, text = e2e.run("apiserver", "--service", wrong)
        assert.equal(2, code, wrong)
        assert.truthy(text:find("--service", 1, true), text)
      end
    end)
  end
end)
