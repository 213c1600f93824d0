-- Predicates, map and index functions can read the caches of their controller from the first event
-- on, even before the controller's first run.

local beds = require("spec.support.script_folder")
local e2e = require("spec.support.e2e")

describe("functions that are asked about events", function()
  local host
  local bed = beds.new()

  setup(bed.set_up)
  before_each(function()
    bed.begin()
    bed.server:create(bed.core("secrets"), { apiVersion = "v1", kind = "Secret",
      metadata = { name = "s" } })
    for _, name in ipairs({ "a", "b" }) do
      bed.config_map(name)
    end
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local head = 'local perilune = require("perilune")\nlocal client = perilune.client\n'
  local maps = '"v1/ConfigMap", function(o) return client:list("v1/Secret") end, '
    .. '{ labels = "reload=yes" }'

  local function reconcile(word)
    return (':Reconcile(function(r) print("%s " .. r.key) end)\n'):format(word)
  end

  local function start(script, flags)
    bed.write("script.lua", head .. script)
    host = bed.start(bed.folder, flags)
  end

  local function ran(word)
    host:logged(function(line)
      return line.msg == word .. " " .. bed.namespace .. "/s"
    end)
  end

  local function end_without_errors()
    host:stop(0)
    for _, line in ipairs(host:log()) do
      assert(line.level ~= "error", line.error or line.msg)
    end
  end

  it("read what only Reads declares, without For", function()
    start('perilune.controller("a"):Watches(' .. maps .. '):Reads("v1/Secret")' .. reconcile("ran"))
    ran("ran")
    end_without_errors()
  end)

  it("read while there is no object of the For kind", function()
    start('perilune.controller("a"):For("v1/Pod"):Watches(' .. maps .. ')\n'
      .. ':Watches("v1/Secret", function() return client:list("v1/Pod") end)' .. reconcile("ran"))
    ran("ran")
    end_without_errors()
  end)

  it("read on several lanes", function()
    local text = ""
    for _, name in ipairs({ "a", "b", "c", "d", "e" }) do
      text = text .. ('perilune.controller(%q):Watches(%s):Reads("v1/Secret")'):format(name, maps)
        .. reconcile(name)
    end
    start(text, { "--lanes", "3" })
    for _, name in ipairs({ "a", "b", "c", "d", "e" }) do
      ran(name)
    end
    end_without_errors()
  end)

  it("read after a save that wakes nothing", function()
    local text = 'perilune.controller("a", { on_reload = "none" }):Watches(' .. maps
      .. '):Reads("v1/Secret")'
    start(text .. reconcile("first"))
    ran("first")
    bed.write("script.lua", head .. text .. reconcile("second"))
    host:logged("^reloaded$")
    bed.config_map("c")
    ran("second")
    end_without_errors()
  end)

  it("read in predicates and index functions", function()
    local script = [[
perilune.index("v1/ConfigMap", "secrets", function(o)
  return #client:list("v1/Secret", { namespace = o.metadata.namespace })
end) -- also of what is listed before the Secrets are
perilune.controller("a")
  :Watches("v1/ConfigMap", function(o)
    local found = client:list("v1/ConfigMap", { index = { name = "secrets", value = "1" } })
    if #found == 3 then
      return client:list("v1/Secret")
    end
  end, { labels = "reload=yes", predicates = { function(event)
    return client:get("v1/Secret", event.object.metadata.namespace .. "/s") ~= nil
  end } })
  :Reads("v1/Secret")
]]
    start(script .. reconcile("ran"))
    bed.config_map("c")
    ran("ran")
    end_without_errors()
  end)
end)
