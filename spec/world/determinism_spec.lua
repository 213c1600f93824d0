-- The same seed and plan always give the same execution: its trace, and every value of the states
-- at which it settles. So it is a thousand times in one process, and on every machine: TRACES has
-- the SHA-256 of the executions of each plan, which all machines compare with their own.

local perilune = require("perilune")
local executor = require("perilune.explore.executor")
local plans = require("perilune.explore.plan")
local report = require("perilune.explore.report")
local worlds = require("perilune.explore.worlds")

local TIMES = os.getenv("PL_SANITIZED") and 40 or 1000

-- By plan, with seed 7. A change of the program may change them: a new value is right if the trace
-- before and after it shows what was meant.
local TRACES = {
  { "", "b67807449c7c6bc457401a309648d5ee52c77e1c4951b60e805a8e2263241606" },
  { "crash after maps default/a create Secret @1",
    "d057c0ceba6c9b6fff991b60064af2550d5bb8c2190cf9b7274c83bc5c71e93d" },
  { "lose timeout maps default/a patch ConfigMap default/copy @2, early @2 after 1",
    "81eb930fff51092303f2d988a7b544205da562c45149400585fb3a7f5c3fa753" },
  { "unobserved ConfigMap @2", "56cef4f0743c30b340ac30cb8dce7a5f25b2cbd97780c2224714e18ffc3eca6c" },
}

local SCRIPT = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("maps"):For("v1/ConfigMap", { labels = "app=yes" }):Owns("v1/Secret")
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if not map then return end
    local secrets = client:list("v1/Secret", { namespace = request.namespace })
    if #secrets == 0 then
      client:create({ apiVersion = "v1", kind = "Secret", metadata = { generateName = "key-",
        namespace = request.namespace }, stringData = { key = perilune.random(8):byte(1) .. "-"
        .. math.random(1000000) } }, { owner = map })
    end
    perilune.sleep("1s")
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "copy",
      namespace = request.namespace }, data = { at = tostring(os.time()), of = map.data.text } })
    for name in pairs({ alpha = 1, beta = 2, gamma = 3, delta = 4, epsilon = 5 }) do
      client:apply({ apiVersion = "v1", kind = "Secret", metadata = { name = name, namespace = request.namespace } })
    end
    return { requeue_after = "10m" }
  end)
]]

local function run(world)
  world:create{ apiVersion = "v1", kind = "ConfigMap", data = { text = "1" },
    metadata = { name = "a", namespace = "default", labels = { app = "yes" } } }
  world:settle()
  world:patch("v1/ConfigMap", "default/a", { data = { text = "2" } })
  world:settle()
end

describe("the same seed and plan", function()
  local folder, execute

  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    os.execute("mkdir " .. folder)
    local file = assert(io.open(folder .. "/main.lua", "w"))
    file:write(SCRIPT)
    file:close()
    local scenario = { name = "a map", folder = folder, options = { scripts = folder .. "/main.lua" },
      f = run }
    execute = executor.new({ f = run, kind_of = worlds.kind_of, open = function(how, at)
      return worlds.open(scenario, how, at)
    end })
  end)
  teardown(function()
    os.execute("rm -r " .. folder)
  end)

  local function digest(text, seed)
    local execution = execute(assert(plans.parse(text)), { seed = seed })
    assert.same({}, execution.unmet)
    assert.same({}, execution.errors)
    return execution.digest
  end

  it("give the same trace a thousand times", function()
    for _, case in ipairs(TRACES) do
      local plan = case[1]
      local first = digest(plan, 7)
      assert.is_true(#first > 100)
      for _ = 2, TIMES / #TRACES do
        local again = digest(plan, 7)
        if again ~= first then
          error(("plan %q: %s"):format(plan, report.differing({ plan = plan, first = first,
            second = again })), 0)
        end
      end
    end
  end)

  it("give the same trace on every machine", function()
    for _, case in ipairs(TRACES) do
      local trace = digest(case[1], 7)
      local hash = perilune.hash(trace)
      assert.is_true(hash == case[2], ("plan %q: the trace has the hash %s:\n%s"):format(case[1], hash, trace))
    end
  end)

  it("are another with another seed, or another plan", function()
    assert.are_not.equal(digest("", 7), digest("", 8))
    assert.are_not.equal(digest("", 7), digest("restart @2", 7))
  end)
end)
