-- Servers die, histories are compacted and connections are cut: the cache finally equals the
-- server's list, every object is reconciled, and nothing is reported as new twice.

local e2e = require("spec.support.e2e")
local held_ports = require("spec.support.held_ports")
local mirror = require("spec.support.mirror")

-- Writes to each object what it has seen, records events, and compares the cache with a live list
-- on request. Lists have pages that fit between two cuts.
local script = [[
local perilune = require("perilune")
local client = perilune.client
local added, twice, stale = {}, 0, 0

local function live_list()
  local out, token = {}, nil
  repeat
    local page, meta = perilune.live:list("v1/ConfigMap",
      { namespace = NAMESPACE, labels = "mirror=yes", limit = 40, continue = token })
    for _, one in ipairs(page) do out[perilune.key(one)] = one end
    token = meta.continue
  until not token
  return out
end

local function compare(context)
  local cached, different, waiting, count = {}, 0, 0, 0
  for one in client:each("v1/ConfigMap", { labels = "mirror=yes" }) do
    cached[perilune.key(one)] = one
  end
  local live = live_list()
  for key, object in pairs(live) do
    count = count + 1
    if not perilune.equal(object, cached[key]) then different = different + 1 end
    if perilune.dig(object, "metadata", "annotations", "seen") ~= object.data.v then
      waiting = waiting + 1
    end
  end
  for key in pairs(cached) do
    if not live[key] then different = different + 1 end
  end
  context.log:info("compared", { different = different, waiting = waiting, count = count,
    twice = twice, stale = stale })
end

perilune.controller("mirror", { max_concurrent_reconciles = 8,
    rate_limiter = { base = "50ms", max = "2s" } })
  :For("v1/ConfigMap", { labels = "mirror=yes", writes = { "patch" }, predicates = { function(event)
    local uid = event.object.metadata.uid
    if event.type == "ADDED" then
      if added[uid] then twice = twice + 1 end
      added[uid] = true
    elseif event.type == "DELETED" then
      added[uid] = nil
      if event.stale then stale = stale + 1 end
    end
    return true
  end } })
  :Watches("v1/Secret", function(secret)
    return { namespace = secret.metadata.namespace, name = "compare" }
  end, { labels = "mirror=yes" })
  :Reconcile(function(request, context)
    if request.name == "compare" then return compare(context) end
    local config = client:get("v1/ConfigMap", request)
    if not config then return end
    local _, e = perilune.try(client.patch, client, "v1/ConfigMap", request,
      { metadata = { annotations = { seen = config.data.v } } })
    if e and not perilune.errors.is_not_found(e) then return nil, e end
  end)
]]

