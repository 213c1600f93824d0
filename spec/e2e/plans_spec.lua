-- The explorer's findings happen in reality: plans for the ported bugs of spec/explore, and for
-- their fixed versions, are carried out on a real API server with processes, SIGKILL and a proxy.
-- The explorer's judge must have the same findings for the end as in the world.

local cluster_world = require("spec.support.cluster_world")
local cjson = require("cjson")
local e2e = require("spec.support.e2e")
local judges = require("perilune.explore.judge")
local plans = require("perilune.explore.plan")
local proxies = require("spec.support.proxy")
local scenarios = dofile("spec/explore/scenarios.lua")
local states = require("perilune.explore.state")

-- Scenario, variant, plans. No plan needs a cache that catches up event by event with a run after
-- each, because the spec cannot control the speed of events here.
local PLANS = {
  { "first_of_two", "buggy", "crash after cluster default/a create Secret default/a-ssl @1",
    "crash before cluster default/a create Secret default/a-ssl-internal @1",
    "refuse 500 cluster default/a create Secret default/a-ssl-internal @1" },
  { "first_of_two", "mended", "crash after cluster default/a patch Secret default/a-ssl @1",
    "lose reset cluster default/a patch Secret default/a-ssl-internal @1" },
  { "by_status", "buggy", "crash after cluster default/a update Cluster/status @1" },
  { "by_status", "mended", "crash before cluster default/a update Cluster/status @1" },
  { "made_already", "buggy", "crash after cluster default/a create ConfigMap @1",
    "lose reset cluster default/a create ConfigMap @1" },
  { "made_already", "mended", "crash after cluster default/a patch ConfigMap @1" },
  { "recorded_before", "buggy", "crash after cluster default/a update Cluster/status @1",
    "crash after cluster default/a update Cluster/status @2" },
  { "recorded_before", "mended", "crash after cluster default/a patch ConfigMap @2" },
  { "claim_left", "buggy", "crash after cluster default/a create PersistentVolumeClaim default/rack-a @1" },
  { "claim_left", "mended", "crash before cluster default/a delete PersistentVolumeClaim default/rack-a @2" },
  { "restart_lost", "buggy", "crash after cluster default/a patch ConfigMap @2", "stale ConfigMap 1.0 @1" },
  { "restart_lost", "mended", "crash after cluster default/a patch ConfigMap @2" },
  { "unseen_state", "mended", "stale Cluster 1.0 @3", "restart @1" },
  { "old_spec", "buggy", "stale Cluster 1.1 @2" },
  { "old_spec", "mended", "stale Cluster 1.1 @2" },
  { "swallowed", "buggy", "outage patch Secret @1" },
  { "swallowed", "mended", "outage patch Secret @1" },
}

-- Values in which the API server puts random names.
local RULES = require("perilune.explore.ignore").parse({ "v1/Pod default/* spec" })

-- Classes that are visible in the state of a cluster; the others concern runs or temporary states.
local shown = { state = true, replaced = true, leak = true }

-- "CLASS KIND KEY FIELD IS" of each, sorted.
local function summary(findings)
  local lines = {}
  for _, f in ipairs(findings) do
    if shown[f.class] then
      lines[#lines + 1] = ("%s %s %s %s: %s"):format(f.class, f.kind, f.key, f.field, f.is)
    end
  end
  table.sort(lines)
  return table.concat(lines, "\n")
end

-- The explorer's findings for a plan in a world.
local function explored(name, variant, plan)
  local _, out = e2e.run("test", "spec/explore/" .. name, "--explore", "-o", "json", "--filter", variant,
    "--plan", plan)
  local findings = {}
  for line in out:gmatch("[^\n]+") do
    findings[#findings + 1] = cjson.decode(line)
  end
  return summary(findings)
end

describe("a plan of the explorer", function()
  local server, proxy

  setup(function()
    server = e2e.server()
    server:apply_crd(e2e.read_file("spec/explore/manifests/crd.yaml"))
    proxy = proxies.start(server)
  end)
  teardown(function()
    proxy:stop()
    server:stop()
  end)
  after_each(function()
    proxy:clear()
    proxy:release()
    e2e.clean_up()
  end)

  for _, case in ipairs(PLANS) do
    local name, variant = case[1], case[2]
    it(("has the same end in a cluster: %s, %s"):format(name, variant), function()
      local script = ("spec/explore/%s/%s.lua"):format(name, variant)
      local function execute(plan)
        return cluster_world.execute(server, proxy, script, scenarios[name], plan)
      end
      local reference = execute({})
      for i = 3, #case do
        local execution = execute(assert(plans.parse(case[i])))
        local findings = judges.judge(reference, execution, states.no_taint(), RULES)
        assert.equal(explored(name, variant, case[i]), summary(findings), case[i])
      end
    end)
  end
end)
