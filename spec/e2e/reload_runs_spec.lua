-- Runs that are under way at a reload: they end on the code that began them, with its declarations,
-- and few generations are kept for them.

local beds = require("spec.support.script_folder")
local cjson = require("cjson")
local e2e = require("spec.support.e2e")

describe("a reload", function()
  local host
  local bed = beds.new()
  local core, config_map, write = bed.core, bed.config_map, bed.write

  setup(bed.set_up)
  before_each(bed.begin)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function start(...)
    host = bed.start(...)
  end

  it("lets runs finish on the code that began them, and their keys wait", function()
    local function slow(word)
      return ([[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("slow", { max_concurrent_reconciles = 4 })
  :For("v1/ConfigMap", { labels = "reload=yes" })
  :Reconcile(function(request, context)
    context.log:info("begins", { word = "%s", name = request.name })
    if request.name == "slow" then
      for _ = 1, 100 do
        perilune.sleep("20ms")
        local other = client:get("v1/ConfigMap", { namespace = request.namespace, name = "go" })
        if other then break end
      end
      client:create_or_update({ apiVersion = "v1", kind = "ConfigMap",
        metadata = { namespace = request.namespace, name = "written" } }, function(current)
          current.data = { word = "%s" }
        end)
    end
    context.log:info("ends", { word = "%s", name = request.name })
  end)
]]):format(word, word, word)
    end
    local function line_of(msg, word, name)
      return host:logged(function(line)
        return line.msg == msg and line.word == word and line.name == name
      end)
    end
    local script = write("main.lua", slow("one"))
    config_map("slow")
    config_map("fast")
    start(script)
    line_of("begins", "one", "slow")
    line_of("ends", "one", "fast")
    write("main.lua", slow("two"))
    line_of("ends", "two", "fast")
    assert.equal(0, host:count_logged("^ends$") - 2)
    config_map("go")
    line_of("ends", "one", "slow")
    line_of("ends", "two", "slow")
    local order = {}
    for _, line in ipairs(host:log()) do
      if (line.msg == "begins" or line.msg == "ends") and line.name == "slow" then
        order[#order + 1] = line.msg .. " " .. line.word
      end
    end
    assert.equal("begins one, ends one, begins two, ends two", table.concat(order, ", "))
    assert.equal("two", bed.server:get(core("configmaps", "written")).data.word)
    host:stop()
  end)

  it("judges a run's writes by what its own code declared", function()
    local function declares(word)
      return ([[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("judged", { max_concurrent_reconciles = 4 })
  :For("v1/ConfigMap", { labels = "reload=yes", finalizers = { "example.com/WORD" } })
  :Writes(WORD == "one" and "v1/Secret" or "v1/Service", { "create" })
  :Reconcile(function(request, context)
    context.log:info("begins", { word = WORD, name = request.name })
    if request.name ~= "judged" or WORD ~= "one" then return end
    client:wait("v1/ConfigMap", { namespace = request.namespace, name = "go" }, function(o) return o end, "60s")
    local map = client:get("v1/ConfigMap", request)
    client:patch(map, { metadata = { finalizers = { "example.com/one" } } })
    client:create({ apiVersion = "v1", kind = "Secret",
      metadata = { namespace = request.namespace, name = "made" } })
    client:patch(map, { metadata = { finalizers = perilune.null } })
    context.log:info("wrote", { word = WORD })
  end)
]]):gsub("example.com/WORD", "example.com/" .. word):gsub("WORD", '"' .. word .. '"')
    end
    write("main.lua", (declares("one")))
    config_map("judged")
    start(bed.folder)
    host:logged("^begins$")
    write("main.lua", (declares("two")))
    host:logged("^reloaded$")
    config_map("go")
    assert.equal("one", host:logged("^wrote$").word)
    host:logged(function(line)
      return line.msg == "begins" and line.word == "two" and line.name == "judged"
    end)
    assert.equal(0, host:count_logged("undeclared write"))
    host:stop()
  end)

  it("keeps two generations, and few that end", function()
    local function waits(number)
      return ([[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("waits", { max_concurrent_reconciles = 20, on_reload = "none" })
  :For("v1/ConfigMap", { labels = "reload=yes" })
  :Reconcile(function(request, context)
    context.log:info("begins", { number = NUMBER, name = request.name })
    if request.name == "go" then return end
    client:wait("v1/ConfigMap", { namespace = request.namespace, name = "go" }, function(o) return o end, "10m")
    context.log:info("ends", { number = NUMBER, name = request.name })
  end)
]]):gsub("NUMBER", number)
    end
    local socket = bed.folder .. "/admin.sock"
    local function scripts()
      local _, out = e2e.run("status", "--admin-socket", socket, "-o", "json")
      return cjson.decode(out).scripts
    end
    local function began(number, name)
      host:logged(function(line)
        return line.msg == "begins" and line.number == number and line.name == name
      end)
    end
    write("main.lua", (waits(1)))
    start(bed.folder, { "--admin-socket", socket })
    for number = 1, 6 do
      config_map("k" .. number)
      began(number, "k" .. number) -- each generation has one run under way
      local now = scripts()
      assert.equal(number, now.generation)
      assert.is_true(now.generations <= 2, now.generations .. " are kept")
      assert.is_true(now.ending <= 4, now.ending .. " are ending")
      write("main.lua", (waits(number + 1)))
      e2e.eventually("generation " .. number + 1, function()
        return scripts().generation == number + 1
      end)
    end
    host:logged(function(line) -- it had to make room: its key began anew
      return line.msg == "begins" and line.number > 2 and line.name == "k2"
    end)
    config_map("go")
    for number = 1, 6 do
      host:logged(function(line) return line.msg == "ends" and line.name == "k" .. number end)
    end
    e2e.eventually("all but those kept are closed", function()
      local now = scripts()
      return now.ending == 0 and now.generations <= 2, now.ending .. " are ending"
    end)
    host:stop()
  end)

  it("times a run by what its own code declared", function()
    local function timed(word, timeout)
      return ([[
local perilune = require("perilune")
perilune.controller("timed", { max_concurrent_reconciles = 4, on_reload = "none",
    reconcile_timeout = TIMEOUT, rate_limiter = { base = "10m", max = "10m" } })
  :For("v1/ConfigMap", { labels = "reload=yes" })
  :Reconcile(function(request, context)
    if request.name:find("^go") then return end
    context.log:info("begins", { word = "WORD", name = request.name })
    perilune.client:wait("v1/ConfigMap", { namespace = request.namespace, name = "go-" .. request.name },
      function(o) return o end, "10m")
    context.log:info("ends", { word = "WORD", name = request.name })
  end)
]]):gsub("WORD", word):gsub("TIMEOUT", timeout and '"' .. timeout .. '"' or "nil")
    end
    local function begins(name, word)
      host:logged(function(line)
        return line.msg == "begins" and line.word == word and line.name == name
      end)
    end
    local function passes(name, timeout)
      host:logged(function(line)
        return line.msg == "reconcile failed" and line.key:find("/" .. name, 1, true)
          and line.error:find("reconcile_timeout of " .. timeout .. " has passed", 1, true)
      end)
    end
    local function reload(word, timeout, generation)
      write("main.lua", (timed(word, timeout)))
      host:logged(function(line) return line.msg == "reloaded" and line.generation == generation end)
    end
    write("main.lua", (timed("one", "4s")))
    config_map("first")
    start(bed.folder, { "--no-reload-guard" })
    begins("first", "one")
    reload("two", nil, 2) -- which has none
    config_map("second")
    begins("second", "two")
    passes("first", "4 s")
    reload("three", "300ms", 3)
    config_map("third")
    begins("third", "three")
    passes("third", "0.3 s")
    config_map("go-second") -- which is older than the time that it would have now
    host:logged(function(line) return line.msg == "ends" and line.name == "second" and line.word == "two" end)
    assert.equal(1, host:count_logged("^ends$"))
    host:stop()
  end)

  -- Both replicas may act if the scripts say so. A run that began as the leader's stays one, even
  -- if the lead is lost and won again.
  it("keeps what a leader began from writing for another lead", function()
    local slow = e2e.is_kube or os.getenv("PL_SANITIZED") ~= nil
    local times = slow and { "6s", "4s", "500ms" } or { "3s", "2s", "400ms" }
    local lease = "/apis/coordination.k8s.io/v1/namespaces/" .. bed.namespace .. "/leases/perilune-acts"
    local function acts(word, only_leader)
      return ([[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("acts", { max_concurrent_reconciles = 4, on_reload = "none",
    leader_election = ONLY_LEADER, rate_limiter = { base = "10m", max = "10m" } })
  :For("v1/ConfigMap", { labels = "reload=yes" }):Writes("v1/Secret", { "create" })
  :Reconcile(function(request, context)
    if request.name == "go" then return end
    context.log:info("begins", { word = "WORD", name = request.name })
    if request.name == "held" then
      pcall(client.wait, client, "v1/ConfigMap", { namespace = request.namespace, name = "go" },
        function(o) return o end, "10m")
    end
    local ok, mistake = pcall(client.create, client, { apiVersion = "v1", kind = "Secret",
      metadata = { namespace = request.namespace, name = "WORD-" .. request.name } })
    context.log:info("wrote", { word = "WORD", name = request.name,
      mistake = not ok and tostring(mistake) or nil })
  end)
]]):gsub("WORD", word):gsub("ONLY_LEADER", tostring(only_leader))
    end
    local function wrote(name)
      return host:logged(function(line) return line.msg == "wrote" and line.name == name end)
    end
    write("anchor.lua", [[
require("perilune").controller("anchor"):For("v1/ServiceAccount", { labels = "reload=yes" })
  :Reconcile(function() end)
]])
    write("acts.lua", (acts("one", true)))
    start(bed.folder, { "--leader-elect", "--leader-elect-resource-namespace", bed.namespace,
      "--leader-elect-lease-duration", times[1], "--leader-elect-renew-deadline", times[2],
      "--leader-elect-retry-period", times[3], "--on-lost-lease", "standby" })
    config_map("held")
    host:logged("^begins$")
    write("acts.lua", (acts("two", false)))
    host:logged("^reloaded$")
    e2e.eventually("the Lease is taken", function()
      local now = bed.server:get(lease)
      now.spec.holderIdentity, now.spec.leaseDurationSeconds = "thief", 3600
      return bed.server:request("PUT", lease, now) == 200
    end)
    host:logged("^lease lost")
    config_map("free") -- the current scripts let it run on every replica
    assert.is_nil(wrote("free").mistake)
    bed.server:patch(lease, { spec = { holderIdentity = "", leaseDurationSeconds = 1 } })
    e2e.eventually("it leads again", function()
      host:must_run()
      return host:count_logged("^lease acquired") == 2
    end)
    config_map("go")
    assert.truthy(wrote("held").mistake)
    assert.is_nil(bed.server:get(core("secrets", "one-held")))
    assert.truthy(bed.server:get(core("secrets", "two-free")))
    host:stop()
  end)
end)
