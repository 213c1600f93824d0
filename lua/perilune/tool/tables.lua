-- Members of tables that a script keeps in local variables, for flow.lua: constants, and functions
-- of a module. A member is known only if it is given once, in the table's literal or by one
-- assignment, and if the table is not passed to a function that could change it.

local M = {}

-- Notes that others can change the value: a table, or an object that is a literal.
function M.escape(self, value)
  if value and value.k == "table" then
    value.touched = true
    self.escaped[value.node] = true
  elseif value and (value.literal or value.part_of) then
    self.touched[value.literal or value.part_of] = true
  end
end

-- Expressions that may be evaluated again where a member is read.
local PLAIN = { String = true, Number = true, Function = true, Name = true, Index = true, Binop = true }

-- {name -> item}; nil: a name of the literal is computed.
local function items_of(node)
  local out = {}
  for _, item in ipairs(node.items) do
    if item.key and item.key.tag ~= "String" then
      return nil
    elseif item.key then
      out[item.key.value] = item
    end
  end
  return out
end

local function members_of(self, node)
  local members = self.members[node]
  if not members then
    members = { items = items_of(node), given = {} }
    members.unclear = members.items == nil
    self.members[node] = members
  end
  return members
end

-- Notes an assignment. key: nil or false if it is not known.
function M.write(self, object, target, key, value)
  local members = members_of(self, object.node)
  local before = key and members.given[key]
  if not key or object.returned or before and before.target ~= target or members.items and members.items[key] then
    members.unclear = true
  else
    members.given[key] = { target = target, value = value }
  end
end

-- The value of a member, or nil.
function M.read(self, object, key)
  local members = members_of(self, object.node)
  if not key or object.returned or members.unclear or self.escaped[object.node] then
    return nil
  end
  local item = members.items[key]
  if item then
    local file = self.file
    self.file = self.file_of[object.node] -- the table may be a module's
    local value = PLAIN[item.value.tag] and self.eval(item.value) or nil
    self.file = file
    return value
  end
  return members.given[key] and members.given[key].value or nil
end

return M
