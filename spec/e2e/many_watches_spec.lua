-- Two hundred watches whose connections end at the same moment, as when an API server restarts: they
-- come back at different times, and nothing is listed again.

local e2e = require("spec.support.e2e")
local mirror = require("spec.support.mirror")

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
    server = e2e.server({ "--insecure" }) -- over TLS the relay could not read the requests
  end)
  after_each(function()
    e2e.clean_up()
    relay.child:signal("KILL")
    relay.child:wait()
  end)
  teardown(function()
    e2e.finish()
  end)

  -- The times of the relay's lines that match, in order.
  local function told(pattern)
    local out = {}
    for line in e2e.read_file(relay.out):gmatch("[^\n]+") do
      local at = line:find(pattern) and line:match("at=([%d.]+)")
      if at then
        out[#out + 1] = tonumber(at)
      end
    end
    return out
  end

  local function lists()
    return #told("^ask .*/configmaps%?.*limit=500")
  end

  local function watches()
    return #told("^ask .*/configmaps%?.*watch=true")
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
      creates[i] = { "POST", path, mirror.config("one", "a") }
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
    assert.equal(WATCHES, lists())
    assert.equal(WATCHES, watches())

    local before = #told("^accept")
    relay.child:signal("ALRM")
    assert.equal(WATCHES, server:bulk(changes)[200])
    all_seen("b")
    assert.is_true(watches() >= 2 * WATCHES)
    assert.equal(WATCHES, lists())
    -- In no tenth of a second more than half of them reconnect.
    local times, crowd = told("^accept"), 0
    for i = before + 1, #times do
      local count = 0
      for k = i, #times do
        count = count + (times[k] - times[i] < 0.1 and 1 or 0)
      end
      crowd = math.max(crowd, count)
    end
    print(("# %d connections within %.2f s, at most %d in a tenth of a second"):format(
      #times - before, times[#times] - times[before + 1], crowd))
    assert.is_true(crowd <= WATCHES / 2, crowd)
    host:stop()
  end)
end)
