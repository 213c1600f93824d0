-- Replicas that share shards: who holds which shard when one joins, stops, dies or is frozen; each
-- key is run by one replica at a time; a shard that a replica keeps is not requested again. The
-- tests assert the order, never times. On kube-apiserver with its feature gate, its audit log shows
-- the requests.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")
local proxies = require("spec.support.proxy")
local sharing = require("spec.support.sharing")

local SHARDS, NAMESPACES = sharing.shards, 12
local id_of, how_often = sharing.id_of, sharing.how_often

local audited = [[
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, verbs: [list, watch], resources: [{group: "", resources: [configmaps]}]}
- {level: None}
]]

-- Each run writes when it begins and when it ends, which causes the next run; there are workers for
-- all keys. A label that no object has identifies the replica in requests of lists.
local script = [[
local perilune = require("perilune")
local client = perilune.client
local n = 0
perilune.controller("NAME", { max_concurrent_reconciles = 16, cache_sync_timeout = "TIMEOUT",
    rate_limiter = { base = "5ms", max = "50ms" } })
  :For("v1/ConfigMap", { labels = "beat=NAME,never!=WHO", writes = { "patch" } })
  :Reconcile(function(request)
    n = n + 1
    client:patch("v1/ConfigMap", request, { metadata = { annotations = { beat = "WHO:begin:" .. n } } })
    perilune.sleep("100ms")
    client:patch("v1/ConfigMap", request, { metadata = { annotations = { beat = "WHO:end:" .. n } } })
    return { requeue_after = "200ms" }
  end)
perilune.every("200ms", { name = "tick", writes = { ["v1/ConfigMap"] = { "patch" } } }, function()
  n = n + 1
  client:patch("v1/ConfigMap", { namespace = "HOME", name = "task" },
    { metadata = { annotations = { task = "WHO:" .. n } } })
end)
]]

