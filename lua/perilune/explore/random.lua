-- Random plans of three disturbances, when all pairs have been tried. Adds its method to a search's class.

local plans = require("perilune.explore.plan")

local PARTS = 3
local FEW, MANY = 64, 1024 -- plans that branch off from one execution: at first, and later

-- An own generator of random numbers, which gives the same numbers on every machine.
local function generator(seed)
  local state = seed % 2147483647
  if state == 0 then
    state = 1
  end
  return function(n)
    state = state * 16807 % 2147483647
    return state % n + 1
  end
end

-- A plan of three disturbances, from a random half of the classes.
local function random_plan(all, classes, draw)
  local on, pool, plan = {}, {}, {}
  for class in pairs(classes) do
    on[class] = true
  end
  for _, class in ipairs({ "crash", "refuse", "lose", "stale", "lag", "unobserved", "order" }) do
    on[class] = on[class] and draw(2) == 1
  end
  for _, d in ipairs(all) do
    pool[#pool + 1] = on[d.what] and d or nil
  end
  for _ = 1, math.min(PARTS, #pool) do
    local d = pool[draw(#pool)]
    if not (plan[1] and plans.same(plan[1], d)) and not (plan[2] and plans.same(plan[2], d)) then
      plan[#plan + 1] = d
    end
  end
  return plan
end

return function(search)

function search:at_random(all)
  local draw, classes, most = generator(self.o.seed + 7919), {}, self.o.random or math.huge
  for _, d in ipairs(all) do
    classes[d.what] = true
  end
  local drawn = 0
  while not self:spent() and #all >= PARTS and drawn < most do
    local some, room = {}, self:room(MANY)
    while #some < room and drawn < most do
      local plan = random_plan(all, classes, draw)
      drawn = drawn + 1
      some[#some + 1] = #plan > 0 and plan or nil
    end
    self:each(some, { at_first = FEW, at_most = MANY }, function(plan, outcome, execution)
      self.random = self.random + 1
      self:take(plan, execution, outcome.findings)
    end)
  end
end
end
