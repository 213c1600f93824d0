-- The timeline of a finding: the disturbances, what the script did before and after the first one, the last
-- write at the finding's object, and writes that the undisturbed run has not. It shows what may have led to
-- the finding; it decides nothing.

local flats = require("perilune.explore.flat")

local concat, format = table.concat, string.format
local M = {}

local ADDED = 2 -- limit of the writes that are shown because the undisturbed run has not made them

-- An effect in words: "main.lua:44 delete apps/v1/StatefulSet default/a".
function M.effect_text(e)
  return format("%s%s %s%s", e.line and e.line .. " " or "", e.verb, e.api or e.kind,
    e.object and " " .. e.object or "")
end

local function same_effect(a, b)
  return a.what == "effect" and b.what == "effect" and a.verb == b.verb and a.object == b.object
    and (a.api or a.kind) == (b.api or b.kind) and a.controller == b.controller and a.key == b.key
end

-- The index in the trace of the first fault; nil if there is none.
local function fault_at(trace)
  for i, e in ipairs(trace) do
    if e.what == "fault" then
      return i
    end
  end
end

-- The next effect of the undisturbed run for that key, if this run never had it.
local function never(reference, trace, at)
  local before = trace[at - 1]
  if not (reference and before and before.what == "effect") then
    return nil
  end
  local following
  for i, e in ipairs(reference.trace) do
    if same_effect(e, before) and e.step == before.step then
      for j = i + 1, #reference.trace do
        local next_one = reference.trace[j]
        if next_one.step ~= e.step then break end
        if next_one.what == "effect" and next_one.key == e.key then
          following = next_one
          break
        end
      end
      break
    end
  end
  for i = at + 1, following and #trace or 0 do
    if same_effect(trace[i], following) then
      return nil
    end
  end
  return following
end

-- The run that an effect belongs to.
function M.who(e)
  return e.after_restart and format("run %d after the restart", e.run)
    or format("run %d, %s %s", e.run or 1, e.controller or "", e.key or "")
end

local function is_at(url, name)
  return ("/" .. url .. "/"):find("[^%w_.-]" .. name:gsub("%p", "%%%0") .. "[^%w_.-]") ~= nil
end

-- The length of the entry's name if the URL has it. The field begins with this name, which may have dots.
local function named_in(url, field)
  local name = field
  while name and not is_at(url, name) do
    name = name:match("^(.*)%.")
  end
  return name and #name or 0
end

-- How well a request fits an external finding: the part of the entry's name that its URL has; nil: it cannot
-- have made the entry.
local function external_fit(e, finding)
  if e.verb == "http" and e.writes and (e.api ~= "DELETE" or finding.is == "absent" or finding.is == "gone") then
    return named_in(e.object or "", finding.field or "")
  end
end

local function fit_of(e, finding)
  if finding.kind == "external" then
    return external_fit(e, finding)
  end
  return e.object == finding.key and e.writes and (e.api or ""):gsub("/status$", "") == finding.kind and 0 or nil
end

local function is_until(e, finding)
  return not finding.step or e.step <= finding.step
end

-- The first effect after the fault, and the last one at the finding's object or entry, and the first one that
-- deletes the object, until the step of the finding; nil: there is none.
local function after_fault(trace, at, finding)
  local first, touched, best, deleted
  for i = at + 1, #trace do
    local e = trace[i]
    local fit = e.what == "effect" and is_until(e, finding) and fit_of(e, finding)
    first = first or e.what == "effect" and e or nil
    if fit and fit >= (best or 0) then
      touched, best = e, fit
    end
    deleted = deleted or fit and e.verb == "delete" and e or nil
  end
  return first, touched, deleted
end

-- The name of a write, without that of the object if it is new: the server may have made it.
local function name_of(e)
  return concat({ e.step, e.controller or "", e.key or "", e.verb, e.api or e.kind or "",
    e.verb ~= "create" and e.object or "" }, " ")
end

local function is_write(e)
  return e.what == "effect" and e.writes and not e.unchanged and not flats.is_event(e.api)
end

-- The first writes after the fault that the undisturbed run has not, until the step of the finding.
local function added_writes(trace, at, finding, reference)
  local left, out = {}, {}
  for _, e in ipairs(reference and reference.trace or {}) do
    if is_write(e) then
      left[name_of(e)] = (left[name_of(e)] or 0) + 1
    end
  end
  for i, e in ipairs(trace) do
    if is_write(e) and is_until(e, finding) then
      local name = name_of(e)
      left[name] = (left[name] or 0) - 1
      if i > at and left[name] < 0 and #out < ADDED then
        out[#out + 1] = e
      end
    end
  end
  return out
end

local function step_row(e)
  return { format("step %d", e.step), e.text, "" }
end

-- Without a fault only the step is shown.
local function steps_alone(trace, step)
  local rows = {}
  for _, e in ipairs(trace) do
    if e.what == "step" and (not step or e.step == step) then
      rows[#rows + 1] = step_row(e)
    end
  end
  return rows
end

-- The last effect before the fault, in its step.
local function before_fault(trace, at)
  for i = at - 1, 1, -1 do
    if trace[i].what == "effect" and trace[i].step == trace[at].step then
      return trace[i]
    end
  end
end

-- What is shown besides the faults, from the step of the first one on: entry -> true.
local function shown_effects(trace, at, finding, reference)
  local first, touched, deleted = after_fault(trace, at, finding)
  local shown = {}
  for _, e in ipairs(added_writes(trace, at, finding, reference)) do
    shown[e] = true
  end
  for _, e in pairs({ before = before_fault(trace, at), first = first, touched = touched, deleted = deleted }) do
    shown[e] = true
  end
  return shown
end

-- The lines between the headline and "again": {left, text, right}. A step is shown if something of it, or of a
-- later one, is.
local function rows_of(group, reference)
  local trace, rows, steps = group.execution.trace, {}, {}
  local at = fault_at(trace)
  if not at then
    return steps_alone(trace, group.finding.step)
  end
  local shown = shown_effects(trace, at, group.finding, reference)
  local function show(...)
    for _, row in ipairs(steps) do
      rows[#rows + 1] = row
    end
    rows[#rows + 1], steps = { ... }, {}
  end
  for i, e in ipairs(trace) do
    if e.what == "step" and e.step >= trace[at].step then
      steps[#steps + 1] = step_row(e)
    elseif e.what == "fault" then
      local missing = i == at and never(reference, trace, at)
      show("", format("** %s **", e.text), missing and format("(never: %s)", M.effect_text(missing)) or "")
    elseif shown[e] then
      show(M.who(e), M.effect_text(e), e.outcome or "")
    end
  end
  return rows
end

local function aligned(rows)
  local left, middle, lines = 0, 0, {}
  for _, row in ipairs(rows) do
    left, middle = math.max(left, #row[1]), math.max(middle, math.min(#row[2], 72))
  end
  for i, row in ipairs(rows) do
    lines[i] = (format("  %-" .. left .. "s  %-" .. middle .. "s  %s", row[1], row[2], row[3])
      :gsub("%s+$", ""))
  end
  return lines
end

-- The lines between the headline of a group and the command that reproduces it.
function M.lines(group, reference)
  return aligned(rows_of(group, reference))
end

-- The script's line of the effect after the first disturbance that is shown for the finding; nil: none.
function M.line_of(trace, finding)
  local at = fault_at(trace)
  local touched = at and select(2, after_fault(trace, at, finding))
  return touched and touched.line
end

return M
