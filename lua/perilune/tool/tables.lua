-- Members of tables that a script keeps in local variables, for flow.lua: constants, and functions
-- of a module. A member is known only if it is given once, in the table's literal or by one
-- assignment, and if the table is not passed to a function that could change it.

local M = {}

-- Notes that others can change the value: a table, or an object that is a literal.
function M.escape(self, value)
  if value and value.k == "table" then
    if not value.touched then
      value.touched = true
      for _, one in pairs(value.nested or {}) do
        M.escape(self, one or nil)
      end
    end
    self.escaped[value.node] = true
  elseif value and value.k == "rows" then
    for _, one in ipairs(value.rows) do
      M.escape(self, one)
    end
  elseif value and value.k == "choice" then
    for _, one in ipairs(value.arms) do
      M.escape(self, one.value)
    end
  elseif value and (value.literal or value.part_of) then
    self.touched[value.literal or value.part_of] = true
  end
end

-- Expressions that may be evaluated again where a member is read.
local PLAIN = { String = true, Number = true, True = true, False = true, Function = true, Name = true,
  Index = true, Binop = true }

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
  if not key or before and before.target ~= target or members.items and members.items[key] then
    members.unclear = true
  else
    members.given[key] = { target = target, value = value }
  end
end

-- What setmetatable(object, {__index = class}) reads where the table has no such member.
local function inherited(self, object, key)
  local class = object.meta and key ~= "__index" and M.read(self, object.meta, "__index")
  return class and class.k == "table" and M.read(self, class, key) or nil
end

-- The value of a member, or nil.
function M.read(self, object, key)
  local members = members_of(self, object.node)
  if not key or members.unclear or self.escaped[object.node] then
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
  if members.given[key] then
    return members.given[key].value or nil
  end
  return inherited(self, object, key)
end

return M
