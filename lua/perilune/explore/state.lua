-- Comparable states of a cluster. Each object is a flat table of paths and scalars, without values that
-- always differ (uids, versions, times, generations). A random name becomes one that all runs have.
--
-- Random values, and values that follow the clock, are found by `learn`: it compares undisturbed
-- runs with another seed and another time. A random value becomes a symbol, the first place with
-- the same value. So two places that must have equal values are still compared.

local host = require("perilune.host")

local concat, format, sort = table.concat, string.format, table.sort
local M = {}

-- The annotation that a harmless write of another client adds.
M.TOUCHED = "explore.perilune.dev/touched"

local dropped = {
  ["metadata.uid"] = true,
  ["metadata.resourceVersion"] = true,
  ["metadata.creationTimestamp"] = true,
  ["metadata.generation"] = true,
  ["metadata.managedFields"] = true,
  ["metadata.selfLink"] = true,
  ["metadata.deletionGracePeriodSeconds"] = true,
  ["metadata.annotations." .. M.TOUCHED] = true,
}

-- Kinds whose objects differ in every run and which nobody reconciles to a desired state.
local left_out = { Event = true, Lease = true }

local function is_time(text)
  return text:find("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d[%d.]*[Z+-]") ~= nil
end

-- The member that identifies items of a list, as in Kubernetes' own lists.
local function item_word(item)
  if type(item) ~= "table" then
    return nil
  end
  local word = item.name or item.type or item.key or item.containerPort or item.port
  if type(word) == "string" or type(word) == "number" then
    return item.kind and item.apiVersion and format("%s %s", item.kind, word) or tostring(word)
  end
end

local function is_keyed(list)
  local seen = {}
  for _, item in ipairs(list) do
    local word = item_word(item)
    if not word or seen[word] then
      return false
    end
    seen[word] = true
  end
  return #list > 0
end

local flatten

local function flatten_list(list, path, context, flat)
  local keyed = is_keyed(list)
  for i, item in ipairs(list) do
    local word = keyed and item_word(item) or tostring(i - 1)
    flatten(item, format("%s[%s]", path, word), context, flat)
  end
end

-- Values that the server takes from a range (addresses, ports). They depend on all earlier ones.
local function is_allocated(kind, path)
  return kind == "Service" and (path == "spec.clusterIP" or path:find("^spec%.clusterIPs%[")
    or path == "spec.healthCheckNodePort" or path:find("^spec%.ports%[.*%]%.nodePort$")) and true
end

local function scalar(value, path, context)
  if value ~= "None" and is_allocated(context.kind, path) then
    return "allocated"
  elseif type(value) == "string" then
    if context.uids[value] then
      return "uid of " .. context.uids[value]
    elseif is_time(value) then
      return "a time"
    end
  elseif type(value) == "number" and path:find("observedGeneration$") and context.generation then
    return value == context.generation and "generation" or "an older generation"
  end
  return value
end

function flatten(value, path, context, flat)
  if dropped[path] then
    return
  elseif type(value) ~= "table" then
    if not (path:find("^metadata%.ownerReferences%[") and path:find("%.uid$")) then
      flat[path] = scalar(value, path, context)
    end
  elseif #value > 0 then
    flatten_list(value, path, context, flat)
  elseif next(value) == nil then
    flat[path] = "empty"
  else
    for name, child in pairs(value) do
      flatten(child, path == "" and tostring(name) or path .. "." .. tostring(name), context, flat)
    end
  end
end

-- "apps/v1/Deployment", "default/blog".
function M.kind_of(object)
  return object.apiVersion .. "/" .. object.kind
end

function M.key_of(object)
  local meta = object.metadata
  return meta.namespace and meta.namespace .. "/" .. meta.name or meta.name
end

local function named(object)
  return M.kind_of(object) .. " " .. M.key_of(object)
end

-- ---- flat states ----

local function uids_of(objects)
  local uids = {}
  for _, object in ipairs(objects) do
    if object.metadata.uid then
      uids[object.metadata.uid] = named(object)
    end
  end
  return uids
