-- Flat states of a cluster. Each object is a flat table of paths and scalars, without values that always
-- differ (uids, versions, times, generations). uids of other objects are their names. What an object's
-- table says must depend on the objects and external tables alone, so that runs can be compared.

local host = require("perilune.host")

local format, sort = string.format, table.sort
local M = {}

-- The annotation that a harmless write of another client adds.
M.TOUCHED = "explore.perilune.dev/touched"

-- The finalizer that another client adds.
M.FINALIZER = "example.com/explore"

-- The items of a flat state by a field of theirs: `id` or `place`.
function M.by(field, state)
  local items = {}
  for _, item in ipairs(state) do
    items[item[field]] = item
  end
  return items
end

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
M.left_out = { Event = true, Lease = true }

-- Whether "v1/Pod" is the kind of Events, of which there are two groups.
function M.is_event(api)
  return api == "v1/Event" or api:find("^events.k8s.io/") ~= nil
end

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

-- The names of the items in paths: their words, "a#2" for the second one of a word, or numbers from 0.
local function item_names(list)
  local names, numbers, count = {}, {}, {}
  for i, item in ipairs(list) do
    local word = item_word(item)
    if word then
      count[word] = (count[word] or 0) + 1
      word = count[word] > 1 and format("%s#%d", word, count[word]) or word
    end
    names[i], numbers[i] = word, tostring(i - 1)
  end
  return #names == #list and names or numbers
end

local flatten

local function flatten_list(list, path, context, flat)
  local names = item_names(list)
  for i, item in ipairs(list) do
    flatten(item, format("%s[%s]", path, names[i]), context, flat)
  end
end

-- Values that the server takes from a range (addresses, ports). They depend on all earlier ones.
local function is_allocated(kind, path)
  return kind == "Service" and (path == "spec.clusterIP" or path:find("^spec%.clusterIPs%[")
    or path == "spec.healthCheckNodePort" or path:find("^spec%.ports%[.*%]%.nodePort$")) and true
end

-- The text that a Secret has as base64, so that it can be compared with values elsewhere; nil: it is no
-- text.
local function secret_text(value)
  local ok, text = pcall(host.base64_decode, value)
  return ok and text and not text:find("[^%g%s]") and text or nil
end

local function scalar(value, path, context)
  if context.kind == "Secret" and type(value) == "string" and path:find("^data%.") then
    value = secret_text(value) or value
  end
  if value ~= "None" and is_allocated(context.kind, path) then
    context.allocated = context.allocated or {}
    context.allocated[path] = tostring(value)
    return "allocated"
  elseif type(value) == "string" then
    if context.uids[value] then
      return "uid of " .. context.uids[value]
    elseif not context.exact and is_time(value) then
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

-- What host/world writes for managedFields. A list of a server has them with times.
local function managers_of(value)
  return (value == nil or type(value) == "string") and (value or "none") or nil
end

-- The part of an object's state that depends on nothing else: {kind, key, id, name, uid, generation,
-- flat, owners, deleting, texts, managers}. `texts`: the paths of texts, which may be uids of other objects.
-- `managers`: a text that is the same if the fields have the same managers; nil: unknown.
function M.record(object)
  local meta, flat, texts, owners = object.metadata, {}, {}, {}
  local context = { uids = {}, generation = meta.generation, kind = object.kind }
  flatten(object, "", context, flat)
  for path, value in pairs(flat) do
    texts[#texts + 1] = type(value) == "string" and path or nil
  end
  for i, owner in ipairs(type(meta.ownerReferences) == "table" and meta.ownerReferences or {}) do
    owners[i] = owner.uid
  end
  return { kind = M.kind_of(object), key = M.key_of(object), id = named(object), name = object.kind,
    uid = meta.uid, generation = meta.generation, flat = flat, owners = owners, texts = texts,
    allocated = context.allocated, managers = managers_of(meta.managedFields),
    deleting = meta.deletionTimestamp ~= nil and meta.deletionTimestamp ~= host.null }
end

-- The flat table of an object in which times stay as they are.
function M.exact(object)
  local flat = {}
  flatten(object, "", { uids = {}, kind = object.kind, exact = true }, flat)
  return flat
end

local MOST = 1000 -- texts whose records are kept
local kept, count = {}, 0

-- The record of the object with this uid; text: the object as JSON, without those members of its metadata
-- by which objects that are otherwise alike differ. Such objects share tables, so nobody may change them.
function M.record_of(text, uid)
  local like = kept[text]
  if not like then
    like = M.record(host.json_decode(text))
    if count == MOST then
      kept, count = {}, 0
    end
    kept[text], count = like, count + 1
  end
  local out = {}
  for name, value in pairs(like) do
    out[name] = value
  end
  out.uid = uid
  return out
end

-- The flat table of a record in which uids of `uids` are names.
local function with_names(record, uids)
  local flat = record.flat
  for _, path in ipairs(record.texts) do
    local name = uids[record.flat[path]]
    if name then
      if flat == record.flat then
        flat = {}
        for other, value in pairs(record.flat) do
          flat[other] = value
        end
      end
      flat[path] = "uid of " .. name
    end
  end
  return flat
end

-- The entries of an external table by their names; nil: not all of them are tables.
local function entries_of(value, uids)
  local out = {}
  for name, entry in pairs(value) do
    if type(entry) ~= "table" then
      return nil
    end
    out[tostring(name)] = {}
    flatten(entry, "", { uids = uids }, out[tostring(name)])
  end
  return out
end

-- The state of `records` and `externals` (name -> table): an array of {kind, key, id, uid, flat,
-- owners, deleting}, sorted by id.
function M.of_records(records, externals)
  local state, uids = {}, {}
  for _, record in ipairs(records) do
    if record.uid then
      uids[record.uid] = record.id
    end
  end
  for _, record in ipairs(records) do
    if not M.left_out[record.name] then
      state[#state + 1] = { kind = record.kind, key = record.key, id = record.id, uid = record.uid,
        generation = record.generation, flat = with_names(record, uids), owners = record.owners,
        deleting = record.deleting, allocated = record.allocated, managers = record.managers }
    end
  end
  for name, value in pairs(externals or {}) do
    local flat = {}
    flatten(value, "", { uids = uids }, flat)
    flat[""] = nil
    state[#state + 1] = { kind = "external", key = name, id = "external " .. name, flat = flat,
      owners = {}, external = true, entries = entries_of(value, uids) }
  end
  sort(state, function(a, b) return a.id < b.id end)
  return state
end

-- The same of `objects` (documents).
function M.of(objects, externals)
  local records = {}
  for i, object in ipairs(objects) do
    records[i] = M.record(object)
  end
  return M.of_records(records, externals)
end

return M
