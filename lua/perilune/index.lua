-- Whether the indexes that a load declared have a cache that they can be of. Loaded when a load is
-- over; perilune.index itself is in perilune/init.lua.

local M = {}

-- Whether a source caches the kind of the host's own cluster, and if none does, the name of another
-- cluster of which one does. lists: of controllers and tasks.
local function is_cached(kind, lists)
  local other
  for _, list in ipairs(lists) do
    for _, self in ipairs(list) do
      for _, source in ipairs(self.sources) do
        if source.kind == kind and not source.cluster then
          return true
        elseif source.kind == kind then
          other = source.cluster
        end
      end
    end
  end
  return false, other
end

-- Raises for the first of {kind=, name=, file=, line=} that has none.
function M.check(indexes, lists)
  for _, index in ipairs(indexes) do
    local cached, other = is_cached(index.kind, lists)
    local why
    if not cached and other then
      why = ("%s is cached of the cluster %q alone, and perilune.index knows the host's own alone")
        :format(index.kind, other)
    elseif not cached then
      why = ("no controller caches %s; declare it with :Reads(%q)"):format(index.kind, index.kind)
    end
    if why then
      error(("%s:%d: index %q: %s"):format(index.file, index.line, index.name, why), 0)
    end
  end
end

return M
