-- Variables that are assigned to again: `site = client:update_status(site)`. Such a variable is
-- followed if all its values are documents of the same place in a schema. Each pass finds out again
-- which variables these are; the next pass follows no others.

local M = {}

local function is_same(a, b)
  return a == b or a.name == b.name and a.path == b.path and a.kind == b.kind and a.schema == b.schema
    and a.root == b.root
end

-- What this pass knows about the variable.
local function state_of(self, var)
  local state = self.renewed[var]
  if not state or state.pass ~= self.pass then
    state = { pass = self.pass, was_mixed = state and (state.mixed or state.was_mixed) or false }
    self.renewed[var] = state
  end
  return state
end

-- Whether the variable, which gets this value, is followed.
function M.keeps(self, var, value)
  local state = state_of(self, var)
  if not value or value.k ~= "view" or state.place and not is_same(state.place, value.view) then
    state.mixed = true
  else
    state.place = value.view
  end
  return not state.mixed and not state.was_mixed
end

return M
