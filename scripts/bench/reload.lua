-- See scripts/bench/reload.

local ffi = require("ffi")
local e2e = require("spec.support.e2e")

ffi.cdef("int gettimeofday(long *out, void *zone);")

local function wall()
  local at = ffi.new("long[2]")
  ffi.C.gettimeofday(at, nil)
  return tonumber(at[0]) + tonumber(at[1]) / 1e6
end

local saves = tonumber(arg[1]) or 50
local sizes = { tonumber(arg[2]) or 10, tonumber(arg[3]) or 100000 }

local function script(number)
  return ([[
local perilune = require("perilune")
perilune.index("v1/ConfigMap", "by_word", "data.word")
local told = false
perilune.controller("bench"):For("v1/ConfigMap", { labels = "bench=yes" })
  :Reconcile(function(request, context)
    if not told then
      told = true
      context.log:info("first", { number = %d,
        seconds = ("%%.6f"):format(perilune.time.now()) })
    end
  end)
]]):format(number)
end

local function quantile(sorted, q)
  return sorted[math.max(1, math.ceil(#sorted * q))] * 1000
end

local function fill(server, namespace, count)
  local made = 0
  while made < count do
    local requests = {}
    for i = made + 1, math.min(count, made + 5000) do
      requests[#requests + 1] = { "POST", "/api/v1/namespaces/" .. namespace .. "/configmaps",
        { apiVersion = "v1", kind = "ConfigMap",
          metadata = { name = "object-" .. i, labels = { bench = "yes" } },
          data = { word = "w" .. i % 100 } } }
    end
    assert(server:bulk(requests)[201] == #requests)
    made = made + #requests
  end
end

local function is_idle(host)
  local page = host:metrics()
  local labels = { name = "bench", controller = "bench" }
  return page:value("workqueue_depth", labels) == 0
end

local function measure(count)
  local server = e2e.start_embedded()
  local namespace = server:new_namespace()
  fill(server, namespace, count)
  local file = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("bench") .. ".lua", script(0))
  local host = e2e.start_host(server, file, { "--namespace", namespace })
  local took, switches = {}, {}
  e2e.eventually("the first scripts have seen every object", function()
    return host:count_logged("^first$") == 1 and is_idle(host)
  end, 120)
  for number = 1, saves do
    e2e.write_file(file .. ".tmp", script(number))
    assert(os.rename(file .. ".tmp", file))
    local saved = wall()
    local line = host:logged(function(one)
      return one.msg == "first" and one.number == number
    end)
    took[number] = tonumber(line.seconds) - saved
    e2e.eventually("idle", function() return is_idle(host) end, 120)
  end
  for _, line in ipairs(host:log()) do
    if line.msg == "reloaded" then
      switches[#switches + 1] = line.switch_seconds
    end
  end
  host:stop()
  server:stop()
  table.sort(took)
  table.sort(switches)
  print(("%7d objects: save to first reconcile on new code: median %.1f ms, p99 %.1f ms; "
    .. "the switch: median %.3f ms, most %.3f ms"):format(count, quantile(took, 0.5),
    quantile(took, 0.99), quantile(switches, 0.5), quantile(switches, 1)))
end

for _, count in ipairs(sizes) do
  measure(count)
end
e2e.finish()
