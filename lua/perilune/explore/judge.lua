-- Judges an execution: compares its settled points with those of the undisturbed run. A finding is
-- a difference that is left after all disturbances have ended. Errors in the log, conflicts, and
-- more or fewer writes are no findings.
--
-- An execution is {settles = {{step, state, merged}}, errors, invariants, unsettled, restarts,
-- versions}; perilune.explore.state makes `state`. A finding is {class, kind, key, field, is, want,
-- step, message, line}.

local ignore = require("perilune.explore.ignore")
local keys = require("perilune.keys")
local states = require("perilune.explore.state")

local format = string.format
local M = {}

local function owner_gone(is, canon)
  local owners = is.item and is.item.owners or {}
  if #owners == 0 then
    return false
  end
  for _, uid in ipairs(owners) do
    for _, other in pairs(canon.items) do
      if other.uid == uid then
        return false
      end
    end
  end
  return true
end

local function class_of(d, canon)
  if d.extra and d.field == "" and (d.item.external or d.item.deleting or owner_gone(d.item, canon)) then
    return "leak"
  elseif d.extra and d.field:find("^metadata%.finalizers%[") then
    return "leak" -- a finalizer that nobody removes
  elseif d.item and d.item.external and d.extra then
    return "leak"
  elseif d.field:find("^metadata%.deletionTimestamp") and d.want == "absent" then
    return "leak"
  end
  return "state"
end

