-- The situations in which disturbances happen, by name. Two executions that have settled in the same
-- state and go on alike are in the same situation: a disturbance that comes then needs to be tried in
-- one of them. So of pairs with the same name, one is enough. It must never run anything: it only
-- reads executions.
--
-- What a name cannot tell apart is memory that scripts keep between runs and that changes nothing in the
-- rest of the undisturbed run. Random plans have such pairs, too.
--
-- A name begins with what follows without the second disturbance: the states at settled points, and
-- the effects. It ends with the second disturbance and its place in that.

local host = require("perilune.host")
local judges = require("perilune.explore.judge")
local plans = require("perilune.explore.plan")

local concat, format = table.concat, string.format
local M = {}

local situation = {}
situation.__index = situation

local function name_of(words)
  return host.hash(concat(words, "\n"))
end

-- ---- what an execution consists of ----

-- What differs from the undisturbed run at a settled point; nil: the state is not settled there.
local function settled_text(reference, settle, i)
  local want = reference.settles[i]
  if settle.merged or not settle.over or not want then
    return nil
  end
  local words = {}
  for n, d in ipairs(judges.differences(want, settle)) do
    words[n] = format("%s %s is %s", d.place, d.field, d.is)
  end
  return concat(words, ", ")
end

-- A line of the trace, the same before and after a restart.
local function line_of(e)
  if e.what ~= "effect" then
    return format("%s %s", e.what, e.text or "")
  end
  return format("%s %s %s %s %s %s", e.controller or "", e.key or "", e.verb, e.api or e.kind, e.object or "",
    e.outcome or "")
end

function situation:read_points(execution)
  local last = execution.last_point or 0
  for i, p in ipairs(execution.points) do
    if p.what == "effect" then
      self.effects = self.effects + 1
      self.effect_at[plans.key(p.place, p.step, p.n)] = self.effects
      self.disturbed = i <= last and self.effects or self.disturbed
    end
  end
end

