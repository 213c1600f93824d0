-- The keys of a table in order. The order of pairs is another one in each process.

local pairs, sort = pairs, table.sort -- a script may replace those of its lane
local M = {}

-- An array. Keys must be of one type.
function M.sorted(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  sort(keys)
  return keys
end

return M