describe("the cache", function()
  local server, namespace, host, proxy

  setup(function()
    -- These specs kill and compact their server, so they have their own.
    server = e2e.is_kube and e2e.start_kube()
      or e2e.start_embedded({ "--listen", held_ports.address() })
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(function()
    e2e.clean_up()
    if proxy then
      proxy:signal("KILL")
      proxy:wait()
      proxy = nil
    end
  end)
  teardown(function()
    server:stop()
    e2e.finish()
  end)

  local function path(plural)
    return "/api/v1/namespaces/" .. namespace .. "/" .. plural
  end

  local function writes(first, last, value)
    return mirror.writes(namespace, first, last, value)
  end

  -- A kubeconfig for the server through a proxy.
  local function through_proxy(...)
    local target_host, target_port = server.url:match("//([^:]+):(%d+)")
    local out = e2e.folder() .. "/" .. e2e.unique("proxy")
    proxy = e2e.process.start({ "python3", "spec/support/proxy.py", "--bytes", target_host,
      target_port, ... }, { stdout = out, stderr = out .. ".err" })
    local port = e2e.eventually("the proxy listens", function()
      return e2e.read_file(out):match("^(%d+)\n")
    end)
    return { kubeconfig = e2e.write_file(out .. ".kubeconfig",
      (e2e.read_file(server.kubeconfig):gsub("(server: \"%w+://127%.0%.0%.1:)%d+", "%1" .. port))) }
  end

  -- Each test sees only its own namespace.
  local function start(target, ...)
    local text = script:gsub("NAMESPACE", '"' .. namespace .. '"')
    host = e2e.start_host(target, text, { "--namespace", namespace, ... })
  end

  -- The last comparison, and the number of comparisons.
  local function compared()
    local last, count = nil, 0
    for _, line in ipairs(host:log()) do
      if line.msg == "compared" then
        last, count = line, count + 1
      end
    end
    return last, count
  end

  -- Repeats the comparison until cache and server agree. Then nothing was reported twice, and each
  -- trouble was logged once, not once for each retry.
  local function agree(complaints)
    local result = e2e.eventually("the cache equals the server's list", function()
      host:must_run()
      local _, before = compared()
      server:request("POST", path("secrets"), { apiVersion = "v1", kind = "Secret",
        metadata = { name = e2e.unique("ask"), labels = { mirror = "yes" } } })
      local ok, last = pcall(e2e.eventually, "a comparison", function()
        local line, count = compared()
        return count > before and line
      end, 10)
      return ok and last.different == 0 and last.waiting == 0 and last,
        ok and ("%d different, %d waiting"):format(last.different, last.waiting) or last
    end, 90)
    assert.equal(0, result.twice)
    local said = {}
    for _, line in ipairs(host:complaints()) do
      if line.msg ~= "reconcile failed" then -- each key has its own
        said[#said + 1] = line.msg .. ": " .. tostring(line.error)
      end
    end
    assert(#said <= (complaints or 0), table.concat(said, "\n"))
    return result
  end

  -- The server answers a watch from an old version with "410 Gone".
  local function has_forgotten(version)
    local _, _, text = server:request("GET", "/api/v1/configmaps?watch=true&timeoutSeconds=1"
      .. "&resourceVersion=" .. version)
    return text and text:find('"code":%s*410')
  end

  local function compacted(...)
    start(through_proxy(), ...)
    host:logged("controller started")
    server:bulk(writes(1, 100, "a"))
    agree()
    local version = server:get("/api/v1/configmaps").metadata.resourceVersion
    proxy:signal("USR1") -- it gets no events while the history grows
    server:bulk(writes(101, 200, "b"))
    for i = 2, 100, 10 do
      server:delete(path("configmaps") .. "/object-" .. i)
    end
    if e2e.is_kube then
      server:kill() -- the history that is served afterwards begins later
      server:again()
    else
      assert.equal(200, (server:request("POST", "/debug/compact")))
    end
    e2e.eventually("the server has forgotten", function()
      return has_forgotten(version)
    end)
    proxy:signal("USR2")
    assert.equal(10, agree(6).stale)
  end

  it("survives a history that was compacted under it", function()
    compacted()
    host:stop()
  end)

  it("survives that with lists that are streamed", function()
    compacted("--watch-list", "--log-level", "debug")
    -- ConfigMaps and Secrets at first, and ConfigMaps after the 410.
    assert(host:count_logged("^a list was streamed$") >= 3)
    host:stop()
  end)

  it("survives connections that are cut at random", function()
    server:bulk(writes(1, 60, "a"))
    start(through_proxy("--cut-after", "2000", "120000"))
    host:logged("controller started")
    for round = 1, 5 do
      server:bulk(writes(round * 100, round * 100 + 60, "r" .. round))
    end
    agree(12)
    host:stop()
  end)

  it("survives them with lists that are streamed", function()
    server:bulk(writes(1, 60, "a"))
    start(through_proxy("--cut-after", "2000", "120000"), "--watch-list")
    host:logged("controller started")
    for round = 1, 3 do
      server:bulk(writes(round * 100, round * 100 + 60, "r" .. round))
    end
    agree(12)
    host:stop()
  end)

  local function version()
    return tonumber(server:get("/api/v1/configmaps").metadata.resourceVersion)
  end

  -- Until the server has passed a version.
  local function write_past(wanted, value)
    local last = 100
    repeat
      server:bulk(writes(last, last + 100, value))
      last = last + 101
    until version() > wanted
  end

  if e2e.is_kube then
    it("survives a backup that was restored, and is ahead of us when we hear of it", function()
      start(through_proxy())
      host:logged("controller started")
      server:bulk(writes(1, 30, "a"))
      agree()
      server:save()
      server:bulk(writes(31, 60, "b")) -- a version that never existed
      agree(6)
      local before = version()
      proxy:signal("USR1")
      server:restore()
      write_past(before, "c")
      proxy:signal("USR2")
      agree(12)
      host:stop()
    end)

    it("survives kube-apiserver killed with SIGKILL and restarted under load", function()
      start(server)
      host:logged("controller started")
      server:bulk(writes(1, 100, "a"))
      agree()
      for round = 1, 2 do
        local wait = server:bulk_start(writes(round * 200, round * 200 + 150, "r" .. round))
        e2e.eventually("the load has begun", function()
          return server:get(path("configmaps") .. "/object-" .. round * 200)
        end)
        server:kill()
        server:again()
        wait()
      end
      agree(12)
      host:stop()
    end)
  else
    -- Another server at the same address, without data.
    local function replace_server(...)
      local address = server.url:match("//(.*)")
      server.child:signal("KILL")
      server.child:wait()
      server = e2e.start_embedded({ "--listen", address, ... }, server)
      server:create("/api/v1/namespaces",
        { apiVersion = "v1", kind = "Namespace", metadata = { name = namespace } })
    end

    it("survives a server that comes back without its data", function()
      start(server)
      host:logged("controller started")
      server:bulk(writes(1, 200, "a"))
      agree()
      replace_server()
      server:bulk(writes(1, 50, "b"))
      agree(12)
      host:stop()
    end)

    -- Several times a new server replaces another, and the host notices it late: when the new one
    -- has more versions than the old one had. first: the first version.
    local function replaced_often(first)
      replace_server("--first-version", first)
      start(through_proxy())
      host:logged("controller started")
      for round = 1, 2 do
        server:bulk(writes(round, 30 + round, "a" .. round))
        agree(4 * round)
        local before = version()
        proxy:signal("USR1") -- the host does not see the following changes
        replace_server("--first-version", first)
        write_past(before, "b" .. round)
        proxy:signal("USR2")
      end
      agree(16)
      host:stop()
    end

    it("survives several, each with more versions than the one before", function()
      replaced_often("0")
    end)

    it("survives several that give out the same versions", function()
      replaced_often("1")
    end)
  end
end)
