-- The search: all single disturbances of the undisturbed run, then all pairs, then random plans,
-- until the budget is used up. It counts what was left out, with the reasons. A finding is reduced
-- to the disturbances that it needs and run a second time: the same plan and seed must give the
-- same trace. Findings with the same cause form a group, which is reported once.
--
-- Plans that begin alike are run as branches of one execution where the system can do that. What a branch
-- found is only its outcome; a finding that is new is run again here.
--
-- `o`: execute(plan, how) -> execution, prepare (the interface is in lua/perilune/explore/README.md), branch
-- and at_a_time (branches.lua; nil: each plan is an execution in this process), budget
-- (seconds) or executions, clock() in seconds, seed, ignore, no_stale, found(group) for progress,
-- code(lines): all lines with code of the files that ran.

local branches = require("perilune.explore.branches")
local converged = require("perilune.explore.converged")
local ignore = require("perilune.explore.ignore")
local judges = require("perilune.explore.judge")
local options = require("perilune.explore.options")
local plans = require("perilune.explore.plan")
local ranks = require("perilune.explore.rank")
local report = require("perilune.explore.report")
local states = require("perilune.explore.state")

local format = string.format
local M = {}

local FEW, MANY = 8, 256 -- plans that branch off from one execution: at first, and later
local QUICK = 2 -- seconds of such plans; slower ones become no more, so that progress is seen
local GROWTH = 4 -- the execution from which they branch off costs as much as some of them

local search = {}
search.__index = search

require("perilune.explore.lasting")(search)
require("perilune.explore.pairs")(search)
require("perilune.explore.random")(search)

local function key_of(f)
  return format("%s %s %s", f.class, f.place or f.key or "", f.field or "")
end

local function has_key(findings, key)
  for _, f in ipairs(findings) do
    if key_of(f) == key then
      return true
    end
  end
  return false
end

function search:spent()
  if self.o.executions then
    return self.count >= self.o.executions
  end
  return self.o.clock() - self.began >= (self.o.budget or 30)
end

-- All lines with code of the files that ran, read again when there is another file; nil: nobody can tell.
function search:code_of_files()
  self.read = self.read or self.o.code and self.o.code(self.lines)
  return self.read
end

-- Watching lines costs time, so it ends when all lines of the files that ran were reached.
function search:watches_lines()
  local code = self.taint and self:code_of_files()
  return not code or #report.unreached(code, self.lines) > 0
end

-- Settled points are compared at once, so that branches share what is known of their beginning.
function search:how()
  return { seed = self.o.seed, lines = self:watches_lines(), runs = self.runs,
    undisturbed = self.taint and self.reference,
    versions = self.taint and next(self.taint.random) ~= nil,
    recorded = self.taint and function(settle, i)
      judges.prepare(self.reference, settle, i, self.taint, self.rules)
    end }
end

function search:reach(lines)
  for file, of in pairs(lines or {}) do
    if not self.lines[file] then
      self.lines[file], self.read = {}, nil
    end
    for line in pairs(of) do
      self.lines[file][line] = true
    end
  end
end

function search:run(plan)
  self.count = self.count + 1
  local execution = self.o.execute(plan, self:how())
  self:reach(execution.lines)
  return execution
end

function search:judge(execution)
  if execution.inconclusive then
    self:leave_out(execution.inconclusive)
    return {}
  end
  return ranks.sort(judges.judge(self.reference, execution, self.taint, self.rules))
end

-- How many plans may run at a time.
function search:room(most)
  return math.min(most, self.o.executions and self.o.executions - self.count or most)
end

