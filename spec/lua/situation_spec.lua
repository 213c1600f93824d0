-- Situations of the explorer: which pairs of disturbances show the same.
require("spec.support.host")
local converged = require("perilune.explore.converged")
local judges = require("perilune.explore.judge")
local plans = require("perilune.explore.plan")
local search = require("perilune.explore.search")
local situations = require("perilune.explore.situation")
local states = require("perilune.explore.state")
local toy = require("spec.support.toy_cluster")

local MAP = "v1/ConfigMap"

local function scenario(world)
  world:apply(MAP, "default/a", { data = { size = 1 } })
  world:settle()
  world:apply(MAP, "default/a", { data = { size = 2 } })
  world:settle()
end

-- Copies the size to two objects. The second copy is forgotten if the first one was there already.
local function forgets(world, key)
  local size = world:get(MAP, key).data.size
  local there = world:get(MAP, "default/one")
  if not (there and there.data.size == size) then
    world:write("patch", MAP, "default/one", { data = { size = size } }, "main.lua:1")
    world:write("patch", MAP, "default/two", { data = { size = size } }, "main.lua:2")
  end
end

local function copies(world, key)
  local size = world:get(MAP, key).data.size
  for i, name in ipairs({ "default/one", "default/two" }) do
    local there = world:get(MAP, name)
    if not (there and there.data.size == size) then
      world:write("patch", MAP, name, { data = { size = size } }, "main.lua:" .. i)
    end
  end
end

local function parse(text)
  return assert(plans.parse(text))[1]
end

