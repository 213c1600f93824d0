-- Replicas that share shards in an environment that breaks the rules: Leases with invalid content,
-- a stranger that takes the name, wall clocks that are minutes off, servers that filter without a
-- mark, that mark without filtering, or that stop filtering later.

local e2e = require("spec.support.e2e")
local proxies = require("spec.support.proxy")
local sharing = require("spec.support.sharing")

local OBJECTS = 40

-- Each run causes the next one, and there are workers for all keys.
local script = [[
local perilune = require("perilune")
local client = perilune.client
local n = 0
perilune.controller("NAME", { max_concurrent_reconciles = 64, rate_limiter = { base = "5ms", max = "50ms" } })
  :For("v1/ConfigMap", { labels = "beat=NAME", writes = { "patch" } })
  :Reconcile(function(request)
    n = n + 1
    perilune.sleep("300ms")
    client:patch("v1/ConfigMap", request, { metadata = { annotations = { beat = "WHO:" .. n } } })
  end)
]]

describe("replicas that share, among those that do not keep to the rules", function()
  local server, group, space, others

  setup(function()
    server = e2e.server({ "--insecure" }) -- without TLS, since certificates depend on the wall clock
  end)
  before_each(function()
    others = {}
    group = sharing.group(server)
    space = server:new_namespace()
    local requests = {}
    for i = 1, OBJECTS do
      requests[i] = { "POST", e2e.path("v1", space, "configmaps"),
        { metadata = { name = "m-" .. i, labels = { beat = group.name } } } }
    end
    assert.equal(OBJECTS, server:bulk(requests)[201])
  end)
  after_each(function()
    for _, proxy in ipairs(others) do
      proxy:stop()
    end
    e2e.clean_up()
  end)
  teardown(e2e.finish)

  local function replica(who, options)
    options = options or {}
    options.flags = { "--shard-by", "uid" }
    return group:replica(who, (script:gsub("WHO", who):gsub("NAME", group.name)), options)
  end

  local function beats()
    local out = {}
    local path = e2e.path("v1", space, "configmaps") .. "?labelSelector=beat%3D" .. group.name
    for _, map in ipairs(server:get(path).items) do
      out[map.metadata.name] = (map.metadata.annotations or {}).beat or ""
    end
    return out
  end

  -- From now on each object must run again, and in the end only by these replicas.
  local function all_are_run(by)
    local before = beats()
    e2e.eventually("every key is run by " .. by, function()
      local now, count = beats(), 0
      for name, beat in pairs(now) do
        local who = beat:match("^%w+")
        if who and (" " .. by .. " "):find(" " .. who .. " ", 1, true) and beat ~= before[name] then
          count = count + 1
        end
      end
      return count == OBJECTS, count
    end, math.max(60, e2e.patience))
  end

  local function cached(host)
    return host:metrics():value("perilune_informer_objects", { kind = "v1/ConfigMap" }) or 0
  end

  local function they_cache_their_part(hosts)
    local seen
    e2e.eventually("each object is cached once", function()
      local sum = 0
      seen = {}
      for i, host in ipairs(hosts) do
        seen[i] = cached(host)
        sum = sum + seen[i]
      end
      return sum == OBJECTS, table.concat(seen, " ")
    end)
    for _, count in ipairs(seen) do
      assert(count < OBJECTS)
    end
  end

  -- ---- Leases ----

  local function put_lease(name, annotations, spec)
    server:create(group:path(), { apiVersion = "coordination.k8s.io/v1", kind = "Lease", metadata = {
      name = group.name .. name, labels = { ["perilune.dev/shards"] = group.name },
      annotations = annotations }, spec = spec })
  end

  it("bear Leases with nonsense, from before and in the middle", function()
    local count = "perilune.dev/shard-count"
    put_lease("-shard-0", nil, { holderIdentity = "../nobody/knows?limit=1#" })
    put_lease("-shard-1", { [count] = "banana" }, { holderIdentity = "" })
    put_lease("-shard-2", { [count] = "-1" }, { holderIdentity = ("x"):rep(600), leaseDurationSeconds = 2147483647 })
    put_lease("-shard-3", { [count] = "99999999999999999999" }, { leaseTransitions = 2147483647 })
    put_lease("-shard-999", { [count] = "8" }, { holderIdentity = "me" })
    put_lease("-shard-x", { [count] = "8" }, { holderIdentity = "me" })
    put_lease("-shard-07", { [count] = "8" }, { holderIdentity = "me" })
    put_lease("-member-ghost", { [count] = "0", ["perilune.dev/leaving"] = "perhaps" },
      { holderIdentity = "somebody-else", renewTime = "1970-01-01T00:00:00.000000Z" })
    put_lease("-member-shard-1", { [count] = "8" }, { renewTime = "2999-01-01T00:00:00.000000Z" })
    local one = replica("one")
    group:have_shares("8")
    all_are_run("one")
    local id = sharing.id_of(one)
    local given = sharing.how_often(one, "shards given away") -- to an apparent member
    local function write(lease, patch)
      server:patch(group:path(group.name .. lease), patch)
    end
    write("-shard-3", { spec = { holderIdentity = "nobody-knows", leaseDurationSeconds = e2e.null } })
    write("-shard-4", { spec = e2e.null, metadata = { annotations = e2e.null } })
    write("-shard-5", { metadata = { labels = e2e.null } })
    write("-member-" .. id, { spec = e2e.null, metadata = { annotations = { [count] = "16" } } })
    server:delete(group:path(group.name .. "-shard-6"))
    group:have_shares("8")
    e2e.eventually("its own Lease is as it was", function()
      local lease = server:get(group:path(group.name .. "-member-" .. id))
      return lease.metadata.annotations[count] == "8" and lease.spec.holderIdentity == id
    end)
    all_are_run("one")
    assert.equal(id, sharing.id_of(one)) -- it has not been lost
    local changed = sharing.how_often(one, "shards lost: another client has changed or deleted their Leases")
    for _, shard in ipairs({ 3, 4, 6 }) do
      assert.equal(1, changed[shard])
    end
    assert.same(given, sharing.how_often(one, "shards given away"))
    e2e.eventually("the label is back", function()
      local labels = server:get(group:path(group.name .. "-shard-5")).metadata.labels
      return labels and labels["perilune.dev/shards"] == group.name
    end)
    local two = replica("two")
    group:have_shares("4 4")
    all_are_run("one two")
    one:stop()
    two:stop()
    assert(server:get(group:path(group.name .. "-shard-x"))) -- is none of them
  end)

  it("give all shards while somebody else holds the name, and take them again", function()
    local one, two = replica("one"), replica("two")
    group:have_shares("4 4", { one, two })
    all_are_run("one two")
    local id = sharing.id_of(one)
    server:patch(group:path(group.name), { spec = { holderIdentity = "stranger" } })
    group:have_shares("-8")
    local status
    e2e.eventually("status says why", function()
      status = select(2, e2e.ask(one.socket, "status"))
      return status:find("no shard is taken while stranger holds the lease, without shards", 1, true)
    end)
    local quiet = beats()
    assert.same(quiet, beats())
    group:have_shares("4 4") -- when it has expired
    all_are_run("one two")
    assert.equal(id, sharing.id_of(one)) -- they have stayed members
    one:stop()
    two:stop()
  end)

  it("share whatever the time is on their machines", function()
    local clock = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("clock"), "420")
    local env = e2e.preloaded("clock", { SPEC_CLOCK = clock })
    local one = replica("one")
    group:have_shares("8")
    local two = replica("two", { env = env })
    group:have_shares("4 4")
    all_are_run("one two")
    local members = { sharing.id_of(one), sharing.id_of(two) }
    for _, seconds in ipairs(e2e.is_kube and { 1500, 420 } or { 1500, -1200, 420, 0 }) do
      assert(os.rename(e2e.write_file(clock .. ".new", tostring(seconds)), clock))
      local before = server:get(group:path(group.name .. "-member-" .. members[2])).spec.renewTime
      for _ = 1, 12 do -- longer than a Lease lasts
        e2e.eventually("it is renewed", function()
          local now = server:get(group:path(group.name .. "-member-" .. members[2])).spec.renewTime
          local changed = now ~= before
          before = now
          return changed
        end)
      end
      assert.equal("4 4", group:shares())
    end
    all_are_run("one two")
    assert.same(members, { sharing.id_of(one), sharing.id_of(two) })
    two.child:signal("KILL")
    two.child:wait(e2e.patience)
    group:have_shares("8")
    all_are_run("one")
    one:stop()
  end)

  -- ---- servers ----

  if e2e.is_kube then
    return
  end

  local function between(...)
    local proxy = proxies.start(server)
    others[#others + 1] = proxy
    proxy:add({ ... })
    return proxy
  end

  local MAPS = "^/api/v1/configmaps$"

  local function requests_of(proxy, verb, mark)
    local out = {}
    for _, one in ipairs(proxy:requests("/api/v1/configmaps", mark)) do
      if one.verb == verb or not verb then
        out[#out + 1] = one
      end
    end
    return out
  end

  it("drop what is not theirs where the server takes the selector and ignores it", function()
    local proxy = between({ name = "ignores", path = MAPS, query = "shardSelector=", times = 0,
      ask = { { "&?shardSelector=[^&]*", "" } } })
    local one, two = replica("one", { server = proxy }), replica("two", { server = proxy })
    group:have_shares("4 4", { one, two })
    they_cache_their_part({ one, two })
    all_are_run("one two")
    assert.equal(1, one:count_logged("^the server filters by ranges of uids$"))
    assert(proxy:hits().ignores > 0)
    two:stop()
    group:have_shares("8")
    all_are_run("one")
    one:stop()
  end)

  it("ask nothing of a server that does not say that it filters", function()
    local proxy = between({ name = "silence", path = "/leases$", query = "shardSelector=", times = 0,
      replace = { { '"shardInfo"', '"shardNews"' } } })
    local one, two = replica("one", { server = proxy }), replica("two", { server = proxy })
    group:have_shares("4 4", { one, two })
    they_cache_their_part({ one, two })
    all_are_run("one two")
    assert.equal(1, one:count_logged("^the server does not filter by ranges of uids$"))
    assert.equal(2, proxy:hits().silence) -- each replica asks it once
    for _, one_of_them in ipairs(requests_of(proxy)) do
      assert(not one_of_them.query:find("shardSelector", 1, true), one_of_them.query)
    end
    one:stop()
    two:stop()
  end)

  it("ask for their part though lists of the kind do not say that they are filtered", function()
    local proxy = between({ name = "silence", path = MAPS, query = "shardSelector=", times = 0,
      replace = { { '"shardInfo"', '"shardNews"' } } })
    local one, two = replica("one", { server = proxy }), replica("two", { server = proxy })
    group:have_shares("4 4", { one, two })
    they_cache_their_part({ one, two })
    all_are_run("one two")
    two:stop()
    group:have_shares("8")
    all_are_run("one")
    assert(proxy:hits().silence > 0)
    one:stop()
  end)

  it("drop what is not theirs where a server ignores the selector from the middle on", function()
    local proxy = between()
    local one, two = replica("one", { server = proxy }), replica("two", { server = proxy })
    group:have_shares("4 4", { one, two })
    they_cache_their_part({ one, two })
    local mark = proxy:mark()
    proxy:add({ { name = "ignores", path = MAPS, query = "shardSelector=", times = 0,
      ask = { { "&?shardSelector=[^&]*", "" } } } })
    proxy:finish(MAPS) -- the watches begin again
    e2e.eventually("both watch everything", function()
      return (proxy:hits().ignores or 0) >= 2
    end)
    all_are_run("one two")
    they_cache_their_part({ one, two })
    assert.same({}, requests_of(proxy, "list", mark)) -- their caches are still correct
    two:stop()
    group:have_shares("8")
    all_are_run("one")
    one:stop()
  end)

  it("go on without a list where a server stops to filter in the middle", function()
    local proxy = proxies.start(server)
    others[#others + 1] = proxy
    local one = replica("one", { server = proxy })
    group:have_shares("8")
    local two = replica("two")
    group:have_shares("4 4")
    they_cache_their_part({ one, two })
    e2e.eventually("the watch asks for half of them", function()
      local watches = requests_of(proxy, "watch")
      return watches[#watches].query:find("shardSelector", 1, true)
    end)
    local mark = proxy:mark()
    proxy:add({ { name = "stops", path = MAPS, query = "shardSelector=", times = 0, status = 400,
      headers = { ["Content-Type"] = "application/json" },
      body = proxies.status(400, "BadRequest", "unknown parameter shardSelector") } })
    proxy:finish("^/api/v1/configmaps$")
    e2e.eventually("it watches without the selector", function()
      for _, watch in ipairs(requests_of(proxy, "watch", mark)) do
        if not watch.query:find("shardSelector", 1, true) and watch.status == 200 then
          return true
        end
      end
    end)
    all_are_run("one two")
    assert.same({}, requests_of(proxy, "list", mark)) -- its cache is still correct
    they_cache_their_part({ one, two })
    two:stop()
    group:have_shares("8")
    all_are_run("one")
    for _, list in ipairs(requests_of(proxy, "list", mark)) do -- of the received shards
      assert(not list.query:find("shardSelector", 1, true), list.query)
    end
    one:stop()
  end)
end)
