-- Random values that follow from others: hashes of random values, such as the checksum of a Secret in a
-- pod template or a certificate that was issued for a key, and copies of the addresses and ports that the
-- server gives to Services. Which ones they are is found by comparing undisturbed runs. So a hash of
-- another value than the one that is there is a difference.

local bytes = require("perilune.bytes")
local entries = require("perilune.explore.entries")
local flats = require("perilune.explore.flat")
local host = require("perilune.host")
local keys = require("perilune.keys")

local format = string.format
local M = {}

local LEAST = 8 -- digits of a hash: fewer may be there by chance

local function text_at(item, path)
  local value = entries.flat_of(item)[path]
  return type(value) == "string" and value or nil
end

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
local hashed = {
  text_at,
  function(item, path)
    local text = text_at(item, path)
    return text and host.base64_encode(text)
  end,
  function(item) return data_of(item, same) end,
  function(item) return data_of(item, host.base64_encode) end,
}

-- Whether the value has a part of the hash, at least LEAST digits.
local function has_part(value, hash)
  for digits in value.middle:gmatch("%x+") do
    if #digits >= LEAST and hash:find(digits, 1, true) then
      return true
    end
  end
  return false
end

-- What the value of a source leads to in values that follow from it; nil: the source is not there.
local function result_of(source, item)
  if not source.hashed then
    return item.allocated and item.allocated[source.path]
  end
  local value = source.hashed(item, source.path)
  return value and bytes.hash(value)
end

local function follows(value, source, result)
  if source.hashed then
    return source.of ~= value.place and has_part(value, result)
  end
  return tostring(entries.flat_of(value.item)[value.path]):find(result, 1, true) ~= nil
end

local function add(sources, source, item)
  source.place, source.of = item.place, format("%s %s", item.place, source.path)
  sources[#sources + 1] = { source = source, result = result_of(source, item) }
end

-- What values may follow from, as an array of {source, result}.
local function sources_of(state, values)
  local out = {}
  for _, item in ipairs(state) do
    for _, path in ipairs(keys.sorted(item.allocated or {})) do
      add(out, { path = path }, item)
    end
  end
  for _, value in ipairs(values) do
    for _, of in ipairs(hashed) do
      add(out, { path = value.path, hashed = of }, value.item)
    end
  end
  return out
end

local function source_for(value, sources)
  for _, of in ipairs(sources) do
    if of.result and follows(value, of.source, of.result) then
      return of.source
    end
  end
end

local function holds(value, source, items)
  local item = items[source.place]
  local result = item and result_of(source, item)
  return result ~= nil and follows(value, source, result)
end

-- Learns from one settled state: `values` are its random values. A place that follows from another one at
-- one settled point and not at another does not follow.
function M.learn(state, values, taint)
  local items, sources = flats.by("place", state), nil
  for _, value in ipairs(values) do
    local known = taint.derived[value.place]
    if value.middle and known then
      taint.derived[value.place] = holds(value, known, items) and known
    elseif value.middle and known == nil then
      sources = sources or sources_of(state, values)
      taint.derived[value.place] = source_for(value, sources) or false
    end
  end
end

-- What the values of a state are that should follow from others: place -> "hash of ...", "not the hash of ...".
function M.names(state, values, taint)
  local items, out = nil, {}
  for _, value in ipairs(values) do
    local source = value.middle and taint.derived[value.place]
    if source then
      items = items or flats.by("place", state)
      out[value.place] = format("%s%s of %s", holds(value, source, items) and "" or "not the ",
        source.hashed and "hash" or "value", source.of)
    end
  end
  return out
end

return M