describe("replicas that share", function()
  local server, audit, group, home, name, namespaces, others

  setup(function()
    if not e2e.is_kube then
      server = e2e.server()
      return
    end
    audit = e2e.folder() .. "/audit.log"
    server = e2e.start_kube(("--feature-gates=ShardedListAndWatch=true --audit-log-mode=blocking "
      .. "--audit-log-path=%s --audit-policy-file=%s"):format(audit,
        e2e.write_file(e2e.folder() .. "/policy.yaml", audited)))
  end)
  before_each(function()
    others = {}
    group = sharing.group(server)
    home, name = group.home, group.name
    namespaces = {}
  end)
  after_each(function()
    for _, child in ipairs(others) do
      child:signal("KILL")
      child:wait()
    end
    e2e.clean_up()
  end)
  teardown(function()
    if e2e.is_kube then
      server:stop()
    end
    e2e.finish()
  end)

  local function maps(namespace)
    return "/api/v1/namespaces/" .. namespace .. "/configmaps"
  end

  local function make_objects()
    server:create(maps(home), { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "task" } })
    for i = 1, NAMESPACES do
      namespaces[i] = server:new_namespace()
      server:create(maps(namespaces[i]), { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = "a", labels = { beat = name } } })
    end
  end

  local function text_of(who, timeout)
    return (script:gsub("WHO", who):gsub("NAME", name):gsub("HOME", home):gsub("TIMEOUT", timeout or "2m"))
  end

  -- options: flags, the API server, cache_sync_timeout.
  local function replica(who, options)
    return group:replica(who, text_of(who, options and options.timeout), options)
  end

  local function have_shares(expected)
    group:have_shares(expected)
  end

  -- All records of all objects, in the server's order.
  local function record()
    local file = e2e.folder() .. "/" .. e2e.unique("record")
    others[#others + 1] = e2e.process.start({ "sh", "-c", "exec " .. server.curl
      .. " -N --max-time 3600 -H 'Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' '"
      .. server.url .. "/api/v1/configmaps?watch=true&labelSelector=beat%3D" .. name .. "'" }, { stdout = file })
    e2e.eventually("the recording runs", function()
      return e2e.read_file(file):find('"ADDED"', 1, true)
    end)
    return file
  end

  local function notes_of(file)
    local notes = {}
    for line in io.lines(file) do
      local namespace = line:match('"namespace":"([^"]+)"')
      local who, phase, n = line:match('"beat":"(%w+):(%w+):(%d+)"')
      if who then
        notes[#notes + 1] = { key = namespace, who = who, phase = phase, n = n }
      end
    end
    return notes
  end

  -- A run of a key begins only after the one before has ended, on any replica. Runs of replicas
  -- that were killed or frozen need not have ended.
  local function check_one_at_a_time(file, gone)
    local open, seen, runs = {}, {}, 0
    for _, note in ipairs(notes_of(file)) do
      local before = open[note.key]
      if note.phase == "begin" then
        runs = runs + 1
        if before and not gone[before.who] and (before.who ~= note.who or before.n ~= note.n) then
          error(note.key .. ": " .. note.who .. " began while " .. before.who .. " ran")
        end
        open[note.key] = note
        seen[note.key] = true
      else
        assert(before and before.who == note.who, note.key .. ": " .. note.who .. " wrote when it had not begun")
        open[note.key] = nil
      end
    end
    for _, namespace in ipairs(namespaces) do
      assert(seen[namespace], namespace .. " was never run")
    end
    return runs
  end

  -- From now on each object must be written again.
  local function all_are_run()
    local function beats()
      local out = {}
      for _, namespace in ipairs(namespaces) do
        local notes = server:get(maps(namespace) .. "/a").metadata.annotations or {}
        out[namespace] = notes.beat
      end
      return out
    end
    local from = beats()
    e2e.eventually("every key is run", function()
      local now = beats()
      for _, namespace in ipairs(namespaces) do
        if not now[namespace] or now[namespace] == from[namespace] then
          return false
        end
      end
      return true
    end, 60)
  end

  -- Tasks run only on the holder of shard 0.
  local function tasks_are_where_shard_0_is(hosts)
    local function who_runs()
      local notes = server:get(maps(home) .. "/task").metadata.annotations or {}
      return tostring(notes.task):match("^%w+"), notes.task
    end
    local holder
    for _, host in ipairs(hosts) do
      holder = id_of(host) == group:leases().shards[0] and host.who or holder
    end
    e2e.eventually("the task is run by " .. tostring(holder), function()
      return who_runs() == holder
    end)
    local _, last = who_runs()
    e2e.eventually("it is run again, by nobody else", function()
      local who, note = who_runs()
      assert.equals(holder, who)
      return note ~= last
    end)
    for _, host in ipairs(hosts) do
      local _, status = e2e.ask(host.socket, "status")
      local state = status:match("\ntick +(%l+)")
      assert.equals(host.who == holder and "running" or "elsewhere", state, status)
    end
  end

  -- ---- requests to the server ----

  local function unescape(text)
    return (text:gsub("+", " "):gsub("%%(%x%x)", function(digits)
      return string.char(tonumber(digits, 16))
    end))
  end

  -- The unescaped paths of answered lists, and of watches that begin with a list.
  local function answered_lists()
    local out = {}
    if not e2e.is_kube then
      for _, list in ipairs(server:get("/debug/lists")) do
        out[#out + 1] = list.code == 200 and unescape(list.path) or nil
      end
      return out
    end
    for line in io.lines(audit) do
      local event = cjson.decode(line)
      local path, stage = unescape(event.requestURI), event.stage
      local lists = event.verb == "list" and stage == "ResponseComplete" or event.verb == "watch"
        and stage == "ResponseStarted" and (path:find("sendInitialEvents=true", 1, true)
          or not path:find("[?&]resourceVersion="))
      out[#out + 1] = lists and event.responseStatus.code == 200 and path or nil
    end
    return out
  end

  local function shard_at(digits)
    return #digits == 17 and SHARDS or tonumber(digits:sub(1, 1), 16) * SHARDS / 16
  end

  -- How often the replica listed each shard, on a server that filters.
  local function asked_for(host)
    local count, lists = {}, 0
    for _, path in ipairs(answered_lists()) do
      if path:find("beat=" .. name .. ",never!=" .. host.who .. "&", 1, true)
        and not path:find("continue=", 1, true) then
        local ranges = 0
        for from, to in path:gmatch("shardRange%(object%.metadata%.uid, '0x(%x+)', '0x(%x+)'%)") do
          ranges = ranges + 1
          for shard = shard_at(from), shard_at(to) - 1 do
            count[shard] = (count[shard] or 0) + 1
          end
        end
        for shard = 0, ranges == 0 and SHARDS - 1 or -1 do
          count[shard] = (count[shard] or 0) + 1
        end
        lists = lists + 1
      end
    end
    return count, lists
  end

  -- A shard is listed once each time it is received, and never while it is kept.
  local function check_no_kept_shard_is_listed(host)
    local came, ours = how_often(host, "shards arrive: their objects are listed"), how_often(host, "shards acquired")
    local asked, lists = asked_for(host)
    assert(lists > 0, host.who .. " has listed nothing")
    for shard = 0, SHARDS - 1 do
      local listed, most, least = asked[shard] or 0, came[shard] or 0, ours[shard] or 0
      if listed > most or listed < least then
        error(("%s: shard %d came %d times, was there %d times and was listed %d times"):format(host.who,
          shard, most, least, listed))
      end
    end
    return lists
  end

  it("every key is run by one at a time, while they join, stop, die and freeze", function()
    make_objects()
    local file = record()
    local by_uid = { flags = { "--shard-by", "uid" } }
    local one = replica("one", by_uid)
    have_shares("8")
    all_are_run()
    local two = replica("two", by_uid)
    have_shares("4 4")
    local three = replica("three", by_uid)
    have_shares("3 3 2")
    all_are_run()
    tasks_are_where_shard_0_is({ one, two, three })
    local seen = group:leases()
    assert.equals(seen.shards[0], seen.name)
    local id = id_of(one)
    assert.equals(tostring(SHARDS), seen.members[id].metadata.annotations["perilune.dev/shard-count"])
    assert.equals(name, seen.members[id].metadata.labels["perilune.dev/shards"])

    local _, status = e2e.run("status", "--admin-socket", one.socket)
    assert.truthy(status:find("SHARD +HOLDER"), status)
    assert.truthy(status:find(id, 1, true) and status:find(id_of(two), 1, true), status)
    local owned = 0
    for _, host in ipairs({ one, two, three }) do
      owned = owned + host:metrics():sum("perilune_shard_owned")
    end
    assert.equals(SHARDS, owned)

    one:stop() -- with 0
    have_shares("4 4")
    all_are_run()
    tasks_are_where_shard_0_is({ two, three })
    assert.is_nil(group:leases().members[id])

    two.child:signal("KILL")
    two.child:wait(e2e.patience)
    have_shares("8")
    all_are_run()

    local four = replica("four", { flags = { "--shard-by", "uid", "--on-lost-lease", "exit" } })
    have_shares("4 4")
    four.child:signal("STOP")
    have_shares("8")
    all_are_run()
    local before = #notes_of(file)
    four.child:signal("CONT")
    assert.equals(3, four.child:wait(e2e.patience))
    all_are_run()
    for i, note in ipairs(notes_of(file)) do
      assert(i <= before or note.who ~= "four", "a late write of who was frozen")
    end

    three:stop()
    local over = group:leases()
    assert.equals("", over.name)
    for shard = 0, SHARDS - 1 do
      assert.equals("", over.shards[shard])
    end
    local runs = check_one_at_a_time(file, { two = true, four = true })
    local lists = 0
    for _, host in ipairs({ one, two, three, four }) do
      lists = lists + check_no_kept_shard_is_listed(host)
    end
    io.stderr:write(("    %d runs of %d keys, each by one replica at a time; %d lists, none of a kept shard\n")
      :format(runs, NAMESPACES, lists))
  end)

  -- The shards that were given to the frozen or dead replica stay with it until its Lease expires.
  for _, case in ipairs({ { "receiver", "KILL" }, { "giver", "STOP" } }) do
    it("the " .. case[1] .. " gets SIG" .. case[2] .. " in the middle of a hand-over", function()
      make_objects()
      local file = record()
      local one = replica("one")
      have_shares("8")
      all_are_run()
      local two = replica("two")
      local id = id_of(two)
      e2e.eventually("a shard is given", function()
        return table.concat(group:leases().shards, " ", 0):find(id, 1, true)
      end)
      local victim, other = case[1] == "giver" and one or two, case[1] == "giver" and two or one
      victim.child:signal(case[2])
      have_shares("8")
      all_are_run()
      victim.child:signal("CONT")
      if case[2] == "STOP" then
        assert.equals(3, victim.child:wait(e2e.patience))
      else
        victim.child:wait(e2e.patience)
      end
      all_are_run()
      assert.equals(id_of(other), group:leases().shards[0])
      check_one_at_a_time(file, { [victim.who] = true })
      other:stop()
    end)
  end

  it("one that has lost its Lease and stands by comes back as another member", function()
    make_objects()
    local file = record()
    local one, two = replica("one"), replica("two", { flags = { "--on-lost-lease", "standby" } })
    have_shares("4 4")
    all_are_run()
    local id = id_of(two)
    two.child:signal("STOP")
    have_shares("8")
    all_are_run()
    two.child:signal("CONT")
    e2e.eventually("it joins anew", function()
      return id_of(two) ~= id
    end)
    assert.equals(1, two:count_logged("^the member's Lease is lost, and with it all its shards$"))
    assert.equals(1, two:count_logged("^shards lost$"))
    -- A renewal from before the loss may arrive late: others give shards to the earlier member then.
    e2e.eventually("the two share again, and no shard is left with the earlier member", function()
      local leases = group:leases()
      local shares, left = group:shares(leases), leases.members[id] ~= nil
      for shard = 0, SHARDS - 1 do
        left = left or leases.shards[shard] == id
      end
      return shares == "4 4" and not left, shares
    end, math.max(90, e2e.patience))
    all_are_run()
    check_one_at_a_time(file, { two = true })
    one:stop()
    two:stop()
  end)

  if not e2e.is_kube then
    it("one whose caches do not sync gives its shards back and ends with 4", function()
      make_objects()
      local one = replica("one")
      have_shares("8")
      local proxy = proxies.start(server)
      others[#others + 1] = proxy.child
      proxy:add({ { name = "lists", path = "/api/v1/configmaps$", not_query = "watch=", silent = true, times = 0 } })
      local two = replica("two", { server = proxy, timeout = "2s" })
      local id = id_of(two)
      assert.equals(4, two.child:wait(e2e.patience))
      assert.truthy(next(how_often(two, "shards arrive: their objects are listed")), two:text())
      assert.is_nil(next(how_often(two, "shards acquired")), two:text())
      assert.equals(1, two:count_logged("did not sync within cache_sync_timeout: they are given back"))
      have_shares("8")
      all_are_run()
      assert.is_nil(group:leases().members[id])
      one:stop()
    end)
  end

  -- A replica with these flags ends with 1, its log has the texts, and the other replica keeps all shards.
  local function is_refused(flags, ...)
    make_objects()
    local one = replica("one")
    have_shares("8")
    local two = replica("two", { flags = flags })
    assert.equals(1, two.child:wait(e2e.patience))
    for _, text in ipairs({ ... }) do
      assert.truthy(two:text():find(text, 1, true), two:text())
    end
    have_shares("8")
    one:stop()
  end

  it("one with another number of shards ends with 1 and says both", function()
    is_refused({ "--shards", "9" }, "9", "8")
  end)

  it("one that places keys in another way ends with 1 and says both", function()
    is_refused({ "--shard-by", "uid" }, "another --shard-by", '"shard_by":"uid","other_shard_by":"namespace"')
  end)

  it("one without shards stays a standby", function()
    make_objects()
    local one = replica("one")
    have_shares("8")
    local flags = group:times()
    for _, flag in ipairs({ "--leader-elect", "--admin-socket", "0" }) do
      flags[#flags + 1] = flag
    end
    local plain = e2e.start_host(server, text_of("plain"), flags)
    plain:logged(function(line)
      return line.msg == "another replica holds the lease" and line.holder == id_of(one)
    end)
    all_are_run()
    assert.equals(0, plain:count_logged("^lease acquired"))
    one:stop()
    e2e.eventually("it leads when they have gone", function()
      plain:must_run()
      return plain:count_logged("^lease acquired") == 1
    end)
    local two = replica("two")
    id_of(two)
    all_are_run()
    assert.equals("", group:shares():gsub("^%-%d+$", ""))
    plain:stop()
    have_shares("8")
    two:stop()
  end)
end)
