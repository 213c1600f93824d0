-- Scripts on a disk that does not answer delay only the reload. spec/support/hung.c, between the
-- host and its disk, causes this.

local beds = require("spec.support.script_folder")
local e2e = require("spec.support.e2e")


describe("a disk that does not answer", function()
  local hung, host
  local bed = beds.new()

  setup(bed.set_up)
  before_each(function()
    bed.begin()
    hung = e2e.folder() .. "/" .. e2e.unique("hung")
  end)
  after_each(function()
    os.remove(hung) -- otherwise a stuck host could not be ended
    e2e.clean_up()
  end)
  teardown(e2e.finish)

  local function says(word)
    return ([[
local perilune = require("perilune")
perilune.controller("words"):For("v1/ConfigMap", { labels = "reload=yes" })
  :Reconcile(function(request, context)
    context.log:info("ran", { word = "%s", name = request.name })
  end)
]]):format(word)
  end

  local function start(flags)
    local all = { "--leader-elect", "--leader-elect-resource-namespace", bed.namespace,
      "--leader-elect-lease-duration", "6s", "--leader-elect-renew-deadline", "4s",
      "--leader-elect-retry-period", "300ms" }
    for _, flag in ipairs(flags or {}) do
      all[#all + 1] = flag
    end
    host = bed.start(bed.folder, all,
      { env = e2e.preloaded("hung", { SPEC_HUNG_UNDER = bed.folder, SPEC_HUNG = hung }) })
  end

  local function asked()
    local file = io.open(hung .. ".asked")
    local text = file and file:read("*a") or ""
    if file then
      file:close()
    end
    return #text
  end

  local function ran(word, name)
    return host:logged(function(line)
      return line.msg == "ran" and line.word == word and line.name == name
    end)
  end

  local function renewed()
    local leases = bed.server:get("/apis/coordination.k8s.io/v1/namespaces/" .. bed.namespace .. "/leases")
    return leases.items[1].spec.renewTime
  end

  local function save_and_hang(text, config)
    e2e.write_file(hung, "")
    if config then
      bed.write("config.yaml", config)
    end
    bed.write("main.lua", text)
    e2e.eventually("somebody waits for the disk", function()
      return asked() > 0
    end)
  end

  it("holds up neither Lease, nor probes, nor watches, and is reloaded from when it answers", function()
    bed.write("main.lua", says("one"))
    bed.write("lib.lua", "return 1\n")
    local config = bed.write("config.yaml", "word: one\n")
    bed.config_map("before")
    start({ "--config", config })
    ran("one", "before")

    save_and_hang(says("two"), "word: two\n")
    for i = 1, 5 do
      local before = renewed()
      bed.config_map("meanwhile-" .. i)
      ran("one", "meanwhile-" .. i)
      assert.equal(200, (host:ask("health", "/healthz")))
      assert.equal(200, (host:ask("health", "/readyz")))
      e2e.eventually("the Lease is renewed", function()
        return renewed() ~= before
      end)
      host.child:signal("HUP") -- is one more that waits
      bed.write("main.lua", says("two"))
    end
    host.child:signal("USR1") -- says what it waits for
    host:logged(function(line)
      return line.msg == "state: wait" and line.wait == "the files of the scripts"
    end)
    assert.equal(1, asked()) -- only one thread waits, for any number of requests
    assert.equal(0, host:count_logged("^reload"))

    assert(os.remove(hung))
    ran("two", "before")
    assert.equal(0, host:metrics():value("perilune_reload_total", { result = "rejected" }))
    host:stop()
  end)

  it("holds up no stop", function()
    bed.write("main.lua", says("one"))
    bed.config_map("a")
    start()
    ran("one", "a")
    save_and_hang(says("two"))
    host:stop()
    assert.equal(1, host:count_logged("^stopped$"))
  end)
end)
