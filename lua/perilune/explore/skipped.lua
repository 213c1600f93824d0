-- Whether a finding is only what remains when a step is skipped. Where a step comes before the controllers
-- have seen the one before it, a counter is lower, a history is shorter and nothing was rotated: no
-- controller can know better, nor of an object that it has never seen. So the steps are also executed at
-- once, without any other disturbance: a field that has the same value there is no finding. Adds its
-- method to a search's class.

local states = require("perilune.explore.state")

-- The steps of the user: step -> {verb, kind, key}.
local function steps_of(reference)
  local out = {}
  for _, p in ipairs(reference.points) do
    if p.what == "step" then
      local text = p.text or ""
      out[p.step] = { verb = text:match("^%S+"), kind = text:match("^%S+ %S-([^/%s]+) "),
        key = text:match("^%S+ %S+ (%S+)$") }
    end
  end
  return out
end

-- Whether an object gets another spec in this step, after another change and no deletion in the step before.
local function is_replaced(steps, step)
  local before, now = steps[step - 1], steps[step]
  return before and now and now.verb == "patch" and before.verb ~= "delete"
end

local function is_made(steps, step)
  local before, now = steps[step - 1], steps[step]
  return (now.verb == "apply" or now.verb == "create")
    and (not before or before.verb == "delete" or before.kind ~= now.kind)
end

-- Whether the plan lets this step come at once after the one before.
local function comes_at_once(plan, step)
  for _, d in ipairs(plan) do
    if d.what == "early" and d.step == step and d.n == 0 then
      return true
    end
  end
  return false
end

-- The last step in which events stay unobserved: those of another kind in the next step prolong it.
local function last_unseen(plan, step)
  for _, d in ipairs(plan) do
    if d.what == "unobserved" and d.step == step + 1 then
      return last_unseen(plan, step + 1)
    end
  end
  return step
end

-- Whether an object is made, and deleted again, before the controllers have seen it at all.
local function is_never_seen(plan, d, steps)
  local after, step = steps[last_unseen(plan, d.step) + 1], d.step
  if not after or after.verb ~= "delete" or after.kind ~= d.kind then
    return false
  end
  while steps[step] and not is_made(steps, step) and comes_at_once(plan, step) do
    step = step - 1
  end
  return steps[step] ~= nil and is_made(steps, step)
end

-- The parts of a plan by which a step is skipped, as disturbances of an execution that has no others; nil: none.
-- What stays unobserved until after the next step is that next step at once, unless the same object changes
-- again. A step that comes at once after several settled points has a part for each.
local function skips_of(plan, steps)
  local out, at_once, from, last = {}, {}, math.huge, 0
  for _, d in ipairs(plan) do
    if d.what == "unobserved" and is_never_seen(plan, d, steps) then
      from, last = math.min(from, d.step), math.max(last, last_unseen(plan, d.step))
    end
  end
  for _, d in ipairs(plan) do
    local follows = d.what == "early" and d.step or d.what == "unobserved" and d.step + 1
    if d.what == "unobserved" and (d.step >= from and d.step <= last
      or is_replaced(steps, follows) and steps[follows].kind == d.kind) then
      out[#out + 1] = d
    elseif follows and steps[follows] and (d.what == "early" or not at_once[follows]) then
      at_once[follows] = true
      out[#out + 1] = { what = "early", step = follows, n = 0 }
    end
  end
  return #out > 0 and out or nil
end

-- What may explain a finding: all parts by which a step is skipped, or one of several.
local function ways_to_skip(plan, steps)
  local all = skips_of(plan, steps)
  local out = { all }
  for _, d in ipairs(all and #all > 1 and plan or {}) do
    out[#out + 1] = skips_of({ d }, steps)
  end
  return out
end

-- Whether the finding is what an object lacks that was deleted while nobody saw it, and made anew in the next
-- step. It is another object, and has nothing that its controllers gave the first one: they can know.
local function is_lost_anew(plan, steps, f)
  if f.is ~= "absent" then
    return false
  end
  for _, d in ipairs(plan) do
    local before = d.what == "unobserved" and steps[d.step + 1] and steps[d.step]
    if before and before.verb == "delete" and is_made(steps, d.step + 1)
      and before.kind == f.kind:match("[^/]+$") and before.key == f.key then
      return true
    end
  end
  return false
end

-- Removes findings that are so as well when these steps are skipped, and nothing else is disturbed.
local function without_skipped(self, plan, steps, skips, findings)
  local execution, out = self.o.execute(skips, { seed = self.o.seed }), {}
  self.count = self.count + 1
  for _, f in ipairs(findings) do
    local settle = f.class == "state" and f.settle and execution.settles[f.settle]
    local canon = settle and not settle.merged and states.canon(settle.state, self.taint, self.rules)
    out[#out + 1] = not (canon and states.has(canon, f) and not is_lost_anew(plan, steps, f)) and f or nil
  end
  return out
end

return function(search)

-- The findings without those that are so as well when the steps are executed at once.
function search:unskipped(plan, findings)
  local left, steps = findings, steps_of(self.reference)
  for _, skips in ipairs(ways_to_skip(plan, steps)) do
    left = #left > 0 and without_skipped(self, plan, steps, skips, left) or left
  end
  if #left == 0 and #findings > 0 then
    self:leave_out("a controller cannot know of a step that was skipped")
  end
  return left
end
end