-- Removes each part of the plan that the finding does not need. Returns the plan; if it is smaller, also its
-- execution and findings.
function search:shrink(plan, key)
  local i, execution, findings = 1, nil, nil
  while #plan > 1 and i <= #plan do
    local less = {}
    for j, d in ipairs(plan) do
      if j ~= i then
        less[#less + 1] = d
      end
    end
    local run = self:run(less)
    local found = self:lasting(less, self:judge(run))
    if has_key(found, key) then
      plan, execution, findings = less, run, found
    else
      i = i + 1
    end
  end
  return plan, execution, findings
end

local function line_of(execution, finding)
  if finding.line then
    return finding.line
  end
  for i = #execution.plan, 1, -1 do
    if execution.plan[i].line then
      return execution.plan[i].line
    end
  end
end

function search:same_trace(plan, execution)
  local again = self:run(plan)
  if again.digest == execution.digest then
    return true
  end
  self.differing = self.differing or { plan = plans.print(plan), first = execution.digest,
    second = again.digest }
  return false
end

local function is_status(f)
  return f.field ~= nil and f.field:find("^status") ~= nil
end

function search:known(findings)
  for _, f in ipairs(findings) do
    local group = self.by_key[key_of(f)]
    if group and (not is_status(f) or is_status(group.finding)) then
      return group
    end
  end
end

-- The other findings of the plan that a group is reported with.
function search:attach(group, findings)
  for _, f in ipairs(findings) do
    local key = key_of(f)
    if not self.by_key[key] then
      self.by_key[key] = group
      group.also[#group.also + 1] = f
    end
  end
end

-- Keeps what another plan leads to besides the group's finding, unless it has a report of its own.
function search:note_beside(group, findings)
  for _, f in ipairs(findings) do
    local key = key_of(f)
    if not self.by_key[key] and not has_key(group.beside, key) then
      group.beside[#group.beside + 1] = f
    end
  end
end

function search:add_group(plan, execution, findings)
  local first = findings[1]
  local group = { finding = first, plan = plans.print(plan), parts = #plan, also = {}, beside = {}, others = 0,
    line = line_of(execution, first), execution = execution, reference = self.reference }
  self.by_key[key_of(first)] = group
  self.groups[#self.groups + 1] = group
  self:attach(group, findings)
  if self.o.found then
    self.o.found(group)
  end
end

-- Adds findings to a known group. Returns whether there is one.
function search:add_to_known(findings)
  local group = self:known(findings)
  if group then
    group.others = group.others + 1
    self:note_beside(group, findings)
  end
  return group ~= nil
end

-- Adds the findings of an execution: as a new group, or to a known one. execution: nil if it was in a
-- branch. Returns whether there are any that last.
function search:take(plan, execution, findings)
  if #findings == 0 then
    return false
  elseif self:add_to_known(findings) then
    return true
  end
  if not execution then
    execution = self.o.execute(plan, self:how())
    findings = self:judge(execution)
  end
  findings = self:lasting(plan, findings)
  if #findings == 0 then
    return false
  end
  local smaller, smaller_execution, fewer = self:shrink(plan, key_of(findings[1]))
  execution, findings = smaller_execution or execution, fewer or findings
  if fewer and self:add_to_known(fewer) then
    return true
  end
  self:add_group(smaller, execution, findings)
  self:same_trace(smaller, execution)
  return true
end

-- ---- the undisturbed run ----

local function settle_states(execution)
  local out = {}
  for i, settle in ipairs(execution.settles) do
    out[i] = settle.state
  end
  return out
end

-- Runs undisturbed. Returns the report of findings without any disturbance; nil and a message if
-- two undisturbed runs differ, since then nothing can be explored.
function search:begin()
  local o = self.o
  self.rules = ignore.parse(o.ignore)
  self.reference = self:run({})
  -- It has findings already, so there is nothing to compare with.
  if self.reference.unsettled or next(self.reference.invariants or {}) then
    local states_of = settle_states(self.reference)
    self.taint = states.learn(states_of, states_of, states_of)
    self:take({}, self.reference, self:judge(self.reference))
    return false
  end
  local again = self:run({})
  if again.digest ~= self.reference.digest then
    self.differing = { plan = "", first = self.reference.digest, second = again.digest }
    return false
  end
  local seeded = o.execute({}, { seed = o.seed + 1 })
  -- The order of keys is as arbitrary as the time.
  local later = o.execute({}, { seed = o.seed, later = true, second = true })
  self.count = self.count + 2
  self.taint = states.learn(settle_states(self.reference), settle_states(seeded),
    settle_states(later))
  if next(self.taint.random) then
    self.reference = self:run({})
  end
  self.runs = self.reference.most_runs
  self:take({}, self.reference, self:judge(self.reference))
  return true
end

-- ---- the outcome of a plan ----

function search:leave_out(why, n)
  self.left_out[why] = (self.left_out[why] or 0) + (n or 1)
end

local function scalars(finding)
  local out = {}
  for name, value in pairs(finding) do
    out[name] = type(value) ~= "table" and value or nil
  end
  return out
end

-- What the search needs of an execution, as a plain value: {findings, lines, partners, left_out}. `lines`:
-- those that were not reached before.
function search:outcome(plan, execution, wants_partners)
  local before = self.left_out
  self.left_out = {}
  local out = { findings = {}, lines = {}, left_out = self.left_out }
  for i, f in ipairs(self:judge(execution)) do
    out.findings[i] = scalars(f)
  end
  for file, lines in pairs(execution.lines or {}) do
    local reached = self.lines[file] or {}
    for line in pairs(lines) do
      if not reached[line] then
        out.lines[file] = out.lines[file] or {}
        out.lines[file][line] = true
      end
    end
  end
  if wants_partners and #out.findings == 0 and options.is_representative(plan[1]) then
    out.partners = self:partners(plan[1], converged.whole(execution, self.reference))
  end
  self.left_out = before
  return out
end

-- The beginning of undisturbed executions as `how` says; nil: each has its own.
function search:beginning(how)
  if self.prepared and self.prepared.lines ~= how.lines then
    self:close()
  end
  if self.o.prepare and not self.prepared then
    self.prepared = self.o.prepare(how)
    self.prepared.lines = how.lines
  end
  return self.prepared
end

function search:close()
  if self.prepared then
    self.prepared.close()
    self.prepared = nil
  end
end

-- The outcomes of plans that had branches, by their places in the list.
function search:branch_off(plan_list, look, in_order)
  if not self.o.branch or #plan_list < 2 then
    return {} -- a copy for one plan gains nothing
  end
  local function is_over() return self:spent() end
  local function run(list, are_in_order)
    local how = self:how()
    return branches.run(self.o, self:beginning(how), list, how, look, is_over, are_in_order)
  end
  local found = run(plan_list, in_order)
  local left, places = {}, {}
  for i, plan in ipairs(in_order and plan_list or {}) do
    if found[i] == nil then -- its parts come in the other order, or one of them never
      left[#left + 1], places[#places + 1] = plan, i
    end
  end
  if #left > 0 and not is_over() then
    for i, outcome in pairs(run(left)) do
      found[places[i]] = outcome
    end
  end
  return found
end

function search:visit(plan, outcome, execution, visit)
  for why, n in pairs(outcome.left_out) do
    self:leave_out(why, n)
  end
  visit(plan, outcome, execution)
end

-- Calls visit(plan, outcome, execution | nil) for plans, in their order, as long as there is budget. o:
-- at_first, at_most: how many of them branch off from one execution; in_order: see branches.lua;
-- wants_partners: of single disturbances.
function search:each(plan_list, o, visit)
  local from, most = 1, o.at_first
  local function look(plan, execution)
    return self:outcome(plan, execution, o.wants_partners)
  end
  while from <= #plan_list and not self:spent() do
    local began = self.o.clock()
    local some = { unpack(plan_list, from, math.min(from + self:room(most) - 1, #plan_list)) }
    local found = self:branch_off(some, look, o.in_order)
    for i, plan in ipairs(some) do
      if self.o.executions and self:spent() then
        return
      elseif found[i] then -- also when the time is over meanwhile
        self.count = self.count + 1
        self:reach(found[i].lines)
        self:visit(plan, found[i], nil, visit)
      elseif not self:spent() then
        local execution = self:run(plan)
        self:visit(plan, look(plan, execution), execution, visit)
      end
    end
    if self.o.progress then
      self.o.progress(self)
    end
    from = from + #some
    most = self.o.clock() - began < QUICK and math.min(most * GROWTH, o.at_most) or most
  end
end

-- ---- singles ----

-- Returns whether it leads to a finding.
function search:single(d, outcome, execution)
  self.singles.done = self.singles.done + 1
  if d.what == "crash" and not self.crashed[plans.key(d.place, d.step, d.n)] then
    self.crashed[plans.key(d.place, d.step, d.n)] = true
    self.effects_crashed = self.effects_crashed + 1
  elseif d.what == "stale" then
    self.stale.positions = self.stale.positions + 1
    self.stale.kinds[d.kind] = true
  end
  return self:take({ d }, execution, outcome.findings)
end

function search:all_singles()
  local all = options.of_execution(self.reference, { no_stale = self.o.no_stale })
  self.singles.total = #all
  self:name_singles(all)
  local singles, pairs_of = {}, {}
  for i, d in ipairs(all) do
    singles[i] = { d }
  end
  self:each(singles, { at_first = FEW, at_most = MANY, wants_partners = true }, function(plan, outcome, execution)
    local is_finding = self:single(plan[1], outcome, execution)
    if #outcome.findings > 0 then
      self:leave_out(is_finding and "one part by itself is a finding"
        or "one part by itself makes a difference that is no finding")
    elseif outcome.partners then
      pairs_of[#pairs_of + 1] = { d = plan[1], partners = self:keep_pairs(plan[1], outcome.partners) }
    end
  end)
  return all, pairs_of
end

local function count_effects(reference)
  local n = 0
  for _, p in ipairs(reference.points) do
    if p.what == "effect" and not p.reads then
      n = n + 1
    end
  end
  return n
end

local function new(o)
  return setmetatable({ o = o, count = 0, groups = {}, by_key = {}, lines = {}, crashed = {},
    effects_crashed = 0, singles = { done = 0, total = 0 }, pairs = { done = 0, total = 0 },
    named = {}, of_singles = { is_possible = {}, after = {}, quiet = {} }, random = 0, left_out = {},
    stale = { positions = 0, kinds = {} }, began = o.clock() }, search)
end

-- Returns the findings and the coverage: {groups, differing, singles, pairs, random, left_out,
-- ...}.
function M.explore(o)
  local self = new(o)
  if self:begin() then
    local all, pairs_of = self:all_singles()
    if self.o.singles_done then
      self.o.singles_done()
    end
    self:all_pairs(pairs_of)
    if self.pairs.done == self.pairs.total then
      self:at_random(all)
    end
    self.effects = count_effects(self.reference)
    self:close()
  end
  self.seconds = o.clock() - self.began
  self.code = self:code_of_files()
  return self
end

-- Runs and judges one plan. Returns the same result with at most one group; `unmet` has the parts
-- that do not apply any more.
function M.replay(o, plan)
  local self = new(o)
  if self:begin() then
    local execution = self:run(plan)
    self:same_trace(plan, execution)
    self.unmet = execution.unmet
    local findings = self:lasting(plan, self:judge(execution))
    if #findings > 0 and not self:known(findings) then
      self:add_group(plan, execution, findings)
    end
  end
  self.seconds = o.clock() - self.began
  return self
end

return M
