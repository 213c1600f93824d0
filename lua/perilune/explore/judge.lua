-- Judges an execution: compares its settled points with those of the undisturbed run. A finding is
-- a difference that is left after all disturbances have ended. Errors in the log, conflicts, and
-- more or fewer writes are no findings.
--
-- An execution is {settles = {{step, state, merged}}, errors, invariants, unsettled, restarts,
-- versions}; perilune.explore.state makes `state`. A finding is {class, kind, key, field, is, want,
-- step, message, line}.

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

local function add(findings, seen, finding)
  local key = format("%s %s %s", finding.class, finding.place or finding.key or "",
    finding.field or "")
  if not seen[key] then
    seen[key] = true
    findings[#findings + 1] = finding
  end
end

-- The order of pairs is not the same in each process.
local function places_of(items)
  local places = {}
  for place in pairs(items) do
    places[#places + 1] = place
  end
  table.sort(places)
  return places
end

-- An object that both runs have at the same place, before and after: it must still be the same
-- object, unless the undisturbed run replaced it, too.
local function replaced(reference, execution, i, findings, seen)
  local was, is = execution.settles[i - 1], execution.settles[i]
  local want_was, want_is = reference.settles[i - 1], reference.settles[i]
  for _, place in ipairs(places_of(was.canon.items)) do
    local item, after = was.canon.items[place], is.canon.items[place]
    local a, b = want_was.canon.items[place], want_is.canon.items[place]
    if item.uid and a and b and a.uid == b.uid and not item.random
      and (not after or after.uid ~= item.uid) then
      add(findings, seen, { class = "replaced", place = place, kind = item.kind, key = item.key,
        field = "metadata.uid", is = after and "another object" or "gone", want = "the same object",
        step = is.step, settle = i })
    end
  end
end

-- The same for objects that were there before a restart in that step.
local function replaced_by_restart(want, settle, findings, seen)
  local before = settle.before_canon and settle.before_canon.items or {}
  for _, place in ipairs(places_of(before)) do
    local item, after = before[place], settle.canon.items[place]
    if item.uid and want.canon.items[place] and not item.random
      and (not after or after.uid ~= item.uid) then
      add(findings, seen, { class = "replaced", place = place, kind = item.kind, key = item.key,
        field = "metadata.uid", is = after and "another object" or "gone", want = "the same object",
        step = settle.step })
    end
  end
end

-- A Job is work that is done once. If a spec was replaced before a controller saw it, there is no Job
-- for it.
local function is_unseen_work(d, skipped)
  return skipped and d.missing and d.kind == "batch/v1/Job"
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
      for _, d in ipairs(states.differences(want.canon, settle.canon)) do
        local class = class_of(d, settle.canon)
        if not is_unseen_work(d, skipped) and not (d.missing and seen[format("replaced %s metadata.uid", d.place)]) then
          add(findings, seen, { class = class, place = d.place, kind = d.kind, key = d.key,
            field = d.field, is = d.is, want = d.want, step = settle.step, settle = i })
        end
      end
    end
    skipped = skipped or settle.merged or not settle.over
  end
end

-- The number of values that each random place had during the life of an object.
local function writings(versions, taint)
  local count, last = {}, {}
  for _, version in ipairs(versions or {}) do
    for _, item in ipairs(version) do
      for path, value in pairs(item.flat) do
        local place = (item.place or item.id) .. " " .. path
        if taint.random[place] then
          local at = place .. " " .. tostring(item.uid)
          if last[at] ~= value then
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

local function false_claims(execution, findings, seen)
  for _, claim in ipairs(execution.claims or {}) do
    local e = claim.before
    add(findings, seen, { class = "rewritten", place = claim.kind .. " " .. claim.key, kind = claim.kind,
      key = claim.key, field = "status.observedGeneration", want = "", step = claim.step, line = claim.line,
      is = format("says that it is done, and then the same run does %s%s %s %s", e.line and e.line .. " " or "",
        e.verb, e.api, e.object or "") })
  end
end

local function restarts(execution, findings, seen)
  for _, write in ipairs(execution.restarts or {}) do
    add(findings, seen, { class = "restart", place = write.id, kind = write.kind, key = write.key,
      field = write.field or "", is = write.is or "written", want = write.want or "no write",
      step = write.step, line = write.line })
  end
end

-- All findings of `execution`. Canonical states are made with `taint` and `rules`.
function M.judge(reference, execution, taint, rules)
  local findings, seen = {}, {}
  for _, run in ipairs({ reference, execution }) do
    for _, settle in ipairs(run.settles) do
      settle.canon = settle.canon or states.canon(settle.state, taint, rules)
      settle.before_canon = settle.before_canon
        or settle.before and states.canon(settle.before, taint, rules)
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
  false_claims(execution, findings, seen)
  restarts(execution, findings, seen)
  return findings
end

return M
