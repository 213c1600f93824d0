-- `perilune test --explore` finds the bugs of public operators that spec/explore has ported, at the
-- right object and field. It finds nothing in their fixed versions, and nothing in controllers that
-- only look suspicious. The number of executions is fixed, so a slow machine finds the same.

local e2e = require("spec.support.e2e")
local json = require("cjson")

-- folder -> the finding in buggy.lua: class, kind, key, field ("" is the object itself).
local EXPECTED = {
  first_of_two = { "state", "v1/Secret", "default/a-ssl-internal", "" },
  by_status = { "state", "v1/Secret", "default/a-key", "" },
  made_already = { "unsettled", "cluster", "default/a", "" },
  password_twice = { "rewritten", "v1/Secret", "default/a", "data.password" },
  difference_destroyed = { "state", "v1/PersistentVolumeClaim", "default/data-a-0", "spec.resources.requests.storage" },
  recorded_before = { "state", "v1/ConfigMap", "default/a", "data.image" },
  old_spec = { "replaced", "v1/PersistentVolumeClaim", "default/data-a-1", "metadata.uid" },
  restart_lost = { "state", "v1/Pod", "default/a", "metadata.annotations.config" },
  restarted_again = { "restart", "apps/v1/Deployment", "default/a", "metadata.generation" },
  nil_later = { "error", "cluster", "default/a", "" },
  tls_off = { "replaced", "v1/Secret", "default/a", "metadata.uid" },
  claim_left = { "state", "v1/PersistentVolumeClaim", "default/rack-a", "" },
  namesake = { "replaced", "v1/PersistentVolumeClaim", "default/data-a", "metadata.uid" },
  outside_twice = { "leak", "external", "buckets", "bucket-2.of" },
  outside_stuck = { "leak", "example.com/v1/Cluster", "default/a", "" },
  takeover = { "replaced", "v1/Pod", "default/a", "metadata.uid" },
  swallowed = { "state", "v1/Secret", "default/a", "" },
  others_finalizer = { "leak", "external", "buckets", "a.of" },
  garbage_late = { "state", "v1/ConfigMap", "default/a", "" },
  finalizer_late = { "leak", "external", "buckets", "a.of" },
  list_rollout = { "state", "apps/v1/Deployment", "default/a", "spec.template.metadata.annotations.rules" },
  list_order = { "replaced", "v1/Pod", "default/a-0", "metadata.uid" },
  copied_once = { "state", "apps/v1/StatefulSet", "default/a", "spec.template.spec.containers[db].image" },
  never_pruned = { "state", "v1/Service", "default/a", "metadata.labels.a" },
  mode_left = { "state", "v1/Service", "default/a-arbiter", "" },
  ready_early = { "rewritten", "example.com/v1/Cluster", "default/a", "status.conditions[Ready].status" },
  status_early = { "rewritten", "example.com/v1/Cluster", "default/a", "status.observedGeneration" },
  decommission = { "unsettled", "cluster", "default/a", "" },
  finalizer_list = { "state", "example.com/v1/Cluster", "default/a", "metadata.finalizers" },
  wrong_key = { "state", "v1/ConfigMap", "default/a", "data.certificate" },
  finalizer_first = { "state", "v1/PersistentVolumeClaim", "default/data-a-0", "" },
  cleanup_by_label = { "replaced", "v1/PersistentVolumeClaim", "default/data-a", "metadata.uid" },
  unseen_state = { "state", "v1/PersistentVolumeClaim", "default/data-a", "" },
  in_memory = { "state", "v1/ConfigMap", "default/a-1", "" },
  swept = { "replaced", "v1/PersistentVolumeClaim", "default/data-a", "metadata.uid" },
  key_lost = { "state", "v1/Secret", "default/a", "data.previous" },
  observed_later = { "state", "v1/ConfigMap", "default/a", "data.size" },
  stays_degraded = { "state", "example.com/v1/Cluster", "default/a", "status.conditions[Degraded].status" },
  two_want_one = { "unsettled", "cluster", "default/a", "v1/ConfigMap default/shared data.of" },
}

-- Instead of 130, since there are more single disturbances.
local EXECUTIONS = { takeover = "260", namesake = "180", decommission = "210", finalizer_first = "200",
  finalizer_late = "150", finalizer_list = "170", others_finalizer = "140", outside_stuck = "140" }