end

-- The state of `objects` (documents) and `externals` (name -> table): an array of {kind, key, id,
-- uid, flat, owners, deleting}, sorted by id.
function M.flat(objects, externals)
  local state, uids = {}, uids_of(objects)
  for _, object in ipairs(objects) do
    if not left_out[object.kind] then
      local meta, flat = object.metadata, {}
      flatten(object, "", { uids = uids, generation = meta.generation, kind = object.kind }, flat)
      local owners = {}
      for i, owner in ipairs(type(meta.ownerReferences) == "table" and meta.ownerReferences or {}) do
        owners[i] = owner.uid
      end
      state[#state + 1] = { kind = M.kind_of(object), key = M.key_of(object), id = named(object),
        uid = meta.uid, flat = flat, owners = owners, uids = uids,
        deleting = meta.deletionTimestamp ~= nil and meta.deletionTimestamp ~= host.null }
    end
  end
  for name, value in pairs(externals or {}) do
    local flat = {}
    flatten(value, "", { uids = uids }, flat)
    flat[""] = nil
    state[#state + 1] = { kind = "external", key = name, id = "external " .. name, flat = flat,
      owners = {}, external = true }
  end
  sort(state, function(a, b) return a.id < b.id end)
  return state
end

-- ---- random values ----

local separators = "[-./:_@ =,]"

-- The common beginning and end of two values, up to a separator.
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
  return a:sub(1, pre), suf > 0 and a:sub(-suf) or ""
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

local function by_id(state)
  local map = {}
  for _, item in ipairs(state) do
    map[item.id] = item
  end
  return map
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
  local in_a, in_b = by_id(a), by_id(b)
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

