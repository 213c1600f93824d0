-- Reports. A finding is a few lines: the difference, the events with the script's lines, and the
-- command that reproduces it. A summary tells what was covered. Both can also be lines of JSON.

local host = require("perilune.host")
local timelines = require("perilune.explore.timeline")

local concat, format = table.concat, string.format
local M = {}

local function thousands(n)
  local text = tostring(n)
  repeat
    local more, count = text:gsub("^(%d+)(%d%d%d)", "%1,%2")
    text = more
  until count == 0
  return text
end
M.thousands = thousands

local function short(kind)
  return (kind or ""):match("[^/]+$") or kind or ""
end

-- ---- one finding ----

local function plural(word)
  if word:find("[sx]$") or word:find("ch$") then
    return word .. "es"
  end
  return word:find("[^aeo]y$") and word:sub(1, -2) .. "ies" or word .. "s"
end

-- "state  2 Jobs of Backup default/nightly, undisturbed 1": their names are random.
local function counted(f)
  return format("%s  %s %s %s, undisturbed %s", f.class, f.count == 0 and "no" or f.count,
    f.count > 1 and plural(short(f.kind)) or short(f.kind), f.of, f.wanted == 0 and "none" or f.wanted)
end

-- "state  PersistentVolumeClaim default/data-mq-0 spec.size is 10Gi, undisturbed 15Gi"
function M.headline(f)
  if f.count then
    return counted(f)
  end
  local words = { f.class .. " ", short(f.kind) ~= f.class and short(f.kind) or nil }
  if f.key and f.key ~= "" then
    words[#words + 1] = f.key
  end
  if f.field and f.field ~= "" then
    words[#words + 1] = f.field
  end
  if f.class == "error" or f.class == "invariant" or f.class == "unsettled" or f.want == "" then
    local about = format("%s %s ", f.kind or "", f.key or "")
    if f.class == "unsettled" and tostring(f.is):sub(1, #about) == about then
      return concat(words, " ") .. " " .. f.is:sub(#about + 1)
    end
    return concat(words, " ") .. ": " .. tostring(f.is)
  end
  words[#words + 1] = format(f.class == "restart" and "is %s, before the restart %s" or "is %s, undisturbed %s",
    f.is, f.want)
  return concat(words, " ")
end

local faults = {
  crash = "the process ends here",
  reload = "the scripts are loaded again here",
  touch = "another client has written the object meanwhile, harmlessly",
  delay = "the request is sent late, after what others do meanwhile",
}

local late = {
  collection = "garbage is collected late, after the next step",
  requeue = "keys that wait for their time run late",
}

local function fault_text(d)
  if faults[d.what] then
    return faults[d.what]
  elseif d.what == "refuse" and d.how == "exists" then
    return "another client has created it: answered 409 AlreadyExists"
  elseif d.what == "refuse" then
    return format("not done: %s", d.how == "connection" and "the connection is refused"
      or "answered " .. d.how)
  elseif d.what == "lose" then
    return format("done, but the answer is lost: %s", d.how)
  elseif d.what == "stale" then
    return format("a restart: the cache of %s begins as it was at event %d of step %d, as a lagging API server "
      .. "may answer", d.kind, d.from_n, d.from_step)
  elseif d.what == "lag" then
    return format("the watch of %s brings nothing until all else has settled", d.kind)
  elseif d.what == "unobserved" then
    return format("the watch of %s is cut, and listed again when all else has settled", d.kind)
  elseif d.what == "early" then
    return format("step %d comes before the one before it has settled", d.step)
  elseif d.what == "order" then
    return format("%s runs first", d.name)
  elseif d.what == "outage" then
    return format("each %s of %s is answered 500 until all else has settled", d.verb, d.kind)
  elseif d.what == "finalizer" then
    return format("a finalizer of another client keeps %s %s until all else has settled", d.kind, d.key)
  elseif d.what == "again" then
    return format("%s %s is reconciled again for no reason", d.controller, d.key)
  elseif d.what == "late" then
    return late[d.how]
  elseif d.what == "clock" then
    return format("the clocks of the other replicas are %s", d.how)
  elseif d.what == "lists" then
    return "lists of caches come in the reverse order"
  end
  return "the process is started again"
end
M.fault_text = fault_text

local function quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- The command that reproduces it.
function M.again(o, plan)
  return format("%s --explore --plan %s", o.command, quoted(plan))
end

local MOST = 3 -- other findings that a report names

-- Adds a line for each different headline of these findings. seen: those that have one.
local function add_others(lines, findings, seen, what, more)
  local count = 0
  for _, f in ipairs(findings or {}) do
    local text = M.headline(f)
    count = count + (seen[text] and 0 or 1)
    if not seen[text] and count <= MOST then
      lines[#lines + 1] = format("  %s: %s", what, text)
    end
    seen[text] = true
  end
  if count > MOST then
    lines[#lines + 1] = format("  and %d more that %s", count - MOST, more)
  end
end

-- The report of a group. `o`: command ("perilune test ."), reference.
function M.finding(group, o)
  local lines = { M.headline(group.finding) }
  for _, line in ipairs(timelines.lines(group, o.reference)) do
    lines[#lines + 1] = line
  end
  local seen = { [lines[1]] = true }
  add_others(lines, group.also, seen, "also", "the same plan leads to")
  add_others(lines, group.beside, seen, "also, with another plan", "other plans lead to besides")
  local again = "  again: " .. M.again(o, group.plan)
  if group.others > 0 then
    again = format("%s       (the same from %s other plan%s)", again, thousands(group.others),
      group.others == 1 and "" or "s")
  end
  lines[#lines + 1] = group.plan == "" and "  without any disturbance" or nil
  lines[#lines + 1] = again
  return concat(lines, "\n")
end

-- ---- the summary ----

local function count(map)
  local n = 0
  for _ in pairs(map) do
    n = n + 1
  end
  return n
end

-- The lines of `code` (file -> line -> true) that no execution reached, as "main.lua:52".
function M.unreached(code, lines)
  local out = {}
  for file, all in pairs(code or {}) do
    for line in pairs(all) do
      if not (lines[file] and lines[file][line]) then
        out[#out + 1] = { file = file, line = line }
      end
    end
  end
  table.sort(out, function(a, b)
    if a.file ~= b.file then return a.file < b.file end
    return a.line < b.line
  end)
  for i, at in ipairs(out) do
    out[i] = format("%s:%d", at.file:match("[^/]+$"), at.line)
  end
  return out
end

local function left_out_lines(result)
  local out = {}
  for why, n in pairs(result.left_out) do
    out[#out + 1] = format("left out: %s, as %s", thousands(n), why)
  end
  table.sort(out)
  return out
end

local function covered(result)
  local s, p = result.singles, result.pairs
  return format("%s of %s single disturbances, %s of %s pairs, %s random", thousands(s.done),
    thousands(s.total), thousands(p.done), thousands(p.total), thousands(result.random))
end

-- How far a search is.
function M.progress(result)
  local found = #result.groups
  return format("%s; %d finding%s", covered(result), found, found == 1 and "" or "s")
end

-- "explored 41 of 41 single disturbances, ..."
function M.summary(result)
  local text = format("explored %s; %d of %d effects crashed at, %d positions of %d kinds stale",
    covered(result), result.effects_crashed, result.effects or 0, result.stale.positions,
    count(result.stale.kinds))
  local unreached = M.unreached(result.code, result.lines)
  if #unreached > 0 then
    text = text .. "; never reached: " .. concat(unreached, ", ", 1, math.min(#unreached, 20))
    if #unreached > 20 then
      text = format("%s and %d more", text, #unreached - 20)
    end
  end
  local lines = { text }
  for _, line in ipairs(left_out_lines(result)) do
    lines[#lines + 1] = "  " .. line
  end
  return concat(lines, "\n")
end

-- ---- JSON ----

-- The script's line for a finding: that of the disturbance, otherwise of the effect that the report shows.
local function line_of(f, group)
  return group.line or timelines.line_of(group.execution and group.execution.trace or {}, f)
end

local function finding_json(f, group, o)
  return host.json_encode({ scenario = o.scenario, class = f.class, kind = f.kind, key = f.key,
    field = f.field, is = f.is, want = f.want, line = line_of(f, group), plan = group.plan, seed = o.seed,
    allowed = f.allowed })
end

-- One line for each finding, including those that the same plan leads to.
function M.json_findings(group, o)
  local lines = { finding_json(group.finding, group, o) }
  for _, f in ipairs(group.also) do
    lines[#lines + 1] = finding_json(f, group, o)
  end
  return concat(lines, "\n")
end

-- The summary as a line of JSON; of a replay it has the parts of the plan that did not happen.
function M.json_summary(result, o)
  return host.json_encode({ summary = true, scenario = o.scenario, executions = result.count,
    singles = result.singles, pairs = result.pairs, random = result.random, findings = #result.groups,
    effects = result.effects or 0, effects_crashed = result.effects_crashed,
    stale_positions = result.stale.positions, left_out = result.left_out,
    unreached = host.array(M.unreached(result.code, result.lines)), seed = o.seed,
    unmet = result.unmet and host.array(result.unmet), differing = result.differing and M.differing(result.differing) })
end

-- The place where two runs of the same plan differ, for exit code 3.
function M.differing(d)
  local second = (d.second .. "\n"):gmatch("([^\n]*)\n")
  local was, is
  for line in (d.first .. "\n"):gmatch("([^\n]*)\n") do
    was, is = line, second()
    if was ~= is then break end
  end
  if was == is then
    was, is = nil, second()
  end
  local place = d.plan == "" and " (without any disturbance)" or " (" .. d.plan .. ")"
  return format("the same plan and seed did not give the same trace twice%s; the first difference:\n"
    .. "  first   %s\n  second  %s", place, was or "the end", is or "the end")
end

-- An entry of a trace as a line.
function M.trace_line(e)
  if e.what == "effect" then
    return format("%s: %s %s", timelines.who(e), timelines.effect_text(e), e.outcome or "")
  end
  return format("%s %s %s", e.what, e.step or "", e.text or "")
end

return M
