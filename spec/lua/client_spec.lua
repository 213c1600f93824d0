-- The clients: what they pass to the core, and what they refuse before.
local spec = require("spec.support.host")
local perilune = require("perilune")

local host, client, live = spec.host, perilune.client, perilune.live
local null = perilune.null

local function config_map(extra)
  local object = { apiVersion = "v1", kind = "ConfigMap", data = { a = "b" },
    metadata = { namespace = "default", name = "a", uid = "u1" } }
  for name, value in pairs(extra or {}) do
    object[name] = value
  end
  return object
end

local function refuses(expected, f, ...)
  local message = spec.message_of(f, ...)
  assert.truthy(message:find(expected, 1, true), message)
end

-- Calls a method of the client; so errors have a line of this file.
local function call(method, ...)
  return client[method](client, ...)
end

describe("client:get", function()
  local asked
  before_each(function()
    spec.reset()
    host.get = function(...)
      asked = { ... }
      return "an object"
    end
  end)

  it("takes every kind of ref", function()
    for _, ref in ipairs({ "default/a", { namespace = "default", name = "a" }, config_map() }) do
      assert.equal("an object", client:get("v1/ConfigMap", ref))
      assert.same({ "v1/ConfigMap", "default", "a" }, asked)
    end
  end)

  it("reads live, or metadata alone", function()
    live:get("v1/Node", "n1")
    assert.equal(true, asked[4].live)
    client:get("v1/Node", "n1", { metadata_only = true })
    assert.same({ live = false, metadata_only = true }, asked[4])
  end)

  it("refuses what makes no sense", function()
    refuses("call it with a colon: client:get(...)", function() client.get("v1/Pod", "a/b") end)
    refuses('get: the kind must be a text such as "apps/v1/Deployment", not nil', call, "get")
    refuses("get v1/Pod: the reference must be a key", call, "get", "v1/Pod")
    refuses("get v1/Pod: options must be a table, not perilune.null", call, "get", "v1/Pod", "a/b", null)
    refuses('get v1/Pod: unknown option "metadata"; did you mean "metadata_only"?', call, "get", "v1/Pod",
      "a/b", { metadata = true })
    refuses("get got more arguments", call, "get", "v1/Pod", "a/b", {}, 1)
    refuses('perilune.client has no "gett"; did you mean "get"?', function() client:gett() end)
    refuses('perilune.live has no "lisst"; did you mean "list"?', function() live:lisst() end)
  end)

  it("can't be changed", function()
    refuses("can't be assigned", function() client.get = print end)
    refuses("can't be assigned", function() client.live = true end)
  end)
end)

describe("client:list and each", function()
  local asked
  before_each(function()
    spec.reset()
    host.list = function(...)
      asked = { ... }
      return { "a" }, { resource_version = "5" }
    end
    host.each = host.list
  end)

  it("give the objects and what the list says of itself", function()
    local items, info = client:list("v1/Pod")
    assert.same({ "a" }, items)
    assert.same({ resource_version = "5" }, info)
    assert.same({ "v1/Pod", { live = false } }, asked)
  end)

  it("hand on every option in the core's form", function()
    client:list("v1/Pod", { namespace = "default", labels = { app = "web" }, fields = "spec.nodeName=n1",
      owner = config_map(), index = { name = "node", value = 5 }, select = { "metadata.name" }, limit = 10,
      continue = "token" })
    assert.same({ "v1/Pod", { namespace = "default", labels = "app=web", fields = "spec.nodeName=n1",
      owner_uid = "u1", index = { name = "node", value = "5" }, select = { "metadata.name" }, limit = 10,
      continue = "token", live = false } }, asked)
  end)

  it("refuse what makes no sense", function()
    for _, method in ipairs({ "list", "each" }) do
      refuses(method .. ' v1/Pod: namespace: "d/e" cannot be a namespace', call, method, "v1/Pod",
        { namespace = "d/e" })
      refuses(method .. ' v1/Pod: unknown option "label"; did you mean "labels"?', call, method, "v1/Pod",
        { label = "a" })
      refuses("labels: an empty selector", call, method, "v1/Pod", { labels = "" })
      refuses("index needs name and value", call, method, "v1/Pod", { index = { name = "x" } })
      refuses('did you mean "value"?', call, method, "v1/Pod", { index = { name = "x", valeu = 1 } })
      refuses("index: value must be a string, number or boolean", call, method, "v1/Pod",
        { index = { name = "x", value = {} } })
      refuses("limit must be a whole number of at least 1", call, method, "v1/Pod", { limit = 0 })
      refuses("select[1]", call, method, "v1/Pod", { select = { "a..b" } })
      refuses("owner must have apiVersion and kind", call, method, "v1/Pod", { owner = { name = "x" } })
      refuses("owner: metadata must be a table, not nil", call, method, "v1/Pod",
        { owner = { apiVersion = "v1", kind = "Pod", name = "x" } })
      refuses("perilune.live has none", function()
        live[method](live, "v1/Pod", { index = { name = "a", value = "b" } })
      end)
    end
  end)

  it("refuse an owner that was not read", function()
    local owner = config_map()
    owner.metadata.uid = nil
    refuses("owner: metadata.uid must be a string, not nil", call, "list", "v1/Pod", { owner = owner })
  end)
end)

