-- Disturbances of the explorer that no request shows, so that e2e/plans can't carry them out: a requeue that
-- comes late, and replicas whose clocks are apart. Here they happen to processes: one is stopped for a
-- while, and spec/support/clock.c shifts the time of day.
--
-- A list in another order is no fault of a server: caches sort their lists, and scripts must not trust in that.

local e2e = require("spec.support.e2e")

describe("a controller is not confused by", function()
  local server, namespace

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function map_path(name)
    return e2e.path("v1", namespace, "configmaps", name)
  end

  -- Only requeues wake this controller: labels never change.
  it("a requeue that comes late", function()
    local host = e2e.start_host(server, [[
local perilune = require("perilune")
perilune.controller("reads"):For("v1/ConfigMap", { labels = "read=often",
    predicates = { perilune.predicate.label_changed } })
  :Reconcile(function(request)
    print("reads " .. perilune.client:get("v1/ConfigMap", request).data.value)
    return { requeue_after = "300ms" }
  end)
]], { "--namespace", namespace })
    local function reads(value, count)
      e2e.eventually("it reads " .. value, function()
        return host:count_logged("^reads " .. value .. "$") >= count
      end)
    end
    server:create(map_path(), { apiVersion = "v1", kind = "ConfigMap", data = { value = "1" },
      metadata = { name = "a", labels = { read = "often" } } })
    reads(1, 3)
    host.child:signal("STOP")
    e2e.process.pause(1) -- requeues are due meanwhile
    local count = host:count_logged("^reads 1$")
    server:patch(map_path("a"), '{"data":{"value":"2"}}', "application/merge-patch+json")
    e2e.process.pause(1)
    assert.equal(count, host:count_logged("^reads"))
    host.child:signal("CONT")
    reads(2, 3)
    host:stop()
  end)

  it("clocks of replicas that are seconds apart", function()
    local function replica(name, seconds)
      local clock = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("clock"), tostring(seconds))
      return e2e.start_host(server, ([[
local perilune = require("perilune")
perilune.controller("who"):For("v1/ConfigMap", { labels = "who=asked" }):Reconcile(function(request)
  perilune.client:patch("v1/ConfigMap", request, { data = { who = "%s" } })
end)
]]):format(name), { "--namespace", namespace, "--leader-elect", "--leader-elect-resource-name", "who",
        "--leader-elect-resource-namespace", namespace, "--leader-elect-lease-duration", "6s",
        "--leader-elect-renew-deadline", "4s", "--leader-elect-retry-period", "500ms" },
        { env = e2e.preloaded("clock", { SPEC_CLOCK = clock }) })
    end
    local function lease()
      return server:get(e2e.path("coordination.k8s.io/v1", namespace, "leases", "who")).spec
    end
    local function who_answers(name)
      server:create(map_path(), { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = name, labels = { who = "asked" } } })
      local who
      e2e.eventually("the leader answers", function()
        who = (server:get(map_path(name)).data or {}).who
        return who
      end)
      return who
    end
    -- Waits for more renewals than fit into the Lease's duration.
    local function long_enough()
      local last, renewals = nil, -1
      e2e.eventually("the Lease is renewed", function()
        local now = lease().renewTime
        renewals, last = renewals + (now ~= last and 1 or 0), now
        return renewals > 15
      end)
    end
    -- The standby's clock is ahead, then that of the leader: a Lease seems old, or from the future.
    local one = replica("one", 0)
    assert.equal("one", who_answers("first"))
    local two, transitions = replica("two", 5), lease().leaseTransitions or 0
    two:logged("stands by")
    long_enough()
    assert.equal("one", who_answers("second"))
    assert.equal(transitions, lease().leaseTransitions or 0)
    one.child:signal("KILL")
    assert.equal("two", who_answers("third"))
    local three = replica("three", 0)
    three:logged("stands by")
    long_enough()
    assert.equal("two", who_answers("fourth"))
    assert.equal(transitions + 1, lease().leaseTransitions)
    two.child:signal("KILL")
    assert.equal("three", who_answers("fifth"))
    assert.equal(transitions + 2, lease().leaseTransitions)
    three:stop()
  end)
end)
