-- Runs in flight at a reload: they end on the code that began them, under what that code declared,
-- and the generations that they hold are few.

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
      began(number, "k" .. number) -- each generation has a run of its own in flight
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
end)
