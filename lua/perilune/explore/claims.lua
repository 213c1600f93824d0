-- Claims of a status. With `observedGeneration` at the object's generation it says that the spec has been
-- carried out; such a claim is false if the same run writes another object afterwards. A status that says
-- for the first time that the object is ready is false if the same run creates an object that it owns
-- afterwards: later runs may add others. And the status is never written again: a reader cannot tell a false
-- claim from a true one. A status that says that work goes on is no claim. Only undisturbed runs are judged,
-- because a disturbed run repeats writes.

local host = require("perilune.host")
local flats = require("perilune.explore.flat")

local M = {}

local claims = {}
claims.__index = claims

function M.new()
  return setmetatable({ of_run = {}, observed = {}, ready = {}, versions = {} }, claims)
end

local function decoded(text)
  local ok, object = pcall(host.json_decode, text)
  if ok and type(object) == "table" and type(object.metadata) == "table" and object.apiVersion and object.kind
    and object.metadata.name then
    return object
  end
end

local function status_of(item)
  local out = {}
  for path, value in pairs(item.flat) do
    out[path] = path:find("^status[.%[]") and value or nil
  end
  return out
end

local function same(a, b)
  for path, value in pairs(a) do
    if b[path] ~= value then return false end
  end
  for path in pairs(b) do
    if a[path] == nil then return false end
  end
  return true
end

local function is_word_of_ready(text)
  text = type(text) == "string" and text:lower()
  return text == "ready" or text == "available"
end

-- The field of a status that says that the object is ready; nil: none.
local function ready_field(status)
  for _, condition in ipairs(type(status.conditions) == "table" and status.conditions or {}) do
    if type(condition) == "table" and is_word_of_ready(condition.type) and condition.status == "True" then
      return ("status.conditions[%s].status"):format(condition.type)
    end
  end
  return status.ready == true and "status.ready" or is_word_of_ready(status.phase) and "status.phase"
    or is_word_of_ready(status.state) and "status.state" or nil
end

-- A status that says for the first time that this generation is done, or that the object is ready.
function claims:claim(run, id, object, entry)
  local status = type(object.status) == "table" and object.status or {}
  local generation, uid = object.metadata.generation, object.metadata.uid
  local ready, field = ready_field(status), nil
  if status.observedGeneration and status.observedGeneration == generation and self.observed[id] ~= generation then
    self.observed[id] = generation
    field = "status.observedGeneration"
  elseif ready and not self.ready[uid] then
    field = ready
  end
  self.ready[uid] = self.ready[uid] or ready
  if field then
    self.of_run[run] = { id = id, item = flats.of({ object })[1], line = entry.line, field = field,
      owner = field == ready and uid or nil }
  end
end

local function is_owned_by(object, uid)
  for _, owner in ipairs(type(object.metadata.ownerReferences) == "table" and object.metadata.ownerReferences or {}) do
    if owner.uid == uid then return true end
  end
  return false
end

-- A host has written an object. run: which run has; entry: of the trace; created: it is new; text: the
-- object as stored.
function claims:wrote(run, entry, created, text)
  local object = entry.verb ~= "delete" and decoded(text)
  if not object then return end
  local id = flats.kind_of(object) .. " " .. flats.key_of(object)
  local version, before = object.metadata.resourceVersion, self.versions[id]
  local changed = created or before ~= nil and before ~= version
  self.versions[id] = version
  local claim = self.of_run[run]
  local counts = claim and (not claim.owner or created and is_owned_by(object, claim.owner))
  if counts and changed and claim.id ~= id and object.kind ~= "Event" and object.kind ~= "Lease" then
    claim.before = claim.before or entry
  end
  self:claim(run, id, object, entry)
end

-- The false claims until this settled point, whose flat state is `state`: {kind, key, field, before, line}.
function claims:settled(state)
  local out, items = {}, flats.by("id", state)
  for _, claim in pairs(self.of_run) do
    local item = claim.before and items[claim.id]
    if item and same(status_of(claim.item), status_of(item)) then
      out[#out + 1] = { kind = item.kind, key = item.key, field = claim.field, before = claim.before,
        line = claim.line }
    end
  end
  table.sort(out, function(a, b) return a.kind .. a.key < b.kind .. b.key end)
  self.of_run = {}
  return out
end

return M
