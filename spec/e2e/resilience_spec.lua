-- Servers die, histories are compacted and connections are cut; the cache ends equal to the
-- server's list, and nothing is reported twice as new.

local e2e = require("spec.support.e2e")

-- Remembers what the cache and the events say, and compares with a live list when asked.
local script = [[
local perilune = require("perilune")
local client = perilune.client
local added, twice = {}, 0

perilune.controller("mirror", { max_concurrent_reconciles = 8 })
  :For("v1/ConfigMap", { labels = "mirror=yes", predicates = { function(event)
    local uid = event.object.metadata.uid
    if event.type == "ADDED" then
      if added[uid] then twice = twice + 1 end
      added[uid] = true
    elseif event.type == "DELETED" then
      added[uid] = nil
    end
    return true
  end } })
  :Watches("v1/Secret", function(secret)
    return { namespace = secret.metadata.namespace, name = "compare" }
  end, { labels = "mirror=yes" })
  :Reconcile(function(request, context)
    if request.name ~= "compare" then return end
    local function versions(list)
      local out, count = {}, 0
      for _, one in ipairs(list) do
        out[one.metadata.namespace .. "/" .. one.metadata.name] = one
        count = count + 1
      end
      return out, count
    end
    local live = versions((perilune.live:list("v1/ConfigMap", { labels = "mirror=yes" })))
    local cached, count = versions((client:list("v1/ConfigMap", { labels = "mirror=yes" })))
    local different = 0
    for key, object in pairs(live) do
      if not perilune.equal(object, cached[key]) then different = different + 1 end
    end
    for key in pairs(cached) do
      if not live[key] then different = different + 1 end
    end
    context.log:info("compared", { different = different, count = count, twice = twice })
  end)
]]

describe("the cache", function()
  local server, namespace, host, proxy

  setup(function()
    -- These specs kill and compact: the server is their own.
    if e2e.is_kube then
      server = e2e.start_kube("--etcd-compaction-interval=5s")
    else
      server = e2e.start_embedded()
    end
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

  local function write(first, last, value)
    local requests = {}
    for i = first, last do
      requests[#requests + 1] = { "POST", path("configmaps"), { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = "object-" .. i, labels = { mirror = "yes" } }, data = { v = value } } }
    end
    for i = first, last, 3 do
      requests[#requests + 1] = { "PATCH", path("configmaps") .. "/object-" .. i,
        { data = { v = value .. "+" } }, "application/merge-patch+json" }
    end
    for i = first, last, 5 do
      requests[#requests + 1] = { "DELETE", path("configmaps") .. "/object-" .. i }
    end
    server:bulk(requests)
  end

  -- Asks until cache and server agree.
  local function agree()
    return e2e.eventually("the cache equals the server's list", function()
      local before = host:count_logged("^compared$")
      server:request("POST", path("secrets"), { apiVersion = "v1", kind = "Secret",
        metadata = { name = e2e.unique("ask"), labels = { mirror = "yes" } } })
      local ok, last = pcall(e2e.eventually, "a comparison", function()
        local found, line = 0, nil
        for _, one in ipairs(host:log()) do
          if one.msg == "compared" then
            found, line = found + 1, one
          end
        end
        return found > before and line
      end, 10)
      return ok and last.different == 0 and last, ok and "different: " .. last.different or last
    end, 150)
  end

  it("survives a history that was compacted under it", function()
    host = e2e.start_host(server, script)
    host:logged("started")
    write(1, 100, "a")
    agree()
    if not e2e.is_kube then
      host.child:signal("STOP") -- it sleeps while the history goes on without it
      write(101, 200, "b")
      server:request("POST", "/debug/compact")
      host.child:signal("CONT")
    else
      host.child:signal("STOP")
      write(101, 200, "b")
      e2e.process.pause(12) -- two of etcd's compaction intervals
      host.child:signal("CONT")
    end
    assert.equal(0, agree().twice)
    host:stop()
  end)

  it("survives connections that are cut at random", function()
    local target_host, target_port = server.url:match("//([^:]+):(%d+)")
    local out = e2e.folder() .. "/proxy.out"
    proxy = e2e.process.start({ "python3", "spec/support/proxy.py", target_host, target_port,
      "--cut-after", "2000", "60000" }, { stdout = out, stderr = out .. ".err" })
    local port = e2e.eventually("the proxy listens", function()
      return e2e.read_file(out):match("^(%d+)\n")
    end)
    local kubeconfig = e2e.write_file(e2e.folder() .. "/proxied.kubeconfig",
      (e2e.read_file(server.kubeconfig):gsub("(server: \"%w+://127%.0%.0%.1:)%d+", "%1" .. port)))
    host = e2e.start_host({ kubeconfig = kubeconfig }, script)
    host:logged("started")
    for round = 1, 5 do
      write(round * 100, round * 100 + 99, "r" .. round)
    end
    assert.equal(0, agree().twice)
    host:stop()
  end)

  if e2e.is_kube then
    it("survives kube-apiserver killed with SIGKILL and restarted under load", function()
      host = e2e.start_host(server, script)
      host:logged("started")
      write(1, 100, "a")
      agree()
      for round = 1, 2 do
        server:kill()
        write(1000, 1010, "lost") -- nobody answers
        server:again("--etcd-compaction-interval=5s")
        write(round * 200, round * 200 + 150, "r" .. round)
      end
      assert.equal(0, agree().twice)
      host:stop()
    end)
  end
end)
