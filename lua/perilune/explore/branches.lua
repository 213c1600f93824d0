-- Plans that begin alike, as branches of one execution: where a plan's next part is asked for, this
-- process is copied, and the copy continues with the plan. So everything before that point runs once
-- for all of them. Plans with the same first parts are branches of the branch with these. Several branches
-- run at a time. A branch reports its findings as text; its worlds end with it.
--
-- `o`: execute(plan, how) -> execution, branch = {fork(seconds), wait(branches), finish(text)} as perilune.world has
-- them, at_a_time: the most branches that run.

local buffer = require("string.buffer")
local plans = require("perilune.explore.plan")

local M = {}

local AT_A_TIME = 64 -- limit of perilune.world
local LONG = 3600 -- seconds that an execution with all its branches may take
local WORTH_IT = 100 -- plans for which the memory is tidied before
local MOST = 32 -- branches of a branch, which has a limited time for all of them

-- A plain value as text: strings, numbers, booleans, and tables of them.
M.pack = buffer.encode

-- The value of such a text; nil: the text is another one.
function M.unpack(text)
  local ok, value = pcall(buffer.decode, text)
  return ok and value or nil
end

-- ---- what runs ----

-- Branches that run, those of `others` that they are for, and the packed values of plans whose branches have ended.
local running = {}
running.__index = running

local function new_running(branch, at_a_time)
  return setmetatable({ branch = branch, at_a_time = at_a_time, branches = {}, others = {}, found = {} }, running)
end

function running:take()
  local at, text = self.branch.wait(self.branches)
  table.remove(self.branches, at)
  local other = table.remove(self.others, at)
  if not other.others then
    self.found[other.i] = text
  end
  for i, one in pairs(other.others and M.unpack(text) or {}) do
    self.found[i] = one
  end
end

-- Returns true in the branch for `other`.
function running:begin(other)
  if #self.branches >= self.at_a_time then
    self:take()
  end
  local is_branch, branch = self.branch.fork()
  if branch then
    self.branches[#self.branches + 1], self.others[#self.others + 1] = branch, other
  end
  return is_branch
end

function running:take_all()
  while #self.branches > 0 do
    self:take()
  end
  return self.found
end

-- ---- plans as branches ----

local function list_of(plan_list)
  local out = {}
  for i, plan in ipairs(plan_list) do
    out[i] = { i = i, parts = plan }
  end
  return out
end

-- The same list in which those with the same first part, and so on, are the `others` of one with that part.
local function tree_of(list)
  local out, by_first = {}, {}
  for _, one in ipairs(list) do
    local first, rest = one.parts[1], { i = one.i, parts = { unpack(one.parts, 2) } }
    local name = plans.print_one(first)
    local node = by_first[name]
    if not node or #node.others == MOST then
      node = { parts = { first }, others = {} }
      by_first[name], out[#out + 1] = node, node
    end
    table.insert(node.others, rest)
  end
  for at, node in ipairs(out) do
    local only = #node.others == 1 and node.others[1]
    if only then
      out[at] = { i = only.i, parts = { node.parts[1], unpack(only.parts) } }
    else
      node.others = #node.others[1].parts > 1 and tree_of(node.others) or node.others
    end
  end
  return out
end

-- Tells the value of an execution, or that there is none, and ends the branch.
local function tell(o, look, plan, execution)
  local ok, result = pcall(function()
    return M.pack(look(plan, execution))
  end)
  o.branch.finish(ok and result or "")
end

-- Runs the execution from which plans branch off, as execute(how). Returns index -> packed value.
local function run_branches(o, execute, plan_list, how, look, is_over, in_order)
  local run, mine, left = new_running(o.branch, math.min(o.at_a_time or 1, AT_A_TIME)), nil, nil
  local list = list_of(plan_list)
  how.others = in_order and tree_of(list) or list
  how.fork = function(other)
    local is_branch = not is_over() and run:begin(other)
    if is_branch then
      run, mine, left = new_running(o.branch, 1), other, other.others and #other.others
    elseif mine then
      left = left - 1
      if left == 0 then -- nobody needs the rest
        o.branch.finish(M.pack(run:take_all()))
      end
    end
    return is_branch
  end
  how.ended = function(execution)
    if mine and not mine.others then
      tell(o, look, plan_list[mine.i], execution)
    end
  end
  local ok, result = pcall(execute, how)
  if mine and mine.others then
    o.branch.finish(M.pack(run:take_all()))
  elseif mine then
    tell(o, look, plan_list[mine.i], ok and result)
  end
  local found = run:take_all()
  if not ok then
    error(result, 0)
  end
  return found
end

-- The same in a copy of this process, in which the world is open already; nil: the copy did not finish.
local function proceed(o, prepared, ...)
  local is_branch, branch = o.branch.fork(LONG)
  if is_branch then
    local ok, found = pcall(run_branches, o, prepared.proceed, ...)
    o.branch.finish(ok and M.pack(found) or "")
  elseif branch then
    local _, text = o.branch.wait({ branch })
    return M.unpack(text or "")
  end
end

-- Runs `plan_list`. prepared: the beginning of the undisturbed execution; nil: there is none. look(plan,
-- execution) makes a plain value, in the branch. in_order: the plans have as many parts as each other, at least
-- two, in the order in which these begin. Returns index -> value. A plan has no value if it had no branch: its
-- parts do not happen, is_over() was true when it was its turn, or the system had no room for another process.
function M.run(o, prepared, plan_list, how, ...)
  if #plan_list >= WORTH_IT then
    collectgarbage() -- each copy of the process has a table of all pages
  end
  collectgarbage("stop") -- it writes to all pages, which the branches share; they never collect
  local ok, found = true, prepared and proceed(o, prepared, plan_list, how, ...)
  if not found then
    ok, found = pcall(run_branches, o, function() return o.execute({}, how) end, plan_list, how, ...)
  end
  collectgarbage("restart")
  if not ok then
    error(found, 0)
  end
  for i, text in pairs(found) do
    found[i] = M.unpack(text)
  end
  return found
end

return M
