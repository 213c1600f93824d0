-- Finalizers: changing the list in a table, and the whole protocol with the API server.

local check = require("perilune.check")
local home = require("perilune.client").client
local errors = require("perilune.errors").tests
local host = require("perilune.host")
local ref = require("perilune.ref")
local result = require("perilune.result")

local fail = check.fail
local M = {}

local function arguments(what, object, name)
  check.table(what .. ": the object", object)
  check.table(what .. ": metadata", object.metadata)
  check.string(what .. ": the name", name)
  if not host.is_name(name, "qualified") then
    fail('%s: %q is not a finalizer name such as "example.com/cleanup"', what, name)
  end
end

local function list_of(object)
  local list = object.metadata.finalizers
  return (list == nil or list == host.null) and host.array({}) or list
end

local function position(object, name)
  for i, one in ipairs(list_of(object)) do
    if one == name then
      return i
    end
  end
  return nil
end

local function is_deleting(object)
  local since = object.metadata.deletionTimestamp
  return since ~= nil and since ~= host.null
end

function M.has(object, name, ...)
  check.no_more("finalizer.has", ...)
  arguments("finalizer.has", object, name)
  return position(object, name) ~= nil
end

-- Adds the name. True if it was not there.
function M.add(object, name, ...)
  check.no_more("finalizer.add", ...)
  arguments("finalizer.add", object, name)
  if position(object, name) then
    return false
  end
  local list = list_of(object)
  list[#list + 1] = name
  object.metadata.finalizers = list
  return true
end

-- Removes the name. True if it was there.
function M.remove(object, name, ...)
  check.no_more("finalizer.remove", ...)
  arguments("finalizer.remove", object, name)
  local at = position(object, name)
  if not at then
    return false
  end
  local list = object.metadata.finalizers
  table.remove(list, at)
  if list[1] == nil and not host.is_array(list) then
    object.metadata.finalizers = host.array({}) -- an empty plain table would be an object
  end
  return true
end

-- Reads the object again; nil if the object with this uid does not exist any more.
local function again(object, cluster)
  local what = "finalizer.handle: the object"
  local ns, name = ref.parse(what, object)
  local live = host.get(ref.kind_of(what, object), ns, name, { live = true, cluster = cluster })
  if live and live.metadata.uid == object.metadata.uid then
    return live
  end
  return nil
end

local attempts = 5

local function client_of(cluster)
  return cluster and require("perilune.cluster").client(cluster) or home
end

-- Adds the finalizer with one patch that carries the resourceVersion it is based on. Returns the
-- stored object, or nil if it was deleted or is being deleted.
local function add_stored(object, name, cluster)
  local client = client_of(cluster)
  for attempt = 1, attempts do
    if position(object, name) then
      return object
    end
    local list = host.array({})
    for i, one in ipairs(list_of(object)) do
      list[i] = one
    end
    list[#list + 1] = name
    local ok, stored = pcall(client.patch, client, object,
      { metadata = { resourceVersion = object.metadata.resourceVersion, finalizers = list } })
    if ok then
      return stored
    elseif errors.is_not_found(stored) then
      return nil
    elseif not errors.is_conflict(stored) or attempt == attempts then
      error(stored, 0)
    end
    object = again(object, cluster)
    if not object or is_deleting(object) then
      return object
    end
  end
end

-- Removes the finalizer with a patch that tests for the name at its place. An object that does not
-- exist any more counts as success.
local function remove_stored(object, name, cluster)
  local client = client_of(cluster)
  for attempt = 1, attempts do
    local at = object and position(object, name)
    if not at then
      return
    end
    local path = "/metadata/finalizers/" .. (at - 1)
    local ok, e = pcall(client.patch, client, object, {
      { op = "test", path = path, value = name },
      { op = "remove", path = path },
    }, { type = "json" })
    if ok or errors.is_not_found(e) then
      return
    elseif not (errors.is_conflict(e) or errors.is_invalid(e)) or attempt == attempts then
      error(e, 0)
    end
    object = again(object, cluster)
  end
end

local handlers = {
  apply = check.func,
  cleanup = check.func,
  cluster = function(what, value)
    return require("perilune.cluster").check(what, value)
  end,
}

-- Takes what cleanup returned. A value that says neither done nor later is a mistake: without this
-- check it would keep the finalizer, and the object, for ever.
local function finish(object, name, f, first, second, ...)
  local what = "cleanup of " .. name
  result.check_count(what, first, second, ...)
  local meaning = first ~= nil and result.meaning(what, first) or "done"
  if meaning == "done" and second == nil then
    remove_stored(object, name, f.cluster)
  end
  return first, second
end

local function clean_up(object, name, f)
  if not position(object, name) then
    return nil
  end
  return finish(object, name, f, f.cleanup(object))
end

function M.handle(object, name, functions, ...)
  check.no_more("finalizer.handle", ...)
  if object == nil then
    return nil
  end
  arguments("finalizer.handle", object, name)
  local f = check.options("finalizer.handle", functions, handlers)
  if not f.cleanup then
    fail("finalizer.handle needs cleanup, a function(object)")
  end
  if host.is_selected(object) then -- it may lack other finalizers, and its deletion
    object = again(object, f.cluster)
  end
  if object and not is_deleting(object) then
    object = add_stored(object, name, f.cluster)
  end
  if not object then
    return nil
  elseif is_deleting(object) then
    return clean_up(object, name, f)
  elseif f.apply then
    return f.apply(object)
  end
  return nil
end

return M