describe("a situation", function()
  local function of(text, controller)
    local execute = toy.executor({ copy = controller or copies }, scenario)
    local reference, execution = execute({}, { seed = 1 }), execute({ text ~= "" and parse(text) or nil }, { seed = 1 })
    execution.restarted = text:find("^crash") and 1 or 0
    for _, run in ipairs({ reference, execution }) do
      for _, settle in ipairs(run.settles) do
        judges.canonize(settle, states.no_taint(), {})
      end
    end
    return situations.of(reference, execution)
  end

  local function name(first, second, controller, is_possible)
    local whole, text = of(first, controller):of_pair(parse(first), parse(second), is_possible or {})
    return text and situations.joined(whole, text, {}) or whole
  end

  local FIRST, SECOND = "copy default/a patch ConfigMap default/one", "copy default/a patch ConfigMap default/two"
  local later = "refuse 500 " .. FIRST .. " @2"

  it("is that of the undisturbed run when nothing is left of the first disturbance", function()
    local alone = of(""):of_single(parse(later))
    assert.is_string(alone)
    assert.equal(alone, name("refuse 500 " .. FIRST .. " @1", later))
    assert.equal(alone, name("crash after " .. SECOND .. " @1", later))
    assert.not_equal(alone, name("crash after " .. SECOND .. " @1", "refuse 500 " .. SECOND .. " @2"))
  end)

  it("is another one when the state differs", function()
    local alone = of("", forgets):of_single(parse(later))
    assert.not_equal(alone, name("crash after " .. FIRST .. " @1", later, forgets))
    assert.equal(name("crash after " .. FIRST .. " @1", later, forgets),
      name("lose timeout " .. FIRST .. " @1", later, forgets))
  end)

  it("is that of what follows in the same step", function()
    local next_one = "refuse 500 " .. SECOND .. " @1"
    local refused = name("refuse 500 " .. FIRST .. " @1", next_one)
    assert.equal(refused, name("refuse 503 " .. FIRST .. " @1", next_one))
    assert.not_equal(refused, name("crash before " .. FIRST .. " @1", next_one))
    assert.not_equal(refused, name("lose timeout " .. FIRST .. " @1", next_one))
    assert.not_equal(refused, name("refuse 500 " .. FIRST .. " @1", "refuse 500 " .. FIRST .. " @1.2"))
  end)

  it("of a restart in a settled step is that of the step's end", function()
    assert.equal(of(""):of_single(parse("restart @1")), name("refuse 500 " .. FIRST .. " @1", "restart @1"))
    assert.not_equal(of(""):of_single(parse("restart @1")), name("refuse 500 " .. FIRST .. " @1", "restart @2"))
    assert.not_equal(of("", forgets):of_single(parse("restart @1")),
      name("crash after " .. FIRST .. " @1", "restart @1", forgets))
  end)

  it("of a start on an old cache is another one when a crash in that step causes it", function()
    local stale = "stale ConfigMap 1.0 @2"
    local alone = of(""):of_single(parse(stale))
    local first, second = name("crash after " .. FIRST .. " @2", stale), name("crash after " .. SECOND .. " @2", stale)
    assert.not_equal(alone, first)
    assert.not_equal(alone, second)
    assert.not_equal(first, second)
    assert.equal(alone, name("crash after " .. SECOND .. " @1", stale))
  end)

  it("of a start on an old cache is another one while a cache is held back", function()
    local stale = "stale ConfigMap 1.0 @2"
    local alone, is_possible = of(""):of_single(parse(stale)), { [stale] = true }
    for _, held in ipairs({ "lag Pod @2", "unobserved Pod @2", "unobserved Pod @1", "late collection @2" }) do
      local both = name(held, stale, copies, is_possible)
      assert.is_string(both)
      assert.not_equal(alone, both)
    end
    assert.equal(name("lag Pod @2", stale, copies, is_possible), name("unobserved Pod @2", stale, copies, is_possible))
    assert.not_equal(name("lag Pod @2", stale, copies, is_possible), name("lag Secret @2", stale, copies, is_possible))
  end)

  it("knows what follows an execution that ended since it was like the undisturbed run", function()
    local undisturbed = { steps = 3, trace = { { step = 1 }, { step = 2 }, { step = 3 } },
      settles = { { step = 1 }, { step = 2 }, { step = 3 } }, points = { { step = 1 }, { step = 3 } },
      kinds = { Pod = { 2, 2 }, Node = { [3] = 1 } }, keys = { { "key" }, { "key" } }, deletions = {},
      events = { Pod = { { step = 1, n = 1, version = 5 }, { step = 2, n = 1, version = 6 } } } }
    local ended = { steps = 1, converged = true, trace = { { step = 1 }, { step = 1 } }, settles = { { step = 1 } },
      points = { { step = 1 }, { step = 1 } }, last_point = 2, keys = { { "other" } },
      kinds = { Pod = { 4 }, Secret = { 1 } }, deletions = { { "Pod" } },
      events = { Pod = { { step = 1, n = 4, version = 90 } }, Secret = { { step = 1, n = 1, version = 91 } } } }
    local whole = converged.whole(ended, undisturbed)
    local function steps_of(list)
      local out = {}
      for i, entry in ipairs(list) do
        out[i] = entry.step
      end
      return out
    end
    assert.same({ 3, { 1, 1, 2, 3 }, { 1, 2, 3 }, { 1, 1, 3 }, 2 }, { whole.steps, steps_of(whole.trace),
      steps_of(whole.settles), steps_of(whole.points), whole.last_point })
    assert.same({ Pod = { 4, 2 }, Node = { [3] = 1 }, Secret = { 1 } }, whole.kinds)
    assert.same({ 1 }, steps_of(whole.events.Secret))
    assert.same({ { "other" }, { "key" } }, whole.keys)
    assert.same({ { "Pod" } }, whole.deletions)
    assert.same({ 1, 2 }, steps_of(whole.events.Pod))
    assert.is_true(whole.events.Pod[2].version > 90) -- it comes after all others
    assert.equal(1, #ended.events.Pod)
    ended.converged = nil
    assert.equal(ended, converged.whole(ended, undisturbed))
  end)

  it("knows whether a restart finds the cluster undisturbed while a cache is held back", function()
    local execute = toy.executor({ copy = copies }, scenario)
    local reference, execution = execute({}, { seed = 1 }), execute({}, { seed = 1 })
    for _, run in ipairs({ reference, execution }) do
      for _, settle in ipairs(run.settles) do
        judges.canonize(settle, states.no_taint(), {})
      end
    end
    local function finds(held, stale, settle)
      execution.while_held = { [2] = settle }
      return situations.of(reference, execution):restarts_undisturbed(parse(held), parse(stale))
    end
    local first, second = execution.settles[1], execution.settles[2]
    assert.is_true(finds("lag Pod @2", "stale ConfigMap 1.0 @2", second))
    assert.is_true(finds("unobserved Pod @1", "stale ConfigMap 1.0 @2", second))
    assert.is_false(finds("lag Pod @2", "stale ConfigMap 1.0 @2", first)) -- another state
    assert.is_false(finds("lag Pod @1", "stale ConfigMap 1.0 @2", second)) -- it is over before
    assert.is_false(finds("late collection @2", "stale ConfigMap 1.0 @2", second)) -- no cache
    assert.is_false(finds("lag Pod @2", "stale ConfigMap 1.0 @2", nil))
  end)

  it("knows which caches had no event after a restart", function()
    local execute = toy.executor({ copy = copies }, scenario)
    local reference, execution = execute({}, { seed = 1 }), execute({}, { seed = 1 })
    for _, run in ipairs({ reference, execution }) do
      run.kinds = { ConfigMap = { 3, 3 }, Pod = { [2] = 1 } }
      for _, settle in ipairs(run.settles) do
        judges.canonize(settle, states.no_taint(), {})
      end
    end
    execution.kinds = { ConfigMap = { 3, 5 }, Pod = { [2] = 1 }, Secret = { [2] = 1 } }
    local situation = situations.of(reference, execution)
    local quiet = situation:quiet_after(parse("stale ConfigMap 1.0 @2"))
    assert.same({ ConfigMap = false, Pod = true, Secret = false }, quiet.kinds)
    assert.equal(situation:rest(3), quiet.rest)
    assert.is_nil(situation:quiet_after(parse("restart @2")))
    execution.settles[2].over = false
    assert.is_nil(situations.of(reference, execution):quiet_after(parse("stale ConfigMap 1.0 @2")).rest)
  end)

  it("of what is held back without a difference is that of the restart, or of the next step", function()
    local class = {}
    require("perilune.explore.pairs")(class)
    local function named(held, stale, quiet, finds_undisturbed)
      return class.name_of_pair({ of_singles = { quiet = { [stale] = quiet }, after = {} } }, parse(held),
        { parse(stale), "both", nil, finds_undisturbed ~= false })
    end
    local quiet, busy = { kinds = { Pod = true }, rest = "rest" }, { kinds = { Pod = false }, rest = "rest" }
    local stale = "stale ConfigMap 1.0 @2"
    assert.is_nil(named("lag Pod @2", stale, quiet))
    assert.equal("both", named("lag Pod @2", stale, busy))
    assert.equal("both", named("lag Pod @2", stale, nil))
    assert.equal("both", named("lag Pod @2", stale, quiet, false))
    assert.is_nil(named("lag ConfigMap @2", stale, quiet)) -- the restart holds it back, too
    assert.equal("both", named("unobserved ConfigMap @2", stale, quiet))
    assert.is_nil(named("unobserved Pod @1", stale, quiet))
    local next_step = named("unobserved Pod @2", stale, quiet)
    assert.not_equal("both", next_step)
    assert.equal(next_step, named("unobserved Pod @2", "stale ConfigMap 1.3 @2", quiet))
    assert.not_equal(next_step, named("unobserved Pod @2", stale, { kinds = { Pod = true }, rest = "other" }))
    assert.equal("both", named("unobserved Pod @2", stale, { kinds = { Pod = true } }))
  end)

  it("tells old caches apart by what they have", function()
    local function with(events)
      local situation = of("")
      situation.events = { ConfigMap = events }
      return function(text) return situation:of_single(parse(text)) end
    end
    local function event(step, n, version)
      return { step = step, n = n, version = version, text = "MODIFIED v1/configmaps default/a" }
    end
    local once = with({ event(1, 1, 10), event(1, 2, 11), event(2, 1, 12) })
    local twice = with({ event(1, 1, 10), event(1, 2, 11), event(1, 3, 11), event(2, 1, 12) })
    assert.equal(once("stale ConfigMap 1.2 @2"), twice("stale ConfigMap 1.3 @2"))
    assert.equal(once("stale ConfigMap 2.1 @2"), twice("stale ConfigMap 2.1 @2"))
    assert.not_equal(once("stale ConfigMap 1.1 @2"), once("stale ConfigMap 1.2 @2"))
    assert.not_equal(once("stale ConfigMap 1.0 @2"), once("stale ConfigMap 1.1 @2"))
    assert.not_equal(once("stale ConfigMap 1.1 @1"), once("stale ConfigMap 1.1 @2"))
    local many = {}
    for n = 1, 10000 do
      many[n] = event(1, n, n)
    end
    assert.not_equal(with(many)("stale ConfigMap 1.9999 @1"), with(many)("stale ConfigMap 1.9998 @1"))
  end)

  it("names a plan in one of its two orders", function()
    local moment = "refuse 500 " .. FIRST .. " @1"
    local is_possible = { [moment] = true }
    assert.is_nil(name("lag ConfigMap @1", moment, copies, is_possible))
    assert.is_string(name("lag ConfigMap @1", "refuse 500 " .. FIRST .. " @1.2", copies, is_possible))
    assert.is_string(name(moment, "lag ConfigMap @1", copies, is_possible))
    assert.equal(name("lag ConfigMap @1", "unobserved Pod @1"), name("unobserved Pod @1", "lag ConfigMap @1"))
    assert.is_nil(name("lag ConfigMap @1", "unobserved ConfigMap @1"))
  end)
end)

describe("the search of pairs", function()
  -- Gives up after two refusals.
  local function counts(world, key)
    local size, one = world:get(MAP, key).data.size, world:get(MAP, "default/one")
    if world.memory.refused == 2 then
      size = 0
    end
    if one and one.data.size == size then return end
    local ok, e = pcall(world.write, world, "patch", MAP, "default/one", { data = { size = size } }, "main.lua:1")
    if not ok then
      world.memory.refused = (world.memory.refused or 0) + 1
      error(e, 0)
    end
    if world.memory.refused == 1 then
      world.memory.refused = nil
    end
  end

  local function explore(controller)
    return search.explore({ execute = toy.executor({ copy = controller }, scenario), seed = 1, executions = 3000,
      random = 0, clock = os.clock })
  end

  it("finds what only two disturbances show", function()
    local result = explore(counts)
    assert.truthy(result.groups[1])
    assert.equal(2, result.groups[1].parts)
  end)

  it("leaves out those that lead to the same, and counts them", function()
    local result = explore(copies)
    assert.same({}, result.groups)
    assert.equal(result.pairs.total, result.pairs.done)
    assert.is_true(result.left_out["another pair leads to the same"] > result.pairs.total)
  end)
end)
