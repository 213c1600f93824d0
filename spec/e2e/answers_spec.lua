-- What scripts and people make of unusual answers: text, failures, and objects that go meanwhile.

local e2e = require("spec.support.e2e")
local proxies = require("spec.support.proxy")

-- Runs the function of `jobs` that the object's label names, once for each change.
local head = [[
local perilune = require("perilune")
local client = perilune.client
local jobs = {}
]]
local tail = [[
perilune.controller("jobs", { max_retries = 0 })
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
end)
