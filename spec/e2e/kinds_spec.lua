-- Scripts that list the kinds of a server, send requests to their paths, and act as other users.

local e2e = require("spec.support.e2e")

local CRD = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: relics.janitor.example.com
spec:
  group: janitor.example.com
  scope: Namespaced
  names: {plural: relics, singular: relic, kind: Relic}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
]]

describe("kinds", function()
  local server, namespace, host

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function maps(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function start(script)
    host = e2e.start_host(server, 'local perilune = require("perilune")\n'
      .. "local client, live = perilune.client, perilune.live\n" .. script)
  end

  it("are found, also those of CRDs; paths are read and written through the gate", function()
    server:apply_crd(CRD)
    start([[
perilune.run("look", { writes = { "*" } }, function(context)
  local relic
  repeat
    relic = perilune.kinds{ group = "janitor.example.com", namespaced = true, verb = "list" }[1]
  until relic
  context.log:info("found " .. relic.kind .. " " .. relic.plural .. " " .. relic.scope)
  local pod
  for _, kind in ipairs(perilune.kinds{ group = "" }) do
    pod = kind.kind == "v1/Pod" and kind or pod
  end
  context.log:info("pods have " .. pod.plural .. " and " .. table.concat(pod.subresources, " "))
  local path = "]] .. maps() .. [["
  local made = live:raw("POST", path, { body = { apiVersion = "v1", kind = "ConfigMap",
    metadata = { name = "raw" }, data = { a = "b" } } })
  context.log:info("made " .. made.metadata.name)
  live:raw("PATCH", path .. "/raw", { body = { { op = "replace", path = "/data/a", value = "c" } },
    headers = { ["Content-Type"] = "application/json-patch+json" } })
  local page = live:raw("GET", path, { query = { limit = 1, labelSelector = "none=here" } })
  context.log:info(#page.items .. " items; health: " .. live:raw("GET", "/healthz"))
  local _, e = perilune.try(live.raw, live, "DELETE", path .. "/nobody")
  context.log:info("a delete: " .. tostring(e))
  perilune.sleep("1h")
end)
]])
    host:logged("found janitor.example.com/v1/Relic relics Namespaced")
    host:logged("pods have pods and .*status")
    host:logged("made raw")
    host:logged("0 items; health: ok")
    host:logged("a delete: delete raw " .. maps("nobody"):gsub("%-", "%%-") .. ": .*404 NotFound")
    assert.equal("c", server:get(maps("raw")).data.a)
    host:stop()
  end)

  it("of a dry run are left as they are", function()
    host = e2e.start_host(server, [[
local perilune = require("perilune")
perilune.run("look", {}, function(context)
  perilune.live:raw("POST", "]] .. maps() .. [[", { body = { apiVersion = "v1", kind = "ConfigMap",
    metadata = { name = "dry" } } })
  local _, e = pcall(perilune.live.raw, perilune.live, "POST", "]]
      .. "/api/v1/namespaces/" .. namespace .. [[/services/x/proxy/shutdown")
  context.log:info("refused: " .. tostring(e))
  perilune.sleep("1h")
end)
]], { "--dry-run" })
    host:logged("refused: .*refused %(dry%-run%)")
    assert.is_nil(server:get(maps("dry")))
    host:stop()
  end)

  it("are cleaned by a janitor that no one told of them", function()
    server:apply_crd(CRD)
    local relics = "/apis/janitor.example.com/v1/namespaces/" .. namespace .. "/relics"
    local function relic(name, annotations)
      e2e.eventually("the kind is served", function()
        return (server:request("POST", relics, { apiVersion = "janitor.example.com/v1", kind = "Relic",
          metadata = { name = name, annotations = annotations } })) == 201
      end)
    end
    relic("old", { ["example.com/expires"] = "2020-01-01T00:00:00Z" })
    relic("young", { ["example.com/ttl"] = "2w" })
    relic("odd", { ["example.com/ttl"] = "soon" })
    server:create(maps(), { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "brief",
      annotations = { ["example.com/ttl"] = "1s" } } })
    host = e2e.start_host(server, "examples/janitor", { "--config",
      e2e.write_file(e2e.folder() .. "/janitor.yaml", "every: 200ms\n") })
    e2e.eventually("the old relic goes", function()
      return server:get(relics .. "/old") == nil
    end)
    e2e.eventually("the brief map goes", function()
      return server:get(maps("brief")) == nil
    end)
    host:logged("example.com/ttl is no duration: soon")
    assert.truthy(server:get(relics .. "/young"))
    assert.truthy(server:get(relics .. "/odd"))
    host:stop()
  end)
end)

describe("what the API server warns of", function()
  setup(e2e.server)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  it("is logged once with the script's line", function()
    local server = e2e.server()
    local namespace = server:new_namespace()
    server:apply_crd((CRD:gsub("relics", "bills"):gsub("Relic", "Bill"):gsub("relic", "bill")
      :gsub("x%-kubernetes%-preserve%-unknown%-fields: true",
        "properties: {spec: {type: object, properties: {sum: {type: integer}}}}")))
    local host = e2e.start_host(server, [[
local perilune = require("perilune")
local client = perilune.client
local count = 0
perilune.every("50ms", { immediate = true, writes = { "janitor.example.com/v1/Bill" } }, function(context)
  count = count + 1
  client:create({ apiVersion = "janitor.example.com/v1", kind = "Bill", metadata = { name = "c",
    namespace = "]] .. namespace .. [[" }, tip = 1 }, { dry_run = true })
  context.log:info("written " .. count)
end)
]])
    host:logged("^written")
    local line = host:logged(function(one)
      return one.msg == "the API server warns" and tostring(one.warning):find("tip", 1, true)
    end)
    assert.truthy(line.warning:find('unknown field "tip"', 1, true), line.warning)
    assert.truthy(line.at:find("%.lua:6$"), line.at)
    assert.same({ "create", "janitor.example.com/v1/Bill", namespace .. "/c" }, { line.verb, line.kind, line.key })
    host:logged("^written.*[5-9]$")
    local told = 0
    for _, one in ipairs(host:log()) do
      told = told + (one.warning and one.warning:find("tip", 1, true) and 1 or 0)
    end
    assert.equal(1, told)
    host:stop()
  end)
end)

if e2e.is_kube then
  describe("a client that speaks for somebody else", function()
    local server, namespace

    setup(function()
      server = e2e.server()
      namespace = server:new_namespace()
    end)
    after_each(e2e.clean_up)
    teardown(e2e.finish)

    it("has their rights alone", function()
      local host = e2e.start_host(server, [[
local perilune = require("perilune")
perilune.run("as", {}, function(context)
  local bob = perilune.client:as{ user = "bob", groups = { "nobodies", "others" } }
  local review = bob:create{ apiVersion = "authentication.k8s.io/v1", kind = "SelfSubjectReview" }
  context.log:info("I am " .. review.status.userInfo.username .. " of "
    .. table.concat(review.status.userInfo.groups, " "))
  local _, e = perilune.try(bob.list, bob, "v1/ConfigMap", { namespace = "]] .. namespace .. [[" })
  context.log:info("told: " .. tostring(e))
  perilune.sleep("1h")
end)
]])
      host:logged("I am bob of nobodies others")
      host:logged('told: .*User "bob" cannot list resource "configmaps"')
      host:stop()
    end)

    -- A node whose kubelet serves the content of the file as every container's log.
    local function add_node(name, log)
      local base = e2e.folder() .. "/" .. e2e.unique("kubelet")
      assert(os.execute(([[openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
        -subj /CN=kubelet -keyout %s.key -out %s.crt 2>/dev/null]]):format(base, base)) == 0)
      local child = e2e.process.start({ "python3", "spec/support/kubelet.py", base .. ".crt", base .. ".key", log },
        { stdout = base .. ".out", stderr = base .. ".err" })
      local port = tonumber(e2e.eventually("the kubelet's port", function()
        return e2e.read_file(base .. ".out"):match("^(%d+)\n")
      end))
      server:create("/api/v1/nodes", { apiVersion = "v1", kind = "Node", metadata = { name = name } })
      server:patch("/api/v1/nodes/" .. name .. "/status", { status = {
        addresses = { { type = "InternalIP", address = "127.0.0.1" } },
        daemonEndpoints = { kubeletEndpoint = { Port = port } } } })
      return child
    end

    it("reads and follows logs that a kubelet has, and runs commands there", function()
      local log = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("log"),
        "2026-01-01T00:00:01.100000000Z one\n2026-01-01T00:00:02.200000000Z two\n")
      local node = e2e.unique("node")
      local kubelet = add_node(node, log)
      local pods = "/api/v1/namespaces/" .. namespace .. "/pods"
      e2e.eventually("the namespace has its ServiceAccount", function()
        return (server:request("POST", pods, { apiVersion = "v1", kind = "Pod", metadata = { name = "logs" },
          spec = { nodeName = node, terminationGracePeriodSeconds = 0,
            containers = { { name = "c", image = "x" } } } })) == 201
      end)
      local host = e2e.start_host(server, [[
local perilune = require("perilune")
local client = perilune.client
perilune.run("logs", {}, function(context)
  local pod = "]] .. namespace .. [[/logs"
  context.log:info("all: " .. client:logs(pod, { container = "c" }):gsub("\n", "|"))
  context.log:info("tail: " .. client:logs(pod, { container = "c", tail = 1 }):gsub("\n", "|"))
  client:logs(pod, { container = "c", follow = function(line)
    context.log:info("line " .. line)
  end })
  context.log:info("the log is over")
  local result = client:exec(pod, { container = "c", command = { "exit", "7" } })
  context.log:info(("exit: %s %s %d"):format(result.stdout, result.stderr, result.code))
  result = client:exec(pod, { command = { "cat" }, stdin = ("x"):rep(200000) .. "y" })
  context.log:info(("cat: %d %s %d"):format(#result.stdout, result.stdout:sub(-2), result.code))
  local _, e = perilune.try(client.exec, client, pod, { container = "other", command = { "cat" } })
  context.log:info("no container: " .. tostring(e))
  _, e = perilune.try(client.exec, client, "default/nobody", { command = { "cat" } })
  context.log:info("no pod: " .. tostring(e))
  local bob = client:as{ user = "bob" }
  _, e = perilune.try(bob.exec, bob, pod, { command = { "cat" } })
  context.log:info("bob: " .. tostring(e))
  context.log:info("commands are over")
  perilune.sleep("1h")
end)
]])
      host:logged("all: one|two|")
      host:logged("tail: two|")
      host:logged("line two")
      local file = assert(io.open(log, "a"))
      file:write("2026-01-01T00:00:02.300000000Z three\n")
      file:close()
      host:logged("line three")
      server:patch(pods .. "/logs/status", { status = { phase = "Succeeded" } })
      host:logged("the log is over")
      host:logged("^exit: out err 7$")
      host:logged("^cat: 200001 xy 0$")
      host:logged("no container: .*other.*400")
      host:logged("no pod: .*404")
      host:logged('bob: .*User "bob" cannot .*exec.*403')
      host:logged("commands are over")
      assert.equal(3, host:count_logged("^line "))
      host:stop()
      kubelet:signal("TERM")
      server:delete(pods .. "/logs")
      server:delete("/api/v1/nodes/" .. node)
    end)

    it("evicts pods", function()
      e2e.eventually("the namespace has its ServiceAccount", function()
        return (server:request("POST", "/api/v1/namespaces/" .. namespace .. "/pods", { apiVersion = "v1",
          kind = "Pod", metadata = { name = "p" },
          spec = { containers = { { name = "c", image = "x" } } } })) == 201
      end)
      local host = e2e.start_host(server, [[
local perilune = require("perilune")
perilune.run("evict", { writes = { ["v1/Pod"] = { "create" } } }, function(context)
  local pod = "]] .. namespace .. [[/p"
  context.log:info("evicted: " .. tostring(perilune.client:evict(pod)))
  context.log:info("again: " .. tostring(perilune.client:evict(pod)))
  perilune.sleep("1h")
end)
]])
      host:logged("evicted: true")
      host:logged("again: false")
      host:stop()
    end)
  end)
end
