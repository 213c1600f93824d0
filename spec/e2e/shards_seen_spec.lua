-- The visible state of replicas that share shards: probes, metrics, status and log lines; refused
-- flags; new code in one replica.

local e2e = require("spec.support.e2e")
local proxies = require("spec.support.proxy")
local sharing = require("spec.support.sharing")

-- Enough namespaces that each of two replicas has some, since their names are random.
local NAMESPACES, CROWD = 16, 40

describe("of replicas that share", function()
  local server, group, spaces, others

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    others = {}
    group = sharing.group(server)
    spaces = {}
    local requests = {}
    for i = 1, NAMESPACES do
      spaces[i] = server:new_namespace()
      for k = 1, i == 1 and CROWD or 1 do
        requests[#requests + 1] = { "POST", e2e.path("v1", spaces[i], "configmaps"),
          { metadata = { name = "m-" .. k, labels = { seen = group.name } } } }
      end
    end
    assert.equal(CROWD + NAMESPACES - 1, server:bulk(requests)[201])
  end)
  after_each(function()
    for _, proxy in ipairs(others) do
      proxy:stop()
    end
    e2e.clean_up()
  end)
  teardown(e2e.finish)

  local function script_of(text)
    return (text:gsub("NAME", group.name))
  end

  local plain = [[
local perilune = require("perilune")
perilune.controller("NAME"):For("v1/ConfigMap", { labels = "seen=NAME" }):Reconcile(function() end)
]]

  local function keys_of(host)
    local page, out, sum = host:metrics(), {}, 0
    for shard = 0, sharing.shards - 1 do
      local label = { shard = tostring(shard) }
      out[shard] = page:value("perilune_shard_keys", label)
      assert(not out[shard] or page:value("perilune_shard_owned", label) == 1, "it shows another's keys")
      sum = sum + (out[shard] or 0)
    end
    return sum, out, page
  end

  it("one is not ready while its new shards have not synced", function()
    local proxy = proxies.start(server)
    others[1] = proxy
    proxy:add({ { name = "busy", path = "^/api/v1/configmaps$", times = 0, status = 503,
      headers = { ["Content-Type"] = "application/json" }, body = proxies.status(503, "ServiceUnavailable") } })
    local host = group:replica("one", script_of(plain), { server = proxy })
    local body
    e2e.eventually("it says what it waits for", function()
      local code
      code, body = host:ask("health", "/readyz?verbose")
      return code == 500 and body:find("8 new shards have not synced yet", 1, true), body
    end)
    assert.equal(200, (host:ask("health", "/healthz")))
    assert.equal(0, host:count_logged("^shards acquired$"))
    proxy:clear()
    e2e.eventually("it is ready", function()
      return (host:ask("health", "/readyz")) == 200
    end, math.max(60, e2e.patience))
    host:logged("^shards acquired$")
    host:stop()
  end)

  it("one that cannot become a member says why, is not ready, and asks with pauses", function()
    local host = group:replica("one", script_of(plain),
      { flags = { "--leader-elect-resource-namespace", "no-such-namespace" } })
    local body
    e2e.eventually("the reason is told", function()
      local code
      code, body = host:ask("health", "/readyz/shards")
      return code == 500 and body:find('not yet a member.*namespaces "no%-such%-namespace" not found'), body
    end)
    host:logged(function(line)
      return line.msg == "cannot write a Lease of the shards" and line.level == "warn"
        and line.error:find("no-such-namespace", 1, true)
    end)
    local _, status = e2e.ask(host.socket, "status")
    assert.truthy(status:find('not yet a member[^\n]*namespaces "no%-such%-namespace" not found'), status)
    assert.equal(200, (host:ask("health", "/healthz")))
    assert.equal(1, host:count_logged("^cannot write a Lease of the shards$"))
    host:stop()
  end)

  local counted = [[
local perilune = require("perilune")
perilune.controller("NAME"):For("v1/ConfigMap", { labels = "seen=NAME" })
  :Reconcile(function(_, context) context.log:info("ran") end)
perilune.every("1h", { name = "hourly" }, function() perilune.log:info("ticked") end)
]]

  it("one with --once waits for the shards of a dead one, and leaves those of a live one alone", function()
    local dead = group:replica("dead", script_of(plain))
    group:have_shares("8")
    dead.child:signal("KILL")
    dead.child:wait(e2e.patience)
    local once = group:replica("once", script_of(counted), { flags = { "--once" } })
    assert.equal(0, (once.child:wait(math.max(60, e2e.patience))))
    assert.equal(CROWD + NAMESPACES - 1, once:count_logged("^ran$"))
    assert.equal(1, once:count_logged("^ticked$"))

    -- Its Lease would be deleted later. Until then, a newcomer counts it as a member with a share.
    for _, lease in pairs(group:leases().members) do
      server:delete(group:path(lease.metadata.name))
    end
    local live = group:replica("live", script_of(plain))
    group:have_shares("8")
    once = group:replica("again", script_of(counted), { flags = { "--once" } })
    assert.equal(0, (once.child:wait(math.max(60, e2e.patience))))
    local ran = once:count_logged("^ran$")
    assert(ran < CROWD + NAMESPACES - 1, ran)
    local acquired = 0
    for _ in pairs(sharing.how_often(once, "shards acquired")) do
      acquired = acquired + 1
    end
    assert.equal(4, acquired)
    live:stop()
  end)

  it("one with --once that cannot become a member ends with 1 when its time is over, and says why", function()
    local once = group:replica("once", script_of(counted),
      { flags = { "--once", "--once-timeout", "3s", "--leader-elect-resource-namespace", "no-such-namespace" } })
    assert.equal(1, (once.child:wait(e2e.patience)))
    local held = once:logged("^once: not finished")
    assert.truthy(held.because:find('^it waits for its shards: not yet a member.*"no%-such%-namespace" not found'),
      held.because)
  end)

  it("one without a shard is ready", function()
    local hosts = {}
    for i = 1, sharing.shards + 1 do
      hosts[i] = group:replica("r" .. i, script_of(plain))
    end
    group:have_shares(("1 "):rep(sharing.shards):sub(1, -2))
    e2e.eventually("all are ready", function()
      for _, host in ipairs(hosts) do
        host:must_run()
        if host:ask("health", "/readyz") ~= 200 then
          return false
        end
      end
      return true
    end)
    for _, host in ipairs(hosts) do
      host.child:signal("TERM")
    end
    for _, host in ipairs(hosts) do
      assert.equal(0, host.child:wait(e2e.patience))
    end
  end)

  it("metrics count keys and moves, and a crowded shard is named with advice", function()
    local one = group:replica("one", script_of(plain))
    local all = CROWD + NAMESPACES - 1
    group:have_shares("8")
    e2e.eventually("all keys are counted", function()
      return keys_of(one) == all, keys_of(one)
    end, math.max(60, e2e.patience))
    local _, keys, page = keys_of(one)
    assert.equal(8, page:value("perilune_shard_moves_total"))
    local crowded
    for shard, count in pairs(keys) do
      crowded = count >= CROWD and shard or crowded
    end
    local advice = ("shard %d has %d keys, more than twice the mean of %d: --shard-by uid spreads them"):format(
      crowded, keys[crowded], math.floor(all / 8))
    one:logged(function(line)
      return line.level == "warn" and line.msg == advice
    end)
    local _, status = e2e.ask(one.socket, "status")
    assert.truthy(status:find(advice, 1, true), status)
    assert.truthy(status:find(("\n%d +%%S+ +ours +%d +%%d+\n"):format(crowded, keys[crowded])), status)
    assert.truthy(status:find(sharing.id_of(one):gsub("%-", "%%-") .. " +this one +8 +%d"), status)

    local two = group:replica("two", script_of(plain))
    group:have_shares("4 4")
    e2e.eventually("each counts its own", function()
      local a, b = keys_of(one), keys_of(two)
      return a + b == all and b > 0, a .. " " .. b
    end, math.max(60, e2e.patience))
    local _, theirs, other_page = keys_of(two)
    local _, ours = keys_of(one)
    for shard = 0, sharing.shards - 1 do
      assert((ours[shard] == nil) ~= (theirs[shard] == nil), shard .. " is counted by one of them")
    end
    assert.equal(4, other_page:value("perilune_shard_moves_total"))
    assert.equal(1, one:count_logged(", more than twice the mean of ")) -- logged once
    one:stop()
    two:stop()
  end)

  it("a map that gives keys of another is told once, and counted, with what mends it", function()
    local text = [[
local perilune = require("perilune")
perilune.controller("NAME")
  :For("v1/ConfigMap", { labels = "seen=NAME" })
  :Watches("v1/Secret", function()
    local keys = {}
    for _, space in ipairs({ SPACES }) do keys[#keys + 1] = space .. "/m-1" end
    return keys
  end, { labels = "seen=NAME", SHARED })
  :Reconcile(function() end)
]]
    local quoted = {}
    for i, space in ipairs(spaces) do
      quoted[i] = ("%q"):format(space)
    end
    text = script_of(text):gsub("SPACES", table.concat(quoted, ", "))
    local mistake = "a map function returned a key of another shard, which is dropped: with shared = true "
      .. "on the source, every replica sees every object"
    for _, shared in ipairs({ "", "shared = true" }) do
      local with = text:gsub("SHARED", shared)
      local one, two = group:replica("one", with), group:replica("two", with)
      group:have_shares("4 4", { one, two })
      local function foreign()
        local count = 0
        for _, host in ipairs({ one, two }) do
          count = count + (host:metrics():value("perilune_shard_foreign_keys_total", { controller = group.name }) or 0)
        end
        return count
      end
      local function told()
        local count = 0
        for _, host in ipairs({ one, two }) do
          for _, line in ipairs(host:log()) do
            count = count + (line.msg == mistake and line.level == "error" and 1 or 0)
          end
        end
        return count
      end
      local function runs()
        local name = "controller_runtime_reconcile_total"
        return one:metrics():sum(name) + two:metrics():sum(name)
      end
      local before, run = foreign(), runs()
      for i, space in ipairs(spaces) do
        server:create(e2e.path("v1", space, "secrets"), { metadata = { name = "s-" .. i .. #shared,
          labels = { seen = group.name } } })
      end
      e2e.eventually("each map of each secret has had its keys run", function()
        return runs() - run >= NAMESPACES
      end)
      if shared == "" then
        e2e.eventually("foreign keys are counted", function()
          return foreign() > before + 1, foreign()
        end)
        assert(told() >= 1 and told() <= 2, told()) -- at most once in each process
      else
        assert.equal(0, foreign())
        assert.equal(0, told())
      end
      one:stop()
      two:stop()
    end
  end)

  it("new code in one is run for its own keys, and moves nothing", function()
    local text = [[
local perilune = require("perilune")
local runs = perilune.metrics.counter("seen_runs_total", "Runs.", { "code" })
local listed = perilune.metrics.gauge("seen_listed", "Objects in a list over all namespaces.")
perilune.controller("NAME"):For("v1/ConfigMap", { labels = "seen=NAME" }):Reconcile(function()
  runs:inc({ code = "CODE" })
  listed:set(#perilune.client:list("v1/ConfigMap"))
end)
]]
    local files, hosts = {}, {}
    for i, who in ipairs({ "one", "two" }) do
      files[i] = e2e.write_file(e2e.folder() .. "/" .. e2e.unique(who) .. ".lua", (script_of(text):gsub("CODE", "old")))
      hosts[i] = group:replica(who, files[i], { flags = { "--shard-by", "uid" } })
    end
    group:have_shares("4 4", hosts)
    local function cached(host)
      return host:metrics():value("perilune_informer_objects", { kind = "v1/ConfigMap" })
    end
    local function runs(host, code)
      return host:metrics():value("seen_runs_total", { code = code }) or 0
    end
    e2e.eventually("each has its part", function()
      return cached(hosts[1]) + cached(hosts[2]) == CROWD + NAMESPACES - 1
        and runs(hosts[2], "old") >= cached(hosts[2])
    end)
    local function figures(host)
      local page = host:metrics()
      return { page:sum("perilune_informer_lists_total"), page:value("perilune_shard_moves_total"),
        page:sum("perilune_shard_owned") }
    end
    local before = { figures(hosts[1]), figures(hosts[2]) }
    e2e.write_file(files[1], (script_of(text):gsub("CODE", "new")))
    e2e.eventually("its keys are run on the new code", function()
      return runs(hosts[1], "new") == cached(hosts[1])
    end)
    assert.equal(0, runs(hosts[2], "new"))
    assert.equal(cached(hosts[1]), hosts[1]:metrics():value("seen_listed")) -- lists have our own
    assert.same(before, { figures(hosts[1]), figures(hosts[2]) })
    assert.equal("4 4", group:shares())
    hosts[1]:stop()
    hosts[2]:stop()
  end)

  it("numbers and names that cannot be are refused", function()
    local file = e2e.write_file(e2e.folder() .. "/refused.lua", script_of(plain))
    local function refused(text, ...)
      local code, _, err = e2e.run("run", file, "--kubeconfig", server.kubeconfig,
        "--leader-elect-resource-namespace", group.home, "--metrics-bind-address", "0",
        "--health-probe-bind-address", "0", "--admin-socket", "0", ...)
      assert.equal(2, code, err)
      assert.truthy(err:find(text, 1, true), err)
    end
    refused("whole number from 1 to 256", "--shards", "257")
    refused("--shards", "--shards", "0")
    refused("--shards", "--shards", "many")
    refused("--shard-by", "--shards", "4", "--shard-by", "name")
    refused("at most 63 characters", "--shards", "4", "--leader-elect-resource-name", ("x"):rep(64))
  end)
end)