describe("writes of the client", function()
  local asked, answer, info
  before_each(function()
    spec.reset()
    answer, info = "stored", {}
    host.write = function(request)
      asked = request
      return answer, info
    end
  end)

  it("create, update and apply the object itself", function()
    for _, method in ipairs({ "create", "update", "apply" }) do
      local object = config_map()
      assert.same({ "stored" }, { client[method](client, object) })
      assert.same({ method, "v1/ConfigMap", "default", "a" },
        { asked.verb, asked.kind, asked.namespace, asked.name })
      assert.is_true(rawequal(object, asked.body))
      assert.is_true(rawequal(object, asked.object))
      assert.is_nil(asked.subresource)
      assert.is_false(asked.live)
    end
  end)

  it("name the status for update_status, patch_status and apply_status", function()
    client:update_status(config_map())
    assert.same({ "update", "status" }, { asked.verb, asked.subresource })
    client:patch_status(config_map(), { status = {} })
    assert.same({ "patch", "status" }, { asked.verb, asked.subresource })
    client:apply_status(config_map())
    assert.same({ "apply", "status" }, { asked.verb, asked.subresource })
  end)

  it("let the server make a name", function()
    client:create({ apiVersion = "v1", kind = "Pod", metadata = { namespace = "d", generateName = "x-" } })
    assert.same({ "d" }, { asked.namespace, asked.name })
    refuses("create: metadata.namespace must be a string", call, "create",
      { apiVersion = "v1", kind = "Pod", metadata = { namespace = 5, generateName = "x-" } })
    refuses("update: the reference has no name", call, "update",
      { apiVersion = "v1", kind = "Pod", metadata = { namespace = "d", generateName = "x-" } })
  end)

  it("create reviews, which have no name", function()
    client:create({ apiVersion = "authentication.k8s.io/v1", kind = "TokenReview", spec = { token = "t" } })
    assert.same({ "create", "authentication.k8s.io/v1/TokenReview" },
      { asked.verb, asked.kind, asked.namespace, asked.name })
    client:create({ apiVersion = "authorization.k8s.io/v1", kind = "LocalSubjectAccessReview",
      metadata = { namespace = "d" }, spec = {} })
    assert.same({ "d" }, { asked.namespace, asked.name })
    refuses("create: the reference has no name", call, "create",
      { apiVersion = "v1", kind = "Pod", metadata = { namespace = "d" } })
  end)

  it("hand on the options of writes", function()
    local owner = config_map()
    client:create(config_map(), { owner = owner, adopt = true, force_write = true, dry_run = true,
      field_manager = "me", field_validation = "Strict" })
    assert.same({ owner, true, true, true, "me", "Strict" }, { asked.owner, asked.adopt, asked.force_write,
      asked.dry_run, asked.field_manager, asked.field_validation })
    for method, refusal in pairs({ create = "create v1/ConfigMap", update = "update v1/ConfigMap",
      apply = "apply v1/ConfigMap", delete = "delete v1/ConfigMap" }) do
      refuses(refusal .. ": adopt needs owner", call, method, config_map(), { adopt = true })
    end
    refuses("adopt needs owner", call, "create_or_update", config_map(), function() end, { adopt = true })
    client:apply(config_map(), { adopt = false })
    refuses('did you mean "field_manager"?', call, "create", config_map(), { fieldmanager = "me" })
    refuses('field_validation must be one of "Strict", "Warn", "Ignore"', call, "update", config_map(),
      { field_validation = "strict" })
    refuses("create v1/ConfigMap: owner must have apiVersion and kind", call, "create", config_map(),
      { owner = {} })
    refuses("options must be a table, not perilune.null", call, "update", config_map(), null)
  end)

  it("apply with force unless told otherwise", function()
    client:apply(config_map())
    assert.is_true(asked.force)
    client:apply(config_map(), { force = false })
    assert.is_false(asked.force)
  end)

  it("patch an object, or a kind and a ref", function()
    local object, patch = config_map(), { data = { a = null } }
    client:patch(object, patch)
    assert.same({ "patch", "merge", "v1/ConfigMap", "default", "a" },
      { asked.verb, asked.patch_type, asked.kind, asked.namespace, asked.name })
    assert.is_true(rawequal(patch, asked.body))
    assert.is_true(rawequal(object, asked.object))
    client:patch("v1/ConfigMap", "default/a", patch, { type = "strategic" })
    assert.equal("strategic", asked.patch_type)
    assert.is_nil(asked.object)
    client:patch("v1/ConfigMap", object, patch)
    assert.is_true(rawequal(object, asked.object))
    refuses("patch v1/ConfigMap: the patch must be a table, not nil", call, "patch", object)
    refuses("patch got more arguments", call, "patch", object, patch, {}, {})
    refuses("patch got more arguments", call, "patch", "v1/ConfigMap", "default/a", patch, {}, {})
    refuses('type must be one of "merge", "json", "strategic"', call, "patch", object, patch, { type = "apply" })
  end)

  it("delete, and say whether it was there", function()
    assert.is_true(client:delete(config_map(), { propagation = "Foreground", grace_period = 0 }))
    assert.same({ "delete", "Foreground", 0 }, { asked.verb, asked.propagation, asked.grace_period })
    info = { gone = true }
    assert.is_false(client:delete("v1/ConfigMap", "default/a", { uid = "u1", resource_version = "5" }))
    assert.same({ "u1", "5" }, { asked.uid, asked.resource_version })
    refuses('propagation must be one of "Background", "Foreground", "Orphan"', call, "delete", config_map(),
      { propagation = "foreground" })
    refuses("delete got more arguments", call, "delete", config_map(), {}, {})
    refuses("delete: the object must be a table with apiVersion and kind, not nil", call, "delete")
  end)

  it("delete_all_of needs a selector or all", function()
    info = { count = 3 }
    assert.equal(3, client:delete_all_of("v1/Pod", { namespace = "default", labels = "a=b" }))
    assert.same({ "deletecollection", "default", "a=b" }, { asked.verb, asked.namespace, asked.labels })
    assert.equal(3, client:delete_all_of("v1/Pod", { namespace = "default", all = true }))
    refuses("needs labels, fields, or all = true", call, "delete_all_of", "v1/Pod", { namespace = "default" })
    refuses("needs labels, fields, or all = true", call, "delete_all_of", "v1/Pod")
    refuses("labels: an empty selector", call, "delete_all_of", "v1/Pod", { namespace = "d", labels = {} })
  end)

  it("reach subresources", function()
    client:subresource("apps/v1/Deployment", "default/a", "scale", "get")
    assert.same({ "get", "scale", "apps/v1/Deployment" }, { asked.verb, asked.subresource, asked.kind })
    client:subresource("apps/v1/Deployment", "default/a", "scale", "patch", { spec = { replicas = 1 } })
    assert.same({ "patch", "merge" }, { asked.verb, asked.patch_type })
    client:subresource("v1/Pod", "a/b", "log", "get", nil,
      { query = { container = "web & more", tailLines = 10, sinceSeconds = 1e10, previous = true } })
    assert.same({ "get", "log" }, { asked.verb, asked.subresource })
    assert.equal("container=web%20%26%20more&previous=true&sinceSeconds=10000000000&tailLines=10", asked.query)
    client:subresource("v1/Pod", "a/b", "log", "get", nil, { query = {} })
    assert.equal("", asked.query)
    refuses("query must be a table, not the string", call, "subresource", "v1/Pod", "a/b", "log", "get", nil,
      { query = "a=b" })
    refuses("query: container must be a string, not a table", call, "subresource", "v1/Pod", "a/b", "log", "get",
      nil, { query = { container = {} } })
    refuses("query: a name must be a string, not the number 1", call, "subresource", "v1/Pod", "a/b", "log",
      "get", nil, { query = { "web" } })
    refuses('unknown option "dry_run"', call, "subresource", "v1/Pod", "a/b", "log", "get", nil, { dry_run = true })
    refuses('unknown option "query"', call, "subresource", "v1/Pod", "a/b", "eviction", "create", {},
      { query = {} })
    refuses("get takes no body", call, "subresource", "v1/Pod", "a/b", "eviction", "get", {})
    refuses("body must be a table, not nil", call, "subresource", "v1/Pod", "a/b", "eviction", "create")
    refuses("verb must be one of", call, "subresource", "v1/Pod", "a/b", "eviction", "post", {})
  end)

  it("need a colon", function()
    for _, method in ipairs({ "create", "update", "update_status", "patch", "patch_status", "apply",
      "apply_status", "delete", "delete_all_of", "subresource", "create_or_update", "wait", "list", "each" }) do
      refuses("call it with a colon: client:" .. method .. "(...)", function()
        client[method](config_map())
      end)
    end
  end)
end)

