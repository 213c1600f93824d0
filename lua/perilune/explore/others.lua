-- Disturbances that do not come from the host: a server that refuses for a while, a garbage collector that is
-- late, finalizers of other clients, keys that are reconciled once more, or late. They begin with a step
-- and end when it has settled. Nothing here decides what is disturbed: the plan does. Adds its methods to
-- an executor's class.

local states = require("perilune.explore.state")

local OUTAGE = 60 -- seconds
local RECOVERY = 2 -- seconds in which caches become current, also if the host ends once more
local STEPS = 10000 -- limit of steps until all has been tried again
local LATENESS = 30 -- seconds
local SKEW = { ahead = 5, behind = -5 } -- seconds

return function(exec)

-- How a world is to be opened, with the clocks that the plan gives the other replicas.
function exec:set_clocks(how)
  for _, d in ipairs(self.choose:of_step("clock", 1)) do
    self.choose:use(d)
    how = setmetatable({ skew = SKEW[d.how] }, { __index = how })
  end
  return how
end

function exec:set_lateness()
  self.world:explore_lateness(self.late and LATENESS or 0)
end

-- Whether the plan has this disturbance for this step. It counts as done from now on.
function exec:begins(what, how)
  for _, d in ipairs(self.choose:of_step(what)) do
    if d.how == how and not self.choose.used[d] then
      self.choose:use(d)
      self:fault(d)
      return d
    end
  end
end

function exec:others_of_step()
  if self:begins("late", "collection") then
    self.world:explore_hold_garbage(true)
    self.unseen[#self.unseen + 1] = { garbage = true, step = self.choose.step }
  end
  self.reversed = self.reversed or self:begins("lists", "reversed") ~= nil
  self.world:explore_reverse_lists(self.reversed)
  self.late = self.late or self:begins("late", "requeue") ~= nil
  self:set_lateness()
  for _, d in ipairs(self.choose:of_step("outage")) do
    self.choose:use(d)
    self.choose:miss(d)
    self:fault(d)
    self.outages[#self.outages + 1] = d
  end
  for _, d in ipairs(self.choose:of_step("finalizer")) do
    if self.world:explore_finalizer(d.kind, d.key, true) then
      self.choose:use(d)
      self:fault(d)
      self.kept[#self.kept + 1] = { kind = d.kind, key = d.key, since = tonumber(self.world:explore_version()) }
    end
  end
end

-- The server works again, and what has failed is tried again.
local function serve_again(self)
  self.outages = {}
  local finish = self.world:explore_end()
  for _ = 1, STEPS do
    if self.world:explore_settled() or not self.world:explore_runs() or not self.world:explore_step(finish) then
      return
    end
  end
end

-- Runs until nothing more happens while the server refuses. The limit of the scenario's settle begins after the
-- outage.
function exec:end_outages()
  self:settle_refused({ limit = OUTAGE })
  self.world:explore_forget_rounds()
  serve_again(self)
end

-- Lets time pass for the scenario. An outage ends meanwhile, and what has failed is tried again, even if that takes
-- longer: the next step may change it once more. How far all has recovered afterwards, or what caches that are held
-- back lack, is nothing that the scenario can know. If such a cache leads to endless work, it becomes current. One
-- that is only late does so in the end.
function exec:advance_for_user(seconds)
  local first = #self.outages > 0 and math.min(seconds, OUTAGE) or 0
  if first > 0 then
    self:advance(first)
    serve_again(self)
  end
  local finish = self.world:now() + seconds - first
  local was_held = self:holds_back()
  if was_held and not self:advance_within(seconds - first) then
    self:catch_up()
  end
  self:advance(math.max(finish - self.world:now(), 0))
  local is_late = self:release() -- also of a restart meanwhile
  self.recovering = self.recovering or first > 0 or was_held or is_late
  if first > 0 or is_late then
    self:advance(RECOVERY)
  end
end

-- Lists are sorted again, and each key is reconciled once more. Harmless effects of their order, such
-- as the order of a list in a status, disappear by that. A pod template that changes is not harmless: its pods
-- are replaced.
function exec:end_reversal()
  local before = states.plain(self:state())
  self.reversed = false
  self.world:explore_reverse_lists(false)
  for step = 1, self.choose.step do
    for _, key in ipairs(self.choose.keys[step] or {}) do
      self.world:explore_enqueue(key.controller, key.key)
    end
  end
  self:run_on()
  local after = states.plain(self:state())
  for _, d in ipairs(states.differences(after, before)) do
    if d.field:find("^spec%.template%.") then
      self.rollouts[#self.rollouts + 1] = { place = d.place, kind = d.kind, key = d.key, field = d.field, is = d.is,
        want = d.want, step = self.choose.step, settle = #self.settles + 1 }
    end
  end
end

-- Finalizers of other clients are removed. Returns whether there were any.
function exec:let_go()
  local kept = self.kept
  self.kept = {}
  for _, d in ipairs(kept) do
    self.world:explore_finalizer(d.kind, d.key, false)
  end
  return #kept > 0
end

function exec:end_others()
  if self.reversed then
    self:end_reversal()
  elseif self.world:explore_reverse_lists(false) then
    self.lists[self.choose.step] = true
  end
  if self:let_go() then
    self:run_on()
  end
  for _, d in ipairs(self.choose:of_step("again")) do
    if not self.choose.used[d] and self.world:explore_enqueue(d.controller, d.key) then
      self.choose:use(d)
      self:fault(d)
      self:run_on()
    end
  end
  if self.late then
    self.late = false
    self:set_lateness()
  end
end
end
