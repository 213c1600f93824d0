-- The builder of controllers, perilune.index, enqueue, and the functions beside them.
local spec = require("spec.support.host")
local perilune = require("perilune")

local host = spec.host
local noop = function() end

local function refuses(expected, f, ...)
  local message = spec.message_of(f, ...)
  assert.truthy(message:find(expected, 1, true), message)
end

describe("perilune.controller", function()
  local controller, declared

  before_each(function()
    spec.reset()
    host.set_phase("load")
    controller = spec.fresh("perilune.controller")
    declared = {}
    host.controller = function(description)
      declared[#declared + 1] = description
    end
  end)

  local function new(...)
    local made = controller.new(...)
    return made
  end

  it("takes finalizers without a domain where the API server does", function()
    new("a"):For("example.com/v1/Website", { finalizers = { "foo" } }):Reconcile(noop)
    new("b"):For("v1/Pod", { finalizers = { "orphan", "example.com/x" } }):Reconcile(noop)
    assert.same({ "foo" }, declared[1].sources[1].finalizers)
    assert.same({ "orphan", "example.com/x" }, declared[2].sources[1].finalizers)
  end)

  it("hands one description to the core", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local c = new("website", { max_concurrent_reconciles = 4, reconcile_timeout = "2m", max_retries = 0,
      rate_limiter = { base = "5ms", max = "1000s" }, leader_election = false, on_reload = "none" })
    local returned = c:For("example.com/v1/Website", { finalizers = { "example.com/dns" } })
      :Owns("apps/v1/Deployment", { writes = { "create" }, match_every_owner = true })
      :Watches("v1/ConfigMap", "self", { namespaces = { "default" }, labels = { app = "web" } })
      :Reads("v1/Secret", { fields = "type=Opaque", metadata_only = true, managed_fields = true,
        writes = { "patch" } })
      :Writes("v1/Service", { "create", "patch" })
      :Reconcile(noop)
    assert.equal(c, returned)
    assert.equal(1, #declared)
    local d = declared[1]
    assert.truthy(d.file:find("controller_spec.lua", 1, true))
    assert.is_true(math.abs(d.line - line) > 0)
    assert.same({ "website", 4, 120, 0, false, "none" }, { d.name, d.max_concurrent_reconciles,
      d.reconcile_timeout, d.max_retries, d.leader_election, d.on_reload })
    assert.same({ base = 0.005, max = 1000 }, d.rate_limiter)
    assert.same({
      { role = "for", kind = "example.com/v1/Website", map = "self", finalizers = { "example.com/dns" } },
      { role = "owns", kind = "apps/v1/Deployment", writes = { "create" }, match_every_owner = true },
      { role = "watches", kind = "v1/ConfigMap", map = "self", namespaces = { "default" }, labels = "app=web" },
      { role = "reads", kind = "v1/Secret", fields = "type=Opaque", metadata_only = true,
        managed_fields = true, writes = { "patch" } },
    }, d.sources)
    assert.same({ { kind = "v1/Service", verbs = { "create", "patch" } } }, d.writes)
  end)

  it("puts event filters in front of every source's own predicates, but not of reads", function()
    local p = perilune.predicate
    new("a"):WithEventFilter(p.generation_changed):For("v1/Pod", { predicates = { p.label_changed } })
      :Watches("v1/Node", "self"):Reads("v1/Secret"):Reconcile(noop)
    local sources = declared[1].sources
    assert.same({ "all", "generation_changed", "label_changed" },
      { sources[1].predicate.type, sources[1].predicate.of[1].type, sources[1].predicate.of[2].type })
    assert.equal("generation_changed", sources[2].predicate.type)
    assert.is_nil(sources[3].predicate)
    assert.is_nil(sources[1].predicates)
  end)

  it("turns what a map returns into requests", function()
    local result
    new("a"):Watches("v1/Node", function() return result end):Reconcile(noop)
    local map = declared[1].sources[1].map
    local function mapped(value)
      result = value
      return map({}, {})
    end
    assert.same({}, mapped(nil))
    assert.same({}, mapped({}))
    assert.same({ "ns", "a" }, mapped("ns/a"))
    assert.same({ "ns", "a" }, mapped({ namespace = "ns", name = "a" }))
    assert.same({ false, "n1" }, mapped({ metadata = { name = "n1" } }))
    assert.same({ "ns", "a", false, "b" }, mapped({ "ns/a", { name = "b" } }))
    refuses("map of v1/Node: result[2] has no name", mapped, { "ns/a", {} })
    refuses("map of v1/Node: the result is an array with holes or names", mapped, { "ns/a", nil, "ns/b" })
    refuses("map of v1/Node: result must be a key, a request or an object, not the boolean false", mapped, false)
  end)

  it("ignores the second result of a map, so that it may return a list", function()
    new("a"):Watches("v1/Node", function() return { "ns/a" }, { resource_version = "5" } end):Reconcile(noop)
    assert.same({ "ns", "a" }, declared[1].sources[1].map({}, {}))
  end)

  it("gives a reconcile its log and turns its result into an outcome", function()
    local seen
    new("a"):For("v1/Pod"):Reconcile(function(request, context)
      seen = { request.key, context.log }
      return { requeue_after = 5 }
    end)
    assert.same({ "requeue_after", 5 }, { declared[1].reconcile({ key = "ns/a" }, {}) })
    assert.equal("ns/a", seen[1])
    assert.equal(perilune.log, seen[2])
  end)

  local mistakes = {
    { "no name", function() new() end, "the name of a controller must be a string, not nil" },
    { "a bad name", function() new("Web Site") end, 'controller name "Web Site" must be a DNS-1123 label' },
    { "a long name", function() new(("a"):rep(64)) end, "must be a DNS-1123 label" },
    { "an unknown option", function() new("a", { max_retry = 1 }) end,
      'controller "a": unknown option "max_retry"; did you mean "max_retries"?' },
    { "a wrong type", function() new("a", { reconcile_timeout = true }) end,
      'controller "a": reconcile_timeout must be seconds or text such as "1m30s", not the boolean true' },
    { "no concurrency", function() new("a", { max_concurrent_reconciles = 0 }) end, "at least 1" },
    { "half a retry", function() new("a", { max_retries = 0.5 }) end, "whole number" },
    { "an unknown limit", function() new("a", { rate_limiter = { min = 1 } }) end,
      'controller "a": rate_limiter: unknown option "min"' },
    { "half a limit", function() new("a", { rate_limiter = { fast = 1 } }) end,
      "rate_limiter: fast, slow and fast_attempts go together" },
    { "two limits", function()
      new("a", { rate_limiter = { fast = 1, slow = 2, fast_attempts = 3, base = 1 } })
    end, "rate_limiter takes base and max, or fast, slow and fast_attempts, not both" },
    { "a burst without a rate", function() new("a", { rate_limiter = { burst = 5 } }) end,
      'controller "a": rate_limiter: burst needs qps' },
    { "an unknown on_reload", function() new("a", { on_reload = "all" }) end, 'one of "enqueue", "none"' },
    { "null for options", function() new("a", perilune.null) end,
      'controller "a": options must be a table, not perilune.null' },
    { "an extra argument", function() new("a", {}, 1) end, "more arguments" },
    { "For twice", function() new("a"):For("v1/Pod"):For("v1/Node") end,
      'controller "a": For is called twice ("v1/Pod", then "v1/Node"); use Owns or Watches' },
    { "a bad kind", function() new("a"):For("Pod") end, 'controller "a": For: ' },
    { "no kind", function() new("a"):Owns() end, 'controller "a": Owns: the kind must be a text such as' },
    { "an unknown source option", function() new("a"):For("v1/Pod", { label = "a=b" }) end,
      'controller "a": For("v1/Pod"): unknown option "label"; did you mean "labels"?' },
    { "predicates of Reads", function() new("a"):Reads("v1/Pod", { predicates = {} }) end,
      'unknown option "predicates"' },
    { "finalizers of Owns", function() new("a"):Owns("v1/Pod", { finalizers = {} }) end,
      'unknown option "finalizers"' },
    { "a bad finalizer", function() new("a"):For("v1/Pod", { finalizers = { "a b" } }) end,
      '"a b" is not a finalizer name' },
    { "a finalizer without a domain", function() new("a"):For("v1/Pod", { finalizers = { "foo" } }) end,
      'controller "a": For("v1/Pod"): finalizers: the API server refuses "foo": name is neither a standard finalizer '
        .. 'name nor is it fully qualified, as in "example.com/foo"' },
    { "no namespaces", function() new("a"):For("v1/Pod", { namespaces = {} }) end,
      "namespaces is empty; leave it out to mean all namespaces" },
    { "a bad namespace", function() new("a"):For("v1/Pod", { namespaces = { "a/b" } }) end,
      '"a/b" is not the name of a namespace' },
    { "a namespace for namespaces", function() new("a"):For("v1/Pod", { namespaces = "default" }) end,
      'namespaces must be an array, not the string "default"' },
    { "namespaces of a kind that has none", function() new("a"):For("v1/Node", { namespaces = { "default" } }) end,
      'controller "a": For("v1/Node"): v1/Node is cluster-scoped: it takes no namespaces' },
    { "namespaces to read of a kind that has none", function()
      new("a"):Reads("rbac.authorization.k8s.io/v1/ClusterRole", { namespaces = { "default" } })
    end, "rbac.authorization.k8s.io/v1/ClusterRole is cluster-scoped: it takes no namespaces" },
    { "an empty selector", function() new("a"):For("v1/Pod", { labels = "" }) end, "labels: an empty selector" },
    { "a bad predicate", function() new("a"):For("v1/Pod", { predicates = { 5 } }) end,
      "predicates[1] must be a predicate" },
    { "one predicate for an array", function()
      new("a"):For("v1/Pod", { predicates = perilune.predicate.label_changed })
    end, "predicates must be an array" },
    { "an unknown verb", function() new("a"):For("v1/Pod", { writes = { "write" } }) end, "must be one of" },
    { "Watches without a map", function() new("a"):Watches("v1/Pod", { labels = "a=b" }) end,
      'Watches("v1/Pod") needs a function(object, event) or "self" as second argument, not a table' },
    { "Writes without verbs", function() new("a"):Writes("v1/Pod") end, 'Writes("v1/Pod") must be an array' },
    { "no function", function() new("a"):For("v1/Pod"):Reconcile() end,
      'controller "a": the argument of Reconcile must be a function, not nil' },
    { "more after Reconcile", function() new("a"):For("v1/Pod"):Reconcile(noop):Owns("v1/Pod") end,
      'controller "a": Owns after Reconcile, which completes a controller' },
    { "an unknown method", function() new("a"):Watch("v1/Pod") end,
      'controller "a" has no method "Watch"; did you mean "Watches"?' },
    { "a dot for a colon", function() new("a").For("v1/Pod") end, "call it with a colon: controller:For(...)" },
    { "an assignment", function() new("a").max_retries = 5 end, "max_retries can't be assigned" },
    { "no event filter", function() new("a"):WithEventFilter() end,
      'controller "a": WithEventFilter needs at least one predicate' },
    { "a bad event filter", function() new("a"):WithEventFilter("spec") end, "WithEventFilter must be a predicate" },
  }
  for _, mistake in ipairs(mistakes) do
    it("refuses " .. mistake[1], function()
      local ok, e = pcall(mistake[2])
      assert.is_false(ok)
      assert.truthy(e:find("^[^\n]*controller_spec.lua:%d+: "), e)
      assert.truthy(e:find(mistake[3], 1, true), e)
    end)
  end

  it("refuses a name that is used twice, and says where first", function()
    new("a")
    local message = spec.message_of(new, "a")
    assert.truthy(message:find('^controller name "a" is used twice; first at .*controller_spec.lua:%d+$'), message)
  end)

  it("passes on what the core refuses, naming the controller once", function()
    host.controller = function()
      error('Owns("v1/Pod") needs For', 0)
    end
    refuses('controller "a": Owns("v1/Pod") needs For', function() new("a"):Owns("v1/Pod"):Reconcile(noop) end)
    host.controller = function()
      error('nothing wakes controller "b": it needs For', 0)
    end
    assert.equal('nothing wakes controller "b": it needs For',
      spec.message_of(function() new("b"):Reconcile(noop) end))
  end)

  it("is only there while scripts load", function()
    host.set_phase("run")
    refuses("perilune.controller can only be called while the script is loaded", new, "a")
  end)

  it("refuses an index of a kind that no controller caches", function()
    new("a"):For("v1/Pod"):Reconcile(noop)
    controller.note_index("v1/Pod", "node")
    controller.finish()
    controller.note_index("v1/Node", "zone")
    local ok, message = pcall(controller.finish)
    assert.is_false(ok)
    assert.truthy(message:find('controller_spec.lua:%d+: index "zone": no controller caches v1/Node; '
      .. 'declare it with :Reads%("v1/Node"%)$'), message)
  end)

  it("must be completed before loading ends", function()
    new("whole"):For("v1/Pod"):Reconcile(noop)
    controller.finish()
    new("half"):For("v1/Pod")
    local ok, message = pcall(controller.finish)
    assert.is_false(ok)
    assert.truthy(message:find('controller_spec.lua:%d+: controller "half" has no Reconcile$'), message)
  end)
end)

describe("perilune.index", function()
  local declared
  before_each(function()
    spec.reset()
    host.set_phase("load")
    host.index = function(...)
      declared = { ... }
    end
  end)

  local function index(...)
    perilune.index(...)
    return true
  end

  it("takes a path or a function", function()
    index("v1/Pod", "node", "spec.nodeName")
    assert.same({ "v1/Pod", "node", "spec.nodeName" }, declared)
    index("v1/Pod", "node", noop)
    assert.same({ "v1/Pod", "node", noop }, declared)
  end)

  it("refuses what makes no sense", function()
    refuses("perilune.index: the kind must be a text", index)
    refuses("the name must be a string", index, "v1/Pod")
    refuses("the name must not contain a NUL byte", index, "v1/Pod", "node\0", noop)
    refuses("perilune.index: the path: ", index, "v1/Pod", "node", "spec..x")
    refuses("perilune.index needs a path or a function(object), not a table", index, "v1/Pod", "node", {})
    refuses("more arguments", index, "v1/Pod", "node", noop, 1)
    refuses("perilune.index takes no cluster: it knows the host's own alone", index, "v1/Pod", "node", noop,
      { cluster = "edge" })
    host.set_phase("run")
    refuses("only be called while the script is loaded", index, "v1/Pod", "node", noop)
  end)
end)

describe("perilune.enqueue", function()
  local asked
  before_each(function()
    spec.reset()
    host.enqueue = function(...)
      asked = { ... }
    end
  end)

  local function enqueue(...)
    perilune.enqueue(...)
    return true
  end

  it("hands a request to a controller", function()
    enqueue("website", "default/blog")
    assert.same({ "website", "default", "blog", 0, 0 }, asked)
    enqueue("website", { name = "n1" }, { after = "1m", priority = -5 })
    assert.same({ "website", nil, "n1", 60, -5 }, asked)
  end)

  it("refuses what makes no sense", function()
    refuses("the controller's name must be a string", enqueue)
    refuses("enqueue: the request must be a key", enqueue, "a")
    refuses('unknown option "delay"', enqueue, "a", "b", { delay = 5 })
    refuses("priority must be a whole number", enqueue, "a", "b", { priority = 0.5 })
  end)
end)

describe("perilune.sleep, spawn and join", function()
  before_each(spec.reset)

  it("take durations, functions and tasks", function()
    local slept
    host.sleep = function(seconds)
      slept = seconds
    end
    perilune.sleep("250ms")
    assert.equal(0.25, slept)
    host.spawn = function(f, ...)
      return { f, ... }
    end
    assert.same({ noop, 1, 2 }, (perilune.spawn(noop, 1, 2)))
    local task = setmetatable({}, { __metatable = "perilune.task" })
    host.join = function(t)
      return t, 5
    end
    assert.same({ task, 5 }, { perilune.join(task) })
  end)

  it("refuse what makes no sense", function()
    local function call(name, ...)
      local result = perilune[name](...)
      return result
    end
    refuses("sleep must be seconds", call, "sleep")
    refuses("spawn must be a function, not nil", call, "spawn")
    refuses("join needs a task that spawn returned, not nil", call, "join")
    refuses("join needs a task that spawn returned, not a function", call, "join", noop)
  end)
end)

describe("perilune.http.request", function()
  local asked, answer
  before_each(function()
    spec.reset()
    answer = { status = 200, headers = {}, body = "" }
    host.http = function(request)
      asked = request
      return answer
    end
  end)

  local function request(...)
    local result = perilune.http.request(...)
    return result
  end

  it("hands on its options", function()
    request({ url = "http://x/", method = "put", headers = { ["X-A"] = "b", ["X-N"] = 5 }, body = "",
      timeout = "5s", max_response = 10, tls = { insecure = true } })
    assert.same({ url = "http://x/", method = "PUT", headers = { ["X-A"] = "b", ["X-N"] = "5" }, body = "",
      timeout = 5, max_response = 10, tls = { insecure = true } }, asked)
  end)

  it("gets without a body and posts with one", function()
    request({ url = "http://x/" })
    assert.equal("GET", asked.method)
    request({ url = "http://x/", json = { a = 1 } })
    assert.same({ "POST", '{"a":1}', "application/json" },
      { asked.method, asked.body, asked.headers["content-type"] })
  end)

  it("keeps the script's content type and its table", function()
    local headers = { ["Content-Type"] = "application/merge-patch+json" }
    request({ url = "http://x/", json = {}, headers = headers })
    assert.same({ ["Content-Type"] = "application/merge-patch+json" }, asked.headers)
    request({ url = "http://x/", json = {}, headers = perilune.array({}) })
    assert.is_nil(headers["content-type"])
  end)

  it("says whether it went well, and decodes JSON that says so", function()
    answer = { status = 201, headers = { ["content-type"] = "application/json; charset=utf-8" }, body = '{"a":[]}' }
    local got = request({ url = "http://x/" })
    assert.is_true(got.ok)
    assert.equal('{"a":[]}', perilune.json.encode(got.json))
    answer = { status = 404, headers = { ["content-type"] = "text/plain" }, body = "{}" }
    got = request({ url = "http://x/" })
    assert.is_false(got.ok)
    assert.is_nil(got.json)
    answer = { status = 200, headers = { ["content-type"] = "application/json" }, body = "{" }
    assert.is_nil(request({ url = "http://x/" }).json)
  end)

  it("leaves it to the host where a request ends", function()
    request({ url = "http://x/", body = "abc", headers = { ["Content-Length"] = 3, ["X-A"] = "b" } })
    assert.same({ ["X-A"] = "b" }, asked.headers)
    request({ url = "http://x/", headers = { ["content-length"] = "0" } })
    assert.same({}, asked.headers)
    refuses("headers: Content-Length is 4, but the body has 3 bytes", request,
      { url = "http://x/", body = "abc", headers = { ["Content-Length"] = "4" } })
    refuses("headers: Transfer-Encoding cannot be set", request,
      { url = "http://x/", body = "abc", headers = { ["Transfer-Encoding"] = "chunked" } })
    refuses("is given twice: upper and lower case make no difference", request,
      { url = "http://x/", headers = { HOST = "a", Host = "b" } })
  end)

  it("refuses what makes no sense", function()
    refuses("http.request must be a table, not nil", request)
    refuses("http.request: url must be a string, not nil", request, {})
    refuses('did you mean "headers"?', request, { url = "http://x/", header = {} })
    refuses("takes body or json, not both", request, { url = "http://x/", body = "a", json = {} })
    refuses("headers: x must be a string, not a table", request, { url = "http://x/", headers = { x = {} } })
    refuses("headers: a name must be a string", request, { url = "http://x/", headers = { "a: b" } })
    refuses('tls: unknown option "verify"', request, { url = "http://x/", tls = { verify = false } })
    refuses("timeout must be longer than zero", request, { url = "http://x/", timeout = 0 })
    refuses("http.request: url: byte 11 must be escaped: perilune.url.escape", request, { url = "http://x/a b" })
    refuses("http.request: url has 70000 bytes; it may have 65536", request, { url = ("x"):rep(70000) })
    refuses("http.request: url has 70009 bytes; it may have 65536", request,
      { url = "http://x/", query = { a = ("x"):rep(69997) } })
    refuses("http.request: method has 100 bytes; it may have 64", request,
      { url = "http://x/", method = ("X"):rep(100) })
    refuses("http.request: tls: server_name has 300 bytes; it may have 255", request,
      { url = "http://x/", tls = { server_name = ("x"):rep(300) } })
  end)
end)
