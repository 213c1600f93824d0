-- Changes a load for `perilune uninstall --cleanup`: controllers clean up after their For objects
-- and do nothing else. Each object with a finalizer of its controller is reconciled as if it were
-- being deleted, which it is not. Tasks, webhooks and controllers without finalizers are left out.

local host = require("perilune.host")

local M = {}

local leaving = {} -- "kind namespace/name" of the objects whose cleanup runs
local since = os.date("!%Y-%m-%dT%H:%M:%SZ")

local function name_of(kind, namespace, name)
  return kind .. " " .. (namespace or "") .. "/" .. name
end

local function for_source(sources)
  for _, source in ipairs(sources) do
    if source.role == "for" then
      return source
    end
  end
end

-- The finalizers that a controller declares; nil: none.
function M.finalizers(sources)
  local source = for_source(sources)
  return source and source.finalizers and #source.finalizers > 0 and source.finalizers or nil
end

local function has_any(object, names)
  local list = object.metadata.finalizers
  for _, one in ipairs(type(list) == "table" and list or {}) do
    for _, name in ipairs(names) do
      if one == name then
        return true
      end
    end
  end
  return false
end

-- Replaces the script's function: (request, context).
function M.wrap(sources, reconcile)
  local source, names = for_source(sources), M.finalizers(sources)
  return function(request, context)
    local object = host.get(source.kind, request.namespace, request.name)
    if not object or not has_any(object, names) then
      return nil
    end
    leaving[name_of(source.kind, request.namespace, request.name)] = true
    return reconcile(request, context)
  end
end

-- Replaces a client's get: an object whose cleanup runs appears as being deleted.
function M.reading(get)
  return function(self, kind, ref, ...)
    local object = get(self, kind, ref, ...)
    local metadata = object and object.metadata
    if metadata and leaving[name_of(kind, metadata.namespace, metadata.name)]
      and (metadata.deletionTimestamp == nil or metadata.deletionTimestamp == host.null) then
      metadata.deletionTimestamp = since
    end
    return object
  end
end

-- Replaces a client's write: removes the invented deletion time, which the server must not get.
function M.writing(write)
  return function(self, options, fields)
    local metadata = type(fields.body) == "table" and fields.body.metadata
    if type(metadata) ~= "table" or metadata.deletionTimestamp ~= since then
      return write(self, options, fields)
    end
    metadata.deletionTimestamp = nil
    local ok, stored, info = pcall(write, self, options, fields)
    metadata.deletionTimestamp = since
    if not ok then
      error(stored, 0)
    end
    return stored, info
  end
end

return M
