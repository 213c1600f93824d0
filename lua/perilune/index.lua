-- Checks that each declared index has a cache. Loaded when a load is complete; perilune.index
-- itself is in perilune/init.lua.

local M = {}

-- True if a source caches the kind of the host's own cluster. Otherwise false, and the name of
-- another cluster whose objects of this kind a source caches. lists: sources of controllers and
-- tasks.
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

-- Raises an error for the first of {kind=, name=, file=, line=} without a cache.
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
