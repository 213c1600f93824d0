-- The possible disturbances: those that are fair for one request, and those of a known execution:
-- at its effects, in its steps, in its caches. A fair disturbance is one that a conforming API
-- server, a network or a kill can cause. They are listed in the order in which they are tried.

local keys = require("perilune.keys")

local M = {}

local function each(word, ...)
  local out = {}
  for i, how in ipairs({ ... }) do
    out[i] = { word, how }
  end
  return out
end

local function append(list, more)
  for _, item in ipairs(more) do
    list[#list + 1] = item
  end
end

local function fair_for(request)
  local out = {}
  local reads = request.reads or request.verb == "get" or request.verb == "list"
  if not reads then
    append(out, each("crash", "after"))
    if request.first then
      append(out, each("crash", "before"))
    end
  end
  append(out, each("refuse", "500"))
  if not reads then
    append(out, each("lose", "timeout"))
    if request.verb == "create" and not request.generated then
      append(out, each("refuse", "exists"))
    end
    if request.conditional then
      append(out, each("refuse", "conflict"))
      append(out, { { "touch" } })
    end
    append(out, each("crash", "unanswered"))
  end
  append(out, each("refuse", "connection"))
  if request.verb == "http" then
    if reads then
      append(out, each("lose", "timeout"))
    end
  else
    append(out, each("refuse", "503", "429"))
    if request.verb == "create" then
      append(out, each("refuse", "403"))
    end
  end
  if not reads then
    append(out, each("lose", "reset"))
    append(out, each("reload", "after"))
  end
  if request.verb ~= "http" then
    append(out, { { "delay" } })
  end
  return out
end

local known = {} -- by the facts of a request

-- The disturbances of a request, each {what, how}. `request` has: verb ("create", "update",
-- "patch", "delete", "get", "list", "http"), reads, conditional (it carries a resourceVersion),
-- generated (the server chooses the name), first (of its run). Requests that are alike share the result.
function M.of_request(request)
  local name = request.verb .. (request.reads and " reads" or "") .. (request.conditional and " conditional" or "")
    .. (request.generated and " generated" or "") .. (request.first and " first" or "")
  known[name] = known[name] or fair_for(request)
  return known[name]
end

-- The order in which single disturbances are tried. These also represent their class in pairs and triples.
local rank = { ["crash after"] = 1, ["refuse 500"] = 2, ["lose timeout"] = 3, ["stale"] = 4,
  ["early"] = 5, ["restart"] = 1, ["unobserved"] = 6, ["touch"] = 6, ["lag"] = 7, ["late collection"] = 7 }
-- A few of another kind come next. The rest are variants of disturbances that were tried before.
local OTHERS, REST = 8, 9
local others = { finalizer = true, again = true, outage = true, late = true, lists = true, clock = true }

local function word(d)
  return d.how and d.what .. " " .. d.how or d.what
end

function M.rank(d)
  return rank[word(d)] or (others[d.what] and OTHERS) or REST
end

-- True if the disturbance represents its class in pairs and triples.
function M.is_representative(d)
  return rank[word(d)] ~= nil
end

local function of_effects(execution, from, out)
  for i = from, #execution.points do
    local p = execution.points[i]
    if p.what == "effect" and p.step > 0 then -- a plan cannot name a place before the first step
      for _, option in ipairs(p.options) do
        out[#out + 1] = { what = option[1], how = option[2], place = p.place, step = p.step, n = p.n,
          line = p.line }
      end
    elseif p.what == "order" and p.step > 0 then
      for j = 2, math.min(#p.names, 4) do
        out[#out + 1] = { what = "order", name = p.names[j], step = p.step, n = p.n }
      end
    end
  end
end

local function stale_positions(kind, counts, step, add)
  local last_step, last_n
  for s = 1, step do
    if counts[s] then
      last_step, last_n = s, counts[s]
    end
  end
  for s = 1, step do
    for n = 1, counts[s] or 0 do
      if not (s == last_step and n == last_n) then
        add({ what = "stale", kind = kind, from_step = s, from_n = n, step = step })
      end
    end
  end
  if last_n then -- before the first event
    add({ what = "stale", kind = kind, from_step = 1, from_n = 0, step = step })
  end
end

local function of_caches(execution, from_step, no_stale, add)
  for step = from_step, execution.steps do
    for _, kind in ipairs(keys.sorted(execution.kinds)) do
      local counts = execution.kinds[kind]
      if not no_stale then
        stale_positions(kind, counts, step, add)
      end
      if counts[step] then
        add({ what = "lag", kind = kind, step = step })
        add({ what = "unobserved", kind = kind, step = step })
      end
    end
  end
end

-- The steps that may come early, and the least number of effects before them: an object that is deleted before
-- any controller has done something for it is none that they know. What a controller does when it is told to
-- pause may rightly depend on the moment.
local FIRST_EARLY = { patch = 0, delete = 1 }

local function of_steps(execution, from_step, add)
  local effects, early = {}, {}
  for _, p in ipairs(execution.points) do
    if p.what == "effect" and not p.reads then
      effects[p.step] = (effects[p.step] or 0) + 1
    elseif p.what == "step" then
      early[p.step] = not p.instructs and FIRST_EARLY[(p.text or ""):match("^%S+")] or nil
    end
  end
  for step = from_step, execution.steps do
    add({ what = "restart", step = step })
    if early[step] and step > 1 then
      for n = early[step], math.min(effects[step - 1] or 0, 4) - 1 do
        add({ what = "early", step = step, n = n })
      end
    end
  end
end

local function of_lists(by_step, from_step, what, add)
  for _, step in ipairs(keys.sorted(by_step or {})) do
    for _, item in ipairs(step >= from_step and by_step[step] or {}) do
      local d = { what = what, step = step }
      for field, value in pairs(item) do
        d[field] = value
      end
      add(d)
    end
  end
end

-- The kinds of writes of each step: {step -> {{verb, kind}}}.
local function writes_of(execution, from)
  local out, seen = {}, {}
  for i = from, #execution.points do
    local p = execution.points[i]
    if p.what == "effect" and not p.reads and p.place.verb ~= "http" then
      local name = p.step .. p.place.verb .. p.place.kind
      out[p.step] = out[p.step] or {}
      if not seen[name] then
        seen[name] = true
        table.insert(out[p.step], { verb = p.place.verb, kind = p.place.kind })
      end
    end
  end
  return out
end

-- Disturbances that do not come from the host: the server, the garbage collector, other clients, the
-- clock.
local function of_others(execution, from, from_step, add)
  of_lists(writes_of(execution, from), from_step, "outage", add)
  of_lists(execution.deletions, from_step, "finalizer", add)
  of_lists(execution.keys, from_step, "again", add)
  for _, step in ipairs(keys.sorted(execution.deletions or {})) do
    if step >= from_step then
      add({ what = "late", how = "collection", step = step })
    end
  end
  for step = from_step, execution.steps do
    if execution.lists and execution.lists[step] then
      add({ what = "lists", how = "reversed", step = step })
    end
  end
  for step = from_step, execution.requeues and execution.steps or 0 do
    add({ what = "late", how = "requeue", step = step })
  end
  if from == 1 and (execution.hosts or 1) > 1 then
    add({ what = "clock", how = "ahead", step = 1 })
    add({ what = "clock", how = "behind", step = 1 })
  end
end

-- Sorted by rank; disturbances of one rank keep their order.
local function in_order(list)
  local of_rank, out = {}, {}
  for r = 1, REST do
    of_rank[r] = {}
  end
  for _, d in ipairs(list) do
    table.insert(of_rank[M.rank(d)], d)
  end
  for r = 1, REST do
    append(out, of_rank[r])
  end
  return out
end

-- All possible disturbances of `execution` from its point `from` on: an array, in the order in
-- which they are tried.
function M.of_execution(execution, o)
  local out, from = {}, o.from or 1
  local from_step = execution.points[from] and execution.points[from].step or execution.steps + 1
  from_step = math.max(from_step, 1)
  of_effects(execution, from, out)
  local function add(d)
    out[#out + 1] = d
  end
  of_steps(execution, from_step, add)
  of_caches(execution, from_step, o.no_stale, add)
  of_others(execution, from, from_step, add)
  return in_order(out)
end

return M
