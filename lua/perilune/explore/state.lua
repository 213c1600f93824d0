-- Comparable states of a cluster, made from flat states (explore/flat.lua). A random name becomes one that
-- all runs have.
--
-- Random values, and values that follow the clock, are found by `learn`: it compares undisturbed
-- runs with another seed and another time. A random value becomes a symbol, the first place with
-- the same value. So two places that must have equal values are still compared.

local derived = require("perilune.explore.derived")
local entries = require("perilune.explore.entries")
local flats = require("perilune.explore.flat")
local host = require("perilune.host")
local ignore = require("perilune.explore.ignore")
local keys = require("perilune.keys")

local concat, format, sort = table.concat, string.format, table.sort
local M = {}

-- ---- random values ----

local separators = "[-./:_@ =,]"

-- The common beginning and end of two values, up to a separator. The padding of base64 belongs to
-- the text before it, whose length may vary.
local function frame(a, b)
  local pre = 0
  while pre < #a and pre < #b and a:byte(pre + 1) == b:byte(pre + 1) do
    pre = pre + 1
  end
  while pre > 0 and not a:sub(pre, pre):find(separators) do
    pre = pre - 1
  end
  local most, suf = math.min(#a, #b) - pre, 0
  while suf < most and a:byte(#a - suf) == b:byte(#b - suf) do
    suf = suf + 1
  end
  while suf > 0 and not a:sub(#a - suf + 1, #a - suf + 1):find(separators) do
    suf = suf - 1
  end
  local rest = suf > 0 and a:sub(-suf) or ""
  return a:sub(1, pre), rest:find("^=+$") and "" or rest
end

-- The part of a value between the frame's beginning and end; nil: the value has another form.
local function inside(value, found)
  value = tostring(value)
  if #value < #found.pre + #found.suf or value:sub(1, #found.pre) ~= found.pre
    or (found.suf ~= "" and value:sub(-#found.suf) ~= found.suf) then
    return nil
  end
  return value:sub(#found.pre + 1, #value - #found.suf)
end

-- The pattern of an object's random name; nil: its name is not random.
local function pattern_of(item, taint)
  for _, pattern in ipairs(taint.names) do
    if pattern.kind == item.kind then
      local middle = inside(item.key, pattern)
      if middle and middle ~= "" and not middle:find("/", 1, true) then
        return pattern, middle
      end
    end
  end
end

local function add_pattern(taint, kind, a, b)
  local pre, suf = frame(a, b)
  for _, pattern in ipairs(taint.names) do
    if pattern.kind == kind and pattern.pre == pre and pattern.suf == suf then
      return
    end
  end
  taint.names[#taint.names + 1] = { kind = kind, pre = pre, suf = suf,
    id = format("%s %s*%s", kind, pre, suf) }
end

-- Compares objects that only one of the runs has, in the order of their names. Two of the same kind
-- whose names begin alike are the same object with random names.
local function learn_names(a, b, taint)
  local in_a, in_b = flats.by("id", a), flats.by("id", b)
  for _, item in ipairs(a) do
    if not in_b[item.id] and not pattern_of(item, taint) then
      for _, other in ipairs(b) do
        if other.kind == item.kind and not in_a[other.id] then
          add_pattern(taint, item.kind, item.key, other.key)
          break
        end
      end
    end
  end
end

local function place_of(item, path)
  return item.place .. " " .. path
end

-- Replaces a random name, or the uid of an object with a random name, by the pattern of the name.
local function replaced_name(value, names)
  if type(value) ~= "string" then
    return value
  end
  local key = value:match("^uid of %S+ (%S+)$")
  return names[key or value] or value
end

-- Sets the `place` of each item: its id, or its pattern with a number if its name is random.
local function name_places(state, taint)
  local names, many = {}, {}
  for _, item in ipairs(state) do
    local pattern, middle = pattern_of(item, taint)
    item.pattern, item.middle = pattern, middle
    if pattern then
      names[middle] = "name of " .. pattern.id
      names[item.key] = names[middle]
      names[item.key:match("[^/]+$")] = names[middle]
      many[pattern] = many[pattern] or {}
      table.insert(many[pattern], item)
    else
      item.place = item.id
    end
  end
  for _, items in pairs(many) do
    for _, item in ipairs(items) do
      local text = {}
      for i, path in ipairs(keys.sorted(item.flat)) do
        text[i] = path .. "=" .. tostring(replaced_name(item.flat[path], names))
      end
      item.text = concat(text, "\n")
    end
    sort(items, function(a, b)
      if a.text ~= b.text then return a.text < b.text end
      return a.key < b.key
    end)
    for i, item in ipairs(items) do
      item.place = #items > 1 and format("%s#%d", item.pattern.id, i) or item.pattern.id
    end
  end
  return names
end

local function learn_values(a, b, taint, found)
  local names_a, names_b = name_places(a, taint), name_places(b, taint)
  entries.each_pair(a, b, "place", function(item, other)
    for path, value in pairs(entries.flat_of(item)) do
      local theirs = entries.flat_of(other)[path]
      if theirs == nil then
        found(place_of(item, path), nil)
      elseif replaced_name(value, names_a) ~= replaced_name(theirs, names_b) then
        local pre, suf = frame(tostring(value), tostring(theirs))
        found(place_of(item, path), { pre = pre, suf = suf })
      end
    end
  end)
end

function M.no_taint() return { names = {}, random = {}, masked = {}, entries = {}, derived = {} } end

-- Without random values, an object's canonical values depend on its flat table alone.
local function is_plain(taint)
  return not (next(taint.names) or next(taint.random) or next(taint.entries))
end

-- What is around a random value may be another text later, such as another host.
local function add_frame(taint, place, found)
  local frames = taint.random[place] or {}
  taint.random[place] = frames
  for _, known in ipairs(frames) do
    if known.pre == found.pre and known.suf == found.suf then return end
  end
  frames[#frames + 1] = found
end

-- The random part of a value, and the longest frame that it has; nil: it has another form.
local function middle_of(value, frames)
  local middle, around
  for _, of in ipairs(frames) do
    local inner = inside(value, of)
    if inner and not (middle and #inner >= #middle) then
      middle, around = inner, of
    end
  end
  return middle, around
end

-- Learns from undisturbed runs: `first` is the run, `seeded` one with another seed, `later` one at
-- another time, on a server with other versions. Each is an array of flat states. Values that
-- follow the clock or the versions are masked.
function M.learn(first, seeded, later)
  local taint = M.no_taint()
  for i, state in ipairs(first) do
    learn_names(state, seeded[i] or {}, taint)
    learn_names(state, later[i] or {}, taint)
    entries.learn(state, seeded[i] or {}, taint)
    entries.learn(state, later[i] or {}, taint)
  end
  for i, state in ipairs(first) do
    for _, of in ipairs({ state, seeded[i] or {}, later[i] or {} }) do
      entries.number(of, taint)
    end
  end
  for i, state in ipairs(first) do
    learn_values(state, later[i] or {}, taint, function(place)
      taint.masked[place] = true
    end)
    learn_values(state, seeded[i] or {}, taint, function(place, of)
      if not of then
        taint.masked[place] = true
      elseif not taint.masked[place] then
        add_frame(taint, place, of)
      end
    end)
  end
  for i, state in ipairs(next(taint.random) and first or {}) do
    derived.learn(state, M.random_values(state, taint), taint)
    derived.learn(seeded[i] or {}, M.random_values(seeded[i] or {}, taint), taint)
  end
  return taint
end

-- ---- canonical states ----

-- The random values of a state that has a canonical form, sorted by place: {place, middle, of, item, path}.
function M.random_values(state, taint)
  local places = {}
  for _, item in ipairs(next(taint.random) and state or {}) do
    for path, value in pairs(entries.flat_of(item)) do
      local place = place_of(item, path)
      local frames = taint.random[place]
      if frames then
        local middle, of = middle_of(value, frames)
        places[#places + 1] = { place = place, middle = middle, of = of, item = item, path = path }
      end
    end
  end
  sort(places, function(a, b) return a.place < b.place end)
  return places
end

local function symbols_of(state, taint)
  local places, first = M.random_values(state, taint), {}
  local symbols, follows = {}, derived.names(state, places, taint)
  for _, p in ipairs(places) do
    if p.middle then
      first[p.middle] = first[p.middle] or p.place
      symbols[p.place] = format("%s<%s>%s", p.of.pre, follows[p.place] or "random, as " .. first[p.middle], p.of.suf)
    end
  end
  return symbols
end

-- The values of an item, without masked and ignored ones.
local function values_of(item, taint, rules, symbols, names)
  local values = {}
  for path, value in pairs(entries.flat_of(item)) do
    local place = place_of(item, path)
    if not taint.masked[place] and not ignore.is_ignored(rules, item, path) then
      values[path] = symbols[place] or replaced_name(value, names)
    end
  end
  if item.pattern then
    values["metadata.name"], values["metadata.generateName"] = nil, nil
  end
  return values
end

-- Flat table -> values, of canonical states with this taint and these rules.
local function known_of(taint, rules)
  if taint.known_rules ~= rules then
    taint.known, taint.known_rules = setmetatable({}, { __mode = "k" }), rules
  end
  return taint.known
end

-- The comparable part of a flat state: {items = place -> {kind, key, id, uid, values}, counts}.
-- Applies the secrets of the taint and the `rules`.
function M.canon(state, taint, rules)
  entries.number(state, taint)
  local names = name_places(state, taint)
  local symbols = symbols_of(state, taint)
  local items, counts = {}, {}
  local known = is_plain(taint) and known_of(taint, rules) or {}
  for _, item in ipairs(state) do
    local rule = ignore.counted_by(rules, item)
    if rule then
      counts[rule.text] = (counts[rule.text] or 0) + 1
    else
      local values = known[item.flat] or values_of(item, taint, rules, symbols, names)
      known[item.flat] = values
      items[item.place] = { kind = item.kind, key = item.key, id = item.id, uid = item.uid,
        values = values, item = item, external = item.external, deleting = item.deleting,
        random = item.pattern ~= nil }
    end
  end
  return { items = items, counts = counts }
end

-- A value as findings show it.
function M.show(value)
  if value == nil then
    return "absent"
  elseif value == host.null then
    return "null"
  elseif type(value) == "string" then
    local short = #value > 120 and value:sub(1, 117) .. "..." or value
    return (value == "" or value:find("[%s]")) and format("%q", short) or short
  end
  return tostring(value)
end

local function sorted_keys(...)
  local seen = {}
  for _, map in ipairs({ ... }) do
    for key in pairs(map) do
      seen[key] = true
    end
  end
  return keys.sorted(seen)
end

-- Nearly all objects are alike, and so need no sorted paths.
local function same_values(a, b)
  if a == b then
    return true
  end
  for path, value in pairs(a) do
    if b[path] ~= value then
      return false
    end
  end
  for path in pairs(b) do
    if a[path] == nil then
      return false
    end
  end
  return true
end

local function fields(want, is, place, out)
  for _, path in ipairs(sorted_keys(want.values, is.values)) do
    local a, b = want.values[path], is.values[path]
    if a ~= b then
      out[#out + 1] = { place = place, kind = is.kind, key = is.key, field = path, is = M.show(b),
        want = M.show(a), item = is, extra = a == nil }
    end
  end
end

-- The places where the states differ, sorted.
local function differing_places(want, is)
  local places = {}
  for place, a in pairs(want.items) do
    local b = is.items[place]
    if not (b and same_values(a.values, b.values)) then
      places[#places + 1] = place
    end
  end
  for place in pairs(is.items) do
    places[#places + 1] = not want.items[place] and place or nil
  end
  sort(places)
  return places
end

-- The differences of canonical states: an array of {place, kind, key, field, is, want}; field ""
-- means that the object itself is `missing` or `extra`.
function M.differences(want, is)
  local out = {}
  for _, place in ipairs(differing_places(want, is)) do
    local a, b = want.items[place], is.items[place]
    if not b then
      out[#out + 1] = { place = place, kind = a.kind, key = a.key, field = "", missing = true,
        is = "gone", want = "there", item = a }
    elseif not a then
      out[#out + 1] = { place = place, kind = b.kind, key = b.key, field = "", extra = true,
        is = "there", want = "gone", item = b }
    else
      fields(a, b, place, out)
    end
  end
  for _, rule in ipairs(sorted_keys(want.counts, is.counts)) do
    local a, b = want.counts[rule] or 0, is.counts[rule] or 0
    if a ~= b then
      out[#out + 1] = { place = rule, kind = rule:match("^%S+"), key = rule:match("^%S+%s+(%S+)"),
        field = "count", is = tostring(b), want = tostring(a) }
    end
  end
  return out
end

-- A state in its canonical form, without what is known of random values: to be compared within one world.
function M.plain(state)
  return M.canon(state, M.no_taint(), {})
end

-- Whether the state has the value of a finding: {place, field, is}.
function M.has(canon, f)
  local item = canon.items[f.place]
  if f.field == "" then
    return f.is == (item and "there" or "gone")
  end
  return item ~= nil and M.show(item.values[f.field]) == f.is
end

return M
