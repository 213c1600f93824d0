-- Many reloads in a row under load: no new request for unchanged sources, no key runs twice at
-- once, one run for each cause, nothing is lost, and no memory leaks. PL_RELOADS=1000 is the long
-- mode: 5,000 objects, 200 events a second, and exact about memory.

local beds = require("spec.support.script_folder")
local e2e = require("spec.support.e2e")

local sanitized = os.getenv("PL_SANITIZED")
local reloads = tonumber(os.getenv("PL_RELOADS") or (sanitized and "30" or "100"))
local is_long = reloads >= 1000
local objects = is_long and 5000 or 500
local events_a_second = is_long and 200 or 100
local writers = 5 -- divides the number of objects
local writes_a_round = events_a_second * 2 -- of each

-- The log of a run: the generation, the version that it saw, and how many reloads, events and other
-- causes led to it.
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
    context.log:info("begin", { name = request.name })
    local ok, mistake = pcall(function()
      if #request.name %% 7 == 0 then perilune.sleep("3ms") end
    end)
    if not ok then -- a reload that had to make room
      context.log:info("gives up", { name = request.name, why = tostring(mistake) })
      error(mistake, 0)
    end
    local object = client:get("v1/ConfigMap", request)
    local counts = { RELOAD = 0, ADDED = 0, MODIFIED = 0, other = context.causes_dropped or 0 }
    for _, cause in ipairs(context.causes) do
      local kind = counts[cause.type] and cause.type or "other"
      counts[kind] = counts[kind] + 1
    end
    context.log:info("end", { name = request.name, number = number,
      version = object and object.data.version, reloads = counts.RELOAD,
      events = counts.ADDED + counts.MODIFIED, others = counts.other })
  end)
perilune.controller("other"):For("v1/ServiceAccount", { labels = "load=yes" })
  :Reconcile(function() end)
]]):format(number)
end

