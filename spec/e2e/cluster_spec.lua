-- perilune.cluster: sources and clients of clusters besides the host's own.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")
local held_ports = require("spec.support.held_ports")

describe("another cluster", function()
  local server, namespace, edge, host, socket

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
    socket = e2e.folder() .. "/" .. e2e.unique("cluster") .. ".sock"
    edge = e2e.start_embedded({ "--listen", held_ports.address() }) -- it stops and comes back
    edge:create("/api/v1/namespaces", { apiVersion = "v1", kind = "Namespace",
      metadata = { name = namespace } })
  end)
  after_each(function()
    e2e.clean_up()
    if edge.child:is_running() then
      edge:stop()
    end
  end)
  teardown(e2e.finish)

  local function maps(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function map(name, data)
    return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name,
      labels = { copied = "yes" } }, data = data }
  end

  local function status()
    local code, out, err = e2e.run("status", "-o", "json", "--admin-socket", socket)
    assert.equal(0, code, err)
    return cjson.decode(out)
  end

  local function start(text, flags)
    host = e2e.start_host(server, 'local perilune = require("perilune")\n' .. text,
      { "--admin-socket", socket, unpack(flags or {}) })
  end

  local copier = [[
local edge = perilune.cluster("edge", %s)
-- Objects at the edge are copied home, and the other controller sees the writes at home.
perilune.controller("copier")
  :For("v1/ConfigMap", { cluster = "edge", labels = "copied=yes", namespaces = { "%s" } })
  :Writes("v1/ConfigMap", { "create", "update" })
  :Reconcile(function(request, context)
    local map = edge.client:get("v1/ConfigMap", request)
    if not map then return end
    perilune.client:create_or_update({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "from-edge-" .. request.name, namespace = request.namespace } },
      function(copy) copy.data = map.data end)
    map.metadata.annotations = { ["example.com/copied"] = "true" }
    edge.client:update(map)
    assert(edge.client:get("v1/ConfigMap", request).metadata.annotations, "reads its own write")
    assert(perilune.live:get("v1/ConfigMap", request) == nil, "it is not at home")
  end)
perilune.controller("home")
  :For("v1/Secret", { namespaces = { "%s" } })
  :Reconcile(function(request, context) context.log:info("home saw " .. request.name) end)
]]

  local function script(options)
    return copier:format(options, namespace, namespace)
  end

  it("is watched, read and written, with caches, a gate and metrics of its own", function()
    edge:create(maps(), map("a", { x = "1" }))
    server:create(maps(), map("a-at-home", { x = "no" }))
    start(script(('{ kubeconfig = "%s" }'):format(edge.kubeconfig)))
    e2e.eventually("it came home", function()
      local copy = server:get(maps("from-edge-a"))
      return copy and copy.data.x == "1"
    end)
    e2e.eventually("it is marked", function()
      local annotations = edge:get(maps("a")).metadata.annotations
      return annotations and annotations["example.com/copied"] == "true"
    end)
    edge:patch(maps("a"), { data = { x = "2" } })
    e2e.eventually("the change came home", function()
      return server:get(maps("from-edge-a")).data.x == "2"
    end)
    assert.is_nil(server:get(maps("a")))
    assert.is_nil(server:get(maps("from-edge-a-at-home")))
    local now = status()
    assert.equal("edge", now.clusters[1].name)
    assert.equal(edge.url, now.clusters[1].server)
    assert.truthy(now.clusters[1].writes_sent >= 1)
    local sources = {}
    for _, source in ipairs(now.sources) do
      sources[#sources + 1] = source.source
    end
    assert.truthy(table.concat(sources, "\n"):find("edge:v1/ConfigMap in", 1, true))
    local metrics = host:ask("metrics", "/metrics") and select(2, host:ask("metrics", "/metrics"))
    assert.truthy(metrics:find('perilune_informer_objects{kind="edge:v1/ConfigMap"} 1', 1, true), metrics)
    assert.truthy(metrics:find('perilune_cluster_known{cluster="edge"} 1', 1, true), metrics)
    host:stop()
  end)

  it("that is away stops nobody else, and is found when it is there", function()
    local port = edge.url:match(":(%d+)$")
    edge:stop()
    local file = e2e.folder() .. "/" .. e2e.unique("late") .. ".kubeconfig"
    start(script(('{ kubeconfig = "%s" }'):format(file)))
    host:logged("^cannot find out how to reach a cluster")
    server:create("/api/v1/namespaces/" .. namespace .. "/secrets", { apiVersion = "v1",
      kind = "Secret", metadata = { name = "s" } })
    host:logged("home saw s")
    assert.truthy(status().clusters[1].trouble:find("No such file", 1, true))
    assert.equal(200, (host:ask("health", "/readyz")))
    local _, ready = host:ask("health", "/readyz?verbose")
    assert.truthy(ready:find("%[%+%]controller/copier ok: [^\n]*edge:v1/ConfigMap"), ready)
    assert.truthy(ready:find("[+]controller/home ok\n", 1, true), ready)
    edge = e2e.start_embedded({ "--listen", "127.0.0.1:" .. port }, edge)
    edge:create("/api/v1/namespaces", { apiVersion = "v1", kind = "Namespace",
      metadata = { name = namespace } })
    edge:create(maps(), map("late", { x = "1" }))
    e2e.write_file(file, e2e.read_file(edge.kubeconfig))
    host:logged("^cluster configured$")
    e2e.eventually("it came home", function()
      return server:get(maps("from-edge-late")) ~= nil
    end)
    host:stop()
  end)

  -- A kubeconfig as a Secret may contain it.
  local function kubeconfig(extra)
    local text = e2e.read_file(edge.kubeconfig)
    local pipe = io.popen("base64 -w0 " .. text:match('certificate%-authority: "([^"]+)"'))
    local ca = pipe:read("*a")
    pipe:close()
    return (text:gsub('certificate%-authority: "[^"]+"', function()
      return 'certificate-authority-data: "' .. ca .. '"'
    end):gsub("{token:", "{" .. (extra or "") .. "token:"))
  end

  local function put_secret(text)
    local path = "/api/v1/namespaces/" .. namespace .. "/secrets"
    server:request("DELETE", path .. "/edge")
    server:create(path, { apiVersion = "v1", kind = "Secret", metadata = { name = "edge" },
      stringData = { kubeconfig = text } })
  end

  it("is reached as a Secret says, which may name no program", function()
    edge:create(maps(), map("a", { x = "1" }))
    put_secret(kubeconfig("exec: {apiVersion: client.authentication.k8s.io/v1, command: touch}, "))
    start(script(('{ secret = "%s/edge" }'):format(namespace)))
    host:logged(function(line)
      return line.msg:find("^cannot find out how to reach a cluster")
        and line.error:find("may not name its files or programs", 1, true)
    end)
    put_secret(kubeconfig())
    host:logged("^cluster configured$")
    e2e.eventually("it came home", function()
      return server:get(maps("from-edge-a")) ~= nil
    end)
    host:stop()
  end)

  it("is left as it is by a dry run", function()
    edge:create(maps(), map("a", { x = "1" }))
    start(([[
local edge = perilune.cluster("edge", { kubeconfig = "%s" })
perilune.controller("all", { leader_election = false })
  :For("v1/ConfigMap", { cluster = "edge", namespaces = { "%s" } })
  :Reconcile(function(request, context) context.log:info("saw " .. request.name) end)
perilune.run("writer", { leader_election = false }, function(context)
  edge.client:create({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "made", namespace = "%s" } })
  context.log:info("created")
  perilune.sleep("1h")
end)
]]):format(edge.kubeconfig, namespace, namespace), { "--dry-run" })
    host:logged("saw a")
    host:logged("^created$")
    assert.is_nil(edge:get(maps("made"))) -- a dry run is a dry run in every cluster
    host:stop()
  end)

  it("is waited for by requests before it is known", function()
    edge:create(maps(), map("a", { x = "1" }))
    local pipe = e2e.folder() .. "/" .. e2e.unique("late") .. ".kubeconfig"
    assert(os.execute("mkfifo " .. pipe) == 0) -- a FIFO: readers wait until something is written
    start(([[
local edge = perilune.cluster("edge", { kubeconfig = "%s" })
perilune.run("early", { leader_election = false }, function(context)
  context.log:info("asks")
  local map = edge.live:get("v1/ConfigMap", "%s/a")
  context.log:info("found", { x = map.data.x })
  perilune.sleep("1h")
end)
]]):format(pipe, namespace))
    host:logged("^asks$")
    assert(os.execute(("timeout 20 cp %s %s"):format(edge.kubeconfig, pipe)) == 0)
    assert.equal("1", host:logged("^found$").x)
    assert.equal(0, host:count_logged("has not been read yet"))
    assert.equal(0, host:count_logged("^task failed"))
    host:stop()
  end)

  it("takes copies of objects of the own cluster", function()
    server:create(maps(), map("a", { x = "1" }))
    start(([[
local edge = perilune.cluster("edge", { kubeconfig = "%s" })
perilune.run("mirror", { leader_election = false }, function(context)
  local copy = perilune.live:get("v1/ConfigMap", "%s/a")
  copy.metadata = { name = copy.metadata.name, namespace = copy.metadata.namespace }
  edge.client:apply(copy)
  copy.data.x = "2"
  edge.client:update(copy)
  context.log:info("mirrored")
  perilune.sleep("1h")
end)
]]):format(edge.kubeconfig, namespace))
    host:logged("^mirrored$")
    assert.equal("2", edge:get(maps("a")).data.x)
    assert.equal("1", server:get(maps("a")).data.x)
    host:stop()
  end)

  it("has waits that its own events end", function()
    edge:create(maps(), map("a", { x = "1" }))
    start(([[
local edge = perilune.cluster("edge", { kubeconfig = "%s" })
perilune.controller("all", { leader_election = false })
  :For("v1/ConfigMap", { cluster = "edge", namespaces = { "%s" } })
  :Reconcile(function() end)
perilune.run("waiter", { leader_election = false, reads = { "v1/ConfigMap" } }, function(context)
  context.log:info("waits")
  local map = edge.client:wait("v1/ConfigMap", "%s/a", function(one)
    context.log:info("looked")
    return one and one.data.x == "2"
  end, "5m")
  context.log:info("met", { x = map.data.x })
  perilune.sleep("1h")
end)
]]):format(edge.kubeconfig, namespace, namespace))
    host:logged("^looked$")
    edge:patch(maps("a"), { data = { x = "2" } })
    assert.equal("2", host:logged("^met$").x)
    host:stop()
  end)
end)