local function sorted_paths(flat)
  local paths = {}
  for path in pairs(flat) do
    paths[#paths + 1] = path
  end
  sort(paths)
  return paths
end

-- Replaces random names in a path by their patterns.
local function replaced_name(value, names)
  return type(value) == "string" and names[value] or value
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
      for i, path in ipairs(sorted_paths(item.flat)) do
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
  local others = {}
  for _, item in ipairs(b) do
    others[item.place] = item
  end
  for _, item in ipairs(a) do
    local other = others[item.place]
    for path, value in pairs(other and item.flat or {}) do
      local theirs = other.flat[path]
      if theirs == nil then
        found(place_of(item, path), nil)
      elseif replaced_name(value, names_a) ~= replaced_name(theirs, names_b) then
        local pre, suf = frame(tostring(value), tostring(theirs))
        found(place_of(item, path), { pre = pre, suf = suf })
      end
    end
  end
end

function M.no_taint() return { names = {}, random = {}, masked = {} } end

-- Learns from undisturbed runs: `first` is the run, `seeded` one with another seed, `later` one at
-- another time. Each is an array of flat states. Values that follow the clock are masked.
function M.learn(first, seeded, later)
  local taint = M.no_taint()
  for i, state in ipairs(first) do
    learn_names(state, seeded[i] or {}, taint)
    learn_names(state, later[i] or {}, taint)
  end
  for i, state in ipairs(first) do
    learn_values(state, later[i] or {}, taint, function(place)
      taint.masked[place] = true
    end)
    learn_values(state, seeded[i] or {}, taint, function(place, of)
      if not of then
        taint.masked[place] = true
      elseif not taint.masked[place] then
        taint.random[place] = of
      end
    end)
  end
  return taint
end

-- ---- canonical states ----

-- Parses rules of `ignore`: "status.lastSeen", or "v1/Pod default/pool-* metadata.annotations".
function M.ignore_rules(texts)
  local rules = {}
  for i, text in ipairs(texts or {}) do
    local kind, name, path = text:match("^(%S+)%s+(%S+)%s*(%S*)$")
    if not (kind == "external" or kind and kind:find("/", 1, true)) then
      kind, name = nil, nil
      path = text:match("^%S+$")
      if not path then
        error(format('ignore: "%s" is neither a path nor "KIND NAME [PATH]"', text), 0)
      end
    end
    rules[i] = { kind = kind, path = path ~= "" and path or nil, text = text,
      name = name and "^" .. name:gsub("[%^%$%(%)%%%.%[%]%+%-%?]", "%%%0"):gsub("%*", ".*") .. "$" }
  end
  return rules
end

local function applies(rule, item)
  return (not rule.kind or rule.kind == item.kind)
    and (not rule.name or item.key:find(rule.name) or item.key:gsub("^.*/", ""):find(rule.name))
end

local function below(path, prefix)
  if path:sub(1, #prefix) ~= prefix then
    return false
  end
  local after = path:sub(#prefix + 1, #prefix + 1)
  return after == "" or after == "." or after == "["
end

local function is_ignored(rules, item, path)
  for _, rule in ipairs(rules) do
    if rule.path and applies(rule, item) and below(path, rule.path) then
      return true
    end
  end
  return false
end

local function counted_by(rules, item)
  for _, rule in ipairs(rules) do
    if rule.kind and not rule.path and applies(rule, item) then
      return rule
    end
  end
end

local function symbols_of(state, taint)
  local places, first = {}, {}
  for _, item in ipairs(state) do
    for path, value in pairs(item.flat) do
      local place = place_of(item, path)
      local of = taint.random[place]
      if of then
        places[#places + 1] = { place = place, middle = inside(value, of), of = of }
      end
    end
  end
  sort(places, function(a, b) return a.place < b.place end)
  local symbols = {}
  for _, p in ipairs(places) do
    if p.middle then
      first[p.middle] = first[p.middle] or p.place
      symbols[p.place] = format("%s<random, as %s>%s", p.of.pre, first[p.middle], p.of.suf)
    end
  end
  return symbols
end

-- The comparable part of a flat state: {items = place -> {kind, key, id, uid, values}, counts}.
-- Applies the secrets of the taint and the `rules`.
function M.canon(state, taint, rules)
  local names = name_places(state, taint)
  local symbols = symbols_of(state, taint)
  local items, counts = {}, {}
  for _, item in ipairs(state) do
    local rule = counted_by(rules, item)
    if rule then
      counts[rule.text] = (counts[rule.text] or 0) + 1
    else
      local values = {}
      for path, value in pairs(item.flat) do
        local place = place_of(item, path)
        if not taint.masked[place] and not is_ignored(rules, item, path) then
          values[path] = symbols[place] or replaced_name(value, names)
        end
      end
      if item.pattern then
        values["metadata.name"], values["metadata.generateName"] = nil, nil
      end
      items[item.place] = { kind = item.kind, key = item.key, id = item.id, uid = item.uid,
        values = values, item = item, external = item.external, deleting = item.deleting,
        random = item.pattern ~= nil }
    end
  end
  return { items = items, counts = counts }
end

local function show(value)
  if value == nil then
    return "absent"
  elseif value == host.null then
    return "null"
  elseif type(value) == "string" and (value == "" or value:find("[%s]")) then
    return format("%q", #value > 120 and value:sub(1, 117) .. "..." or value)
  end
  return tostring(value)
end

local function sorted_keys(...)
  local keys, seen = {}, {}
  for _, map in ipairs({ ... }) do
    for key in pairs(map) do
      if not seen[key] then
        seen[key] = true
        keys[#keys + 1] = key
      end
    end
  end
  sort(keys)
  return keys
end

local function fields(want, is, place, out)
  for _, path in ipairs(sorted_keys(want.values, is.values)) do
    local a, b = want.values[path], is.values[path]
    if a ~= b then
      out[#out + 1] = { place = place, kind = is.kind, key = is.key, field = path, is = show(b),
        want = show(a), item = is, extra = a == nil }
    end
  end
end

-- The differences of canonical states: an array of {place, kind, key, field, is, want}; field ""
-- means that the object itself is `missing` or `extra`.
function M.differences(want, is)
  local out = {}
  for _, place in ipairs(sorted_keys(want.items, is.items)) do
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

return M
