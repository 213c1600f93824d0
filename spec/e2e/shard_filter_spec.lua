-- Replicas that share shards: what they cache, request and refuse. On the embedded server with and
-- without its filter, and on kube-apiserver without it.

local e2e = require("spec.support.e2e")

local SHARDS, NAMESPACES, OBJECTS = 8, 24, 120

-- Runs are counted by key, and each run tries to read objects of other replicas. RUN is replaced.
local script = [[
local perilune = require("perilune")
local client = perilune.client
local runs = perilune.metrics.counter("runs_total", "Runs.", { "key" })
local refused = perilune.metrics.counter("refused_total", "Refusals.", { "what" })
local hook = perilune.channel("hook")
local foreign = perilune.metrics.counter("foreign_total", "Owned by others.", { "key" })
perilune.controller("maps", { max_concurrent_reconciles = 4 })
  :For("v1/ConfigMap", { labels = "run=RUN" })
  :Reads("v1/Secret", { labels = "run=RUN", shared = true })
  :WatchesChannel("hook")
  :Reconcile(function(request)
    runs:inc({ key = request.key })
    if not perilune.shard():owns(client:get("v1/ConfigMap", request) or request) then
      foreign:inc({ key = request.key })
    end
    for i = 1, NAMESPACES do
      local other = ("RUN-%d/m-%d"):format(i, i)
      local ok, e = pcall(client.get, client, "v1/ConfigMap", other)
      if not ok and e.rule == "shard" then
        refused:inc({ what = "get" })
        assert(perilune.live:get("v1/ConfigMap", other), "it can be read live")
      end
      ok, e = pcall(perilune.enqueue, "maps", other, { after = "1h" })
      if not ok and e.rule == "shard" then
        refused:inc({ what = "enqueue" })
        ok, e = pcall(hook.send, hook, other)
        assert(not ok and e.rule == "shard", e)
        refused:inc({ what = "send" })
      end
      assert(#client:list("v1/Secret", { namespace = ("RUN-%d"):format(i) }) == 1)
    end
  end)
]]

describe("replicas that share shards", function()
  local server, run, hosts

  local function begin(flags)
    server = flags and e2e.start_embedded(flags) or e2e.server()
    run = e2e.unique("shared")
    hosts = {}
    local requests = {}
    for i = 1, NAMESPACES do
      server:create("/api/v1/namespaces", { metadata = { name = run .. "-" .. i } })
      requests[#requests + 1] = { "POST", ("/api/v1/namespaces/%s-%d/secrets"):format(run, i),
        { metadata = { name = "all", labels = { run = run } } } }
    end
    for i = 1, OBJECTS do
      requests[#requests + 1] = { "POST", ("/api/v1/namespaces/%s-%d/configmaps"):format(run,
        (i - 1) % NAMESPACES + 1), { metadata = { name = "m-" .. i, labels = { run = run } } } }
    end
    assert.equal(#requests, server:bulk(requests)[201])
  end
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function replica(by)
    local text = script:gsub("RUN", run):gsub("NAMESPACES", tostring(NAMESPACES))
    local host = e2e.start_host(server, text, { "--shards", tostring(SHARDS), "--shard-by", by,
      "--leader-elect-resource-namespace", run .. "-1", "--leader-elect-resource-name", run,
      "--admin-socket", "0" })
    hosts[#hosts + 1] = host
    return host
  end

  local function cached(host, kind)
    return host:metrics():value("perilune_informer_objects", { kind = kind }) or 0
  end

  -- How often all replicas together ran each key.
  local function runs_of(all)
    local counts, total = {}, 0
    for _, host in ipairs(all) do
      local page = host:metrics()
      for i = 1, OBJECTS do
        local key = ("%s-%d/m-%d"):format(run, (i - 1) % NAMESPACES + 1, i)
        local count = page:value("runs_total", { key = key }) or 0
        counts[key] = (counts[key] or 0) + count
        total = total + count
      end
    end
    return counts, total
  end

  local function owned(host)
    local page, count = host:metrics(), 0
    for i = 0, SHARDS - 1 do
      count = count + (page:value("perilune_shard_owned", { shard = tostring(i) }) or 0)
    end
    return count
  end

  -- Each object is cached by exactly one replica, and shards are distributed evenly.
  local function at_rest(all)
    e2e.eventually("the shards are shared", function()
      local objects, seen = 0, {}
      for _, host in ipairs(all) do
        host:must_run()
        seen[#seen + 1] = owned(host) .. ":" .. cached(host, "v1/ConfigMap")
        if math.abs(owned(host) - SHARDS / #all) >= 1 then
          return false, table.concat(seen, " ")
        end
        objects = objects + cached(host, "v1/ConfigMap")
      end
      return objects == OBJECTS, table.concat(seen, " ")
    end)
  end

  local function all_ran(all)
    e2e.eventually("every key was run", function()
      local counts, total = runs_of(all)
      for _, count in pairs(counts) do
        if count < 1 then
          return false, total
        end
      end
      return true
    end)
  end

  local function refusals(host, what)
    return host:metrics():value("refused_total", { what = what }) or 0
  end

  local function cache_their_part(by)
    local first = replica(by)
    at_rest({ first })
    all_ran({ first })
    local before = runs_of({ first })
    local second = replica(by)
    at_rest({ first, second })
    e2e.eventually("what has moved was run there", function()
      local _, total = runs_of({ second })
      return total >= cached(second, "v1/ConfigMap"), total
    end)
    local after, moved = runs_of({ first, second }), 0
    for key, count in pairs(before) do
      assert(after[key] - count <= 1, key .. " was run " .. after[key] - count .. " times more")
      moved = moved + after[key] - count
    end
    assert.equal(cached(second, "v1/ConfigMap"), moved) -- the kept shards are not affected
    for _, host in ipairs({ first, second }) do
      assert(cached(host, "v1/ConfigMap") < OBJECTS)
      assert.equal(NAMESPACES, cached(host, "v1/Secret")) -- shared: whole
    end
    for i = 1, OBJECTS do
      local key = ("%s-%d/m-%d"):format(run, (i - 1) % NAMESPACES + 1, i)
      assert.is_nil(second:metrics():value("foreign_total", { key = key }))
    end
    return first, second
  end

  for _, by in ipairs({ "namespace", "uid" }) do
    it("cache their part by " .. by, function()
      begin()
      local first, second = cache_their_part(by)
      if by == "namespace" then
        e2e.eventually("what lies elsewhere is refused", function()
          return refusals(second, "get") > 0 and refusals(second, "enqueue") > 0
            and refusals(second, "send") == refusals(second, "enqueue")
        end)
      end
      first:stop(0)
      at_rest({ second })
      all_ran({ second })
    end)
  end

  if not e2e.is_kube then
    it("filter by uid themselves where the server does not", function()
      begin({ "--no-shard-selector" })
      cache_their_part("uid")
      server:stop()
    end)

    it("ask a server that filters for the new ranges alone", function()
      begin()
      local first = replica("uid")
      at_rest({ first })
      all_ran({ first })
      local lists = first:metrics():value("perilune_informer_lists_total", { kind = "v1/ConfigMap" })
      local second = replica("uid")
      at_rest({ first, second })
      assert.equal(lists, first:metrics():value("perilune_informer_lists_total",
        { kind = "v1/ConfigMap" })) -- the giver lists nothing
      second:stop(0)
      at_rest({ first })
    end)
  end
end)
