-- Claims of a status: with `observedGeneration` at the object's generation it says that the spec has been
-- carried out. A claim is false if the same run writes another object afterwards and the status is never
-- written again: a reader cannot tell it from a true claim. A status that says that work goes on is no
-- claim. Only undisturbed runs are judged, because a disturbed run repeats writes.

local host = require("perilune.host")
local states = require("perilune.explore.state")

local M = {}

local claims = {}
claims.__index = claims

function M.new()
  return setmetatable({ of_run = {}, observed = {}, versions = {} }, claims)
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

-- A status that says for the first time that this generation is done.
function claims:claim(run, id, object, entry)
  local status = object.status
  local observed = type(status) == "table" and status.observedGeneration
  local generation = object.metadata.generation
  if observed and observed == generation and self.observed[id] ~= generation then
    self.observed[id] = generation
    self.of_run[run] = { id = id, item = states.flat({ object })[1], line = entry.line }
  end
end

-- A host has written an object. run: which run has; entry: of the trace; created: it is new; text: the
-- object as stored.
function claims:wrote(run, entry, created, text)
  local object = entry.verb ~= "delete" and decoded(text)
  if not object then return end
  local id = states.kind_of(object) .. " " .. states.key_of(object)
  local version, before = object.metadata.resourceVersion, self.versions[id]
  local changed = created or before ~= nil and before ~= version
  self.versions[id] = version
  local claim = self.of_run[run]
  if claim and changed and claim.id ~= id and object.kind ~= "Event" and object.kind ~= "Lease" then
    claim.before = claim.before or entry
  end
  self:claim(run, id, object, entry)
end

-- The false claims until this settled point, whose flat state is `state`: {kind, key, before, line}.
function claims:settled(state)
  local out, items = {}, {}
  for _, item in ipairs(state) do
    items[item.id] = item
  end
  for _, claim in pairs(self.of_run) do
    local item = claim.before and items[claim.id]
    if item and same(status_of(claim.item), status_of(item)) then
      out[#out + 1] = { kind = item.kind, key = item.key, before = claim.before, line = claim.line }
    end
  end
  table.sort(out, function(a, b) return a.kind .. a.key < b.kind .. b.key end)
  self.of_run = {}
  return out
end

return M
