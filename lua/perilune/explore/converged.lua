-- Whether an execution has become like the undisturbed one at a settled point: the cluster is the same, what the
-- host knows is the same, and nothing of the plan is left. What follows is the same then, too, so a branch ends
-- there. It must not end one in which something could still differ: whatever cannot be compared, such as
-- variables of the scenario, keeps it going. Adds its methods to an executor's class.

local judges = require("perilune.explore.judge")

-- What the scenario may remember without telling anybody.
local remembers = { http = true, exec = true, always = true }

return function(exec)

-- Notes that the scenario's variables, or its rules, may differ from those of the undisturbed run.
function exec:note_call(name, looks)
  self.own_memory = self.own_memory or remembers[name] or looks and self.choose.applied > 0
end

-- Whether the same managers have the fields of each object.
local function same_managers(want, settle)
  if #want.state ~= #settle.state then
    return false
  end
  for i, item in ipairs(settle.state) do
    local other = want.state[i]
    local is_known = item.external or item.managers
    if other.id ~= item.id or other.managers ~= item.managers or not is_known then
      return false
    end
  end
  return true
end

function exec:is_undisturbed_now()
  return self.choose:is_over() and #self.held == 0 and #self.unseen == 0 and #self.outages == 0 and #self.kept == 0
    and not self.pending and not self.own_memory and #self.world.hosts == 1
end

-- Tells the result of a branch, and ends it, if it has converged at the last settled point.
function exec:end_if_converged()
  local i = #self.settles
  local settle, want = self.settles[i], self.undisturbed and self.undisturbed.settles[i]
  if self.ended and want and want.memory and settle.step == want.step and self.choose.branched
    and not self.choose.waiting and self:is_undisturbed_now() and #judges.differences(want, settle) == 0
    and same_managers(want, settle) and self.world:explore_memory() == want.memory then
    self.lines = self.world:explore_lines()
    self.ended(self:result())
  end
end
end
