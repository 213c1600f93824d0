-- perilune.live:raw, client:as, logs, evict and perilune.kinds: what they pass to the core, and
-- what they refuse before.
local spec = require("spec.support.host")
local perilune = require("perilune")

local host, client, live = spec.host, perilune.client, perilune.live

local function refuses(expected, f, ...)
  local message = spec.message_of(f, ...)
  assert.truthy(message:find(expected, 1, true), message)
end

local function raw(...)
  return live:raw(...)
end

describe("perilune.live:raw", function()
  local sent
  before_each(function()
    spec.reset()
    host.write = function(fields)
      sent = fields
      return "the answer", { skipped = false }
    end
  end)

  it("hands method, path, parameters, body and headers to the core", function()
    assert.equal("the answer", live:raw("post", "/apis/x.io/v1/things/a%20b", {
      query = { b = true, a = { "1 2", "3" }, limit = 5 }, body = { c = 1 }, dry_run = true,
      headers = { ["X-One"] = "two", Accept = "text/plain" } }))
    assert.same({ verb = "create", raw_path = "/apis/x.io/v1/things/a%20b?a=1%202&a=3&b=true&limit=5",
      body = { c = 1 }, dry_run = true, headers = "accept\0text/plain\0x-one\0two\0", live = true }, sent)
    live:raw("GET", "/version")
    assert.same({ verb = "get", raw_path = "/version", live = true }, sent)
    for method, verb in pairs({ PUT = "update", PATCH = "patch" }) do
      live:raw(method, "/x", { body = {} })
      assert.equal(verb, sent.verb)
    end
    live:raw("DELETE", "/x")
    assert.equal("delete", sent.verb)
  end)

  it("takes no path that means another one", function()
    for path, why in pairs({
      ["api"] = 'must begin with "/"', ["/api?a=b"] = "parameters go into the option query",
      ["/api/../version"] = "a segment of dots", ["/api/./v1"] = "a segment of dots",
      ["/api//v1"] = "an empty segment", ["/a b"] = "must be escaped", ["/a\nb"] = "must be escaped",
      ["/a\0b"] = "must be escaped", ["/a#b"] = "must be escaped",
      ["/%2e%2e/x"] = "escapes a character that must not be",
      ["/a%2Fb"] = "escapes a character that must not be", ["/%70roxy"] = "escapes a character that must not be",
      ["/a%"] = "escapes a character that must not be", ["/a%zz"] = "escapes a character that must not be",
      ["/a%00"] = "escapes a character that must not be",
    }) do
      refuses(why, raw, "GET", path)
    end
    refuses("raw: the path has 1000001 bytes; with the query it may have 32768", raw, "GET", "/" .. ("x"):rep(1e6))
    refuses("raw GET: path and query have 40004 bytes; they may have 32768", raw, "GET", "/x",
      { query = { a = ("b"):rep(39999) } })
    local message = spec.message_of(raw, "PUT", "/" .. ("x"):rep(30000))
    assert.is_true(#message < 300)
    refuses("must not be empty", raw, "GET", "")
    refuses("must be a string, not nil", raw, "GET")
  end)

  it("takes no header that is the host's or breaks out of its line", function()
    for name, why in pairs({ Authorization = "is the host's", Host = "is the host's",
      ["content-length"] = "is the host's", ["Transfer-Encoding"] = "is the host's",
      ["Impersonate-User"] = "client:as{user = ...}", ["impersonate-extra-x"] = "client:as{user = ...}",
      ["a b"] = "is not the name of a header", ["a:b"] = "is not the name of a header", [""] = "is not the name" }) do
      refuses(why, raw, "GET", "/x", { headers = { [name] = "x" } })
    end
    refuses("is not the name of a header", raw, "GET", "/x", { headers = { "x" } })
    refuses("must be a text of one line", raw, "GET", "/x", { headers = { a = "b\r\nc: d" } })
    refuses("must be a text of one line", raw, "GET", "/x", { headers = { a = "b\0c" } })
    refuses("must be a text of one line", raw, "GET", "/x", { headers = { a = 1 } })
    refuses("is given twice", raw, "GET", "/x", { headers = { a = "1", A = "2" } })
    local many = {}
    for i = 1, 51 do
      many["h" .. i] = "x"
    end
    refuses("more than 50", raw, "GET", "/x", { headers = many })
    refuses("headers: more than 16384 bytes of names and values", raw, "GET", "/x",
      { headers = { a = ("b"):rep(9000), c = ("d"):rep(9000) } })
    refuses("headers: more than 16384 bytes", raw, "GET", "/x", { headers = { [("a"):rep(2e6)] = "b" } })
  end)

  it("refuses what makes no sense", function()
    refuses("raw always asks the server: perilune.live:raw", function() client:raw("GET", "/x") end)
    refuses("call it with a colon", function() live.raw("GET", "/x") end)
    refuses("the method must be GET, POST, PUT, PATCH or DELETE, not", raw, "HEAD", "/x")
    refuses("the method must be", raw, nil, "/x")
    refuses("GET takes no body", raw, "GET", "/x", { body = {} })
    refuses("raw PUT /x needs a body", raw, "PUT", "/x")
    refuses("body must be a table", raw, "POST", "/x", { body = "{}" })
    refuses('unknown option "params"', raw, "GET", "/x", { params = {} })
    refuses("must be a string, not a function", raw, "GET", "/x", { query = { a = print } })
    refuses("raw got more arguments", raw, "GET", "/x", {}, 1)
  end)
end)

describe("client:as", function()
  local sent, asked
  before_each(function()
    spec.reset()
    host.write = function(fields)
      sent = fields
      return {}, { skipped = false, gone = false }
    end
    host.get = function(_, _, _, options)
      asked = options
    end
    host.list = function(_, options)
      asked = options
      return {}
    end
  end)

  it("gives a client that asks and writes for somebody else, and never reads the cache", function()
    local bob = client:as({ user = "bob", groups = { "a", "b" }, uid = "7",
      extra = { ["x.io/scopes"] = { "one" } } })
    local headers = "impersonate-user\0bob\0impersonate-uid\0007\0impersonate-group\0a\0"
      .. "impersonate-group\0b\0impersonate-extra-x.io%2Fscopes\0one\0"
    bob:get("v1/Pod", "a/b")
    assert.same({ live = true, headers = headers }, asked)
    bob:list("v1/Pod")
    assert.same({ live = true, headers = headers }, asked)
    bob:create({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "a", name = "b" } })
    assert.equal(headers, sent.headers)
    assert.equal(true, sent.live)
    bob:raw("GET", "/x", { headers = { a = "b" } })
    assert.equal("a\0b\0" .. headers, sent.headers)
    bob:evict("a/b")
    assert.equal(headers, sent.headers)
    client:get("v1/Pod", "a/b")
    assert.equal(nil, asked)
  end)

  it("refuses what makes no sense", function()
    local function as(...)
      return client:as(...)
    end
    refuses("client:as: user has 5000 bytes; it may have 4096", as, { user = ("a"):rep(5000) })
    refuses("client:as must be a table, not nil", as)
    refuses("client:as needs user", as, { groups = { "a" } })
    refuses("must be a text of one line", as, { user = "a\r\nb: c" })
    refuses("must be a text of one line", as, { user = "a", groups = { "b\nc" } })
    refuses("groups must be an array", as, { user = "a", groups = "b" })
    refuses("must be in lower case", as, { user = "a", extra = { Scopes = { "x" } } })
    refuses('unknown option "group"; did you mean "groups"?', as, { user = "a", group = {} })
    refuses("already sends requests as another user", function() client:as({ user = "a" }):as({ user = "b" }) end)
    refuses("index works on the cache", function()
      client:as({ user = "a" }):list("v1/Pod", { index = { name = "a", value = 1 } })
    end)
  end)
end)

