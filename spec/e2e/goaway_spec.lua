-- A server that closes connections again and again with HTTP/2's GOAWAY, as kube-apiserver does
-- behind load balancers: open streams continue, new requests use another connection (F18).

local e2e = require("spec.support.e2e")
local mirror = require("spec.support.mirror")

local OBJECTS = 600 -- one request in fifty is answered with GOAWAY
local WORKERS = 4

local script = ([[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("mirror", { max_concurrent_reconciles = %d })
  :For("v1/ConfigMap", { labels = "mirror=yes", writes = { "patch" } })
  :Reconcile(function(request)
    local config = client:get("v1/ConfigMap", request)
    if config then
      client:patch("v1/ConfigMap", request, { metadata = { annotations = { seen = config.data.v } } })
    end
  end)
]]):format(WORKERS)

describe("GOAWAY", function()
  local server, audit, relay

  setup(function()
    audit = e2e.folder() .. "/audit.log"
    local policy = e2e.write_file(e2e.folder() .. "/policy.yaml", [[
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted, ResponseComplete]
rules:
- level: Metadata
]])
    server = e2e.start_kube(("--goaway-chance=0.02 --audit-log-path=%s --audit-policy-file=%s")
      :format(audit, policy))
  end)
  after_each(function()
    e2e.clean_up()
    relay.child:signal("KILL")
    relay.child:wait()
  end)
  teardown(function()
    server:stop()
    e2e.finish()
  end)

  -- The number of the host's requests with that verb for ConfigMaps, counted by the server.
  local function audited(verb)
    local count = 0
    for line in e2e.read_file(audit):gmatch("[^\n]+") do
      if line:find('"verb":"' .. verb .. '"', 1, true) and line:find('"userAgent":"perilune', 1, true)
        and line:find('"resource":"configmaps"', 1, true) then
        count = count + 1
      end
    end
    return count
  end

  local function connections(word)
    return select(2, e2e.read_file(relay.out):gsub("%f[^\n]" .. word .. " ", ""))
  end

  it("moves new requests to another connection and disturbs no watch", function()
    local namespace = server:new_namespace()
    local path = "/api/v1/namespaces/" .. namespace .. "/configmaps"
    local host, link
    relay, link = e2e.start_link(server)
    host = e2e.start_host(link, script, { "--namespace", namespace })
    host:logged("controller started")
    local requests = {}
    for i = 1, OBJECTS do
      requests[i] = { "POST", path, mirror.config("object-" .. i, "a") }
    end
    assert.equal(OBJECTS, server:bulk(requests)[201])
    e2e.eventually("every object was written", function()
      local seen = 0
      for _, one in ipairs(server:get(path).items) do
        seen = seen + ((one.metadata.annotations or {}).seen and 1 or 0)
      end
      return seen == OBJECTS, seen
    end, 120)
    print(("# %d connections for %d writes"):format(connections("accept"), audited("patch")))
    assert.is_true(connections("accept") > 2)
    assert.equal(1, audited("list"))
    assert.equal(1, audited("watch"))
    assert.same({}, host:complaints())
    -- A connection after GOAWAY is closed when its last stream has ended. At most the connection of
    -- the watch is left, and those that four workers opened at the same moment.
    e2e.eventually("old connections are closed", function()
      return connections("accept") - connections("end") <= 1 + WORKERS, e2e.read_file(relay.out)
    end)
    host:stop()
  end)
end)
