-- HTTP/2 servers that misbehave: whatever frames they send, the host's memory stays bounded, it
-- answers its probes, reports the fault a few times, and recovers when the misbehaviour ends.

local e2e = require("spec.support.e2e")
local h2peer = require("spec.support.h2peer")
local mirror = require("spec.support.mirror")

local MIB = 1024 * 1024
local FLOOD = os.getenv("PL_SANITIZED") and 1 or 3 -- seconds

describe("an HTTP/2 server that misbehaves", function()
  local server, namespace, peer, mirrors, host

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
    peer = h2peer.start(server)
  end)
  after_each(function()
    e2e.clean_up()
    peer:stop()
  end)
  teardown(e2e.finish)

  local function start(flags)
    mirrors = mirror.start(server, peer, { namespace }, flags)
    host = mirrors.host
    mirrors:synced()
    server:bulk(mirror.writes(namespace, 1, 30, "before"))
    mirrors:agree({ namespace })
  end

  local function memory()
    return tonumber(e2e.read_file("/proc/" .. host.child.pid .. "/status"):match("VmRSS:%s*(%d+)")) * 1024
  end

  -- Lines about sources and connections; errors of single keys have their own lines.
  local function complaints()
    local count = 0
    for _, line in ipairs(host:complaints()) do
      count = count + (line.msg == "reconcile failed" and 0 or 1)
    end
    return count
  end

  -- What must hold during the misbehaviour, and after it.
  local function survives(mode, seconds)
    local before, most = memory(), 0
    peer:do_wrong(mode)
    server:bulk(mirror.writes(namespace, 100, 130, mode))
    e2e.eventually("the peer does it", function()
      server:bulk({ { "POST", mirror.path(namespace), mirror.config(e2e.unique("more"), "1") } })
      return peer:count(mode) > 0
    end)
    local ends = e2e.now() + seconds
    while e2e.now() < ends do
      host:must_run()
      assert.equal(200, (host:ask("health", "/healthz")))
      most = math.max(most, memory() - before)
      e2e.process.pause(0.1)
    end
    peer:do_wrong(nil)
    server:bulk(mirror.writes(namespace, 200, 210, mode .. " is over"))
    local answer = mirrors:agree({ namespace })[namespace]
    assert.equal(0, answer.twice)
    assert.is_true(complaints() < 20, complaints() .. " warnings and errors")
    if not os.getenv("PL_SANITIZED") then
      assert.is_true(most < 24 * MIB, ("%d KiB more"):format(most / 1024))
    end
    host:stop()
  end

  for _, mode in ipairs({ "goaway", "goaway_rude", "rst", "rst_old", "settings", "ping", "headers",
    "empty_headers", "informational", "long_header", "empty_data", "endless", "window_zero", "window_over",
    "unknown", "priority", "push", "garbage" }) do
    it("is survived: " .. mode, function()
      start({ "--request-timeout", "2s" })
      survives(mode, FLOOD)
    end)
  end

  local function lead()
    start({ "--leader-elect", "--leader-elect-resource-name", "lead", "--leader-elect-resource-namespace",
      namespace, "--leader-elect-lease-duration", "6s", "--leader-elect-renew-deadline", "4s",
      "--leader-elect-retry-period", "1s", "--on-lost-lease", "standby", "--request-timeout", "2s" })
  end

  local function lease()
    return server:get("/apis/coordination.k8s.io/v1/namespaces/" .. namespace .. "/leases/lead").spec
  end

  it("costs no Lease as long as it serves: a connection after the other ends in order", function()
    lead()
    local before = lease()
    peer:do_wrong("goaway")
    e2e.eventually("the Lease is renewed over many connections", function()
      return peer:count("goaway") >= 8 and lease().renewTime > before.renewTime
    end)
    peer:do_wrong(nil)
    assert.equal(before.holderIdentity, lease().holderIdentity)
    assert.equal(before.leaseTransitions, lease().leaseTransitions)
    mirrors:agree({ namespace })
    host:stop()
  end)

  it("costs the Lease when nothing is answered, and it is won again", function()
    lead()
    peer:do_wrong("silent")
    host:logged("^lease lost")
    peer:do_wrong(nil)
    e2e.eventually("the lead is won again", function()
      return host:count_logged("^lease acquired") == 2
    end)
    server:bulk(mirror.writes(namespace, 200, 210, "later"))
    mirrors:agree({ namespace })
    host:stop()
  end)
end)
