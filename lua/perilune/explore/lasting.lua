-- Whether a finding lasts. Disturbances take time, so at a settled point an object that a schedule
-- creates or removes may be there or not, by chance. So a plan that leads to a finding is run once more,
-- and each step has hours to settle, in that run and in the undisturbed one. Adds its method to a search's class.

local judges = require("perilune.explore.judge")
local skipped = require("perilune.explore.skipped")

local PATIENCE = 2 * 3600 + 97 -- seconds for each step, which ends where no schedule begins
local LONG_DOWN = 11 -- seconds that a long restart takes
local LONG, LONGER = 1800, 5 * 3600 + 97 -- a long step takes twice as long after a crash

local ends = { state = true, replaced = true, leak = true, restart = true }

return function(search)

skipped(search)

local function counts(f)
  return f.class == "restart" and f.field:find("^status%.") and tonumber(f.is) ~= nil
end

local function as_before(f, findings)
  for _, other in ipairs(findings) do
    if other.class == f.class and other.place == f.place and other.field == f.field then
      return other.is == f.is
    end
  end
  return false
end

-- The findings without numbers in a status that a longer restart changes in another way: seconds that are left, or
-- have passed, follow the clock like a time.
function search:unclocked(plan, findings)
  local some = false
  for _, f in ipairs(findings) do
    some = some or counts(f)
  end
  if not some then
    return findings
  end
  local execution, out = self.o.execute(plan, { seed = self.o.seed, down = LONG_DOWN, runs = self.runs }), {}
  self.count = self.count + 1
  if execution.inconclusive then
    return findings
  end
  local longer = self:judge(execution)
  for _, f in ipairs(findings) do
    out[#out + 1] = (not counts(f) or as_before(f, longer)) and f or nil
  end
  return out
end

-- The findings that remain if the next step comes hours later, at the same time in both runs.
function search:lasting(plan, findings)
  local kinds, judged = {}, false
  findings = self:unclocked(plan, self:unskipped(plan, findings))
  for _, f in ipairs(findings) do
    judged = judged or ends[f.class]
  end
  if #plan == 0 or not judged then
    return findings
  end
  local seconds = (self.reference.longest or 0) > LONG and LONGER or PATIENCE
  self.patient = self.patient or self.o.execute({}, { seed = self.o.seed, patient = seconds })
  local execution = self.o.execute(plan, { seed = self.o.seed, patient = seconds, runs = self.runs })
  self.count = self.count + 1
  if execution.inconclusive then
    return findings
  end
  local found = #execution.unmet == 0
    and judges.judge(self.patient, execution, self.taint, self.rules) or {}
  for _, f in ipairs(found) do
    kinds[f.kind] = kinds[f.kind] or ends[f.class]
  end
  local out = {}
  for _, f in ipairs(findings) do
    out[#out + 1] = (kinds[f.kind] or not ends[f.class]) and f or nil
  end
  if #out == 0 then
    self:leave_out("hours later nothing differs")
  end
  return out
end
end
