-- Plans: the disturbances of an execution, as text that reads like a sentence and as tables. A
-- place is named by the action that happens there, not by a number, so a plan survives an edit of
-- the script. `@2.3` is the third such action since step 2 began; `@2` is the first. The text is
-- the interface: a printed plan can be read again as the same plan.
--
--   crash after website default/blog create Service @1
--   refuse 500 website default/blog patch Deployment default/other @2.3
--   stale Pod 1.2 @3, lag Website @2, unobserved Pod @2, early @3 after 1, restart @2
--   outage create Secret @2, finalizer Website default/blog @3, again website default/blog @2
--   late collection @3, late requeue @2, clock ahead @1, lists reversed @2

local format = string.format
local M = {}

-- The words of a disturbance at an effect, before its place: a first word, then a variant. A
-- conforming API server, a network or a kill can cause each of them.
M.variants = {
  crash = { "before", "unanswered", "after" },
  refuse = { "500", "503", "429", "403", "conflict", "exists", "connection" },
  lose = { "timeout", "reset" },
  reload = { "after" },
  touch = {},
  delay = {},
}

-- The disturbances of a step: the words after the first one, by the names of the fields that they set.
local of_words = {
  lag = { "kind" },
  unobserved = { "kind" },
  outage = { "verb", "kind" },
  finalizer = { "kind", "key" },
  again = { "controller", "key" },
  late = { "how" },
  clock = { "how" },
  lists = { "how" },
  restart = {},
}

local words_allowed = {
  late = { collection = true, requeue = true },
  clock = { ahead = true, behind = true },
  lists = { reversed = true },
}

local function set_of(list)
  local set = {}
  for _, word in ipairs(list) do
    set[word] = true
  end
  return set
end

local variant_sets = {}
for word, list in pairs(M.variants) do
  variant_sets[word] = set_of(list)
end

local function at(step, n)
  return n and n > 1 and format("@%d.%d", step, n) or format("@%d", step)
end

