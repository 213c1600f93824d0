-- Two hundred watches whose connections end at the same moment, as when an API server restarts: they
-- come back at different times, and nothing is listed again.

local e2e = require("spec.support.e2e")

local WATCHES = 200

local script = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("mirror", { max_concurrent_reconciles = 8 })
  :For("v1/ConfigMap", { labels = "mirror=yes", writes = { "patch" } })
  :Reconcile(function(request)
    local config = client:get("v1/ConfigMap", request)
    if config and perilune.dig(config, "metadata", "annotations", "seen") ~= config.data.v then
      client:patch("v1/ConfigMap", request, { metadata = { annotations = { seen = config.data.v } } })
    end
  end)
]]

describe("many watches", function()
  local server, relay

  setup(function()
    server = e2e.server()
  end)
  after_each(function()
    e2e.clean_up()
    relay.child:signal("KILL")
    relay.child:wait()
  end)
  teardown(function()
    e2e.finish()
  end)

  -- Times of the requests that match, in order.
  local function asked(pattern)
    local out = {}
    for line in e2e.read_file(relay.out):gmatch("[^\n]+") do
      local at = line:find("^ask") and line:find(pattern) and line:match("at=([%d.]+)")
      if at then
        out[#out + 1] = tonumber(at)
      end
    end
    return out
  end

  local function watches()
    return asked("/configmaps%?.*watch=true")
  end

  it("come back one after another, and without a list", function()
    local link
    relay, link = e2e.start_link(server)
    local namespaces, flags, creates, changes = {}, {}, {}, {}
    for i = 1, WATCHES do
      local name = "many-" .. i
      namespaces[i] = { "POST", "/api/v1/namespaces",
        { apiVersion = "v1", kind = "Namespace", metadata = { name = name } } }
      flags[#flags + 1], flags[#flags + 2] = "--namespace", name
      local path = "/api/v1/namespaces/" .. name .. "/configmaps"
      creates[i] = { "POST", path, { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = "one", labels = { mirror = "yes" } }, data = { v = "a" } } }
      changes[i] = { "PATCH", path .. "/one", { data = { v = "b" } }, "application/merge-patch+json" }
    end
    server:bulk(namespaces)
    server:bulk(creates)
    local host = e2e.start_host(link, script, flags)
    local function all_seen(value)
      e2e.eventually("all were written", function()
        host:must_run()
        local count = 0
        for _, one in ipairs(server:get("/api/v1/configmaps").items) do
          count = count + ((one.metadata.annotations or {}).seen == value and 1 or 0)
        end
        return count == WATCHES, count
      end, 120)
    end
    all_seen("a")
    local lists, before = #asked("/configmaps%?.*limit=500"), #watches()
    assert.equal(WATCHES, lists)
    assert.equal(WATCHES, before)

    relay.child:signal("ALRM")
    assert.equal(WATCHES, server:bulk(changes)[200])
    all_seen("b")
    local again = watches()
    assert.is_true(#again >= 2 * WATCHES)
    assert.equal(lists, #asked("/configmaps%?.*limit=500"))
    -- Within any tenth of a second no more than half of them comes.
    local crowd = 0
    for i = before + 1, before + WATCHES do
      local count = 0
      for k = i, before + WATCHES do
        count = count + (again[k] - again[i] < 0.1 and 1 or 0)
      end
      crowd = math.max(crowd, count)
    end
    print(("# %d watches came back within %.2f s, at most %d in a tenth of a second"):format(WATCHES,
      again[before + WATCHES] - again[before + 1], crowd))
    assert.is_true(crowd <= WATCHES / 2, crowd)
    host:stop()
  end)
end)
