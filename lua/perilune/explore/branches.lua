-- Plans that begin alike, as branches of one execution: where a plan's next part is asked for, this
-- process is copied, and the copy continues with the plan. So everything before that point runs once
-- for all of them. Several branches run at a time. A branch reports its findings as text; its worlds end with it.
--
-- `o`: execute(plan, how) -> execution, branch = {fork(), wait(branches), finish(text)} as perilune.world has
-- them, at_a_time: the most branches that run.

local buffer = require("string.buffer")

local M = {}

-- A plain value as text: strings, numbers, booleans, and tables of them.
M.pack = buffer.encode

-- The value of such a text; nil: the text is another one.
function M.unpack(text)
  local ok, value = pcall(buffer.decode, text)
  return ok and value or nil
end

-- Branches that run, and the values of those that have ended.
local running = {}
running.__index = running

function running:take()
  local at, text = self.branch.wait(self.branches)
  table.remove(self.branches, at)
  self.found[table.remove(self.plans, at)] = M.unpack(text)
end

-- Returns true in the branch for the i-th plan.
function running:begin(i, at_a_time)
  if #self.branches >= at_a_time then
    self:take()
  end
  local is_branch, branch = self.branch.fork()
  if branch then
    self.branches[#self.branches + 1], self.plans[#self.plans + 1] = branch, i
  end
  return is_branch
end

function running:take_all()
  while #self.branches > 0 do
    self:take()
  end
  return self.found
end

-- Runs `plans`, which begin with the parts of `base`. look(plan, execution) makes a plain value, in the
-- branch. Returns index -> value. A plan has no value if it had no branch: its parts do not happen,
-- is_over() was true when it was its turn, or the system had no room for another process.
function M.run(o, base, plans, how, look, is_over)
  local run = setmetatable({ branch = o.branch, branches = {}, plans = {}, found = {} }, running)
  local others, mine = {}, nil
  for i, plan in ipairs(plans) do
    others[i] = { i = i, parts = { unpack(plan, #base + 1) } }
  end
  how.others = others
  how.fork = function(other)
    local is_branch = not is_over() and run:begin(other.i, o.at_a_time or 1)
    mine = is_branch and other or mine
    return is_branch
  end
  local ok, result = pcall(o.execute, { unpack(base) }, how)
  if mine then
    ok, result = pcall(function()
      return M.pack(look(plans[mine.i], ok and result or error(result, 0)))
    end)
    o.branch.finish(ok and result or "")
  end
  local found = run:take_all()
  if not ok then
    error(result, 0)
  end
  return found
end

return M
