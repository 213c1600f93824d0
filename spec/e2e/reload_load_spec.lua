-- Many reloads in a row under load: no request for what stays, no key twice at once, nothing lost,
-- and no memory. PL_RELOADS=1000 is the long mode.

local e2e = require("spec.support.e2e")

local reloads = tonumber(os.getenv("PL_RELOADS") or (os.getenv("PL_SANITIZED") and "30" or "100"))
local objects = reloads >= 1000 and 5000 or 500
local events_a_second = reloads >= 1000 and 200 or 100

-- What a key's run leaves: the generation and the version it saw. `busy` lives in the cluster's
-- cache of a Secret that is never written; the lock itself is checked by begin and end lines.
local function script(number)
  return ([[
local perilune = require("perilune")
local client = perilune.client
local number = %d
perilune.index("v1/ConfigMap", "by_name", "metadata.name")
perilune.controller("load", { max_concurrent_reconciles = 8 })
  :For("v1/ConfigMap", { labels = "load=yes" })
  :Watches("v1/Secret", function(secret)
    return { namespace = secret.metadata.namespace, name = secret.metadata.name }
  end, { labels = "load=yes" })
  :Reconcile(function(request, context)
    local object = client:get("v1/ConfigMap", request)
    context.log:debug("begin", { name = request.name })
    if #request.name %% 7 == 0 then perilune.sleep("3ms") end
    context.log:debug("end", { name = request.name, number = number,
      version = object and object.data.version })
  end)
perilune.controller("other"):For("v1/ServiceAccount", { labels = "load=yes" })
  :Reconcile(function() end)
]]):format(number)
end

describe(reloads .. " reloads under load", function()
  local server, namespace, host

  setup(function()
    server = e2e.server()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function path(name)
    return "/api/v1/namespaces/" .. namespace .. "/configmaps" .. (name and "/" .. name or "")
  end

  local function body(i, version)
    return { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "object-" .. i, labels = { load = "yes" } },
      data = { version = tostring(version) } }
  end

  local function counts()
    local all = server:get("/debug/requests")
    return table.concat({ all["list configmaps"] or 0, all["watch configmaps"] or 0,
      all["list secrets"] or 0, all["watch secrets"] or 0, all["list serviceaccounts"] or 0,
      all["watch serviceaccounts"] or 0 }, " ")
  end

  local function resident()
    return tonumber(e2e.read_file("/proc/" .. host.child.pid .. "/status"):match("VmRSS:%s*(%d+)"))
  end

  local function mean(list, from, to)
    local sum = 0
    for i = from, to do
      sum = sum + list[i]
    end
    return sum / (to - from + 1)
  end

  -- Every begin has its end before the next begin of that key; the last version each key saw.
  local function check_log()
    local busy, seen, last, most = {}, {}, {}, 0
    for _, line in ipairs(host:log()) do
      if line.msg == "begin" then
        assert.falsy(busy[line.name], line.name .. " ran twice at once")
        busy[line.name] = true
      elseif line.msg == "end" then
        busy[line.name] = nil
        seen[line.name] = line.version
        last[line.name] = line.number
        most = math.max(most, line.number)
      end
    end
    return seen, last, most
  end

  it("lose nothing, ask for nothing and leave nothing behind", function()
    local requests = {}
    for i = 1, objects do
      requests[i] = { "POST", path(), body(i, 0) }
    end
    assert.equal(objects, server:bulk(requests)[201])
    local file = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("load") .. ".lua", script(0))
    host = e2e.start_host(server, file, { "--namespace", namespace, "--log-level", "debug",
      "--lua-memory", "64MiB" })
    host:logged("^controller started$")
    local asked = counts()

    local writes, versions = {}, {}
    for i = 1, reloads * math.max(1, math.floor(events_a_second / 10)) do
      local n = (i * 7919) % objects + 1
      writes[i] = { "PUT", path("object-" .. n), body(n, i) }
      versions["object-" .. n] = tostring(i)
    end
    local wait_for_writes = server:bulk_start(writes)
    local sizes = {}
    for number = 1, reloads do
      e2e.write_file(file .. ".tmp", script(number))
      assert(os.rename(file .. ".tmp", file))
      e2e.eventually("reload " .. number, function()
        local metrics = host:metrics()
        return metrics:value("perilune_reload_total", { result = "applied" }) == number
          and metrics:value("perilune_reload_total", { result = "rejected" }) == 0
      end)
      sizes[number] = resident()
    end
    assert.equal(#writes, wait_for_writes()[200])

    e2e.eventually("every key's last state is seen by the newest generation", function()
      local seen, last = check_log()
      for i = 1, objects do
        local name = "object-" .. i
        if seen[name] ~= (versions[name] or "0") or last[name] ~= reloads then
          return false, name .. " " .. tostring(seen[name]) .. " of " .. tostring(versions[name])
            .. " by " .. tostring(last[name])
        end
      end
      return true
    end, e2e.patience * 4)
    assert.equal(asked, counts())
    local metrics = host:metrics()
    assert.equal(0, metrics:value("perilune_lane_stuck", {}) or 0)
    assert.equal(0, metrics:value("perilune_reload_total", { result = "rolled_back" }))
    local tenth = math.floor(reloads / 10)
    local first, final = mean(sizes, tenth, 2 * tenth), mean(sizes, reloads - tenth, reloads)
    print(("resident after the first %d: %d KiB, after the last: %d KiB"):format(2 * tenth, first, final))
    if not os.getenv("PL_SANITIZED") then
      assert.is_true(final < first * 1.10 + 2048, ("%d -> %d KiB"):format(first, final))
    end
    host:stop()
  end)
end)
