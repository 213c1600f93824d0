-- The observable state of a running host: /metrics, /healthz, /readyz, and the dump of SIGUSR1.

local e2e = require("spec.support.e2e")
local proxies = require("spec.support.proxy")

local RECONCILED = "controller_runtime_reconcile_total"

describe("the operator's view", function()
  local server, namespace

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function start(script, flags, kubeconfig)
    local all = { "--namespace", namespace }
    for _, flag in ipairs(flags or {}) do
      all[#all + 1] = flag
    end
    return e2e.start_host(kubeconfig and { kubeconfig = kubeconfig } or server,
      'local perilune = require("perilune")\nlocal client = perilune.client\n' .. script, all)
  end

  local function add_map(name, data)
    server:create("/api/v1/namespaces/" .. namespace .. "/configmaps", { apiVersion = "v1",
      kind = "ConfigMap", metadata = { name = name, labels = { mine = "yes" } }, data = data })
  end

  local function eventually_metrics(host, what, f)
    local page
    e2e.eventually(what, function()
      page = host:metrics()
      return f(page)
    end)
    return page
  end

  it("counts every reconcile exactly", function()
    for i = 1, 12 do
      add_map("m" .. i, { result = i <= 2 and "again" or i <= 4 and "broken" or "fine" })
    end
    local host = start([[
perilune.controller("counting", { max_concurrent_reconciles = 3 })
  :For("v1/ConfigMap", { labels = "mine=yes" })
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if map.data.result == "again" then return { requeue_after = "1h" } end
    if map.data.result == "broken" then return nil, perilune.terminal("broken for good") end
    client:patch("v1/ConfigMap", request, { data = { seen = "yes" } })
  end)
]], { "--lanes", "2" })
    -- The eight good objects are changed once, which causes a second run each: 16 successes.
    local page = eventually_metrics(host, "everything is counted", function(page)
      return page:value(RECONCILED, { controller = "counting", result = "success" }) == 16
        and page:value("workqueue_depth", { name = "counting", controller = "counting" }) == 0
        and page:value("controller_runtime_active_workers", { controller = "counting" }) == 0
        -- Our own writes queue keys before the watch delivers them.
        and page:value("perilune_informer_watch_events_total", { kind = "v1/ConfigMap", type = "MODIFIED" }) == 8
    end)
    local mine, queue = { controller = "counting" }, { name = "counting", controller = "counting" }
    assert.equal(2, page:value(RECONCILED, { controller = "counting", result = "requeue_after" }))
    assert.equal(2, page:value(RECONCILED, { controller = "counting", result = "error" }))
    assert.equal(0, page:value(RECONCILED, { controller = "counting", result = "requeue" }))
    assert.equal(2, page:value("controller_runtime_reconcile_errors_total", mine))
    assert.equal(2, page:value("controller_runtime_terminal_reconcile_errors_total", mine))
    assert.equal(0, page:value("controller_runtime_reconcile_timeouts_total", mine))
    assert.equal(20, page:value("controller_runtime_reconcile_time_seconds_count", mine))
    assert.equal(3, page:value("controller_runtime_max_concurrent_reconciles", mine))
    assert.equal(20, page:value("workqueue_adds_total", queue))
    assert.equal(2, page:value("workqueue_retries_total", queue))
    assert.equal(20, page:value("workqueue_work_duration_seconds_count", queue))
    assert.equal(20, page:value("workqueue_queue_duration_seconds_count", queue))
    assert.equal(0, page:value("workqueue_unfinished_work_seconds", queue))
    assert.equal(0, page:value("workqueue_longest_running_processor_seconds", queue))
    local kind = { kind = "v1/ConfigMap" }
    assert.equal(12, page:value("perilune_informer_objects", kind))
    assert.is_true(page:value("perilune_informer_bytes", kind) > 0)
    assert.equal(1, page:value("perilune_informer_lists_total", kind))
    assert.equal(8, page:sum("rest_client_requests_total", { code = "200", method = "PATCH" }))
    -- At least discovery, a list, and a watch that has not ended.
    assert.is_true(page:sum("rest_client_requests_total", { code = "200", method = "GET" }) >= 3)
    for _, lane in ipairs({ "0", "1" }) do
      assert.is_true(page:value("perilune_lane_busy_seconds_total", { lane = lane }) > 0)
      assert.is_true(page:value("perilune_lua_memory_bytes", { lane = lane }) > 100000)
    end
    assert.equal(0, page:value("perilune_lane_stuck"))
    assert.is_true(page:value("process_resident_memory_bytes") > 1e6)
    assert.is_true(page:value("process_open_fds") > 5)
    assert.is_true(page:value("process_max_fds") >= page:value("process_open_fds"))
    assert.is_true(page:value("process_threads") >= 3)
    assert.is_true(math.abs(os.time() - page:value("process_start_time_seconds")) < 600)
    -- The system counts in hundredths of a second, and the whole test may take less.
    eventually_metrics(host, "processor time is counted", function(later)
      return later:value("process_cpu_seconds_total") > 0
    end)
    assert.is_true(page:value("perilune_loop_turn_seconds_count") > 20)
    assert.is_true(page:value("perilune_loop_turn_seconds_sum") > 0)
    assert.equal(0, page:value("perilune_waits_overdue"))
    assert.is_true(page:value("perilune_waits", { wait = "watch" }) >= 1)
    host:stop()
  end)

  it("shows what is running now", function()
    add_map("slow")
    local host = start([[
perilune.controller("slow"):For("v1/ConfigMap", { labels = "mine=yes" })
  :Reconcile(function() perilune.sleep("600s") end)
]], { "--graceful-shutdown-timeout", "6s" })
    local queue = { name = "slow", controller = "slow" }
    local page = eventually_metrics(host, "the run is seen", function(page)
      return page:value("workqueue_longest_running_processor_seconds", queue) > 0.2
    end)
    assert.equal(1, page:value("controller_runtime_active_workers", { controller = "slow" }))
    assert.is_true(page:value("workqueue_unfinished_work_seconds", queue) > 0.2)
    host.child:signal("USR1")
    host:logged("^end of the state of the host$")
    local run
    for _, line in ipairs(host:log()) do
      run = line.msg == "state: run" and line or run
    end
    assert.equal("slow", run.controller)
    assert.equal(namespace .. "/slow", run.key)
    assert.is_true(run.seconds > 0.2)
    -- While it stops, it is alive but not ready.
    host.child:signal("TERM")
    local status, body
    e2e.eventually("readiness ends", function()
      status, body = host:ask("health", "/readyz")
      return status == 500
    end)
    assert.matches("%[%-%]shutdown failed: the host is stopping\n", body)
    assert.equal(200, (host:ask("health", "/healthz")))
    host.child:wait(e2e.patience)
  end)

  it("answers probes and scrapes however many connections are held, on one endpoint or the other", function()
    local host = start('perilune.controller("c"):For("v1/ConfigMap"):Reconcile(function() end)')
    local metrics = host:logged("^serving metrics$").address
    local health = host:logged("^serving health probes$").address
    local function ask_while_holding(address)
      local pipe = io.popen(string.format([[python3 - <<'END'
import socket, urllib.request
def connect(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), 20)
silent = [connect("%s") for _ in range(300)]
slow = [connect("%s") for _ in range(300)]
for one in slow:
    one.sendall(b"GET /metrics HT")
for url in "%s/healthz", "%s/readyz", "%s/metrics":
    print(urllib.request.urlopen("http://" + url, timeout=20).status)
END]], address, address, health, health, metrics))
      local out = pipe:read("*a")
      pipe:close()
      return out
    end
    assert.equal(200, (host:ask("health", "/healthz")))
    e2e.eventually("it is ready", function() return (host:ask("health", "/readyz")) == 200 end)
    assert.equal("200\n200\n200\n", ask_while_holding(health))
    assert.equal("200\n200\n200\n", ask_while_holding(metrics))
    host:stop()
  end)

  it("names the source that cannot sync and what it waits for; others run", function()
    local proxy = proxies.start(server)
    proxy:add({ { name = "secrets", path = "/secrets", status = 403, times = 0,
      body = proxies.status(403, "Forbidden", "secrets is forbidden: no right to list") } })
    add_map("one")
    local host = start([[
local function nothing() end
perilune.controller("fine"):For("v1/ConfigMap", { labels = "mine=yes" }):Reconcile(nothing)
perilune.controller("forbidden"):For("v1/ConfigMap"):Reads("v1/Secret"):Reconcile(nothing)
perilune.controller("unknown"):For("operator.example.com/v1/Nothing"):Reconcile(nothing)
]], nil, proxy.kubeconfig)
    eventually_metrics(host, "the others run", function(page)
      return page:value(RECONCILED, { controller = "fine", result = "success" }) == 1
    end)
    local status, body
    e2e.eventually("the reasons are known", function()
      status, body = host:ask("health", "/readyz")
      return body:find("no right to list", 1, true) and body:find("does not serve", 1, true), body
    end)
    assert.equal(500, status)
    assert.matches("%[%+%]ping ok\n%[%+%]shutdown ok\n%[%+%]startup ok\n%[%+%]controller/fine ok\n", body)
    local forbidden = body:match("%[%-%]controller/forbidden failed: ([^\n]*)\n")
    assert.matches("^source v1/Secret: ", forbidden)
    assert.matches("; [%a ]+ of v1/Secret in [%w-]+: for [%d.]+ s, ", forbidden)
    local unknown = body:match("%[%-%]controller/unknown failed: ([^\n]*)\n")
    assert.matches("^source operator%.example%.com/v1/Nothing: the server does not serve ", unknown)
    assert.matches("; [%a ]+ of operator%.example%.com/v1/Nothing: for [%d.]+ s, ", unknown)
    assert.matches("\nreadyz check failed\n$", body)
    -- One check, the rest without two, and an unknown name.
    assert.equal(200, (host:ask("health", "/readyz/controller/fine")))
    status, body = host:ask("health", "/readyz/controller/unknown")
    assert.equal(500, status)
    assert.matches("^internal server error: source operator", body)
    status, body = host:ask("health", "/readyz?exclude=controller/unknown&exclude=controller%2Fforbidden")
    assert.equal(200, status, body)
    assert.equal("ok", body)
    status, body = host:ask("health", "/readyz/controller/unknwn")
    assert.equal(404, status)
    assert.equal("no such check; did you mean controller/unknown?\n", body)
    status, body = host:ask("health", "/healthz?verbose")
    assert.equal(200, status)
    assert.matches("^%[%+%]ping ok\n%[%+%]lanes ok\n.*healthz check passed\n$", body)
    -- The dump has them too, each on a separate line.
    host.child:signal("USR1")
    host:logged("^end of the state of the host$")
    local seen = {}
    for _, line in ipairs(host:log()) do
      seen[line.msg] = (seen[line.msg] or 0) + 1
      if line.msg == "state: controller" and line.controller == "forbidden" then
        assert.equal("waiting", line.state)
        assert.matches("no right to list", line.waits_for)
      end
    end
    assert.equal(3, seen["state: controller"])
    assert.equal(4, seen["state: source"])
    assert.equal(1, seen["state: lane"])
    assert.is_true(seen["state: wait"] >= 4)
    -- The right is given: no restart is needed.
    proxy:clear("secrets")
    e2e.eventually("the controller is ready", function()
      return (host:ask("health", "/readyz/controller/forbidden")) == 200
    end)
    host:stop()
    proxy.child:signal("TERM")
  end)

  it("shows the metrics of scripts, whichever lane counts", function()
    for i = 1, 10 do
      add_map("m" .. i)
    end
    local host = start([[
local seen = perilune.metrics.counter("operator_seen_total", "Maps seen.", { "namespace" })
local names = perilune.metrics.histogram("operator_name_bytes", "Lengths.")
perilune.controller("metrics"):For("v1/ConfigMap", { labels = "mine=yes" })
  :Reconcile(function(request)
    seen:inc({ namespace = request.namespace })
    names:observe(#request.name)
  end)
]], { "--lanes", "3" })
    local page = eventually_metrics(host, "all are counted", function(page)
      return page.families.operator_seen_total
        and page:value("operator_seen_total", { namespace = namespace }) == 10
    end)
    assert.equal(10, page:value("operator_name_bytes_count"))
    assert.equal(21, page:value("operator_name_bytes_sum"))
    assert.equal("Maps seen.", page.families.operator_seen_total.help)
    host:stop()
  end)

  it("is not healthy once a script's thread could not be ended", function()
    add_map("loop")
    local host = start([[
perilune.controller("stuck", { rate_limiter = { base = "1h", max = "2h" } })
  :For("v1/ConfigMap", { labels = "mine=yes" })
  :Reconcile(function()
    return (("a"):rep(60)):find(("a*"):rep(30) .. "b") -- one call that never ends
  end)
]], { "--reconcile-cpu-limit", "300ms" })
    local status, body
    e2e.eventually("the lane is given up", function()
      status, body = host:ask("health", "/healthz")
      return status == 500
    end)
    assert.matches("%[%-%]lanes failed: 1 of the scripts' threads could not be interrupted", body)
    assert.equal(1, host:metrics():value("perilune_lane_stuck"))
    assert.equal(500, (host:ask("health", "/healthz/lanes")))
    assert.equal(200, (host:ask("health", "/healthz?exclude=lanes")))
    host.child:signal("KILL")
    host.child:wait(e2e.patience)
  end)

  local idle = 'perilune.controller("idle"):For("v1/ConfigMap"):Reconcile(function() end)\n'

  it("answers other requests politely and cuts what is hostile", function()
    local host = start(idle)
    local metrics = host:logged("^serving metrics$").address
    local health = host:logged("^serving health probes$").address
    for endpoint, path in pairs({ metrics = "/metrics", health = "/healthz" }) do
      assert.equal(405, (host:ask(endpoint, path, "-X POST --data x")), path)
      assert.equal(405, (host:ask(endpoint, path, "-X DELETE")), path)
      assert.equal(200, (host:ask(endpoint, path, "-I")), path)
      assert.equal(404, (host:ask(endpoint, "/")), path)
      assert.equal(404, (host:ask(endpoint, "/..%2f..%2fetc%2fpasswd")), path)
      local status = host:ask(endpoint, "/" .. ("a"):rep(100000))
      assert(status == 431 or status == 414, status)
      local big = e2e.write_file(e2e.folder() .. "/big", ("x"):rep(1000000))
      status = host:ask(endpoint, path, "-X POST --data-binary @" .. big)
      assert(status == 413 or status == 405 or status == 0, status)
    end
    assert.equal(404, (host:ask("health", "/readyz/" .. ("%00"):rep(500))))
    assert.equal(200, (host:ask("health", "/readyz/ping?" .. ("exclude=x&"):rep(2000))))
    -- Input that is not HTTP, half a request, and many silent connections.
    for _, address in ipairs({ metrics, health }) do
      local port = address:match(":(%d+)$")
      os.execute("head -c 100000 /dev/urandom | timeout 5 bash -c 'cat > /dev/tcp/127.0.0.1/"
        .. port .. "' 2>/dev/null")
      os.execute([[timeout 20 bash -c 'for i in $(seq 100); do exec {fd}<>/dev/tcp/127.0.0.1/]]
        .. port .. [[; printf "GET /metrics HTTP/1.1\r\nHost" >&$fd; done' 2>/dev/null]])
    end
    local page = host:metrics()
    assert.is_true(page:value("process_resident_memory_bytes") < 1e9)
    e2e.eventually("it is ready", function()
      return (host:ask("health", "/readyz")) == 200
    end)
    host:stop()
  end)

  it("ends with 1 when an address that was asked for is taken", function()
    local host = start(idle)
    local taken = host:logged("^serving metrics$").address
    local script = e2e.write_file(e2e.folder() .. "/second.lua",
      'local perilune = require("perilune")\n' .. idle)
    for _, flag in ipairs({ "--metrics-bind-address", "--health-probe-bind-address" }) do
      local other = flag:find("metrics", 1, true) and "--health-probe-bind-address" or "--metrics-bind-address"
      local code, _, err = e2e.run("run", script, "--kubeconfig", server.kubeconfig, flag, taken, other, "0")
      assert.equal(1, code)
      assert.matches(flag:gsub("%-", "%%-") .. ": cannot listen on [^\n]*address already in use", err)
    end
    local code, _, err = e2e.run("run", script, "--kubeconfig", server.kubeconfig,
      "--metrics-bind-address", "nonsense")
    assert.equal(2, code)
    assert.matches('%-%-metrics%-bind%-address: "nonsense" is not an address', err)
    host:stop()
  end)

  it("opens nothing when both are off", function()
    local host = start(idle, { "--metrics-bind-address=0", "--health-probe-bind-address", "0" })
    host:logged("^controller started$")
    assert.equal(0, host:count_logged("^serving "))
    host:stop()
  end)

  it("does not keep a second host of a developer from starting", function()
    local script = e2e.write_file(e2e.folder() .. "/default.lua",
      'local perilune = require("perilune")\n' .. idle)
    local base, hosts = e2e.folder() .. "/" .. e2e.unique("default"), {}
    for i = 1, 2 do
      hosts[i] = e2e.process.start({ e2e.binary, "run", script, "--kubeconfig", server.kubeconfig,
        "--namespace", namespace, "--log-format", "json" },
        { stderr = base .. i, env = { KUBERNETES_SERVICE_HOST = false } })
      e2e.eventually("host " .. i .. " runs", function()
        return e2e.read_file(base .. i):find('"controller started"', 1, true)
      end)
    end
    local second = e2e.read_file(base .. 2)
    local _, warnings = second:gsub("an endpoint is off: its default address is not available", "")
    assert.equal(2, warnings, second)
    for i = 1, 2 do
      hosts[i]:signal("TERM")
      assert.equal(0, (hosts[i]:wait(e2e.patience)))
    end
  end)
end)
