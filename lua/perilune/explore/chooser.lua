-- Decides at each point of an execution: it returns the plan's disturbance, or nil for the
-- undisturbed way. It counts how often each named action happened in the current step. It records
-- every point where it was asked, from which a search takes its next plans, and the parts of the
-- plan that were never used. It knows no world: an executor asks it and carries out its answer.

local nearest = require("perilune.explore.nearest")
local plans = require("perilune.explore.plan")

local format = string.format
local NONE = {} -- nobody may change it
local M = {}

local chooser = {}
chooser.__index = chooser

-- A chooser for one execution of `plan`. how: {second = true: of several ready things the second one is
-- always next, so that each has another place than usual; others, fork: see branch_off}.
function M.new(plan, how)
  local self = setmetatable({ plan = plan, second = how.second, step = 0, seen = {}, points = {}, used = {},
    missed = {}, by_key = {}, by_step = {}, kinds = {}, events = {}, deletions = {}, keys = {}, applied = 0 }, chooser)
  for _, d in ipairs(plan) do
    self:expect(d)
  end
  if how.others then
    self:branch_off(how.others, how.fork)
  end
  return self
end

-- The places where the chooser is asked for disturbance d: a name in by_key, waiting or by_step.
local function keys_of(d)
  return plans.key_of(d), (not d.place or d.what == "reload") and format("%s %d", d.what, d.step) or nil
end

function chooser:expect(d)
  local key, of_step = keys_of(d)
  if d.place then
    self.by_key[key] = d
  end
  if of_step then
    self.by_step[of_step] = self.by_step[of_step] or {}
    table.insert(self.by_step[of_step], d)
  end
end

-- `others` are plans that begin like this one: {parts = {...}} with the parts that follow. When the
-- chooser is asked for a part of one of them, it calls fork(other). If that returns true, this process
-- continues with the other plan, and with the `others` of that one.
function chooser:branch_off(others, fork)
  self.fork, self.waiting = fork, {}
  for _, other in ipairs(others) do
    for _, d in ipairs(other.parts) do
      local key, of_step = keys_of(d)
      for _, name in ipairs({ key or of_step, d.what == "reload" and of_step or nil }) do
        self.waiting[name] = self.waiting[name] or {}
        table.insert(self.waiting[name], other)
      end
    end
  end
end

-- Branches off if another plan has a part of this name.
function chooser:asked(name)
  local here = self.waiting and self.waiting[name]
  for _, other in ipairs(here or NONE) do
    if not other.begun then
      other.begun = true
      if self.fork(other) then
        self.waiting, self.branched = nil, true
        for _, d in ipairs(other.parts) do
          self.plan[#self.plan + 1] = d
          self:expect(d)
        end
        if other.others then
          self:branch_off(other.others, self.fork)
          self:asked(name)
        end
        return
      end
    end
  end
end

-- A step of the scenario begins. instructs: it only tells a controller what to do (see user.lua).
function chooser:begin_step(text, instructs)
  self.step = self.step + 1
  self.seen = {}
  self.points[#self.points + 1] = { what = "step", step = self.step, text = text, instructs = instructs }
  return self.step
end

function chooser:use(d)
  if not self.used[d] then
    self.used[d] = true
    self.applied = self.applied + 1
    self.last_point = #self.points
  end
end

-- A disturbance of a whole step has met nothing that it could change; hit: now it has.
function chooser:miss(d)
  self.missed[d] = true
end

function chooser:hit(d)
  self.missed[d] = nil
end

-- Asked before an effect. `place` as in a plan, `facts` {name = plans.name(place), line, reads, options =
-- {{what, how}, ...}}. Returns the plan's disturbance, or nil.
function chooser:effect(place, facts)
  local name = facts.name
  local n = (self.seen[name] or 0) + 1
  self.seen[name] = n
  local point = { what = "effect", place = place, step = self.step, n = n, line = facts.line,
    options = facts.options, run = facts.run,
    reads = facts.reads or place.verb == "get" or place.verb == "list" }
  self.points[#self.points + 1] = point
  local key = plans.key(place, self.step, n, name)
  self:asked(key)
  local d = self.by_key[key]
  if d then
    self:use(d)
    d.line = facts.line
  end
  return d, point
end

-- The disturbances of type `what` that the plan has for this step.
function chooser:of_step(what, step)
  local name = format("%s %d", what, step or self.step)
  self:asked(name)
  return self.by_step[name] or NONE
end

-- Chooses among things that are ready, by name. Returns an index; 1 is the undisturbed choice.
function chooser:pick(names)
  local key = "order"
  local n = (self.seen[key] or 0) + 1
  self.seen[key] = n
  local point = { what = "order", step = self.step, n = n, names = names }
  if #names > 1 then
    self.points[#self.points + 1] = point
  end
  self:asked(plans.key_of(point))
  for _, d in ipairs(self:of_step("order")) do
    if d.n == n then
      for i, name in ipairs(names) do
        if name == d.name then
          self:use(d)
          return i, d
        end
      end
    end
  end
  return self.second and #names > 1 and 2 or 1
end

-- An event of a kind has reached its cache. text: its type and object.
function chooser:event(kind, text, version)
  local counts = self.kinds[kind] or {}
  self.kinds[kind] = counts
  counts[self.step] = (counts[self.step] or 0) + 1
  self.events[kind] = self.events[kind] or {}
  table.insert(self.events[kind], { step = self.step, n = counts[self.step], text = text,
    version = tonumber(version) or 0 })
  return counts[self.step]
end

-- The version of the event at which the cache of `d` stops; nil: there was none.
function chooser:version_at(d)
  for _, event in ipairs(self.events[d.kind] or {}) do
    if event.step == d.from_step and event.n == d.from_n then
      return event.version > 0 and format("%d", event.version) or nil
    end
  end
end

-- Returns the item that the step has under this name.
local function note(by_step, step, item, name)
  local list = by_step[step] or {}
  by_step[step] = list
  if not list[name] then
    list[name] = item
    list[#list + 1] = item
  end
  return list[name]
end

-- Somebody deletes an object in this step.
function chooser:deletes(kind, key)
  note(self.deletions, self.step, { kind = kind, key = key }, kind .. " " .. key)
end

-- A key was reconciled in this step.
function chooser:ran(controller, key)
  local item = note(self.keys, self.step, { controller = controller, key = key, runs = 0 },
    controller .. " " .. key)
  item.runs = item.runs + 1
end

-- The most runs of one key in one step.
function chooser:most_runs()
  local most = 0
  for _, list in pairs(self.keys) do
    for _, item in ipairs(list) do
      most = math.max(most, item.runs)
    end
  end
  return most
end

-- True when every part of the plan has happened.
function chooser:is_over()
  return self.applied == #self.plan
end

function chooser:names_of_effects()
  local names = {}
  for _, point in ipairs(self.points) do
    if point.what == "effect" then
      names[#names + 1] = format("%s @%d%s", plans.name(point.place), point.step,
        point.n > 1 and "." .. point.n or "")
    end
  end
  return names
end

-- The parts of the plan that do not apply any more: an array of messages, each with the nearest
-- existing place.
function chooser:unmet()
  local out, names = {}, nil
  for _, d in ipairs(self.plan) do
    if not self.used[d] or self.missed[d] or d.step > self.step then
      local text = plans.print_one(d)
      local place = d.place and text:gsub("^%S+ ", "")
      names = names or self:names_of_effects()
      local near = place and nearest.of(place, names)
      out[#out + 1] = format('"%s" did not happen%s', text,
        near and format('; the nearest that happened is "%s"', near) or "")
    end
  end
  return out
end

return M
