-- Checks that each declared index has a cache. Loaded when a load is complete; perilune.index
-- itself is in perilune/init.lua.

local M = {}

-- What sources cache of the kind: `whole` objects or `metadata` of the host's own cluster, and the
-- name of an `other` cluster. lists: controllers and tasks.
local function caches_of(kind, lists)
  local out = {}
  for _, list in ipairs(lists) do
    for _, self in ipairs(list) do
      for _, source in ipairs(self.sources) do
        if source.kind == kind and source.cluster then
          out.other = source.cluster
        elseif source.kind == kind then
          out[source.metadata_only and "metadata" or "whole"] = true
        end
      end
    end
  end
  return out
end

local in_metadata = { apiVersion = true, kind = true, metadata = true }

-- Raises an error for the first of {kind=, name=, path=, file=, line=} that no cache can have.
function M.check(indexes, lists)
  for _, index in ipairs(indexes) do
    local cached = caches_of(index.kind, lists)
    local begins = index.path and index.path:match("^[^.%[]*")
    local why
    if not cached.whole and cached.metadata and begins and not in_metadata[begins] then
      why = ("the cache of %s has only metadata, without %s; declare it without metadata_only")
        :format(index.kind, index.path)
    elseif not cached.whole and not cached.metadata and cached.other then
      why = ("%s is cached of the cluster %q alone, and perilune.index knows the host's own alone")
        :format(index.kind, cached.other)
    elseif not cached.whole and not cached.metadata then
      why = ("no controller caches %s; declare it with :Reads(%q)"):format(index.kind, index.kind)
    end
    if why then
      error(("%s:%d: index %q: %s"):format(index.file, index.line, index.name, why), 0)
    end
  end
end

return M
