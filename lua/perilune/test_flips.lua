-- Fields that change again and again while a world does not settle. They are found in the answers
-- to its last writes, in which each object is as it was stored.

local host = require("perilune.host")
local flats = require("perilune.explore.flat")
local states = require("perilune.explore.state")

local format = string.format
local M = {}

local LAST = 300 -- writes that are looked at
local TWICE = 2 -- a field that flips has changed at least so often
local SHOWN = 5 -- fields in a text
local VALUES = 3 -- values of a field in a text

local WRITES = { POST = true, PUT = true, PATCH = true, DELETE = true }

-- The path of the object that a request writes.
local function path_of(seen, answer)
  if seen.method == "POST" then
    return seen.path .. "/" .. tostring(answer.metadata.name)
  end
  return (seen.path:gsub("/status$", ""):gsub("/scale$", ""))
end

-- The path, the state and the document of the object that a request has stored; the path and
-- "gone" if it has deleted it; nil: it has done neither.
local function stored(seen)
  local ok, answer = pcall(host.json_decode, seen.answer)
  if seen.status < 200 or seen.status > 299 or not ok or type(answer) ~= "table" then
    return nil
  elseif seen.method == "DELETE" and #((answer.metadata or {}).finalizers or {}) == 0 then
    return seen.path, "gone"
  elseif answer.kind and type(answer.metadata) == "table" and answer.metadata.name then
    return path_of(seen, answer), flats.of({ answer })[1], answer
  end
end

local function note(field, value)
  if field.last == value then
    return
  end
  field.changes, field.last = field.changes + (field.last == nil and 0 or 1), value
  if not field.seen[value] then
    field.seen[value] = true
    field.values[#field.values + 1] = value
  end
end

local function compare(object, flat)
  for path, field in pairs(object.fields) do
    if flat[path] == nil and flat[""] == "there" then
      note(field, "absent")
    end
  end
  for path, value in pairs(flat) do
    local field = object.fields[path]
    if not field then
      field = { kind = object.kind, key = object.key, path = path, changes = 0, seen = {},
        values = {}, last = object.known and "absent" or nil }
      object.fields[path] = field
    end
    note(field, states.show(value))
  end
  object.known = true
end

local function flipping(objects)
  local out = {}
  for _, object in pairs(objects) do
    for _, field in pairs(object.fields) do
      if field.changes >= TWICE then
        out[#out + 1] = field
      end
    end
  end
  table.sort(out, function(a, b)
    if a.changes ~= b.changes then return a.changes > b.changes end
    if a.kind ~= b.kind then return a.kind < b.kind end
    if a.key ~= b.key then return a.key < b.key end
    return a.path < b.path
  end)
  return out
end

-- exact: times are compared, too.
local function flips_of(writes, exact)
  local objects = {}
  for i = #writes, 1, -1 do
    local path, item, answer = stored(writes[i])
    if item == "gone" then
      compare(objects[path] or { fields = {} }, { [""] = "gone" })
    elseif item then
      local flat = exact and flats.exact(answer) or item.flat
      flat[""] = "there"
      objects[path] = objects[path] or { kind = item.kind, key = item.key, fields = {} }
      compare(objects[path], flat)
    end
  end
  return flipping(objects)
end

-- `seen`: requests, as perilune.world has them. Returns an array of {kind, key, path, values,
-- changes}, the field that changed most often first. Times only count if nothing else changes.
function M.of(seen)
  local last = {}
  for i = #seen, 1, -1 do
    if #last == LAST then break end
    last[#last + 1] = WRITES[seen[i].method] and seen[i] or nil
  end
  local fields = flips_of(last, false)
  return #fields > 0 and fields or flips_of(last, true)
end

local function values_of(field)
  if #field.values == 2 then
    return format("flips between %s and %s", field.values[1], field.values[2])
  end
  local from = math.max(#field.values - VALUES + 1, 1)
  return format("changes again and again (%s)", table.concat(field.values, ", ", from))
end

-- "; v1/ConfigMap default/a data.turn flips between 1 and 2"; "" without any.
function M.text(fields)
  local parts = {}
  for i = 1, math.min(#fields, SHOWN) do
    local field = fields[i]
    parts[i] = format("; %s %s%s %s", field.kind, field.key,
      field.path == "" and "" or " " .. field.path, values_of(field))
  end
  if #fields > SHOWN then
    parts[#parts + 1] = format("; and %d more fields", #fields - SHOWN)
  end
  return table.concat(parts)
end

return M
