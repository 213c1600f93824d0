-- How scripts and people see unusual answers: text, failures, and objects that are deleted
-- meanwhile.

local e2e = require("spec.support.e2e")
local proxies = require("spec.support.proxy")

-- Runs the function of `jobs` that the object's label names, once for each change.
local head = [[
local perilune = require("perilune")
local client = perilune.client
local jobs = {}
]]
local tail = [[
perilune.controller("jobs", { max_retries = 0, reconcile_timeout = TIMEOUT })
  :For("v1/ConfigMap", { labels = "job" })
  :Reconcile(function(request, context)
    local map = client:get("v1/ConfigMap", request)
    if map then jobs[map.metadata.labels.job](map, context.log, request) end
  end)
]]

describe("an answer", function()
  local server, namespace, proxy, host, socket

  local function start(jobs)
    socket = e2e.folder() .. "/" .. e2e.unique("answers") .. ".sock"
    host = e2e.start_host(proxy, head .. jobs .. tail, { "--namespace", namespace, "--admin-socket", socket })
    host:logged("controller started")
  end

  local function give(job)
    server:create("/api/v1/namespaces/" .. namespace .. "/configmaps", { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = job, labels = { job = job } } })
  end

  local function why(name)
    return select(2, e2e.run("why", "v1/ConfigMap", namespace .. "/" .. name, "--admin-socket", socket))
  end

  setup(function()
    server = e2e.server()
    proxy = proxies.start(server)
  end)

  before_each(function()
    namespace = server:new_namespace()
    proxy:clear()
  end)

  after_each(function()
    e2e.clean_up()
  end)

  teardown(function()
    if proxy then
      proxy:stop()
    end
    e2e.finish()
  end)

  it("that is text is a string, with the query that was asked for", function()
    local text = { ["Content-Type"] = "text/plain" }
    proxy:add({
      { name = "log", path = "/pods/p/log$", query = "^container=web&tailLines=2$", status = 200, headers = text,
        body = "one\ntwo\n" },
      { name = "empty", path = "/pods/empty/log$", status = 200, headers = text, body = "" },
      { name = "bad", path = "/pods/bad/log$", status = 400, times = 0,
        body = proxies.status(400, "BadRequest", "container nope is not valid") },
      { name = "odd", path = "/pods/odd/status$", status = 200, headers = { ["Content-Type"] = "text/html" },
        body = "<html>log in</html>", times = 0 },
    })
    start([[
      function jobs.log(map, log)
        local function of(pod, query)
          return client:subresource("v1/Pod", { name = pod, namespace = map.metadata.namespace }, "log", "get",
            nil, { query = query })
        end
        log:info("some log", { text = of("p", { container = "web", tailLines = 2 }) })
        local empty = of("empty")
        log:info("no log", { type = type(empty), length = #empty })
        local _, e = perilune.try(of, "bad")
        log:info("bad log", { code = e.code, message = e.message })
        _, e = perilune.try(perilune.live.subresource, perilune.live, "v1/Pod",
          map.metadata.namespace .. "/odd", "status", "patch", {})
        log:info("odd answer", { type = e.type, network = perilune.errors.is_network(e), message = e.message })
      end
    ]])
    give("log")
    assert.equal("one\ntwo\n", host:logged("^some log$").text)
    local empty = host:logged("^no log$")
    assert.same({ "string", 0 }, { empty.type, empty.length })
    local bad = host:logged("^bad log$")
    assert.same({ 400, "container nope is not valid" }, { bad.code, bad.message })
    local odd = host:logged("^odd answer$")
    assert.same({ "network", true }, { odd.type, odd.network })
    assert(odd.message:find("is not JSON but text/html", 1, true), odd.message)
    host:stop()
  end)

  it("to a request of other people's servers is told with its status", function()
    start(([[
      function jobs.calls(map, log)
        perilune.http.request({ url = "http://127.0.0.1:%s/nothing" })
        perilune.http.request({ url = "http://127.0.0.1:%s/state" })
        log:info("called")
      end
    ]]):format(proxy.control, proxy.control))
    give("calls")
    host:logged("^called$")
    local out = why("calls")
    assert(out:find("/nothing: answered 404", 1, true), out)
    assert(out:find("/state: ok", 1, true), out)
    host:stop()
  end)

  it("that does not come in a run's time is that run's timeout, counted and named", function()
    proxy:add({ { name = "held", path = "/secrets/late", delay = 2, times = 0 } })
    start([[
      local TIMEOUT = "200ms"
      function jobs.late(map)
        client:get("v1/Secret", { namespace = map.metadata.namespace, name = "late" })
      end
      jobs.late1, jobs.late2, jobs.late3 = jobs.late, jobs.late, jobs.late
    ]])
    for _, name in ipairs({ "late", "late1", "late2", "late3" }) do
      give(name)
      host:logged(function(line)
        return line.msg == "reconcile failed" and line.key == namespace .. "/" .. name
          and line.error:find("timeout: reconcile_timeout of 0.2 s has passed", 1, true)
      end)
    end
    assert.equal(4, host:metrics():value("controller_runtime_reconcile_timeouts_total", { controller = "jobs" }))
  end)

  it("of other people's servers has all values of a header that is repeated", function()
    proxy:add({ { name = "cookies", path = "^/cookies$", status = 200, body = "{}",
      headers = { ["Set-Cookie"] = { "a=1", "b=2", "c=3" }, ["X-One"] = "one" } } })
    start(([[
      function jobs.cookies(map, log)
        local headers = perilune.http.request({ url = "http://127.0.0.1:%s/cookies" }).headers
        log:info("some headers", { cookies = headers["set-cookie"], one = headers["x-one"] })
      end
    ]]):format(e2e.read_file(proxy.kubeconfig):match("127.0.0.1:(%d+)")))
    give("cookies")
    local line = host:logged("^some headers$")
    assert.same({ "a=1, b=2, c=3", "one" }, { line.cookies, line.one })
    host:stop()
  end)

  it("that an object is gone since it was read is told as quietly as a conflict", function()
    proxy:add({ { name = "update", method = "PUT", path = "/configmaps/update$", delay = 0.5 },
      { name = "patch", method = "PATCH", path = "/configmaps/patch$", delay = 0.5 } })
    start([[
      function jobs.update(map) map.data = { a = "b" } client:update(map) end
      function jobs.patch(map) client:patch(map, { data = { a = "b" } }) end
      function jobs.never(map) client:patch("v1/ConfigMap", map.metadata.namespace .. "/none", { data = {} }) end
      function jobs.status(map) map.status = { a = "b" } client:update_status(map) end
    ]])
    for _, name in ipairs({ "update", "patch" }) do
      give(name)
      e2e.eventually("the request is under way", function()
        return proxy:hits()[name] > 0
      end)
      server:delete("/api/v1/namespaces/" .. namespace .. "/configmaps/" .. name)
      local line = host:logged(function(line)
        return line.msg == "gone since it was read: trying again" and line.key == namespace .. "/" .. name
      end)
      assert.equal("info", line.level)
      assert(line.error:find("not found (404 NotFound)", 1, true), line.error)
    end
    assert.equal(0, host:count_logged("^reconcile failed"))
    -- Objects that were never read, and members that the kind does not have, are mistakes.
    for _, name in ipairs({ "never", "status" }) do
      give(name)
      local line = host:logged(function(line)
        return line.msg == "reconcile failed" and line.key == namespace .. "/" .. name
      end)
      assert(line.traceback, name)
    end
    host:stop()
  end)

  it("to a JSON patch that does not fit is told with the operation", function()
    start([[
      function jobs.fit(map, log)
        local function patch(...)
          local _, e = perilune.try(client.patch, client, map, { ... }, { type = "json" })
          return e and e.message or "it fits"
        end
        log:info("tried", {
          none = patch({ op = "add", path = "/data", value = { a = "1" } }),
          test = patch({ op = "add", path = "/data/b", value = "2" },
            { op = "test", path = "/data/a", value = "hush" }),
          path = patch({ op = "remove", path = "/data/none" }),
          value = patch({ op = "replace", path = "/data", value = 5 }),
        })
      end
    ]])
    give("fit")
    local tried = host:logged("^tried$")
    assert.equal("it fits", tried.none)
    assert(tried.test:find("operation 1 (test /data/a): the value is different", 1, true), tried.test)
    assert.is_nil(tried.test:find("hush", 1, true))
    assert(tried.path:find("operation 0 (remove /data/none): ", 1, true), tried.path)
    assert.is_nil(tried.value:find("operation 0", 1, true), tried.value)
    host:stop()
  end)
end)
