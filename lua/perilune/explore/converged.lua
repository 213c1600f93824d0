-- Whether an execution has become like the undisturbed one at a settled point: the cluster is the same, what the
-- host knows is the same, and nothing of the plan is left. What follows is the same then, too, so a branch ends
-- there. It must not end one in which something could still differ: whatever cannot be compared, such as
-- variables of the scenario, keeps it going.

local judges = require("perilune.explore.judge")

-- What the scenario may remember without telling anybody.
local remembers = { http = true, exec = true, always = true }

local M = {}

local LATER = 1e9 -- is added to versions of the rest: they come after all that the execution has

-- ---- the rest of an execution ----

-- Entries of later steps are those of the undisturbed run.
local function add_later(step, list, rest)
  for _, entry in ipairs(rest) do
    if entry.step > step then
      list[#list + 1] = entry
    end
  end
  return list
end

local function copy_of(list)
  local out = {}
  for key, value in pairs(list or {}) do
    out[key] = value
  end
  return out
end

local function by_step(step, own, rest)
  local out = copy_of(own)
  for s, value in pairs(rest or {}) do
    if s > step then
      out[s] = value
    end
  end
  return out
end

local function with_later_events(step, own, rest)
  local out = copy_of(own)
  for _, event in ipairs(rest or {}) do
    if event.step > step then
      local later = copy_of(event)
      later.version = event.version + LATER
      out[#out + 1] = later
    end
  end
  return out
end

-- kind -> join(step, what the execution has of it, what the rest has).
local function by_kind(join, step, own, rest)
  local out = {}
  for _, of_kind in ipairs({ own, rest }) do
    for kind in pairs(of_kind) do
      out[kind] = out[kind] or join(step, own[kind], rest[kind])
    end
  end
  return out
end

-- The execution as if it had not ended where it was like `undisturbed`. Only to see what could be disturbed later,
-- since uids and versions of the rest are others.
function M.whole(execution, undisturbed)
  if not execution.converged then
    return execution
  end
  local step = execution.steps
  local out = { trace = add_later(step, copy_of(execution.trace), undisturbed.trace),
    settles = add_later(step, copy_of(execution.settles), undisturbed.settles),
    points = add_later(step, copy_of(execution.points), undisturbed.points),
    events = by_kind(with_later_events, step, execution.events, undisturbed.events),
    kinds = by_kind(by_step, step, execution.kinds, undisturbed.kinds), steps = undisturbed.steps }
  for _, name in ipairs({ "deletions", "keys", "lists" }) do
    out[name] = by_step(step, execution[name], undisturbed[name])
  end
  return setmetatable(out, { __index = execution })
end

-- ---- in an execution ----

-- Adds its methods to an executor's class.
function M.add_to(exec)

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

-- Tells the result of a branch, and ends it, if it has converged at a settled point. After the last one of the
-- scenario nothing is left that ending it could spare.
function exec:end_if_converged()
  local i = #self.settles
  local wants = self.how.undisturbed and self.how.undisturbed.settles or {}
  local settle, want = self.settles[i], i < #wants and wants[i]
  if self.how.ended and want and want.memory and settle.step == want.step and self.choose.branched
    and not self.choose.waiting and self:is_undisturbed_now() and #judges.differences(want, settle) == 0
    and same_managers(want, settle) and self.world:explore_memory() == want.memory then
    self.lines = self.world:explore_lines()
    local result = self:result()
    result.converged = true
    self.how.ended(result)
  end
end
end

return M
