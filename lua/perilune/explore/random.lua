-- Random plans of three disturbances, when all pairs have been tried. They are drawn as all triples of a random
-- set, since those share most of their beginnings, which then run once. Adds its method to a search's class.

local plans = require("perilune.explore.plan")

local PARTS = 3
local SET = 8 -- disturbances, which have 56 triples
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

-- Different disturbances of a random half of the classes, at most SET of them.
local function random_set(all, classes, draw)
  local on, pool, set, seen = {}, {}, {}, {}
  for class in pairs(classes) do
    on[class] = true
  end
  for _, class in ipairs({ "crash", "refuse", "lose", "stale", "lag", "unobserved", "order" }) do
    on[class] = on[class] and draw(2) == 1
  end
  for _, d in ipairs(all) do
    pool[#pool + 1] = on[d.what] and d or nil
  end
  for _ = 1, math.min(SET, #pool) do
    local d = pool[draw(#pool)]
    if not seen[d] then
      seen[d], set[#set + 1] = true, d
    end
  end
  return set
end

-- What happens at the end of a step, in this order.
local at_end = { stale = 1e9, again = 1e9 + 1, restart = 1e9 + 2 }

-- The place of a disturbance in its step: the number of its point in the undisturbed run, or its beginning or end.
local function moments_of(reference)
  local at = {}
  for i, p in ipairs(reference.points) do
    local key = plans.key_of(p)
    if key then
      at[key] = i
    end
  end
  return function(d)
    return at_end[d.what] or d.what ~= "reload" and at[plans.key_of(d)] or 0
  end
end

-- Sorts disturbances as they begin. Where that is wrong, the plan only runs as one of its own.
local function sort_by_beginning(set, moment)
  table.sort(set, function(a, b)
    if plans.begins_before(a, b) or plans.begins_before(b, a) then
      return plans.begins_before(a, b)
    elseif moment(a) ~= moment(b) then
      return moment(a) < moment(b)
    end
    return plans.print_one(a) < plans.print_one(b)
  end)
end

local function triples_of(set)
  local out = {}
  for i = 1, #set - 2 do
    for j = i + 1, #set - 1 do
      for k = j + 1, #set do
        out[#out + 1] = { set[i], set[j], set[k] }
      end
    end
  end
  return out
end

return function(search)

function search:at_random(all)
  local draw, classes, left = generator(self.o.seed + 7919), {}, self.o.random or math.huge
  local moment = moments_of(self.reference)
  for _, d in ipairs(all) do
    classes[d.what] = true
  end
  while not self:spent() and #all >= PARTS and left > 0 do
    local some, room = {}, math.min(self:room(MANY), left)
    while #some < room do
      local set = random_set(all, classes, draw)
      sort_by_beginning(set, moment)
      for _, plan in ipairs(triples_of(set)) do
        some[#some + 1] = #some < room and plan or nil
      end
    end
    left = left - #some
    self:each(some, { at_first = FEW, at_most = MANY, in_order = true }, function(plan, outcome, execution)
      self.random = self.random + 1
      self:take(plan, execution, outcome.findings)
    end)
  end
end
end