function situation:read_settles(reference, execution)
  for step = 0, execution.steps do
    self.settled[step] = {}
  end
  for i, settle in ipairs(execution.settles) do
    local of_step, text = self.settled[settle.step], settled_text(reference, settle, i)
    of_step.is_open = of_step.is_open or not text
    of_step[#of_step + 1] = text or "open"
    self.undisturbed[settle.step] = #of_step == 1 and reference.settles[i] or nil
  end
end

-- Whether the world settles at the end of a step, after all disturbances.
function situation:settles_in(step)
  local of_step = self.settled[step]
  return of_step ~= nil and #of_step > 0 and not of_step.is_open
end

-- ---- names ----

-- Whether a disturbance is over at once: it does not begin with its step and last.
local function is_moment(d)
  return d.place or d.what == "stale" or d.what == "restart"
end

-- The states at the settled points of the steps from `step` on.
function situation:add_states(step, words)
  for s = math.max(step, 0), self.steps do
    words[#words + 1] = concat(self.settled[s], "\n")
  end
end

-- Names what follows the beginning of a step, and the state then.
function situation:rest(step)
  if not self.rests[step] then
    local words = {}
    for _, e in ipairs(self.trace) do
      words[#words + 1] = e.step >= step and line_of(e) or nil
    end
    self:add_states(step - 1, words)
    self.rests[step] = name_of(words)
  end
  return self.rests[step]
end

-- Names what follows `d`, which led to this execution; nil: it lasts longer than a moment.
function situation:after_of(d)
  if not self.after and is_moment(d) then
    local words, effects = { self.restarted and "restarted" or "" }, 0
    for _, e in ipairs(self.trace) do
      effects = effects + (e.what == "effect" and 1 or 0)
      words[#words + 1] = effects > self.disturbed and line_of(e) or nil
    end
    self:add_states(d.step, words)
    self.after = name_of(words)
  end
  return self.after
end

-- The names of the states of a kind's cache, by position: the changes until then, each once.
local function views_of(kind, events)
  local sorted, views, name, last = {}, {}, kind, nil
  for i, event in ipairs(events) do -- they may be more than unpack bears
    sorted[i] = event
  end
  table.sort(sorted, function(a, b)
    if a.version ~= b.version then return a.version < b.version end
    return a.step < b.step or a.step == b.step and a.n < b.n
  end)
  for _, event in ipairs(sorted) do
    name = event.version == last and name or name_of({ name, event.text })
    views[format("%d.%d", event.step, event.n)], last = name, event.version
  end
  return views
end

-- Names what a restart finds that finds an old cache.
function situation:view(e)
  self.views[e.kind] = self.views[e.kind] or views_of(e.kind, self.events[e.kind] or {})
  return self.views[e.kind][format("%d.%d", e.from_step, e.from_n)] or e.kind
end

local holds = { lag = true, unobserved = true, late = true }

-- Whether the process starts on the old cache of `e` before the world has settled: `d` ends the process in that
-- step, or holds something back until the step's end.
local function is_amid(d, e)
  local lasts = d.step == e.step or d.what == "unobserved" and d.step + 1 == e.step
  return e.what == "stale" and lasts and (holds[d.what] or d.what == "crash")
end

-- What `d` holds back in the step of `e`, which comes meanwhile. How it ends makes no difference until then.
local function held_by(d, e)
  return d.kind and d.step == e.step and format("%s is held", d.kind) or plans.print_one(d)
end

-- Whether `d` holds a cache back, and the restart of `e` finds the cluster as it is undisturbed. What the process
-- before it had in its caches, or remembered, is gone then.
function situation:restarts_undisturbed(d, e)
  local held = d.kind and is_amid(d, e) and self.while_held[e.step]
  local want = self.undisturbed[e.step]
  if not held or not want then
    return false
  end
  return #judges.differences(want, held) == 0
end

-- What a restart `d` at a settled point leads to: {kinds, rest}. kinds: those whose caches had no event after it in
-- its step; rest: names what follows that step, if it leaves no difference. nil: `d` is none.
function situation:quiet_after(d)
  if d.what ~= "stale" then
    return nil
  end
  local kinds, of_step = {}, self.settled[d.step] or {}
  for kind, counts in pairs(self.kinds) do
    kinds[kind] = counts[d.step] == (self.reference.kinds[kind] or {})[d.step]
  end
  return { kinds = kinds, rest = #of_step == 1 and of_step[1] == "" and self:rest(d.step + 1) or nil }
end

-- The step before which `e` changes nothing, after `d` if there is one.
function situation:begin_of(e, d)
  if (e.what == "restart" or e.what == "stale") and #(self.settled[e.step] or {}) == 1
    and not (d and is_amid(d, e)) then
    return e.step + 1 -- it happens at the settled point
  end
  return plans.first_step(e)
end

-- The last step until the beginning of `e` before which the world has settled; nil: none that comes after `d`.
function situation:last_settled(e, d)
  for step = self:begin_of(e, d), d and d.step + 1 or 0, -1 do
    if self:settles_in(step - 1) then
      return step
    end
  end
end

-- The name of `e` in a world that has settled after `d`, if there is one; nil: it has not.
function situation:settled_name(e, d)
  local step = self:last_settled(e, d)
  if not step then
    return nil
  elseif e.what == "stale" then
    return format("%s stale @%d %s", self:rest(step), e.step, self:view(e))
  end
  return format("%s %s", self:rest(step), plans.print_one(e))
end

-- The name of `e` without another disturbance.
function situation:of_single(e)
  return self:settled_name(e)
end

-- Whether both hold back the same cache, and the pair is no longer than one of them.
local function are_one(d, e)
  local both = (d.what == "unobserved" or d.what == "lag") and (e.what == "lag" or e.what == "unobserved")
  local goes_on = d.what == "unobserved" and e.what == "lag" and e.step == d.step + 1
  return both and d.kind == e.kind and (d.step == e.step or goes_on)
end

-- The name of the pair of `d`, which led to this execution, and `e`; nil: another plan shows the same. Where it
-- depends on what follows `e` alone, the second result is the text of `e`, and joined makes the name.
-- is_possible: text -> whether this single disturbance is possible in the undisturbed run.
function situation:of_pair(d, e, is_possible)
  local text, settled = plans.print_one(e), self:settled_name(e, d)
  if settled then
    return settled
  elseif is_amid(d, e) then
    return format("%s stale @%d %s", self:after_of(d) or held_by(d, e), e.step, self:view(e))
  elseif is_moment(d) then
    local i = e.place and e.step == d.step and self.effect_at[plans.key(e.place, e.step, e.n)]
    return i and format("%s %s %s %d", self:after_of(d), e.what, e.how or "", i - self.disturbed)
      or format("%s %s", self:after_of(d), text)
  elseif are_one(d, e) or d.step == e.step and is_moment(e) and is_possible[text] then
    return nil -- the second is the same plan in the other order
  end
  return plans.print_one(d), text
end

-- The name of a pair of these two texts. after: text -> what after_of says of a single disturbance.
function M.joined(first, text, after)
  local second = after[text] or text
  return first < second and first .. ", " .. second or second .. ", " .. first
end

-- The situations of an execution. `reference` is the undisturbed one; all settled points must be canonical.
function M.of(reference, execution)
  local self = setmetatable({ reference = reference, trace = execution.trace, steps = execution.steps, settled = {},
    undisturbed = {}, while_held = execution.while_held or {}, rests = {}, views = {}, effects = 0, disturbed = 0,
    effect_at = {}, kinds = execution.kinds or {}, events = execution.events or {},
    restarted = (execution.restarted or 0) > 0 }, situation)
  self:read_points(execution)
  self:read_settles(reference, execution)
  return self
end

return M
