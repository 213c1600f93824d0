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
local modules, module_bytes = 2000, 60 * 1024
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
  local server = e2e.start_embedded({ "--insecure" })
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

-- A module of that size: a line of code, and lines that are only compiled away.
local function module(number)
  local line = "-- " .. ("word "):rep(12) .. "\n"
  return ("return %d\n"):format(number) .. line:rep(math.floor(module_bytes / #line))
end

local function main_of_modules()
  return ([[
local perilune = require("perilune")
local sum = 0
for i = 1, %d do sum = sum + require("m" .. i) end
perilune.controller("bench"):For("v1/ConfigMap"):Reconcile(function() end)
]]):format(modules)
end

-- How many turns of the I/O thread took longer, by bound.
local function slow_turns(host)
  local page, all = host:metrics(), {}
  local count = page:value("perilune_loop_turn_seconds_count", {})
  for _, bound in ipairs({ "0.005", "0.01", "0.02", "0.05" }) do
    all[bound] = count - page:value("perilune_loop_turn_seconds_bucket", { le = bound })
  end
  return all
end

local function measure_modules(rounds)
  local server = e2e.start_embedded()
  local folder = e2e.folder() .. "/" .. e2e.unique("modules")
  assert(os.execute("mkdir -p " .. folder) == 0)
  for i = 1, modules do
    e2e.write_file(folder .. "/m" .. i .. ".lua", module(i))
  end
  local main = e2e.write_file(folder .. "/main.lua", main_of_modules())
  local host = e2e.start_host(server, main, { "--namespace", server:new_namespace(),
    "--lanes", "1", "--lua-memory", "1GiB", "--no-reload-guard" })
  host:logged("^controller started$")
  e2e.process.pause(3) -- what was just written is compared by its text
  local before, seconds = slow_turns(host), {}
  for round = 1, rounds do
    local file = folder .. "/m" .. round .. ".lua"
    e2e.write_file(file .. ".new", module(round + modules))
    assert(os.rename(file .. ".new", file))
    local line = host:logged(function(one)
      return one.msg == "reloaded" and one.generation == round + 1
    end, 60)
    seconds[round] = line.seconds
    e2e.process.pause(0.5)
  end
  local after = slow_turns(host)
  host:stop()
  server:stop()
  table.sort(seconds)
  local function more(bound)
    return after[bound] - before[bound]
  end
  print(("%d modules of %d KB, %d saves: reloaded in %.0f ms (median); turns of the I/O thread "
    .. "over 5 ms: %d, 10 ms: %d, 20 ms: %d, 50 ms: %d"):format(modules, module_bytes / 1024,
    rounds, quantile(seconds, 0.5), more("0.005"), more("0.01"), more("0.02"), more("0.05")))
end

for _, count in ipairs(sizes) do
  measure(count)
end
measure_modules(math.min(saves, 10))
e2e.finish()