describe("logs and evict", function()
  local sent
  before_each(function()
    spec.reset()
    host.write = function(fields)
      sent = fields
      return "text", {}
    end
  end)

  it("ask for a log with the server's parameters", function()
    assert.equal("text", client:logs("a/b", { container = "web", tail = 10, since = "1500ms",
      previous = true, timestamps = true, limit_bytes = 100 }))
    assert.same({ verb = "get", called = "logs", kind = "v1/Pod", namespace = "a", name = "b", subresource = "log",
      query = "container=web&limitBytes=100&previous=true&sinceSeconds=2&tailLines=10&timestamps=true" }, sent)
    refuses('unknown option "lines"', function() client:logs("a/b", { lines = 1 }) end)
    refuses("tail must be a whole number of at least 0", function() client:logs("a/b", { tail = -1 }) end)
    refuses("logs: the pod must be a key", function() client:logs() end)
  end)

  it("follow a log: each line once, in order, until the container has ended", function()
    local looks, queries, slept = {
      "2026-01-01T00:00:01.100000000Z one\n2026-01-01T00:00:01.200000000Z two\n",
      "2026-01-01T00:00:01.100000000Z one\n2026-01-01T00:00:01.200000000Z two\n"
        .. "2026-01-01T00:00:01.200000000Z two\n2026-01-01T00:00:02.000000000Z  three\n",
      "2026-01-01T00:00:02.000000000Z  three\n",
      "2026-01-01T00:00:02.000000000Z  three\n2026-01-01T00:00:03.000000000Z last\n",
    }, {}, 0
    host.write = function(fields)
      queries[#queries + 1] = fields.query
      return table.remove(looks, 1), {}
    end
    host.sleep = function()
      slept = slept + 1
    end
    host.stopping = function()
      return false
    end
    host.get = function()
      return { status = { phase = "Succeeded" } }
    end
    local lines = {}
    client:logs("a/b", { container = "c", tail = 10, follow = function(line)
      lines[#lines + 1] = line
    end })
    assert.same({ "one", "two", "two", " three", "last" }, lines)
    assert.same({ "container=c&limitBytes=8388608&tailLines=10&timestamps=true",
      "container=c&limitBytes=8388608&sinceTime=2026-01-01T00%3A00%3A01Z&timestamps=true",
      "container=c&limitBytes=8388608&sinceTime=2026-01-01T00%3A00%3A02Z&timestamps=true",
      "container=c&limitBytes=8388608&sinceTime=2026-01-01T00%3A00%3A02Z&timestamps=true" }, queries)
    assert.equal(2, slept)
  end)

  it("follow a log until the function has enough, or the task is to stop", function()
    host.write = function()
      return "2026-01-01T00:00:01.100000000Z one\n2026-01-01T00:00:01.200000000Z two\n", {}
    end
    host.stopping = function()
      return true
    end
    local lines = {}
    local function add(line)
      lines[#lines + 1] = line
      return #lines < 1
    end
    client:logs("a/b", { follow = add, timestamps = true })
    assert.same({ "2026-01-01T00:00:01.100000000Z one" }, lines)
    client:logs("a/b", { follow = function() end })
    host.write = function()
      return ("x"):rep(8388608), {}
    end
    refuses("writes more than 8388608 bytes a second", function()
      host.stopping = function()
        return false
      end
      client:logs("a/b", { follow = add })
    end)
    for why, o in pairs({ ["has ended writes nothing more"] = { previous = true },
      ["follow takes no limit_bytes"] = { limit_bytes = 1 }, ["has no start"] = { tail = 0 } }) do
      o.follow = add
      refuses(why, function() client:logs("a/b", o) end)
    end
    refuses("follow must be a function", function() client:logs("a/b", { follow = true }) end)
  end)

  it("evict with preconditions, and tell when the pod is gone", function()
    assert.equal(true, client:evict("a/b", { uid = "7", grace_period = 5 }))
    assert.same({ apiVersion = "policy/v1", kind = "Eviction", metadata = { namespace = "a", name = "b" },
      deleteOptions = { apiVersion = "v1", kind = "DeleteOptions", gracePeriodSeconds = 5,
        preconditions = { uid = "7" } } }, sent.body)
    assert.same({ "create", "eviction" }, { sent.verb, sent.subresource })
    host.write = function()
      error(spec.api_error(404, "NotFound", 'pods "b" not found'), 0)
    end
    assert.equal(false, client:evict("a/b"))
    for _, e in ipairs({ spec.api_error(404, "NotFound", "the server could not find the requested resource"),
      spec.api_error(429, "TooManyRequests", "Cannot evict pod as it would violate its budget") }) do
      host.write = function()
        error(e, 0)
      end
      local ok, raised = pcall(client.evict, client, "a/b")
      assert.is_false(ok)
      assert.equal(e, raised)
    end
    refuses("grace_period must be a whole number", function() client:evict("a/b", { grace_period = -1 }) end)
  end)
end)

describe("exec", function()
  local sent, answer
  before_each(function()
    spec.reset()
    answer = { stdout = "out", stderr = "", code = 3 }
    host.write = function(fields)
      sent = fields
      return answer
    end
  end)

  it("sends a command as the kubelet takes it", function()
    assert.same(answer, client:exec("a/b", { container = "web", command = { "sh", "-c", "" }, stdin = "in",
      timeout = "90s", limit_bytes = 1000 }))
    assert.same({ verb = "create", called = "exec", kind = "v1/Pod", namespace = "a", name = "b", subresource = "exec",
      exec = true, body = { apiVersion = "v1", kind = "PodExecOptions", command = { "sh", "-c", "" }, container = "web",
        stdin = true, stdout = true, stderr = true }, stdin = "in", timeout = 90, most = 1000 }, sent)
    client:exec("a/b", { command = { "ls" } })
    assert.same({ nil, nil, nil, 8388608 }, { sent.body.stdin, sent.stdin, sent.timeout, sent.most })
  end)

  it("says when it was not run", function()
    answer = nil
    assert.same({ stdout = "", stderr = "", code = 0, skipped = true },
      client:exec("a/b", { command = { "ls" }, dry_run = true }))
    assert.is_true(sent.dry_run)
  end)

  it("refuses what is no command", function()
    local function exec(...)
      return client:exec(...)
    end
    local ls = { "ls" }
    refuses('exec needs command, an array of a program and its arguments: command = {"ls", "/tmp"}', exec, "a/b")
    refuses("exec needs command", exec, "a/b", {})
    refuses("exec: the pod must be a key", exec)
    refuses("exec: command must be an array", exec, "a/b", { command = "ls" })
    refuses("exec: command needs the name of a program", exec, "a/b", { command = {} })
    refuses("exec: command needs the name of a program", exec, "a/b", { command = { "" } })
    refuses("command[2] must be a string, not the number 1", exec, "a/b", { command = { "ls", 1 } })
    local many = {}
    for i = 1, 1001 do
      many[i] = "x"
    end
    refuses("exec: command must have at most 1000 words", exec, "a/b", { command = many })
    refuses("exec: command has 3000002 bytes; it may have 131072: what is longer goes into stdin", exec, "a/b",
      { command = { "sh", ("x"):rep(3e6) } })
    refuses("exec: command has 131073 bytes", exec, "a/b", { command = { "x", ("y"):rep(131072) } })
    refuses("exec: command[2] has a NUL byte", exec, "a/b", { command = { "ls", "a\0b" } })
    refuses("exec: container must not be empty", exec, "a/b", { command = ls, container = "" })
    refuses("exec: stdin must be a string, not the boolean true", exec, "a/b", { command = ls, stdin = true })
    refuses("exec: stdin must be at most 8388608 bytes, not 8388609", exec, "a/b",
      { command = ls, stdin = ("x"):rep(8388609) })
    refuses("exec: timeout must be", exec, "a/b", { command = ls, timeout = 0 })
    refuses("exec: timeout must be at most 24h", exec, "a/b", { command = ls, timeout = "25h" })
    refuses("exec: limit_bytes must be a whole number of at least 1", exec, "a/b", { command = ls, limit_bytes = 0 })
    refuses("exec: limit_bytes must be at most 67108864", exec, "a/b", { command = ls, limit_bytes = 67108865 })
    refuses('unknown option "comand"; did you mean "command"?', exec, "a/b", { comand = ls })
    refuses("exec got more arguments than it takes", exec, "a/b", { command = ls }, 1)
  end)
end)

describe("perilune.kinds", function()
  local answers
  before_each(function()
    spec.reset()
    host.write = function(fields)
      local answer = answers[fields.raw_path]
      if answer == nil then
        error(spec.api_error(404, "NotFound"), 0)
      elseif type(answer) == "number" then
        error(spec.api_error(answer, "ServiceUnavailable"), 0)
      end
      return answer, {}
    end
  end)

  local function names(...)
    local out = {}
    for i, kind in ipairs((perilune.kinds(...))) do
      out[i] = kind.kind
    end
    return table.concat(out, " ")
  end

  local function aggregated()
    local function resource(name, kind, scope, verbs, subs)
      return { resource = name, responseKind = { kind = kind, group = "", version = "" }, scope = scope,
        verbs = verbs, subresources = subs }
    end
    return {
      ["/api"] = { kind = "APIGroupDiscoveryList", items = { { metadata = {}, versions = { { version = "v1",
        freshness = "Current", resources = {
          resource("pods", "Pod", "Namespaced", { "get", "list", "delete" }, { { subresource = "log" } }),
          resource("nodes", "Node", "Cluster", { "get", "list" }) } } } } } },
      ["/apis"] = { kind = "APIGroupDiscoveryList", items = {
        { metadata = { name = "apps" }, versions = {
          { version = "v1", resources = { resource("deployments", "Deployment", "Namespaced", { "list", "delete" }) } },
          { version = "v1beta1", resources = { resource("deployments", "Deployment", "Namespaced", { "list" }) } } } },
        { metadata = { name = "metrics.k8s.io" }, versions = { { version = "v1", freshness = "Stale" } } } } },
    }
  end

  it("reads aggregated discovery, and names groups that are stale", function()
    answers = aggregated()
    local kinds, missing = perilune.kinds()
    assert.same({ kind = "v1/Pod", group = "", version = "v1", name = "Pod", plural = "pods", namespaced = true,
      scope = "Namespaced", verbs = { "get", "list", "delete" }, subresources = { "log" } }, kinds[3])
    assert.same({ "metrics.k8s.io/v1" }, missing)
    assert.equal("apps/v1/Deployment v1/Node v1/Pod", names())
    assert.equal("v1/Node v1/Pod", names({ group = "" }))
    assert.equal("apps/v1/Deployment", names({ group = { "apps", "none" } }))
    assert.equal("v1/Node", names({ namespaced = false }))
    assert.equal("apps/v1/Deployment v1/Pod", names({ verb = { "list", "delete" } }))
    assert.equal("v1/Node v1/Pod", names({ verb = "get" }))
  end)

  it("asks group by group where there is no aggregated discovery", function()
    answers = {
      ["/api"] = { kind = "APIVersions", versions = { "v1" } },
      ["/apis"] = { kind = "APIGroupList", groups = {
        { name = "apps", preferredVersion = { version = "v1" } },
        { name = "down", preferredVersion = { version = "v2" } },
        { name = "went", preferredVersion = { version = "v1" } } } },
      ["/api/v1"] = { resources = { { name = "pods", kind = "Pod", namespaced = true, verbs = { "list" } },
        { name = "pods/log", kind = "Pod", namespaced = true, verbs = { "get" } } } },
      ["/apis/apps/v1"] = { resources = { { name = "deployments", kind = "Deployment", namespaced = true,
        verbs = { "list" } } } },
      ["/apis/down/v2"] = 503,
    }
    local kinds, missing = perilune.kinds({ verb = "list" })
    assert.same({ "down/v2" }, missing)
    assert.equal(2, #kinds)
    assert.same({ "log" }, kinds[2].subresources)
  end)

  it("refuses what makes no sense", function()
    answers = aggregated()
    refuses('unknown option "groups"; did you mean "group"?', perilune.kinds, { groups = "apps" })
    refuses("verb must be a string or an array of strings, not the number 1", perilune.kinds, { verb = 1 })
    refuses("group must be a string or an array of strings, not the number 42", perilune.kinds, { group = 42 })
    refuses("perilune.kinds takes no cluster: it knows the host's own alone", perilune.kinds, { cluster = "edge" })
    refuses('group must be a group such as "apps", or "" for the core group, not the string "apps/v1"', perilune.kinds,
      { group = "apps/v1" })
    refuses('group[2] must be a group such as "apps", or "" for the core group, not the string "a\\0b"', perilune.kinds,
      { group = { "", "a\0b" } })
    refuses("namespaced must be a boolean", perilune.kinds, { namespaced = "yes" })
    refuses("perilune.kinds got more arguments", perilune.kinds, {}, 1)
  end)
end)

describe("kinds that are followed", function()
  local controller, declared, selected
  local served = {
    { kind = "apps/v1/Deployment", group = "apps", plural = "deployments", namespaced = true,
      verbs = { "list", "watch", "patch" } },
    { kind = "v1/Node", group = "", plural = "nodes", namespaced = false, verbs = { "list", "watch" } },
    { kind = "v1/Binding", group = "", plural = "bindings", namespaced = true, verbs = { "create" } },
  }

  before_each(function()
    spec.reset()
    host.set_phase("load")
    declared, selected = {}, {}
    host.controller = function(what)
      declared[#declared + 1] = what
    end
    host.select_kinds = function(name, source, kinds, missing)
      selected[#selected + 1] = { name, source, kinds, missing }
    end
    controller = spec.fresh("perilune.controller")
    spec.fresh("perilune.task")
    spec.fresh("perilune.family")
    local kinds = spec.fresh("perilune.kinds")
    kinds.all = function()
      return served, { "away.example.com/v1" }
    end
    package.loaded["perilune.kinds"] = kinds
    package.loaded["perilune.family"] = nil
  end)

  it("are a source of any kind, and a task that says which", function()
    local seen = {}
    controller.new("all"):For("v1/ConfigMap"):WatchesKinds(function(kind)
      seen[#seen + 1] = kind.kind
      kind.verbs = nil -- a copy
      return kind.namespaced
    end, "self", { every = "1m", metadata_only = true, writes = { "delete" } })
      :WatchesKinds(function() return true end, "self", { group = "", verb = "watch" })
      :Reconcile(function() end)
    assert.equal(2, #declared)
    assert.same({ role = "watches", kind = "*", map = "self", metadata_only = true,
      writes = { "delete" } }, declared[1].sources[2])
    local task = declared[2]
    assert.same({ "all-kinds", false, "every", 30, true, true }, { task.name, task.leader_election,
      task.task.form, task.task.period, task.task.immediate, task.task.when_changed })
    task.reconcile({}, {})
    assert.same({ "apps/v1/Deployment", "v1/Node" }, seen)
    assert.same({ { "all", 1, "apps/v1/Deployment", "away.example.com/v1" },
      { "all", 2, "v1/Node", "away.example.com/v1" } }, selected)
  end)

  it("are refused where they make no sense", function()
    local new = controller.new
    local function yes() return true end
    refuses("the first argument must be a function", new("a").WatchesKinds, new("b"), "v1/Pod", "self")
    refuses('WatchesKinds needs a function(object, event) or "self" as second argument', new("c").WatchesKinds,
      new("d"), yes)
    refuses('unknown option "groups"; did you mean "group"?', new("e").WatchesKinds, new("f"), yes, "self",
      { groups = "apps" })
    refuses("every must be", new("g").WatchesKinds, new("h"), yes, "self", { every = 0 })
    refuses("WatchesKinds takes no cluster: it knows the host's own alone; the kinds of another one are watched "
      .. "by their names: :Watches(kind, map, {cluster = ...})", new("i").WatchesKinds, new("j"), yes, "self",
      { cluster = "edge" })
    local long = new(("x"):rep(60)):WatchesKinds(yes, "self")
    refuses("longer than 63 letters", long.Reconcile, long, yes)
  end)
end)

describe("rights to every kind", function()
  it("are declared with a star, in controllers and tasks", function()
    spec.reset()
    host.set_phase("load")
    local declared
    host.controller = function(what)
      declared = what
    end
    local controller = spec.fresh("perilune.controller")
    controller.new("star"):For("v1/ConfigMap"):Writes("*", { "delete" }):Reconcile(function() end)
    assert.same({ kind = "*", verbs = { "delete" } }, declared.writes[1])
    local task = spec.fresh("perilune.task")
    task.run("all", { writes = { "*" } }, function() end)
    assert.equal("*", declared.writes[1].kind)
    task.run("some", { writes = { ["*"] = { "patch" } } }, function() end)
    assert.same({ kind = "*", verbs = { "patch" } }, declared.writes[1])
    refuses("the kind must be a text", task.run, "bad", { writes = { 7 } }, function() end)
  end)
end)

describe("perilune.cluster", function()
  local declared, sent

  before_each(function()
    spec.reset()
    host.set_phase("load")
    declared, sent = {}, {}
    host.controller = function(what)
      declared[#declared + 1] = what
    end
    host.cluster = function(what)
      declared[#declared + 1] = what
    end
    package.loaded["perilune.cluster"] = nil
  end)

  it("declares how it is reached, and gives clients that go there", function()
    local cluster = spec.fresh("perilune.cluster")
    package.loaded["perilune.cluster"] = cluster
    local edge = cluster.new("edge", { secret = "a/b", context = "c" })
    assert.same({ name = "edge", context = "c", secret_namespace = "a", secret_name = "b",
      secret_key = "kubeconfig" }, declared[1])
    local controller = spec.fresh("perilune.controller")
    controller.new("c"):For("v1/Pod", { cluster = "edge" }):Reconcile(function() end)
    assert.equal("edge", declared[2].sources[1].cluster)
    host.get = function(kind, ns, name, o)
      sent = { kind, ns, name, o.cluster, o.live }
    end
    host.write = function(o)
      sent = { o.verb, o.cluster }
      return { metadata = {} }, {}
    end
    edge.client:get("v1/Pod", "a/b")
    assert.same({ "v1/Pod", "a", "b", "edge", false }, sent)
    local finalizer = require("perilune.finalizer")
    local pod = { apiVersion = "v1", kind = "Pod", metadata = { name = "b", namespace = "a", uid = "1" } }
    finalizer.handle(pod, "example.com/x", { cleanup = function() end, cluster = "edge" })
    assert.same({ "patch", "edge" }, sent)
    finalizer.handle(pod, "example.com/x", { cleanup = function() end })
    assert.same({ "patch" }, sent)
    pod.metadata.finalizers, pod.metadata.deletionTimestamp = { "example.com/x" }, "2026-01-01T00:00:00Z"
    finalizer.handle(pod, "example.com/x", { cleanup = function() end, cluster = "edge" })
    assert.same({ "patch", "edge" }, sent)
    refuses('there is no cluster "egde"; did you mean "edge"?', function()
      finalizer.handle(pod, "example.com/x", { cleanup = function() end, cluster = "egde" })
    end)
    edge.live:get("v1/Pod", "a/b", { metadata_only = true })
    assert.same({ "v1/Pod", "a", "b", "edge", true }, sent)
    edge.client:as({ user = "jane" }):delete("v1/Pod", "a/b")
    assert.same({ "delete", "edge" }, sent)
    edge.live:raw("GET", "/version")
    assert.same({ "get", "edge" }, sent)
  end)

  it("refuses what names none", function()
    local cluster = spec.fresh("perilune.cluster")
    package.loaded["perilune.cluster"] = cluster
    refuses("must be a DNS-1123 label", cluster.new, "No Name", { context = "c" })
    refuses("needs kubeconfig, context or secret", cluster.new, "edge", {})
    refuses("not both", cluster.new, "edge", { kubeconfig = "f", secret = "a/b" })
    refuses('must be "NAMESPACE/NAME"', cluster.new, "edge", { secret = "b" })
    refuses("secret has 5002 bytes; it may have 4096", cluster.new, "edge", { secret = "a/" .. ("b"):rep(5000) })
    refuses("secret: key must be the name of a key in a Secret", cluster.new, "edge",
      { secret = { namespace = "a", name = "b", key = "kubeconfig\0x" } })
    refuses('did you mean "kubeconfig"?', cluster.new, "edge", { kubeconfg = "f" })
    cluster.new("edge", { kubeconfig = "f" })
    refuses("used twice", cluster.new, "edge", { kubeconfig = "f" })
    local controller = spec.fresh("perilune.controller")
    local c = controller.new("c")
    refuses('there is no cluster "edgy"; did you mean "edge"?', c.For, c, "v1/Pod", { cluster = "edgy" })
  end)

  it("has no indexes", function()
    local cluster = spec.fresh("perilune.cluster")
    package.loaded["perilune.cluster"] = cluster
    local edge = cluster.new("edge", { kubeconfig = "f" })
    local controller = spec.fresh("perilune.controller")
    controller.new("c"):For("v1/Pod", { cluster = "edge" }):Reconcile(function() end)
    controller.note_index("v1/Pod", "node")
    refuses('index "node": v1/Pod is cached of the cluster "edge" alone, and perilune.index knows',
      controller.finish)
    controller.new("own"):For("v1/Pod"):Reconcile(function() end)
    controller.finish()
    refuses('list v1/Pod: indexes are of the host\'s own cluster alone, not of "edge"', function()
      edge.client:list("v1/Pod", { index = { name = "node", value = "n1" } })
    end)
  end)
end)
