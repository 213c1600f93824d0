-- Random values that are hashes of other random values, such as the checksum of a Secret in a pod
-- template, or a certificate that was issued for a key. Which ones are is found by comparing undisturbed
-- runs. So a hash that belongs to another value than the one that is there is a difference.

local bytes = require("perilune.bytes")
local entries = require("perilune.explore.entries")
local host = require("perilune.host")

local M = {}

local LEAST = 8 -- digits: fewer may be there by chance

-- The data of a Secret or ConfigMap: `change` is applied to each value; nil: it has none, or other than text.
local function data_of(item, change)
  local data
  for path, value in pairs(item.flat) do
    local name = path:match("^data%.(.+)$")
    if name and type(value) ~= "string" then
      return nil
    elseif name then
      data = data or {}
      data[name] = change(value)
    end
  end
  return data
end

local function same(value) return value end

-- What may have been hashed: a value, or all data of its object. Flat states have the data of Secrets as text.
local forms = {
  { name = "text", of = function(item, path) return entries.flat_of(item)[path] end },
  { name = "base64", of = function(item, path) return host.base64_encode(entries.flat_of(item)[path]) end },
  { name = "data", whole = true, of = function(item) return data_of(item, same) end },
  { name = "base64 data", whole = true, of = function(item) return data_of(item, host.base64_encode) end },
}

local function hash_of(source, item)
  if source.form.whole and not item.flat or not source.form.whole
    and type(entries.flat_of(item)[source.path]) ~= "string" then
    return nil
  end
  local value = source.form.of(item, source.path)
  return value and bytes.hash(value)
end

-- The hashes of all that may have been hashed: {source -> hash}, as an array.
local function hashes_of(values)
  local out = {}
  for _, value in ipairs(values) do
    for _, form in ipairs(forms) do
      local source = { place = value.item.place, path = value.path, form = form, of = value.place }
      out[#out + 1] = { source = source, hash = hash_of(source, value.item) }
    end
  end
  return out
end

-- Whether the value has a part of the hash, at least LEAST digits.
local function has_part(value, hash)
  for digits in (value.middle or ""):gmatch("%x+") do
    if #digits >= LEAST and hash:find(digits, 1, true) then
      return true
    end
  end
  return false
end

local function source_for(value, hashes)
  for _, of in ipairs(hashes) do
    if of.hash and of.source.of ~= value.place and has_part(value, of.hash) then
      return of.source
    end
  end
end

local function items_by_place(state)
  local items = {}
  for _, item in ipairs(state) do
    items[item.place] = item
  end
  return items
end

local function holds(value, source, items)
  local item = items[source.place]
  local hash = item and hash_of(source, item)
  return hash ~= nil and has_part(value, hash)
end

-- Learns from one settled state: `values` are its random values. A place that is a hash at one settled
-- point and none at another is none.
function M.learn(state, values, taint)
  local items, hashes = items_by_place(state), nil
  for _, value in ipairs(values) do
    local known = taint.hashes[value.place]
    if known then
      taint.hashes[value.place] = holds(value, known, items) and known
    elseif known == nil then
      hashes = hashes or hashes_of(values)
      taint.hashes[value.place] = source_for(value, hashes) or false
    end
  end
end

-- What the random values of a state are that should be hashes: place -> "hash of ...", or "not the hash of ...".
function M.names(state, values, taint)
  local items, out = nil, {}
  for _, value in ipairs(values) do
    local source = taint.hashes[value.place]
    if source then
      items = items or items_by_place(state)
      out[value.place] = (holds(value, source, items) and "hash of " or "not the hash of ") .. source.of
    end
  end
  return out
end

return M