local function explore(path, ...)
  local code, out, err = e2e.run("test", path, "--explore", "-o", "json", ...)
  local findings, summaries = {}, {}
  for line in out:gmatch("[^\n]+") do
    local item = json.decode(line)
    table.insert(item.summary and summaries or findings, item)
  end
  return code, findings, summaries, out .. err
end

local function has(findings, want)
  for _, f in ipairs(findings) do
    if f.class == want[1] and f.kind == want[2] and f.key == want[3] and f.field == want[4] then
      return f
    end
  end
end

describe("perilune test --explore", function()
  local folder

  before_each(function()
    folder = e2e.folder() .. "/" .. e2e.unique("explore")
    os.execute("mkdir " .. folder)
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local names = {}
  for name in pairs(EXPECTED) do
    names[#names + 1] = name
  end
  table.sort(names)

  for _, name in ipairs(names) do
    it("finds the bug of " .. name .. ", and its plan shows it again", function()
      local path = "spec/explore/" .. name
      local code, findings, _, text = explore(path, "--filter", "buggy", "--executions", EXECUTIONS[name] or "130")
      local found = has(findings, EXPECTED[name])
      assert(found, text)
      assert.equal(1, code)
      code, findings = explore(path, "--filter", "buggy", "--plan", found.plan)
      assert(has(findings, EXPECTED[name]))
      assert.equal(1, code)
    end)

    it("finds nothing in the mended twin of " .. name, function()
      local code, findings, summaries, text = explore("spec/explore/" .. name, "--filter", "mended",
        "--executions", EXECUTIONS[name] or "130")
      assert.same({}, findings, text)
      assert.equal(0, code, text)
      assert.equal(summaries[1].singles.total, summaries[1].singles.done)
    end)
  end

  for _, name in ipairs({ "address", "allocator", "backup", "beat", "children", "clock_status", "conditions",
    "counter", "csr", "deadline", "elected", "events", "finalized", "handshake", "history", "janitor", "last_seen",
    "leader_task", "outside", "password", "paused", "poller", "pool", "progressing", "replicas", "retrying",
    "rotation", "sleeper", "steps", "suffixed", "suspended", "task", "ttl", "two", "looked at", "weather" }) do
    it("finds nothing in " .. name .. ", which only looks suspicious", function()
      local code, findings, summaries, text = explore("spec/explore/correct", "--filter", "^" .. name .. "$",
        "--executions", "40")
      assert.same({}, findings, text)
      assert.equal(0, code, text)
      assert.equal(1, #summaries)
    end)
  end

  -- Random keys, a time far away, copies that a lagging server hides.
  for _, name in ipairs({ "certificates", "cronjob", "dns-record", "office-hours", "replicator", "tenant" }) do
    it("finds nothing in examples/" .. name, function()
      local code, findings, _, text = explore("examples/" .. name, "--executions", "60")
      assert.same({}, findings, text)
      assert.equal(0, code, text)
    end)
  end

  for filter, plans in pairs({
    history = { "early @2 after 0, unobserved ConfigMap @2", "early @2 after 0, unobserved ConfigMap @3" },
    suspended = { "unobserved StatefulSet @2, crash after suspended default/a patch StatefulSet @2",
      "unobserved StatefulSet @5, crash after suspended default/a patch StatefulSet @5" },
    ["looked at"] = { "crash after conditions default/a patch ConfigMap @3, stale Cluster 1.1 @3" },
    beat = { "late requeue @1", "late requeue @2", "crash after beat default/a patch Cluster/status @1.2",
      "refuse 500 beat default/a get Cluster @2.4, refuse 500 beat default/a get Cluster @2.8" },
    allocator = { "order allocator default/c @3", "delay allocator default/b update Cluster/status @3",
      "again allocator default/a @3", "outage update Cluster/status @3" },
    replicas = { "clock ahead @1", "clock behind @1", "late requeue @2", "late collection @3",
      "finalizer Cluster default/a @3", "again replicas default/a @2", "outage patch ConfigMap @1" },
  }) do
    for _, plan in ipairs(plans) do
      it("can do what a plan says: " .. plan, function()
        local code, findings, summaries, text = explore("spec/explore/correct", "--filter", "^" .. filter .. "$",
          "--plan", plan)
        assert.same({}, findings, text)
        assert.same({ 1, 0, {} }, { #summaries, summaries[1].findings, summaries[1].unmet }, text)
        assert.is_nil(text:find("did not happen", 1, true), text)
        assert.equal(0, code, text)
      end)
    end
  end

  for _, plan in ipairs({ "early @3 after 1", "early @2 after 99", "outage create Secret @2", "clock ahead @1",
    "crash after pool default/a create Secret @1" }) do
    it("says that a plan does not happen: " .. plan, function()
      local code, findings, summaries, text = explore("spec/explore/correct", "--filter", "^pool$", "--plan", plan)
      assert.same({}, findings, text)
      assert.matches(('"%s" did not happen'):format(plan), summaries[1].unmet[1], 1, true)
      assert.truthy(text:find(('"%s" did not happen'):format(plan), 1, true), text)
      assert.equal(1, code, text)
    end)
  end

  it("reports as TAP and as XML of JUnit, too", function()
    local path, more = "spec/explore/tls_off", { "--executions", "40" }
    local code, out = e2e.run("test", path, "--explore", "-o", "tap", unpack(more))
    assert.equal(1, code)
    assert.matches("^not ok 1 %- buggy\n# replaced  Secret default/a .*\nok 2 %- mended\n# explored .*\n1%.%.2\n$", out)
    code, out = e2e.run("test", path, "--explore", "-o", "junit", unpack(more))
    assert.equal(1, code)
    assert.matches('^<%?xml .*<testsuites tests="2" failures="1" .*name="buggy".*<failure message=.*replaced  Secret '
      .. 'default/a .*</failure>.*name="mended".*<system%-out>explored .*</testsuites>\n$', out)
  end)

  it("reports a plan that applies to no scenario as a failure in each form", function()
    local plan = "crash after cluster default/nosuch create Secret @1"
    local code, out = e2e.run("test", "spec/explore/tls_off", "--explore", "-o", "tap", "--plan", plan)
    assert.equal(1, code)
    assert.matches('^not ok 1 %- buggy\n# "crash after .*\nnot ok 2 %- mended\n# "crash after .*\n1%.%.2\n$', out)
    code, out = e2e.run("test", "spec/explore/tls_off", "--explore", "-o", "junit", "--plan", plan)
    assert.equal(1, code)
    assert.matches('tests="2" failures="2" .*<failure message="[^"]*the plan does not apply">&quot;crash after ', out)
  end)

  it("says which scenarios there are if the filter has none", function()
    local code, _, err = e2e.run("test", "spec/explore/tls_off", "--explore", "--filter", "nosuch")
    assert.equal(2, code)
    assert.truthy(err:find('no scenario is called like "nosuch"; there are "buggy", "mended"', 1, true), err)
  end)

  -- A cache that is held back is current again at the end of its step, whatever else the plan has. An object that
  -- is being deleted is to go, so a restart does not have to leave it.
  for _, of in ipairs({
    { "difference_destroyed", "stale Cluster 1.1 @2, lag Cluster @2" },
    { "restart_lost", "stale Cluster 1.1 @2, lag Cluster @2" },
    { "key_lost", "unobserved Secret @1, lag Cluster @1" },
    { "others_finalizer", "stale Cluster 1.3 @2, finalizer Cluster default/a @2" },
    { "outside_stuck", "finalizer Cluster default/a @2, stale Cluster 1.3 @2" },
    { "two_want_one", "stale ConfigMap 1.0 @2, refuse 500 cluster default/a get Cluster @2" },
    { "restart_lost", "stale Pod 1.1 @2, finalizer Pod default/a @2" },
  }) do
    local name, plan = unpack(of)
    it("finds nothing in the mended twin of " .. name .. " with " .. plan, function()
      local code, findings, _, text = explore("spec/explore/" .. name, "--filter", "mended", "--plan", plan)
      assert.same({}, findings, text)
      assert.is_nil(text:find("did not happen", 1, true), text)
      assert.equal(0, code, text)
    end)
  end

  it("restarts on no lagging API server with --no-stale", function()
    local code, findings, summaries, text = explore("spec/explore/tls_off", "--filter", "buggy", "--no-stale",
      "--executions", "130")
    assert.same({}, findings, text)
    assert.equal(0, code, text)
    assert.equal(0, summaries[1].stale_positions)
  end)

  it("runs the other specs as they are, with the log", function()
    local code, out, err = e2e.run("test", "examples/hello", "--explore")
    assert.matches("1 success / 0 failures", out, 1, true)
    assert.matches("no test.explore is in these specs", err, 1, true)
    assert.equal(2, code)
  end)

  it("needs nothing but scripts, manifests and a sample", function()
    os.execute(("cp -r spec/explore/first_of_two/buggy.lua %s/main.lua; cp -r spec/explore/manifests %s"):format(
      folder, folder))
    e2e.write_file(folder .. "/sample.yaml", "apiVersion: example.com/v1\nkind: Cluster\n"
      .. "metadata: {namespace: default, name: a}\nspec: {size: 1}\n")
    local code, findings, _, text = explore(folder, "-f", folder .. "/sample.yaml", "--executions", "40")
    assert.equal(1, code, text)
    assert(has(findings, { "state", "v1/Secret", "default/a-ssl-internal", "" }), text)
  end)

  it("prints a report with the script's lines, and the same one for the same seed", function()
    local function text()
      local code, out = e2e.run("test", "spec/explore/difference_destroyed", "--filter", "buggy", "--explore",
        "--executions", "30")
      assert.equal(1, code)
      return out:sub((out:find("\nbuggy\n")))
    end
    local first = text()
    assert(first:find("state  PersistentVolumeClaim default/data-a-0 spec.resources.requests.storage is 10Gi, "
      .. "undisturbed 15Gi", 1, true), first)
    assert(first:find("buggy.lua:35 delete apps/v1/StatefulSet default/a", 1, true), first)
    assert(first:find("(never: buggy.lua:36 patch v1/PersistentVolumeClaim default/data-a-0)", 1, true), first)
    assert(first:find("--plan 'crash after cluster default/a delete StatefulSet @2'", 1, true), first)
    assert.equal(first, text())
  end)

  it("explores in several processes, and finds the same in the same order", function()
    local function run(...)
      local code, findings, summaries = explore("spec/explore/first_of_two", "--executions", "30", ...)
      assert.equal(1, code)
      return { findings, summaries }
    end
    assert.same(run(), run("--jobs", "2"))
  end)

  it("shows on a terminal how far it is, and nowhere else", function()
    local words = { "test", "spec/explore/first_of_two", "--filter", "mended", "--explore", "--executions", "60" }
    local _, out = e2e.run(unpack(words))
    assert.is_nil(out:find("\r", 1, true), out)
    local command = { "import os, pty, sys; os.environ['TERM'] = 'xterm'; sys.exit(pty.spawn(sys.argv[1:]) >> 8)",
      e2e.binary, unpack(words) }
    for i, word in ipairs(command) do
      command[i] = "'" .. word:gsub("'", "'\\''") .. "'"
    end
    local pipe = assert(io.popen("python3 -c " .. table.concat(command, " ") .. " </dev/null"))
    local text = pipe:read("*a")
    pipe:close()
    assert(text:find("\r\27%[K%d+ of %d+ single disturbances, 0 of %d+ pairs, 0 random; 0 findings\r\27%[K"), text)
    assert(text:find("\r\27%[Kexplored %d+ of %d+ single"), text)
  end)

  it("accepts what --allow says, and lists it", function()
    e2e.write_file(folder .. "/allow", "state Secret default/a-ssl-*: made by hand\n")
    local code, out = e2e.run("test", "spec/explore/first_of_two", "--filter", "buggy", "--explore", "--executions",
      "30", "--allow", folder .. "/allow")
    assert.equal(0, code, out)
    assert(out:find("accepted: state  Secret default/a-ssl-internal", 1, true), out)
    assert(out:find("because made by hand", 1, true), out)
  end)

  it("keeps a finding as a specification that fails as long as it is there", function()
    local kept = folder .. "/kept_spec.lua"
    local code, out, text
    for _ = 1, 2 do
      code, out = e2e.run("test", "spec/explore/first_of_two", "--filter", "buggy", "--explore", "--executions",
        "30", "--write-spec", kept)
      assert.equal(1, code, out)
      text = text or e2e.read_file(kept)
      assert.equal(text, e2e.read_file(kept)) -- each finding once
    end
    code, out = e2e.run("test", kept, "-o", "tap")
    assert.equal(1, code, out)
    assert(out:find("not ok 1 - buggy: crash after cluster default/a create Secret default/a-ssl @1", 1, true), out)
    assert(out:find("Secret default/a-ssl-internal is gone", 1, true), out)
    e2e.write_file(kept, (e2e.read_file(kept):gsub('"buggy"', '"mended"')))
    code, out = e2e.run("test", kept, "-o", "tap")
    assert(code == 1 and out:find("did not happen", 1, true), out)
  end)

  it("says why a finding cannot be kept", function()
    local code, _, err = e2e.run("test", "spec/explore/first_of_two", "--filter", "buggy", "--explore",
      "--executions", "30", "--write-spec", "/dev/full")
    assert.equal(1, code)
    assert(err:find("--write-spec: No space left on device", 1, true), err)
    assert.is_nil(err:find("not enough memory", 1, true))
  end)

  it("keeps a finding of a sample and of another seed, for a process that runs elsewhere", function()
    os.execute(("cp -r spec/explore/first_of_two/buggy.lua %s/main.lua; cp -r spec/explore/manifests %s"):format(
      folder, folder))
    e2e.write_file(folder .. "/sample.yaml", "apiVersion: example.com/v1\nkind: Cluster\n"
      .. "metadata: {namespace: default, name: a}\nspec: {size: 1}\n")
    local kept = folder .. "/kept_spec.lua"
    local code, out = e2e.run("test", folder, "-f", folder .. "/sample.yaml", "--explore", "--executions", "30",
      "--seed", "7", "--write-spec", kept)
    assert.equal(1, code, out)
    assert(out:find("again: perilune test [^\n]*%-%-seed 7 "), out)
    local text = e2e.read_file(kept)
    assert(text:find('test.keep({ scripts = { "." }, sample = { "sample.yaml" } }, ', 1, true), text)
    assert(text:find('@1", 7)', 1, true), text)
    code, out = e2e.run("test", kept, "-o", "tap")
    assert.equal(1, code, out)
    assert(out:find("Secret default/a-ssl-internal is gone", 1, true), out)
  end)

  -- A website that nobody has seen leaves no directory. A directory that is read from the server has no old
  -- entries.
  for _, plan in ipairs({ "early @2 after 0, unobserved Website @2", "unobserved Website @1, unobserved ConfigMap @2",
    "crash after website default/blog patch Website @4, stale ConfigMap 1.1 @4" }) do
    it("finds nothing in the website example with " .. plan, function()
      local code, findings, _, text = explore("examples/website", "-f", "examples/website/sample.yaml", "--plan", plan)
      assert.equal(0, code, text)
      assert.same({}, findings)
    end)
  end

  it("starts a host that has crashed for a user whose webhook did not answer", function()
    local dir = folder .. "/tea"
    assert.equal(0, (e2e.run("new", "tea", "--webhook", "--dir", dir)))
    local code, findings, _, text = explore(dir, "-f", dir .. "/sample.yaml", "--plan",
      "crash after tea default/sample patch ConfigMap @1, early @2 after 2")
    assert.equal(0, code, text)
    assert.same({}, findings)
  end)

  it("says what is wrong with a plan, with a file, and with specs that have no scenario", function()
    local path = "spec/explore/first_of_two"
    e2e.write_file(folder .. "/allow", "state Secret\n")
    e2e.write_file(folder .. "/x_spec.lua", 'it("x", function() end)\n')
    for _, case in ipairs({
      { 2, '--plan: "explode @1": it must begin with one of', path, "--plan", "explode @1" },
      { 1, 'did not happen; the nearest that happened is "cluster default/a create Secret default/a-ssl', path,
        "--filter", "buggy", "--plan", "crash after cluster default/a create Secret default/b @1" },
      { 2, "allow:1: a line is CLASS KIND KEY", path, "--allow", folder .. "/allow" },
      { 2, "no test.explore is in these specs", folder },
      { 2, "--plan: a disturbance is missing beside a comma", path, "--plan", "early @2 after 0,," },
      { 2, "--budget: no time is no exploration", path, "--budget", "0s" },
    }) do
      local code, out, err = e2e.run("test", "--explore", unpack(case, 3))
      assert.equal(case[1], code, out .. err)
      assert(err:find(case[2], 1, true), err)
    end
  end)

  it("refuses a second scenario of the same name", function()
    local twice = e2e.write_file(folder .. "/twice_spec.lua", 'local test = require("perilune.test")\n'
      .. 'test.explore("a", {}, print)\n'
      .. 'describe("b", function() test.explore("b", {}, print) test.explore("a", {}, print) end)\n')
    local code, out = e2e.run("test", twice)
    assert.equal(1, code)
    assert(out:find('twice_spec.lua:3: test.explore: this file has a scenario "a" already', 1, true), out)
  end)

  -- A controller of ConfigMaps whose reconcile is `body`, with a scenario that makes one.
  local function write_scenario(body)
    e2e.write_file(folder .. "/main.lua", [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("maps"):For("v1/ConfigMap", { labels = "app=yes" }):Reconcile(function(request)
  local map = client:get("v1/ConfigMap", request)
  if not map then return end
]] .. body .. [[

end)
]])
    e2e.write_file(folder .. "/x_spec.lua", [[
local number = 0
require("perilune.test").explore("a map", { scripts = "main.lua" }, function(world)
  world:http("https://numbers.example.com/*", function()
    number = number + 1
    return { status = 200, body = tostring(number) }
  end)
  world:create{ apiVersion = "v1", kind = "ConfigMap", data = { a = "1" },
    metadata = { name = "a", namespace = "default", labels = { app = "yes" } } }
  world:settle()
end)
]])
  end

  -- The number continues from one execution to the next.
  local OTHERWISE = [[
    local number = perilune.http.request{ url = "https://numbers.example.com/next" }
    client:apply{ apiVersion = "v1", kind = "ConfigMap", data = { x = number.body },
      metadata = { namespace = "default", name = "copy" } }]]

  it("names the lines that were never reached", function()
    write_scenario("  if map.data.b then\n    client:delete(map)\n  end")
    local code, out = e2e.run("test", folder, "--explore", "--executions", "6")
    assert.equal(0, code, out)
    assert(out:find("; never reached: main.lua:7\n", 1, true), out)
    local _, _, summaries = explore(folder, "--executions", "6")
    assert.same({ "main.lua:7" }, summaries[1].unreached)
  end)

  it("ends with 3 when two undisturbed runs differ, and when a plan's do", function()
    write_scenario(OTHERWISE)
    local code, out, err = e2e.run("test", folder, "--explore", "--executions", "20")
    assert.equal(3, code, out .. err)
    assert.matches("a map: ", err)
    assert.matches("v1/ConfigMap default/copy data.x is %d+", err)
    code, out = e2e.run("test", folder, "--explore", "--executions", "20", "-o", "tap")
    assert.equal(3, code, out)
    assert.matches("\nnot ok 1 %- a map\n.*#   first .*data.x is %d+", "\n" .. out)
    local _, _, summaries = explore(folder, "--executions", "20")
    assert.matches("the first difference:.*data.x is %d+", summaries[1].differing)
    write_scenario([[
  local ok = pcall(client.apply, client, { apiVersion = "v1", kind = "ConfigMap", data = { x = "1" },
    metadata = { namespace = "default", name = "copy" } })
  if not ok then
]] .. OTHERWISE .. "\n  end")
    code, out, err = e2e.run("test", folder, "--explore", "--plan",
      "refuse 500 maps default/a patch ConfigMap default/copy @1")
    assert.equal(3, code, out .. err)
    assert.matches("copy", err)
  end)

  it("ends with 1 when a world never settles, explored or not, and names the key", function()
    write_scenario([[
    map.data.a = map.data.a == "1" and "2" or "1"
    client:update(map)]])
    local code, out, err = e2e.run("test", folder)
    assert.equal(1, code, out .. err)
    assert.matches("does not settle: %d+ reconciles, the busiest keys are maps default/a %(%d+ runs%); "
      .. "v1/ConfigMap default/a data.a flips between [12] and [12]", out .. err)
    local explored, findings, _, text = explore(folder, "--executions", "4")
    assert.equal(1, explored, text)
    assert.equal("unsettled", findings[1].class, text)
    assert.equal("default/a", findings[1].key, text)
    assert.equal("data.a", findings[1].field, text)
    assert.matches("data.a flips between", findings[1].is, text)
  end)

  it("tells the error of a key that is tried again without end", function()
    write_scenario('    error("no such thing")')
    local code, out, err = e2e.run("test", folder, "--explore", "--executions", "4")
    assert.equal(1, code, out .. err)
    assert.matches("unsettled .*maps default/a is tried again: .*no such thing", out)
  end)

  it("ends with 1 for specifications with a mistake of syntax", function()
    write_scenario("")
    e2e.write_file(folder .. "/x_spec.lua", 'require("perilune.test").explore("x", {}, function(\n')
    local code, out, err = e2e.run("test", folder, "--explore")
    assert.equal(1, code, out .. err)
    assert.matches("x_spec.lua:2:", out .. err)
  end)
end)
