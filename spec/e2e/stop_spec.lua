-- SIGTERM while other faults happen: the host ends within its grace period, with 0, and a leader
-- that can reach its server has released its Lease.

local e2e = require("spec.support.e2e")
local mirror = require("spec.support.mirror")

local GRACE, LEADERS_GRACE = 4, 8 -- s: a leader writes an Event, whose request may take five

local script = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("mirror", { rate_limiter = { base = "50ms", max = "500ms" } })
  :For("v1/ConfigMap", { labels = "mirror=yes", writes = { "patch" } })
  :Reconcile(function(request, context)
    local config = client:get("v1/ConfigMap", request)
    if not config then return end
    context.log:info("run", { v = config.data.v })
    if config.data.v == "compute" then
      local sum = 0
      while true do sum = sum + 1 end
    elseif config.data.v == "wait" then
      perilune.sleep(3600)
    elseif config.data.v == "fail" then
      error("as asked")
    end
    client:patch("v1/ConfigMap", request, { metadata = { annotations = { seen = config.data.v } } })
  end)
]]

describe("SIGTERM", function()
  local server, namespace, relay, frozen
  local leads -- whether the host of the specification stops in time

  setup(function()
    server = e2e.server({ "--insecure" }) -- the tokens here come from plugins
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(function()
    if frozen then
      frozen.child:signal("KILL") -- TSan may lose a TERM that arrives together with the CONT
      frozen.child:wait()
      frozen = nil
    end
    e2e.clean_up()
    if relay then
      relay.child:signal("KILL")
      relay.child:wait()
      relay = nil
    end
  end)
  teardown(function()
    e2e.finish()
  end)

  local function path(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function create(name, value)
    server:create(path(), mirror.config(name, value))
  end

  local function start(target, flags, options)
    local all = { "--namespace", namespace, "--graceful-shutdown-timeout",
      (leads and LEADERS_GRACE or GRACE) .. "s" }
    for _, flag in ipairs(flags or {}) do
      all[#all + 1] = flag
    end
    if leads then
      for _, flag in ipairs({ "--leader-elect", "--leader-elect-resource-namespace", namespace }) do
        all[#all + 1] = flag
      end
    end
    return e2e.start_host(target, script, all, options)
  end

  local function start_through_a_link(options)
    local link
    relay, link = e2e.start_link(server)
    return start(link, nil, options)
  end

  local function ran(host, value)
    host:logged(function(line) return line.msg == "run" and line.v == value end)
  end

  local function holder()
    local leases = "/apis/coordination.k8s.io/v1/namespaces/" .. namespace .. "/leases/"
    return (server:get(leases .. "perilune-mirror").spec.holderIdentity or ""):match("%S+")
  end

  it("is clean without a grace period when nothing runs", function()
    leads = false
    local host = start(server, { "--graceful-shutdown-timeout", "0s" })
    host:logged("controller started")
    host:stop()
    local last = host:log()[#host:log()]
    assert.equal("stopped", last.msg)
    assert.equal(0, last.exit_code)
  end)

  -- The test waits longer than the grace period; the host must end by itself, and in order.
  local function stops(host)
    local from = e2e.now()
    host:stop()
    assert(e2e.now() - from < LEADERS_GRACE + 20, "it took " .. e2e.now() - from .. " s")
    local last = host:log()[#host:log()]
    assert.equal("stopped", last.msg)
    assert.equal(0, last.exit_code)
  end

  -- Nothing stands between this host and its server.
  local function stops_and_releases(host)
    if leads then
      assert.truthy(holder())
    end
    stops(host)
    if leads then
      assert.is_nil(holder())
    end
  end

  -- As an ordinary host, and as a leader.
  local function ends(what, body)
    it("ends it " .. what, function()
      leads = false
      body()
    end)
    it("ends a leader " .. what, function()
      leads = true
      body()
    end)
  end

  ends("while the server is frozen", function()
    frozen = e2e.start_embedded()
    frozen:create("/api/v1/namespaces",
      { apiVersion = "v1", kind = "Namespace", metadata = { name = namespace } })
    local host = start(frozen)
    host:logged("controller started")
    frozen.child:signal("STOP")
    stops(host)
  end)

  ends("before the first answer of a frozen server", function()
    frozen = e2e.start_embedded()
    frozen.child:signal("STOP")
    local host = start(frozen)
    host:logged("started")
    stops(host)
  end)

  ends("while every connection is dead and a write hangs", function()
    local host = start_through_a_link()
    create("one", "a")
    ran(host, "a")
    relay.child:signal("USR2")
    e2e.eventually("the link is dead", function() return e2e.read_file(relay.out):find("\ndead") end)
    stops(host)
  end)

  ends("while nobody answers its first connection", function()
    local link
    relay, link = e2e.start_link(server)
    relay.child:signal("STOP") -- only the kernel accepts connections; nobody answers
    local host = start(link)
    host:logged("started")
    stops(host)
  end)

  ends("while it backs off from a server that is not there", function()
    local link
    relay, link = e2e.start_link(server)
    relay.child:signal("KILL")
    relay.child:wait()
    local host = start(link)
    host:logged(function(line) return line.level == "warn" end)
    stops(host)
  end)

  ends("while keys back off", function()
    local host = start(server)
    create("one", "fail")
    host:logged("reconcile failed")
    stops_and_releases(host)
  end)

  ends("while a run waits", function()
    local host = start(server)
    create("one", "wait")
    ran(host, "wait")
    stops_and_releases(host)
  end)

  ends("while a run computes", function()
    local host = start(server, { "--reconcile-cpu-limit", "300ms" })
    create("one", "compute")
    ran(host, "compute")
    stops_and_releases(host)
  end)

  -- A kubeconfig whose exec plugin is this shell script.
  local function with_plugin(text)
    local plugin = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("plugin"), "#!/bin/sh\n" .. text)
    os.execute("chmod +x " .. plugin)
    return plugin, { kubeconfig = e2e.write_file(plugin .. ".kubeconfig", ([[
apiVersion: v1
kind: Config
current-context: spec
contexts: [{name: spec, context: {cluster: spec, user: spec}}]
clusters: [{name: spec, cluster: {server: "%s"}}]
users:
- name: spec
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: "%s", interactiveMode: Never}
]]):format(server.url, plugin)) }
  end

  -- The output of a plugin is logged only when it has ended, so that it can be masked. So the
  -- plugin reports through a file.
  local function is_hanging(plugin)
    return os.rename(plugin .. ".hanging", plugin .. ".hanging")
  end

  local function hangs_and_stops(plugin, host)
    e2e.eventually("the plugin hangs", function() return is_hanging(plugin) end)
    stops(host)
    e2e.eventually("the killed plugin is gone", function() -- on a busy machine later than the host
      return os.execute("pgrep -f '^/bin/sh " .. plugin .. "' >/dev/null") ~= 0
    end)
  end

  ends("while an exec plugin hangs", function()
    local plugin, target = with_plugin(': >"$0.hanging"\nsleep 3600\n')
    hangs_and_stops(plugin, start(target))
  end)

  ends("while an exec plugin hangs that is to renew a token", function()
    local plugin, target = with_plugin([[
if [ -e "$0.hangs" ]; then : >"$0.hanging"; sleep 3600; fi
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t",' \
  "\"expirationTimestamp\":\"$(date -u -d '+6 seconds' +%Y-%m-%dT%H:%M:%SZ)\"}}"
]])
    local host = start(target)
    create("one", "a")
    ran(host, "a")
    e2e.write_file(plugin .. ".hangs", "")
    e2e.eventually("the token expired", function()
      create(e2e.unique("more"), "a")
      return is_hanging(plugin)
    end)
    hangs_and_stops(plugin, host)
  end)

  ends("without a file descriptor to spare", function()
    -- The sanitizer's check at the end needs descriptors.
    local host = start_through_a_link({ env = { ASAN_OPTIONS = "detect_leaks=0" } })
    create("one", "a")
    ran(host, "a")
    os.execute(("prlimit --pid %d --nofile=3:"):format(host.child.pid))
    relay.child:signal("ALRM")
    host:logged(function(line) return line.level == "warn" end)
    stops(host)
  end)

  it("ends it with a log that cannot be written", function()
    local file = e2e.write_file(e2e.folder() .. "/full.lua", script)
    local child = e2e.process.start({ e2e.binary, "run", file, "--kubeconfig", server.kubeconfig,
      "--namespace", namespace }, { stderr = "/dev/full" })
    create("one", "a")
    e2e.eventually("it works", function()
      return (server:get(path("one")).metadata.annotations or {}).seen == "a"
    end)
    child:signal("TERM")
    assert.equal(0, (child:wait(e2e.patience)))
  end)

  -- A process that is not yet able to stop in order.
  local function starts(...)
    local folder = e2e.folder() .. "/" .. e2e.unique("tmp")
    os.execute("mkdir " .. folder)
    local out = folder .. ".out"
    local child = e2e.process.start({ e2e.binary, ... },
      { stdout = out, stderr = out .. ".err", env = { TMPDIR = folder } })
    return child, folder, out
  end

  local function is_empty(folder)
    return os.execute("rmdir " .. folder) == 0
  end

  it("ends dev while its scripts are loaded, and leaves no folder behind", function()
    local child, folder, out = starts("dev", e2e.write_file(e2e.folder() .. "/endless.lua", "while true do end"))
    e2e.eventually("the kubeconfig is there", function() return e2e.read_file(out):find("kubeconfig: ") end)
    child:signal("HUP") -- there is nothing to reload yet
    child:signal("USR1")
    child:signal("TERM")
    assert.same({ 0 }, { child:wait(e2e.patience) })
    assert.is_true(is_empty(folder))
  end)

  it("ends run while its scripts are loaded", function()
    local child = starts("run", e2e.folder() .. "/endless.lua", "--kubeconfig", server.kubeconfig)
    e2e.eventually("signals have been thought of", function()
      local caught = e2e.read_file("/proc/" .. child.pid .. "/status"):match("SigCgt:%s*(%x+)")
      return math.floor(tonumber(caught:sub(-4), 16) / 2 ^ 14) % 2 == 1, caught -- SIGTERM is 15
    end)
    child:signal("TERM")
    assert.same({ 0 }, { child:wait(e2e.patience) })
  end)

  it("ends dev at the second signal, and leaves no folder behind", function()
    local child, folder, out = starts("dev", "--admin-socket", "0", e2e.write_file(e2e.folder() .. "/waits.lua", [[
local perilune = require("perilune")
perilune.controller("waits"):For("v1/Namespace"):Reconcile(function(_, context)
  context.log:info("waits")
  perilune.sleep(3600)
end)
]]))
    e2e.eventually("a run waits", function() return e2e.read_file(out .. ".err"):find('"msg":"waits"', 1, true) end)
    child:signal("TERM")
    e2e.eventually("it stops", function() return e2e.read_file(out .. ".err"):find("stopping", 1, true) end)
    child:signal("TERM")
    assert.same({ 1 }, { child:wait(e2e.patience) })
    assert.is_true(is_empty(folder))
  end)
end)