describe("client:create_or_update", function()
  local server, requests, races
  local function stored()
    return server and host.read_object(perilune.json.encode(server))
  end

  before_each(function()
    spec.reset()
    server, requests, races = nil, {}, {}
    host.get = function()
      return stored()
    end
    host.write = function(request)
      requests[#requests + 1] = request
      local race = table.remove(races, 1)
      if race then
        race()
      end
      local body = perilune.deepcopy(request.body)
      if request.verb == "create" then
        if server then
          error(spec.api_error(409, "AlreadyExists"), 0)
        end
        body.metadata.resourceVersion = "1"
      else
        if not server then
          error(spec.api_error(404, "NotFound"), 0)
        elseif server.metadata.resourceVersion ~= body.metadata.resourceVersion then
          error(spec.api_error(409, "Conflict"), 0)
        end
        body.metadata.resourceVersion = tostring(body.metadata.resourceVersion + 1)
      end
      server = body
      return stored(), {}
    end
  end)

  local function set(value)
    return function(current)
      current.data = current.data or {}
      current.data.a = value
    end
  end

  it("creates what is not there, from the object given", function()
    local given = config_map()
    local object, how = client:create_or_update(given, set("new"))
    assert.equal("created", how)
    assert.equal("new", object.data.a)
    assert.equal("b", given.data.a) -- the script's table is not changed
    assert.equal(1, #requests)
  end)

  it("updates what is there", function()
    server = config_map({ data = { a = "old", kept = "yes" } })
    server.metadata.resourceVersion = "7"
    local object, how = client:create_or_update(config_map(), set("new"))
    assert.equal("updated", how)
    assert.same({ a = "new", kept = "yes" }, object.data)
    assert.equal("update", requests[1].verb)
  end)

  it("writes nothing when nothing changed", function()
    server = config_map()
    server.metadata.resourceVersion = "7"
    local object, how = client:create_or_update(config_map(), set("b"))
    assert.equal("unchanged", how)
    assert.equal("7", object.metadata.resourceVersion)
    assert.equal(0, #requests)
  end)

  it("says unchanged when the gate skipped the write", function()
    server = config_map()
    host.write = function(request)
      return request.body, { skipped = true }
    end
    assert.equal("unchanged", select(2, client:create_or_update(config_map(), set("new"))))
  end)

  it("asks the gate about owners and force_write also when nothing changed", function()
    server = config_map()
    server.metadata.resourceVersion = "7"
    client:create_or_update(config_map(), set("b"), { owner = config_map() })
    assert.equal(1, #requests)
    client:create_or_update(config_map(), set("b"), { force_write = true })
    assert.equal(2, #requests)
  end)

  it("runs the function again on the live object after a conflict", function()
    server = config_map()
    server.metadata.resourceVersion = "7"
    races[1] = function()
      server.data, server.metadata.resourceVersion = { a = "theirs", b = "kept" }, "8"
    end
    local object, how = client:create_or_update(config_map(), set("mine"))
    assert.equal("updated", how)
    assert.same({ a = "mine", b = "kept" }, object.data)
    assert.equal(2, #requests)
  end)

  it("updates when somebody else created it meanwhile", function()
    races[1] = function()
      server = config_map({ data = { b = "kept" } })
      server.metadata.resourceVersion = "1"
    end
    local object, how = client:create_or_update(config_map(), set("mine"))
    assert.equal("updated", how)
    assert.same({ a = "mine", b = "kept" }, object.data)
  end)

  it("creates when somebody else deleted it meanwhile", function()
    server = config_map()
    races[1] = function()
      server = nil
    end
    assert.equal("created", select(2, client:create_or_update(config_map(), set("mine"))))
  end)

  it("raises the conflict after five attempts", function()
    server = config_map()
    server.metadata.resourceVersion = "7"
    for i = 1, 9 do
      races[i] = function()
        server.metadata.resourceVersion = server.metadata.resourceVersion + 1 .. ""
      end
    end
    local ok, e = pcall(call, "create_or_update", config_map(), set("mine"))
    assert.is_false(ok)
    assert.is_true(perilune.errors.is_conflict(e))
    assert.equal(5, #requests)
  end)

  it("raises other errors at once, those of the function too", function()
    host.write = function()
      requests[#requests + 1] = true
      error(spec.api_error(403, "Forbidden"), 0)
    end
    local ok, e = pcall(call, "create_or_update", config_map(), set("x"))
    assert.is_false(ok)
    assert.is_true(perilune.errors.is_forbidden(e))
    assert.equal(1, #requests)
    ok, e = pcall(call, "create_or_update", config_map(), function() error("mine", 0) end)
    assert.same({ false, "mine" }, { ok, e })
  end)

  it("refuses a function that changes the name, the namespace or the kind", function()
    refuses("create_or_update v1/ConfigMap: the function changed the name to default/b", call,
      "create_or_update", config_map(), function(o) o.metadata.name = "b" end)
    refuses("the function changed the name to other/a", call, "create_or_update", config_map(),
      function(o) o.metadata.namespace = "other" end)
    refuses("the function changed the kind to v1/Secret", call, "create_or_update", config_map(),
      function(o) o.kind = "Secret" end)
    assert.equal(0, #requests)
  end)

  it("refuses a function that returns another object", function()
    refuses("the function must change its argument in place and return nothing", call, "create_or_update",
      config_map(), function() return {} end)
    client:create_or_update(config_map(), function(o) return o end)
  end)

  it("takes the namespace of the owner", function()
    local object = config_map()
    object.metadata.namespace = nil
    client:create_or_update(object, set("x"), { owner = config_map() })
    assert.equal("default", requests[1].namespace)
    assert.equal("default", requests[1].body.metadata.namespace)
    assert.is_nil(object.metadata.namespace)
  end)

  it("refuses what makes no sense", function()
    refuses("the second argument must be a function, not nil", call, "create_or_update", config_map())
    refuses("create_or_update: the reference has no name", call, "create_or_update",
      { apiVersion = "v1", kind = "Pod", metadata = { generateName = "x" } }, print)
    refuses('did you mean "owner"?', call, "create_or_update", config_map(), print, { ovner = config_map() })
  end)
end)

describe("client:wait", function()
  local states, left
  before_each(function()
    spec.reset()
    host.get = function()
      local state = table.remove(states, 1)
      return state or nil
    end
    host.key_changed = function(kind, ns, name, seconds)
      assert.same({ "v1/Pod", "default", "a" }, { kind, ns, name })
      assert.is_true(seconds > 0 and seconds <= 30)
      left = left - 1
      return left >= 0
    end
    left = 10
  end)

  local function is_ready(pod)
    return pod ~= nil and pod.ready
  end

  it("gives the object once the predicate is true", function()
    states = { false, { ready = false }, { ready = true, name = "x" } }
    assert.equal("x", client:wait("v1/Pod", "default/a", is_ready, "30s").name)
    assert.equal(8, left)
  end)

  it("may wait for an object to go", function()
    states = { { ready = true }, false }
    assert.is_nil(client:wait("v1/Pod", "default/a", function(pod) return pod == nil end, 30))
  end)

  it("raises a timeout", function()
    states, left = {}, 2
    local ok, e = pcall(call, "wait", "v1/Pod", "default/a", is_ready, "30s")
    assert.is_false(ok)
    assert.is_true(perilune.errors.is_timeout(e))
    assert.equal("wait v1/Pod default/a: timeout: not met within 30s", tostring(e))
    local value, caught = perilune.try(call, "wait", "v1/Pod", "default/a", is_ready, "30s")
    assert.is_nil(value)
    assert.is_true(perilune.errors.is_timeout(caught))
  end)

  it("raises what the predicate raises", function()
    states = {}
    local ok, e = pcall(call, "wait", "v1/Pod", "default/a", function() error("mine", 0) end, 5)
    assert.same({ false, "mine" }, { ok, e })
  end)

  it("needs a predicate and a timeout", function()
    refuses("wait v1/Pod needs a timeout as fourth argument", call, "wait", "v1/Pod", "default/a", is_ready)
    refuses("wait v1/Pod: the predicate must be a function, not nil", call, "wait", "v1/Pod", "default/a")
    refuses("timeout must be longer than zero", call, "wait", "v1/Pod", "default/a", is_ready, 0)
    refuses("timeout must be seconds", call, "wait", "v1/Pod", "default/a", is_ready, "soon")
  end)
end)