-- Removes findings about fields that a rule leaves out. States have none; what was written meanwhile may have.
local function without_ignored(findings, rules)
  local out = {}
  for _, f in ipairs(findings) do
    local is_field = f.class ~= "unsettled" and f.key and f.field and f.field ~= ""
    local leaves_out = is_field and (ignore.counted_by(rules, f) or ignore.is_ignored(rules, f, f.field))
    out[#out + 1] = not leaves_out and f or nil
  end
  return out
end

local function add(findings, seen, finding)
  local key = format("%s %s %s", finding.class, finding.place or finding.key or "",
    finding.field or "")
  if not seen[key] then
    seen[key] = true
    findings[#findings + 1] = finding
  end
end

-- The sorted places of objects of `before` that `after` has not, or has as other objects. Objects that are
-- being deleted, or whose owners are gone, are to go.
local function replaced_places(before, after)
  local places = {}
  for place, item in pairs(before) do
    local is = item.uid and not item.random and not item.deleting and (not after[place] or after[place].uid ~= item.uid)
      and not owner_gone(item, { items = before })
    places[#places + 1] = is and place or nil
  end
  table.sort(places)
  return places
end

-- An object that both runs have at the same place, before and after: it must still be the same
-- object, unless the undisturbed run replaced it, too.
local function replaced(reference, execution, i, findings, seen)
  local was, is = execution.settles[i - 1], execution.settles[i]
  local want_was, want_is = reference.settles[i - 1], reference.settles[i]
  for _, place in ipairs(replaced_places(was.canon.items, is.canon.items)) do
    local item, after = was.canon.items[place], is.canon.items[place]
    local a, b = want_was.canon.items[place], want_is.canon.items[place]
    if a and b and a.uid == b.uid then
      add(findings, seen, { class = "replaced", place = place, kind = item.kind, key = item.key,
        field = "metadata.uid", is = after and "another object" or "gone", want = "the same object",
        step = is.step, settle = i })
    end
  end
end

-- The same for objects that were there before a restart in that step.
local function replaced_by_restart(want, settle, findings, seen)
  local before = settle.before_canon and settle.before_canon.items or {}
  for _, place in ipairs(replaced_places(before, settle.canon.items)) do
    local item, after = before[place], settle.canon.items[place]
    if want.canon.items[place] then
      add(findings, seen, { class = "replaced", place = place, kind = item.kind, key = item.key,
        field = "metadata.uid", is = after and "another object" or "gone", want = "the same object",
        step = settle.step })
    end
  end
end

local JOB = "batch/v1/Job"

-- The values of an object as text, without the numbers by which objects with random names are told apart.
local function text_of(values)
  local lines = {}
  for path, value in pairs(values) do
    lines[#lines + 1] = path .. "=" .. tostring(value):gsub("#%d+", "")
  end
  table.sort(lines)
  return table.concat(lines, "\n")
end

-- The patterns of Jobs with random names of which one state has a part of those of the other one.
local function fewer_jobs(want, is)
  local wanted, out = {}, {}
  for _, item in pairs(want.items) do
    if item.random and item.kind == JOB then
      local text = text_of(item.values)
      wanted[text] = (wanted[text] or 0) + 1
      if out[item.item.pattern] == nil then out[item.item.pattern] = true end
    end
  end
  for _, item in pairs(is.items) do
    if item.random and item.kind == JOB then
      local text = text_of(item.values)
      wanted[text] = (wanted[text] or 0) - 1
      out[item.item.pattern] = out[item.item.pattern] and wanted[text] >= 0
    end
  end
  return out
end

-- A Job is work that is done once. If a spec was replaced before a controller saw it, there is no Job
-- for it.
local function is_unseen_work(d, fewer)
  return d.kind == JOB and d.item and (fewer[d.item.item.pattern or ""] or d.missing)
end

-- "Backup nightly", the owner of an object; nil: it has none, or one with a random name.
local function owner_of(item)
  local found
  for path, name in pairs(item.values) do
    local kind = path:match("^metadata%.ownerReferences%[(%S+) .*%]%.name$")
    if kind and not tostring(name):find("^name of ") then
      local owner = format("%s %s", kind, name)
      found = found and found < owner and found or owner
    end
  end
  return found
end

local function number_of(canon, pattern, owner)
  local n = 0
  for _, item in pairs(canon.items) do
    if item.random and item.item.pattern.id == pattern.id and owner_of(item) == owner then
      n = n + 1
    end
  end
  return n
end

-- "of Backup default/nightly". Only an owner without a namespace has the name as its key.
local function owner_text(owner, item, canon)
  local kind, name = owner:match("^(%S+) (.*)$")
  for _, other in pairs(canon.items) do
    if other.key == name and other.kind:match("[^/]+$") == kind then
      return "of " .. owner
    end
  end
  return format("of %s %s%s", kind, item.key:match("^[^/]*/") or "", name)
end

-- For the headline: how many objects like this one there are, if its name is random and so says nothing:
-- {count, wanted, of}.
local function counted(d, want, is)
  local item = d.field == "" and d.item
  if not (item and item.random) then
    return {}
  end
  local owner, pattern = owner_of(item), item.item.pattern
  local count, wanted = number_of(is, pattern, owner), number_of(want, pattern, owner)
  if count == wanted then
    return {}
  end
  return { count = count, wanted = wanted,
    of = owner and owner_text(owner, item, want) or format("%s*%s", pattern.pre, pattern.suf) }
end

-- Kept, so that branches share those of their beginning.
function M.differences(want, settle)
  local known = settle.differs
  if not known or known.want ~= want.canon or known.is ~= settle.canon then
    known = { want = want.canon, is = settle.canon, list = states.differences(want.canon, settle.canon) }
    settle.differs = known
  end
  return known.list
end

local function compare_states(reference, execution, findings, seen)
  local skipped = false -- a step began before the world had settled
  for i, settle in ipairs(execution.settles) do
    local want = reference.settles[i]
    if want and not settle.merged and settle.over then
      replaced_by_restart(want, settle, findings, seen)
      if i > 1 and execution.settles[i - 1].over then
        replaced(reference, execution, i, findings, seen)
      end
      local fewer = skipped and fewer_jobs(want.canon, settle.canon)
      for _, d in ipairs(M.differences(want, settle)) do
        local class = class_of(d, settle.canon)
        local is_known = d.missing and seen[format("replaced %s metadata.uid", d.place)]
        if not is_known and not (fewer and is_unseen_work(d, fewer)) then
          local many = counted(d, want.canon, settle.canon)
          add(findings, seen, { class = class, place = d.place, kind = d.kind, key = d.key,
            field = d.field, is = d.is, want = d.want, step = settle.step, settle = i,
            count = many.count, wanted = many.wanted, of = many.of })
        end
      end
    end
    skipped = skipped or settle.merged or not settle.over
  end
end

-- The number of values that each random place had during the life of an object. A copy or a hash of what
-- another place had before only follows it.
local function writings(versions, taint)
  local count, last, first = {}, {}, {}
  for _, version in ipairs(versions or {}) do
    for _, item in ipairs(version) do
      for path, value in pairs(item.flat) do
        local place = (item.place or item.id) .. " " .. path
        if taint.random[place] and not taint.derived[place] then
          first[value] = first[value] or place
          local at = place .. " " .. tostring(item.uid)
          if last[at] ~= value and first[value] == place then
            last[at] = value
            count[at] = (count[at] or 0) + 1
            count[place] = math.max(count[place] or 0, count[at])
          end
        end
      end
    end
  end
  return count
end

local function rewritten(reference, execution, taint, findings, seen)
  if not next(taint.random) then
    return
  end
  reference.writings = reference.writings or writings(reference.versions, taint)
  for place, n in pairs(writings(execution.versions, taint)) do
    if taint.random[place] and n > 1 and (reference.writings[place] or 1) <= 1 then
      local kind, key, field = place:match("^(%S+) (%S+) (.*)$")
      add(findings, seen, { class = "rewritten", place = kind .. " " .. key, kind = kind, key = key,
        field = field, is = format("written %d times", n), want = "written once" })
    end
  end
end

local function by_place(settle, taint)
  local map = {}
  for _, value in ipairs(states.random_values(settle.state, taint)) do
    map[value.place] = value
  end
  return map
end

-- The place that had the value of `place` at the point before, and has another one now: the old value of a
-- rotated key is kept there. nil: none.
local function moved_from(place, before, now)
  local found
  for other, old in pairs(before) do
    if other ~= place and old.middle == now[place].middle and now[other] and now[other].middle ~= old.middle
      and not (before[place] and before[place].middle == old.middle) then
      found = found and found < other and found or other
    end
  end
  return found
end

local function compare_moved(step, before, now, was, is, findings, seen)
  for _, place in ipairs(keys.sorted(now)) do
    local value = now[place]
    local from = value.middle and is[place] and moved_from(place, before, now)
    if from and was[from] and is[place].middle ~= was[from].middle then
      local item = is[place].item
      add(findings, seen, { class = "state", place = item.place, kind = item.kind, key = item.key,
        field = value.path, is = "another random value", step = step.step, settle = step.settle,
        want = format("that of %s before", before[from].path) })
    end
  end
end

-- A random value that the undisturbed run has moved to another field is there, too.
local function moved(reference, execution, taint, findings, seen)
  for i = 2, next(taint.random) and #execution.settles or 0 do
    local before, settle = execution.settles[i - 1], execution.settles[i]
    if before.merged or settle.merged or not before.over or not settle.over or not reference.settles[i] then
      return
    end
    compare_moved({ step = settle.step, settle = i }, by_place(reference.settles[i - 1], taint),
      by_place(reference.settles[i], taint), by_place(before, taint), by_place(settle, taint), findings, seen)
  end
end

local function false_claims(execution, findings, seen)
  for _, claim in ipairs(execution.claims or {}) do
    local e = claim.before
    add(findings, seen, { class = "rewritten", place = claim.kind .. " " .. claim.key, kind = claim.kind,
      key = claim.key, field = claim.field, want = "", step = claim.step, line = claim.line,
      is = format("says that it is done, and then the same run does %s%s %s %s", e.line and e.line .. " " or "",
        e.verb, e.api, e.object or "") })
  end
end

-- Finalizers of another client that the script has removed: that client has lost its chance to clean up.
local function removed_finalizers(execution, findings, seen)
  for _, r in ipairs(execution.removed or {}) do
    add(findings, seen, { class = "state", place = r.kind .. " " .. r.key, kind = r.kind, key = r.key,
      field = "metadata.finalizers", want = "", step = r.step, line = r.line,
      is = format("%s%s removes the finalizer of another client", r.line and r.line .. " " or "", r.verb) })
  end
end

-- Whether the undisturbed run has the value, too: the restart has repaired what another disturbance left.
local function is_repaired(reference, finding)
  local want = reference.settles[finding.settle]
  return want ~= nil and states.has(want.canon, finding)
end

local function restarts(reference, execution, taint, findings, seen)
  for _, write in ipairs(execution.restarts or {}) do
    local finding = { class = "restart", place = write.id, kind = write.kind, key = write.key,
      field = write.field or "", is = write.is or "written", want = write.want or "no write",
      step = write.step, settle = write.settle, line = write.line }
    local follows_clock = taint.masked[write.id .. " " .. finding.field]
    if not follows_clock and not is_repaired(reference, finding) then
      add(findings, seen, finding)
    end
  end
end

-- Pods that were replaced only because a list has another order.
local function rollouts(execution, taint, findings, seen)
  for _, d in ipairs(execution.rollouts or {}) do
    if not taint.masked[d.place .. " " .. d.field] then -- it does not follow the clock
      add(findings, seen, { class = "state", place = d.place, kind = d.kind, key = d.key, field = d.field,
        is = d.is, want = d.want, step = d.step, settle = d.settle })
    end
  end
end

-- Gives a settled point its canonical form.
function M.canonize(settle, taint, rules)
  settle.canon = settle.canon or states.canon(settle.state, taint, rules)
  settle.before_canon = settle.before_canon
    or settle.before and states.canon(settle.before, taint, rules)
end

-- Does what M.judge would do later with the i-th settled point.
function M.prepare(reference, settle, i, taint, rules)
  M.canonize(settle, taint, rules)
  local want = reference.settles[i]
  if want and want.canon and not settle.merged and settle.over then
    M.differences(want, settle)
  end
end

-- All findings of `execution`. Canonical states are made with `taint` and `rules`.
function M.judge(reference, execution, taint, rules)
  local findings, seen = {}, {}
  for _, run in ipairs({ reference, execution }) do
    for _, settle in ipairs(run.settles) do
      M.canonize(settle, taint, rules)
    end
  end
  for _, e in ipairs(execution.errors or {}) do
    add(findings, seen, { class = "error", place = e.controller, kind = e.kind or e.controller,
      key = e.key, field = "", is = e.message, want = "no mistake", line = e.line, step = e.step })
  end
  for _, e in ipairs(execution.invariants or {}) do
    add(findings, seen, { class = "invariant", place = e.name, kind = "invariant", key = e.name,
      field = "", is = e.message, want = "", step = e.step })
  end
  if execution.unsettled then
    local u = execution.unsettled
    add(findings, seen, { class = "unsettled", place = u.key, kind = u.kind or u.controller or "",
      key = u.key or "", field = u.field or "", is = u.message, want = "settled", step = u.step })
  end
  compare_states(reference, execution, findings, seen)
  rewritten(reference, execution, taint, findings, seen)
  moved(reference, execution, taint, findings, seen)
  false_claims(execution, findings, seen)
  removed_finalizers(execution, findings, seen)
  restarts(reference, execution, taint, findings, seen)
  rollouts(execution, taint, findings, seen)
  return without_ignored(findings, rules or {})
end

return M