-- The text of a place: controller, key, verb and object, without the step.
function M.name(place)
  local words = { place.controller, place.key, place.verb, place.kind }
  if place.object and place.object ~= place.key then
    words[#words + 1] = place.object
  end
  return table.concat(words, " ")
end

-- The text of one disturbance.
function M.print_one(d)
  if M.variants[d.what] then
    local words = { d.what }
    if d.how then
      words[#words + 1] = d.how
    end
    words[#words + 1] = M.name(d.place)
    words[#words + 1] = at(d.step, d.n)
    return table.concat(words, " ")
  elseif d.what == "stale" then
    return format("stale %s %d.%d %s", d.kind, d.from_step, d.from_n, at(d.step))
  elseif of_words[d.what] then
    local words = { d.what }
    for _, field in ipairs(of_words[d.what]) do
      words[#words + 1] = d[field]
    end
    words[#words + 1] = at(d.step)
    return table.concat(words, " ")
  elseif d.what == "early" then
    return format("early %s after %d", at(d.step), d.n)
  elseif d.what == "order" then
    return format("order %s %s", d.name, at(d.step, d.n))
  end
  error("not a disturbance: " .. tostring(d.what))
end

-- Whether two disturbances are the same.
function M.same(a, b)
  return a.what == b.what and a.step == b.step and M.print_one(a) == M.print_one(b)
end

-- The text of a whole plan; "" for the undisturbed run.
function M.print(plan)
  local texts = {}
  for i, d in ipairs(plan) do
    texts[i] = M.print_one(d)
  end
  return table.concat(texts, ", ")
end

local function words_of(text)
  local words = {}
  for word in text:gmatch("%S+") do
    words[#words + 1] = word
  end
  return words
end

local function read_at(word)
  local step, n = (word or ""):match("^@(%d+)%.(%d+)$")
  if not step then
    step, n = (word or ""):match("^@(%d+)$"), "1"
  end
  if not step or tonumber(step) < 1 or tonumber(n) < 1 then
    return nil, format("%s should be @STEP or @STEP.N, as @2 or @2.3", word and '"' .. word .. '"'
      or "the end")
  end
  return tonumber(step), tonumber(n)
end

local function read_effect(words, d)
  local i = 2
  if next(variant_sets[d.what]) then
    d.how = words[2]
    if not variant_sets[d.what][d.how or ""] then
      return nil, format('after "%s" one of %s is expected, not "%s"', d.what,
        table.concat(M.variants[d.what], ", "), d.how or "")
    end
    i = 3
  end
  local left = #words - i + 1
  if left < 5 or left > 6 then
    return nil, "a place is CONTROLLER KEY VERB KIND [OBJECT] @STEP[.N]"
  end
  d.place = { controller = words[i], key = words[i + 1], verb = words[i + 2], kind = words[i + 3],
    object = left == 6 and words[i + 4] or words[i + 1] }
  local step, n = read_at(words[#words])
  if not step then
    return nil, n
  end
  d.step, d.n = step, n
  return d
end

local function read_stale(words, d)
  local from_step, from_n = (words[3] or ""):match("^(%d+)%.(%d+)$")
  if #words ~= 4 or not from_step then
    return nil, 'it should be as "stale Pod 1.2 @3": the cache of Pod as after the second event of '
      .. "step 1, at the start in step 3"
  end
  local step, why = read_at(words[4])
  if not step then
    return nil, why
  end
  d.kind, d.from_step, d.from_n, d.step = words[2], tonumber(from_step), tonumber(from_n), step
  return d
end

local function read_early(words, d)
  local step, why = read_at(words[2])
  if not step then
    return nil, why
  elseif #words ~= 4 or words[3] ~= "after" or not tonumber(words[4]) then
    return nil, 'it should be as "early @3 after 1": step 3 comes after one effect of the step before'
  end
  d.step, d.n = step, tonumber(words[4])
  return d
end

local function read_order(words, d)
  local step, n = read_at(words[#words])
  if not step then
    return nil, n
  elseif #words < 3 then
    return nil, 'it should be as "order website default/b @1": which key runs first'
  end
  d.name, d.step, d.n = table.concat(words, " ", 2, #words - 1), step, n
  return d
end

local function read_words(words, d)
  local fields, step, why = of_words[d.what], read_at(words[#words])
  if not step then
    return nil, why
  elseif #words ~= #fields + 2 then
    local shape = table.concat({ d.what, unpack(fields) }, " "):gsub(" %l+", string.upper)
    return nil, format('it should be as "%s @STEP"', shape)
  end
  for i, field in ipairs(fields) do
    d[field] = words[i + 1]
  end
  local allowed = words_allowed[d.what]
  if allowed and not allowed[d.how] then
    return nil, format('%s knows no "%s"', d.what, d.how)
  end
  d.step = step
  return d
end

local function read_one(text)
  local words = words_of(text)
  local d = { what = words[1] }
  if M.variants[d.what or ""] then
    return read_effect(words, d)
  elseif d.what == "stale" then
    return read_stale(words, d)
  elseif d.what == "early" then
    return read_early(words, d)
  elseif d.what == "order" then
    return read_order(words, d)
  elseif of_words[d.what or ""] then
    return read_words(words, d)
  end
  return nil, "it must begin with one of crash, refuse, lose, touch, delay, reload, restart, again, "
    .. "stale, lag, unobserved, early, order, lists, outage, finalizer, late, clock, and be complete"
end

-- Parses a plan. Returns nil and a message that names the invalid part.
function M.parse(text)
  local plan = {}
  for part in (text .. ","):gmatch("([^,]*),") do
    local trimmed = part:match("^%s*(.-)%s*$")
    if trimmed == "" and text:find("%S") then
      return nil, "a disturbance is missing beside a comma"
    elseif trimmed ~= "" then
      local d, why = read_one(trimmed)
      if not d then
        return nil, format('"%s": %s', trimmed, why)
      end
      plan[#plan + 1] = d
    end
  end
  return plan
end

-- The step in which a disturbance begins: one that comes early, in the step before its own.
function M.first_step(d)
  return d.what == "early" and d.step - 1 or d.step
end

-- The order in which disturbances of one step begin; all others begin after them.
local BEGINS = { lag = 1, unobserved = 2, late = 3, early = 4 }
local LAST = 5

function M.begins_before(d, e)
  local a, b = M.first_step(d), M.first_step(e)
  return a < b or a == b and (BEGINS[d.what] or LAST) < (BEGINS[e.what] or LAST)
end

-- The key by which a chooser finds a disturbance at an effect. name: of the place, if it is known.
function M.key(place, step, n, name)
  return format("%s @%d.%d", name or M.name(place), step, n)
end

-- The key of the point at which a disturbance happens, or of a point of an execution; nil: it is no such point.
function M.key_of(d)
  if d.what == "order" then
    return format("order %d.%d", d.step, d.n)
  end
  return d.place and M.key(d.place, d.step, d.n)
end

-- The scope of a disturbance: an object, a kind, or everything. It tells whether two disturbances
-- are disjoint.
function M.scope(d)
  if d.place then
    return { object = d.place.kind .. " " .. (d.place.object or ""), key = d.place.key,
      controller = d.place.controller }
  elseif d.kind and d.key then
    return { object = d.kind .. " " .. d.key }
  elseif d.kind then
    return { kind = d.kind }
  end
  return { all = true }
end

-- True if nothing is in both scopes: the two together show nothing new.
function M.disjoint(a, b)
  local x, y = M.scope(a), M.scope(b)
  if x.all or y.all or x.kind or y.kind then
    return false
  end
  return x.object ~= y.object and not (x.key == y.key and x.controller == y.controller)
end

return M