describe(reloads .. " reloads under load", function()
  local server, host
  local bed = beds.new()

  setup(function()
    bed.set_up()
    server = bed.server
  end)
  before_each(bed.begin)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function path(name)
    return bed.core("configmaps", name)
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

  local function mean(list, from, to)
    local sum = 0
    for i = from, to do
      sum = sum + list[i]
    end
    return sum / (to - from + 1)
  end

  -- Follows the log and checks each run: it begins after the one before has ended, and a reload or
  -- an event led to it.
  local function watch_runs()
    local reader, busy = host:follow(), {}
    local reloaded = 0
    -- By name, of its runs: {version=, number=, runs=, gave_up=, by_reload=, events=}, and `shown`,
    -- the last reload that led to one. A key that the reload before had queued may run on newer
    -- code, and once more for that reload.
    local keys = {}
    for i = 1, objects do
      keys["object-" .. i] = { runs = 0, gave_up = 0, by_reload = 0, events = 0, shown = 0 }
    end
    local function ended(line)
      local key = keys[line.name]
      busy[line.name] = nil
      key.version, key.number = line.version, line.number
      key.runs = key.runs + 1
      if line.reloads > 0 then
        key.shown = math.max(key.shown + 1, line.number - 1)
        assert.is_true(key.shown <= line.number,
          ("%s ran twice for reload %d"):format(line.name, line.number))
        key.by_reload = key.by_reload + 1
      end
      key.events = key.events + line.events
      assert.is_true(line.reloads <= reloads, line.name)
      assert.is_true(line.reloads + line.events + line.others > 0, line.name .. " ran for no cause")
    end
    return keys, function()
      reader:each(function(line)
        if line.msg == "begin" then
          assert.falsy(busy[line.name], line.name .. " ran twice at once")
          busy[line.name] = true
        elseif line.msg == "gives up" then
          busy[line.name] = nil
          keys[line.name].gave_up = keys[line.name].gave_up + 1
        elseif line.msg == "end" then
          ended(line)
        else
          assert.falsy(line.level == "error", line.msg .. " " .. tostring(line.error))
          reloaded = reloaded + (line.msg == "reloaded" and 1 or 0)
        end
      end)
      return reloaded
    end
  end

  -- Writers, each with its own objects. `versions` has the last value of each object and the number
  -- of its writes. They write in rounds, each a little faster than its share of the rate, because
  -- curl falls behind.
  local function load(versions)
    local all = { sent = 0 }
    local function round(writer)
      local writes = {}
      for i = 1, writes_a_round do
        writer.number = writer.number + 1
        local n = (writer.number * 7919 * writers + writer.at) % objects + 1
        writes[i] = { "PUT", path("object-" .. n), body(n, writer.number) }
        local one = versions["object-" .. n]
        one.version, one.writes = tostring(writer.number), one.writes + 1
      end
      all.sent = all.sent + #writes
      writer.wait, writer.is_running = server:bulk_start(writes, math.ceil(events_a_second * 1.4 / writers))
    end
    local function finish(writer)
      assert.equal(writes_a_round, writer.wait()[200])
    end
    for i = 1, writers do
      all[i] = { at = i - 1, number = 0 }
      round(all[i])
    end
    function all.go_on()
      for _, writer in ipairs(all) do
        if not writer.is_running() then
          finish(writer)
          round(writer)
        end
      end
    end
    function all.finish()
      for _, writer in ipairs(all) do
        finish(writer)
      end
    end
    return all
  end

  it("lose nothing, ask for nothing and leave nothing behind", function()
    local requests, versions = {}, {}
    for i = 1, objects do
      requests[i] = { "POST", path(), body(i, 0) }
      versions["object-" .. i] = { version = "0", writes = 1 }
    end
    assert.equal(objects, server:bulk(requests)[201])
    local file = bed.write("load.lua", script(0))
    host = bed.start(file, { "--lua-memory", "64MiB" })
    local asked = counts()
    local keys, look = watch_runs()

    local from = e2e.now()
    local load_of, sizes = load(versions), {}
    for number = 1, reloads do
      e2e.write_file(file .. ".tmp", script(number))
      assert(os.rename(file .. ".tmp", file))
      e2e.eventually("reload " .. number, function()
        return look() == number
      end)
      sizes[number] = host.child:rss() / 1024
      load_of.go_on()
      if is_long and number % 100 == 0 then
        print(("%d reloads in %.0f s, resident in the last 100: %d KiB"):format(number,
          e2e.now() - from, mean(sizes, number - 99, number)))
        io.stdout:flush()
      end
    end
    load_of.finish()
    local took = e2e.now() - from

    e2e.eventually("every key's last state is seen by the newest generation", function()
      look()
      for name, written in pairs(versions) do
        local key = keys[name]
        if key.version ~= written.version or key.number ~= reloads then
          return false, ("%s %s of %s by %s"):format(name, key.version, written.version, key.number)
        end
      end
      return true
    end, e2e.patience * 4)
    local runs, gave_up = 0, 0
    for name, written in pairs(versions) do
      local key = keys[name]
      runs, gave_up = runs + key.runs, gave_up + key.gave_up
      assert.is_true(key.by_reload <= reloads, name .. " ran more often than reloads wanted it")
      assert.is_true(key.events <= written.writes, name .. " saw an event twice")
      assert.is_true(key.runs <= key.by_reload + key.events + key.gave_up,
        name .. " ran for nothing")
    end
    assert.equal(asked, counts())
    local metrics = host:metrics()
    assert.equal(0, metrics:value("perilune_lane_stuck", {}) or 0)
    assert.equal(reloads, metrics:value("perilune_reload_total", { result = "applied" }))
    for _, result in ipairs({ "rejected", "rolled_back" }) do
      assert.equal(0, metrics:value("perilune_reload_total", { result = result }))
    end
    local tenth = math.floor(reloads / 10)
    local first, final = mean(sizes, 1, tenth), mean(sizes, reloads - tenth + 1, reloads)
    print(("%d reloads and %d events in %.0f s, %d runs, %d gave up; resident in the first %d: "
      .. "%d KiB, in the last %d: %d KiB"):format(reloads, load_of.sent, took, runs,
      gave_up, tenth, first, tenth, final))
    if is_long and not sanitized then
      assert.is_true(final < first * 1.05, ("%d -> %d KiB"):format(first, final))
    elseif not sanitized then -- the first of a few reloads are still growing
      assert.is_true(final < first * 1.10 + 2048, ("%d -> %d KiB"):format(first, final))
    end
    host:stop()
  end)
end)
