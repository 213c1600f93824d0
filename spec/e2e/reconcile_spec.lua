-- The whole path, from watch to write, for scripts that use most of the API. The same on both servers.

local e2e = require("spec.support.e2e")

local crd = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: apps.reconcile.example.com
spec:
  group: reconcile.example.com
  scope: Namespaced
  names: {kind: App, listKind: AppList, plural: apps, singular: app}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
]]

local head = [[
local perilune = require("perilune")
local client = perilune.client
local APP = "reconcile.example.com/v1/App"
]]

describe("a controller", function()
  local server, namespace, host

  setup(function()
    server = e2e.server()
    server:apply_crd(crd)
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  -- Each test sees only its own namespace.
  local function start(script, flags)
    local all = { "--namespace", namespace }
    for _, flag in ipairs(flags or {}) do
      all[#all + 1] = flag
    end
    host = e2e.start_host(server, head .. script, all)
  end

  local function core(plural, name)
    return e2e.core_path(namespace, plural, name)
  end

  local function apps(name)
    return "/apis/reconcile.example.com/v1/namespaces/" .. namespace .. "/apps"
      .. (name and "/" .. name or "")
  end

  local function new_app(name, spec)
    return server:create(apps(), { apiVersion = "reconcile.example.com/v1", kind = "App",
      metadata = { name = name }, spec = spec or { size = 1 } })
  end

  local function config_map(name, data, labels)
    return server:create(core("configmaps"), { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = name, labels = labels }, data = data })
  end

  local function status_of(name)
    return function()
      local app = server:get(apps(name))
      return app and app.status
    end
  end

  it("makes children from three sources, keeps them, reports and cleans up", function()
    start([[
perilune.controller("three-sources")
  :For(APP)
  :Owns("v1/ConfigMap")
  :Watches("v1/Secret", function(secret)
    local name = perilune.dig(secret, "metadata", "labels", "for-app")
    return name and { namespace = secret.metadata.namespace, name = name }
  end)
  :Reconcile(function(request, context)
    local app = client:get(APP, request)
    return perilune.finalizer.handle(app, "reconcile.example.com/cleanup", {
      apply = function(app)
        local secret = client:get("v1/Secret",
          { namespace = request.namespace, name = request.name .. "-secret" })
        local child, how = client:create_or_update({
          apiVersion = "v1", kind = "ConfigMap",
          metadata = { namespace = request.namespace, name = request.name .. "-config" },
        }, function(current)
          current.data = { size = tostring(app.spec.size), secret = secret and "yes" or "no" }
        end, { owner = app })
        app.status = { config = child.metadata.name, secret = child.data.secret }
        perilune.conditions.set(app, { type = "Ready", status = true, reason = "Made" })
        client:update_status(app)
      end,
      cleanup = function(app)
        client:create_or_update({ apiVersion = "v1", kind = "ConfigMap",
          metadata = { namespace = request.namespace, name = "graveyard" } }, function(current)
          current.data = current.data or {}
          current.data[request.name] = "gone"
        end)
      end,
    })
  end)
]])
    new_app("a", { size = 3 })
    local status = e2e.eventually("status", status_of("a"))
    assert.equal("a-config", status.config)
    assert.equal("Ready", status.conditions[1].type)
    assert.equal(1, status.conditions[1].observedGeneration)
    local child = server:get(core("configmaps", "a-config"))
    assert.equal("3", child.data.size)
    assert.equal("no", child.data.secret)
    assert.is_true(child.metadata.ownerReferences[1].controller)
    assert.is_true(child.metadata.ownerReferences[1].blockOwnerDeletion)

    server:create(core("secrets"), { apiVersion = "v1", kind = "Secret",
      metadata = { name = "a-secret", labels = { ["for-app"] = "a" } } })
    e2e.eventually("the secret is seen", function()
      return server:get(core("configmaps", "a-config")).data.secret == "yes"
    end)
    server:delete(core("configmaps", "a-config"))
    e2e.eventually("the child comes back", function()
      return server:get(core("configmaps", "a-config"))
    end)
    server:delete(apps("a"))
    e2e.eventually("the app is gone", function()
      return not server:get(apps("a"))
    end)
    assert.equal("gone", server:get(core("configmaps", "graveyard")).data.a)
    e2e.eventually("the child is collected", function()
      return not server:get(core("configmaps", "a-config"))
    end, 60)
    host:stop()
  end)

  it("writes nothing when nothing would change", function()
    start([[
perilune.controller("quiet")
  :For("v1/ConfigMap", { labels = "quiet=yes", namespaces = { "]] .. namespace .. [[" } })
  :Reconcile(function(request, context)
    local config = client:get("v1/ConfigMap", request)
    config.data = { answer = "42" }
    client:update(config)
    client:patch(config, { data = { answer = "42" } })
    context.log:info("reconciled", { version = config.metadata.resourceVersion })
  end)
]])
    config_map("quiet", {}, { quiet = "yes" })
    local version = e2e.eventually("the write", function()
      local config = server:get(core("configmaps", "quiet"))
      return (config.data or {}).answer == "42" and config.metadata.resourceVersion
    end)
    host:logged(function(line)
      return line.msg == "reconciled" and line.version == version
    end)
    assert.equal(version, server:get(core("configmaps", "quiet")).metadata.resourceVersion)
    host:stop()
  end)

  it("reads its own writes, in get, list and index, without waiting", function()
    start([[
perilune.index("v1/ConfigMap", "owner-name", "data.owner")
perilune.controller("own-writes")
  :For(APP)
  :Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local app = client:get(APP, request)
    if not app or app.status then return end
    local problems = {}
    local function expect(what, ok) if not ok then problems[#problems + 1] = what end end
    for i = 1, 20 do
      local ref = { namespace = request.namespace, name = request.name .. "-" .. i }
      local made = client:create({ apiVersion = "v1", kind = "ConfigMap",
        metadata = { namespace = ref.namespace, name = ref.name, labels = { app = request.name } },
        data = { owner = request.name } }, { owner = app })
      expect("get " .. i, (client:get("v1/ConfigMap", ref) or { metadata = {} }).metadata.resourceVersion
        == made.metadata.resourceVersion)
      expect("list " .. i, #client:list("v1/ConfigMap", { namespace = request.namespace,
        labels = { app = request.name } }) == i)
      expect("owner " .. i, #client:list("v1/ConfigMap", { owner = app }) == i)
      expect("index " .. i, #client:list("v1/ConfigMap", { namespace = request.namespace,
        index = { name = "owner-name", value = request.name } }) == i)
    end
    for i = 1, 10 do
      local ref = { namespace = request.namespace, name = request.name .. "-" .. i }
      expect("delete " .. i, client:delete("v1/ConfigMap", ref) == true)
      expect("gone " .. i, client:get("v1/ConfigMap", ref) == nil)
      expect("fewer " .. i, #client:list("v1/ConfigMap", { owner = app }) == 20 - i)
    end
    app.status = { problems = table.concat(problems, "; ") }
    client:update_status(app)
  end)
]])
    new_app("own")
    assert.equal("", e2e.eventually("status", status_of("own")).problems)
    host:stop()
  end)

  it("retries errors with backoff, forgets on success, and leaves terminal ones", function()
    start([[
local failures = 0
perilune.controller("failing", { rate_limiter = { base = "1ms", max = "10ms" } })
  :For(APP)
  :Reconcile(function(request, context)
    local app = client:get(APP, request)
    if not app then return end
    if app.spec.how == "terminal" then
      context.log:info("terminal run")
      error(perilune.terminal("it will never work"))
    end
    if failures < 5 then
      failures = failures + 1
      assert(context.attempt == failures - 1, "attempt is " .. context.attempt)
      if failures % 2 == 0 then return nil, "returned" end
      error({ raised = failures })
    end
    if not app.status then
      app.status = { attempt = context.attempt, failures = failures }
      client:update_status(app)
    end
  end)
]])
    new_app("retried")
    local status = e2e.eventually("success at last", status_of("retried"))
    assert.equal(5, status.attempt)
    new_app("hopeless", { how = "terminal" })
    host:logged("terminal run")
    host:logged(function(line)
      return line.level == "error" and require("cjson").encode(line):find("it will never work", 1, true)
    end)
    assert.equal(1, host:count_logged("terminal run"))
    host:stop()
  end)

  it("runs again after requeue_after, and gives requeue the key's backoff", function()
    start([[
local runs = {}
perilune.controller("again", { rate_limiter = { base = "1ms", max = "5ms" } })
  :For(APP)
  :Reconcile(function(request)
    local app = client:get(APP, request)
    if not app or app.status then return end
    runs[request.key] = (runs[request.key] or 0) + 1
    if runs[request.key] < 4 then
      if app.spec.how == "after" then return { requeue_after = "20ms" } end
      return { requeue = true }
    end
    app.status = { runs = runs[request.key] }
    client:update_status(app)
  end)
]])
    new_app("after", { how = "after" })
    new_app("requeue", { how = "requeue" })
    assert.equal(4, e2e.eventually("after", status_of("after")).runs)
    assert.equal(4, e2e.eventually("requeue", status_of("requeue")).runs)
    host:stop()
  end)

  it("never runs a key twice at once, and folds a burst into one more run", function()
    start([[
local busy, overlaps, runs = {}, 0, 0
perilune.controller("once", { max_concurrent_reconciles = 8 })
  :For("v1/ConfigMap", { labels = "once=yes" })
  :Reconcile(function(request, context)
    if busy[request.key] then overlaps = overlaps + 1 end
    busy[request.key] = true
    perilune.sleep("50ms")
    busy[request.key] = nil
    runs = runs + 1
    local config = client:get("v1/ConfigMap", request)
    context.log:info("ran", { overlaps = overlaps, runs = runs, value = perilune.dig(config, "data", "n") })
  end)
]])
    config_map("burst", { n = "0" }, { once = "yes" })
    host:logged("ran")
    local requests = {}
    for i = 1, 60 do
      requests[i] = { "PATCH", core("configmaps", "burst"), { data = { n = tostring(i) } },
        "application/merge-patch+json" }
    end
    server:bulk(requests)
    local last = server:get(core("configmaps", "burst")).data.n
    local line = host:logged(function(line)
      return line.msg == "ran" and line.value == last
    end)
    assert.equal(0, line.overlaps)
    assert(line.runs < 62, "every event led to a run of its own")
    host:stop()
  end)

  it("passes a map's and a predicate's work through the lane", function()
    start([[
perilune.controller("chosen")
  :For(APP, { predicates = { perilune.predicate.any(perilune.predicate.generation_changed,
      function(event) return event.type == "DELETED" end) } })
  :Watches("v1/ConfigMap", function(config, event)
    assert(event.type == "ADDED" or event.type == "MODIFIED" or event.type == "DELETED")
    local out = {}
    for name in (perilune.dig(config, "data", "apps") or ""):gmatch("[^,]+") do
      out[#out + 1] = config.metadata.namespace .. "/" .. name
    end
    return out
  end, { predicates = { function(event)
    return perilune.dig(event.object, "metadata", "labels", "skip") == nil
  end } })
  :Reconcile(function(request, context)
    context.log:info("woken", { cause = context.causes[1] and context.causes[1].kind })
  end)
]])
    local function woken(name, kind)
      return host:logged(function(line)
        return line.msg == "woken" and line.key == namespace .. "/" .. name
          and (not kind or line.cause == kind)
      end)
    end
    new_app("x")
    woken("x")
    config_map("names", { apps = "y,z" })
    woken("y", "v1/ConfigMap")
    woken("z", "v1/ConfigMap")
    config_map("skipped", { apps = "never" }, { skip = "1" })
    -- An update maps the old object and the new one.
    server:patch(core("configmaps", "names"), { data = { apps = "w" } })
    woken("w", "v1/ConfigMap")
    server:patch(apps("x"), { metadata = { labels = { a = "b" } } }) -- no new generation
    config_map("last", { apps = "last" })
    woken("last")
    local runs_of_x, never = 0, 0
    for _, line in ipairs(host:log()) do
      runs_of_x = runs_of_x + (line.msg == "woken" and line.key == namespace .. "/x" and 1 or 0)
      never = never + (line.msg == "woken" and line.key == namespace .. "/never" and 1 or 0)
    end
    assert.equal(1, runs_of_x)
    assert.equal(0, never)
    host:stop()
  end)

  it("offers the client's other calls", function()
    config_map("one", { v = "1" }, { pick = "yes" })
    config_map("two", { v = "2" }, { pick = "yes" })
    config_map("three", { v = "3" }, { pick = "no" })
    start([[
perilune.controller("calls"):For(APP):Owns("v1/Pod"):Reads("v1/ConfigMap")
  :Writes("v1/ConfigMap", { "create", "patch", "delete", "deletecollection" })
  :Writes("apps/v1/Deployment", { "create", "patch", "update" })
  :Reconcile(function(request)
    local app = client:get(APP, request)
    if not app or app.status then return end
    local ns, s = request.namespace, {}
    local picked = client:list("v1/ConfigMap", { namespace = ns, labels = "pick=yes",
      select = { "data.v" } })
    s.picked = #picked
    s.first = picked[1].data.v
    s.partial = not perilune.try and "" or select(2, pcall(client.update, client, picked[1])).rule
    local sum = 0
    for config in client:each("v1/ConfigMap", { namespace = ns, labels = { pick = "yes" } }) do
      sum = sum + tonumber(config.data.v)
    end
    s.sum = sum
    s.live = #perilune.live:list("v1/ConfigMap", { namespace = ns, labels = "pick" })
    s.field = #client:list("v1/ConfigMap", { namespace = ns, fields = "metadata.name=two" })
    local missing, e = perilune.try(client.patch, client, "v1/ConfigMap",
      { namespace = ns, name = "missing" }, { data = { a = "b" } })
    s.missing = missing == nil and perilune.errors.is_not_found(e) and e.code
    local _, exists = perilune.try(client.create, client, { apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = ns, name = "one" } })
    s.exists = perilune.errors.is_already_exists(exists)
    s.json = client:patch("v1/ConfigMap", { namespace = ns, name = "one" },
      { { op = "add", path = "/data/w", value = "9" } }, { type = "json" }).data.w
    s.undeleted = client:delete("v1/ConfigMap", { namespace = ns, name = "missing" })
    client:delete_all_of("v1/ConfigMap", { namespace = ns, labels = "pick=no" })
    s.waited = client:wait("v1/ConfigMap", { namespace = ns, name = "three" },
      function(object) return object == nil end, "10s") == nil
    client:create({ apiVersion = "apps/v1", kind = "Deployment", metadata = { namespace = ns, name = "d" },
      spec = { selector = { matchLabels = { a = "b" } }, template = {
        metadata = { labels = { a = "b" } }, spec = { containers = { { name = "c", image = "i" } } } } } })
    client:patch("apps/v1/Deployment", ns .. "/d", { spec = { template = { spec = {
      containers = { { name = "second", image = "j" } } } } } }, { type = "strategic" })
    local scale = client:subresource("apps/v1/Deployment", ns .. "/d", "scale", "get")
    s.replicas = scale.spec.replicas
    s.containers = #client:get("apps/v1/Deployment", ns .. "/d").spec.template.spec.containers
    local ok, timeout = pcall(client.wait, client, "v1/ConfigMap", { namespace = ns, name = "one" },
      function() return false end, "50ms")
    s.timeout = not ok and perilune.errors.is_timeout(timeout)
    local refused, scope = pcall(client.create, client, { apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = "default", name = "elsewhere" } }, { owner = app })
    s.scope = not refused and scope.rule
    s.allowed = client:create({ apiVersion = "authorization.k8s.io/v1", kind = "SubjectAccessReview",
      spec = { user = "jane", groups = { "system:masters" },
        resourceAttributes = { verb = "get", resource = "pods" } } }).status.allowed
    s.allowed_here = client:create({ apiVersion = "authorization.k8s.io/v1",
      kind = "LocalSubjectAccessReview", metadata = { namespace = ns },
      spec = { user = "jane", groups = { "system:masters" },
        resourceAttributes = { verb = "get", resource = "pods", namespace = ns } } }).status.allowed
    s.reviewed = client:create({ apiVersion = "authentication.k8s.io/v1", kind = "TokenReview",
      metadata = {}, spec = { token = "nobody's" } }).status.user ~= nil
    app.status = s
    client:update_status(app)
  end)
]])
    new_app("calls")
    local s = e2e.eventually("status", status_of("calls"))
    assert.same({ picked = 2, first = "1", partial = "partial", sum = 3, live = 3, field = 1,
      missing = 404, exists = true, json = "9", undeleted = false, waited = true, replicas = 1,
      containers = 2, timeout = true, scope = "scope", allowed = true, allowed_here = true,
      reviewed = true }, s)
    host:stop()
  end)

  it("writes copies of objects under other names, as objects of their own", function()
    config_map("source", { a = "1" })
    server:patch(core("configmaps", "source"), { metadata = { ownerReferences = { { apiVersion = "v1",
      kind = "ConfigMap", name = "somebody", uid = config_map("somebody", {}).metadata.uid,
      controller = true } } } })
    start([[
perilune.run("copies", { reads = { "v1/ConfigMap" } }, function(context)
  local namespace = "]] .. namespace .. [["
  local source = client:get("v1/ConfigMap", namespace .. "/source")
  for _, how in ipairs({ "apply", "update", "patch", "create" }) do
    local copy = perilune.deepcopy(source)
    copy.metadata = { name = how, namespace = namespace }
    if how == "update" then client:create(copy) end
    if how == "patch" then
      client:create(copy)
      client:patch(copy, { data = { b = "2" } })
    elseif how == "apply" then
      client:apply(copy, { owner = client:create({ apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = "owner", namespace = namespace } }) })
    else
      copy.data.b = "2"
      client[how](client, copy)
    end
  end
  local last = perilune.deepcopy(source)
  last.metadata = { name = "create", namespace = namespace }
  assert(client:delete(last))
  context.log:info("copied")
  perilune.sleep("1h")
end)
]])
    host:logged("^copied$")
    assert.equal("1", server:get(core("configmaps", "apply")).data.a)
    assert.equal("owner", server:get(core("configmaps", "apply")).metadata.ownerReferences[1].name)
    assert.equal("2", server:get(core("configmaps", "update")).data.b)
    assert.equal("2", server:get(core("configmaps", "patch")).data.b)
    assert.is_nil(server:get(core("configmaps", "create")))
    host:stop()
  end)

  it("times a reconcile out and says so", function()
    start([[
perilune.controller("slow", { reconcile_timeout = "100ms", max_retries = 0 })
  :For(APP)
  :Reconcile(function(request)
    perilune.sleep("1h")
  end)
]])
    new_app("slow")
    host:logged(function(line)
      return line.level == "error" and require("cjson").encode(line):find("time", 1, true)
    end)
    host:stop()
  end)

  it("ends scripts that compute for ever, and goes on", function()
    start([[
perilune.controller("endless", { max_retries = 0 })
  :For(APP)
  :Reconcile(function(request, context)
    local app = client:get(APP, request)
    if app and app.spec.how == "endless" then
      while true do pcall(function() while true do end end) end
    end
    context.log:info("done with " .. request.name)
  end)
]], { "--reconcile-cpu-limit", "200ms" })
    new_app("endless", { how = "endless" })
    host:logged(function(line)
      return line.level == "error" and line.key == namespace .. "/endless"
    end)
    new_app("fine")
    host:logged("done with fine")
    host:stop()
  end)

  it("works with several lanes", function()
    start([[
perilune.controller("lanes", { max_concurrent_reconciles = 16 })
  :For(APP):Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local app = client:get(APP, request)
    if app then
      client:apply({ apiVersion = "v1", kind = "ConfigMap",
        metadata = { namespace = request.namespace, name = request.name }, data = { of = request.name } },
        { owner = app })
    end
  end)
]], { "--lanes", "3" })
    local requests = {}
    for i = 1, 60 do
      requests[i] = { "POST", apps(), { apiVersion = "reconcile.example.com/v1", kind = "App",
        metadata = { name = "app-" .. i }, spec = {} } }
    end
    server:bulk(requests)
    e2e.eventually("a child each", function()
      local count = 0
      for _, config in ipairs(server:get(core("configmaps")).items) do
        count = count + (config.data and config.data.of == config.metadata.name and 1 or 0)
      end
      return count == 60, count
    end)
    host:stop()
  end)

  it("sends nothing for good in a dry run", function()
    start([[
perilune.controller("dry"):For(APP):Writes("v1/ConfigMap", { "create" })
  :Reconcile(function(request, context)
    client:create({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = request.namespace, name = "never" } })
    context.log:info("created")
  end)
]], { "--dry-run" })
    new_app("dry")
    host:logged("created")
    assert.is_nil(server:get(core("configmaps", "never")))
    host:stop()
  end)
end)
