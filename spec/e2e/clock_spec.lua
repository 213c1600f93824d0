-- The wall clock jumps by hours, forwards and backwards, while the host runs. Delays are not
-- affected, since they are measured with a clock that only counts. spec/support/clock.c, loaded
-- before the C library, provides the time.

local e2e = require("spec.support.e2e")
local mirror = require("spec.support.mirror")

local HOURS = 5 * 3600

describe("a wall clock that jumps", function()
  local server, namespace, clock

  setup(function()
    server = e2e.server({ "--insecure" }) -- without TLS, since certificates depend on the wall clock
  end)
  before_each(function()
    namespace = server:new_namespace()
    clock = e2e.folder() .. "/" .. e2e.unique("clock")
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function jump(seconds)
    assert(os.rename(e2e.write_file(clock .. ".new", tostring(seconds)), clock))
  end

  local function options()
    return { env = e2e.preloaded("clock", { SPEC_CLOCK = clock }) }
  end

  local function lease()
    return server:get("/apis/coordination.k8s.io/v1/namespaces/" .. namespace .. "/leases/clock").spec
  end

  -- Waits until the lease was renewed so many times.
  local function renewed(count)
    local last = lease().renewTime
    for _ = 1, count do
      e2e.eventually("the Lease is renewed", function()
        local now = lease().renewTime
        local changed = now ~= last
        last = now
        return changed
      end)
    end
    return last
  end

  it("costs neither the Lease nor a list, and holds up nothing that is due", function()
    local mirrors = mirror.start(server, server, { namespace }, { "--leader-elect",
      "--leader-elect-resource-name", "clock", "--leader-elect-resource-namespace", namespace,
      "--leader-elect-lease-duration", "15s", "--leader-elect-renew-deadline", "10s",
      "--leader-elect-retry-period", "500ms" }, options())
    mirrors:synced()
    server:bulk(mirror.writes(namespace, 1, 20, "before"))
    mirrors:agree({ namespace })
    local before, lists = lease(), mirrors.host:metrics():sum("perilune_informer_lists_total")
    for turn, seconds in ipairs({ HOURS, 0, -HOURS, 20 * HOURS, 0 }) do
      jump(seconds)
      local told = renewed(4)
      server:bulk(mirror.writes(namespace, 100 * turn, 100 * turn + 9, "turn " .. turn))
      mirrors:agree({ namespace })
      assert.equal(200, (mirrors.host:ask("health", "/readyz")))
      -- The clock of the host really jumps.
      assert.equal(os.date("!%Y-%m-%dT", os.time() + seconds), told:sub(1, 11))
    end
    assert.equal(before.holderIdentity, lease().holderIdentity)
    assert.equal(before.leaseTransitions, lease().leaseTransitions)
    assert.equal(lists, mirrors.host:metrics():sum("perilune_informer_lists_total"))
    assert.same({}, mirrors.host:complaints())
    mirrors:stop()
  end)

  it("changes no pause: requeues, tasks, sleeps and time-outs", function()
    local host = e2e.start_host(server, [[
local perilune = require("perilune")
perilune.controller("paced", { max_concurrent_reconciles = 2, reconcile_timeout = "1h" })
  :For("v1/ConfigMap"):Reconcile(function(request)
  if request.name == "slept" then
    for i = 1, 1000 do
      perilune.sleep(0.3)
      print("slept " .. i)
    end
  elseif request.name == "again" then
    print("again")
    return { requeue_after = 0.3 }
  end
end)
perilune.every("300ms", {}, function() print("every") end)
]], { "--namespace", namespace }, options())
    host:logged("^controller started$")
    local began = e2e.now() - 5
    for _, name in ipairs({ "slept", "again" }) do
      server:create(mirror.path(namespace), mirror.config(name, "1"))
    end
    for _, seconds in ipairs({ 0, HOURS, 0, -HOURS, 0 }) do
      jump(seconds)
      for _, what in ipairs({ "^slept", "^again$", "^every$" }) do
        local count = host:count_logged(what)
        e2e.eventually(what .. " goes on at " .. seconds, function()
          return host:count_logged(what) >= count + 4
        end, e2e.patience)
      end
    end
    -- And they do not all run at the same moment.
    assert.is_true(host:count_logged("^every$") < (e2e.now() - began) / 0.3 + 5)
    host:stop()
  end)

  it("holds up no stop, even where a lane cannot be ended", function()
    local host = e2e.start_host(server, [[
local perilune = require("perilune")
perilune.controller("stuck"):For("v1/ConfigMap"):Reconcile(function()
  print("stuck")
  local n = 0
  while true do n = n + 1 end
end)
]], { "--namespace", namespace, "--jit", "--graceful-shutdown-timeout", "500ms",
      "--reconcile-cpu-limit", "2s" }, options())
    host:logged("^controller started$")
    server:create(mirror.path(namespace), mirror.config("one", "1"))
    host:logged("^stuck$")
    jump(HOURS)
    host.child:signal("TERM")
    assert.is_not_nil((host.child:wait(e2e.patience))) -- any exit code is right
  end)
end)
