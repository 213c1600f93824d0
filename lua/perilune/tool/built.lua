-- Tables that a script builds step by step before it puts them into a document, for flow.lua and
-- fit.lua. A write to such a table is a mistake of the place where the table stands later, so it is
-- noted here and checked there. A write counts only if the script certainly came from it to that place:
-- not from another branch, and not from one that returned.

local M = {}

function M.new(self, node)
  return { k = "table", node = node, writes = {}, nested = {}, fn = self.fn }
end

-- The branch of an `if` that is being read; branches are a list from the inside to the outside.
function M.enter(self, node, arm, ends)
  self.branch = { node = node, arm = arm, ends = ends, up = self.branch }
end

function M.leave(self)
  self.branch = self.branch.up
end

-- Whether a block never reaches its end.
function M.ends(block)
  local last = block[#block]
  local call = last and last.tag == "Expression" and last.call
  return last ~= nil and (last.tag == "Return" or last.tag == "Break" or last.tag == "Goto"
    or call and call.tag == "Call" and call.callee.tag == "Name" and call.callee.name == "error")
end

local function arm_of(branch, node)
  while branch do
    if branch.node == node then
      return branch
    end
    branch = branch.up
  end
end

local function reaches(branch, here)
  while branch do
    local same = arm_of(here, branch.node)
    if same then
      return same.arm == branch.arm
    elseif branch.ends then
      return false
    end
    branch = branch.up
  end
  return true
end

-- Notes the value that one arm of an `if` gives a variable. Returns the variable's value after the
-- `if`, if each arm gives it one.
function M.note_arm(self, var, value)
  local arms = self.arms[var] or {}
  self.arms[var] = arms
  if not self.branch or arms[1] and arms[1].branch.node ~= self.branch.node then
    arms.unclear = true
    return nil
  end
  for i, one in ipairs(arms) do
    if one.branch.arm == self.branch.arm then
      arms.unclear = arms.unclear or one.fn_pass == self.pass
      table.remove(arms, i)
      break
    end
  end
  table.insert(arms, { branch = self.branch, value = value, fn_pass = self.pass })
  if #arms == var.sets and not arms.unclear then
    return { k = "choice", arms = arms }
  end
end

-- The values of a choice that may be there at this place.
function M.choices(self, choice)
  local out = {}
  for _, one in ipairs(choice.arms) do
    if one.value and reaches(one.branch, self.branch) then
      out[#out + 1] = one.value
    end
  end
  return out
end

-- The names of a literal that are written to, collected in all passes. unclear: a name is computed.
local function given_of(self, node)
  self.given[node] = self.given[node] or { names = {}, unclear = false }
  return self.given[node]
end

-- Notes a write. key: a name, a number for any position, or nil: it is not known. result: its value.
function M.note(self, value, key, line, node, result)
  local given = given_of(self, value.node)
  if type(key) == "string" then
    given.names[key] = true
    value.nested[key] = value.nested[key] == nil and result and result.k == "table" and result or false
  elseif not key then
    given.unclear = true
  end
  if value.writes and #value.writes < 1000 then
    table.insert(value.writes, { key = key, line = line, node = node, fn = self.fn, file = self.file,
      branch = self.branch, result = result and result.k == "table" and result or nil })
  end
end

-- The writes that certainly came before this place.
local function held(self, value)
  local out = {}
  for _, one in ipairs(value.kept or {}) do
    out[#out + 1] = one
  end
  for _, one in ipairs(value.writes or {}) do
    if (one.fn == nil or one.fn == self.fn) and reaches(one.branch, self.branch) then
      out[#out + 1] = one
    end
  end
  return out
end

-- The table as a function returns it here.
function M.returned(self, value)
  return { k = "table", node = value.node, kept = held(self, value), nested = value.nested,
    meta = value.meta, touched = value.touched }
end

-- Whether something else may have changed the table.
function M.is_foreign(self, value)
  return value.touched or value.fn ~= self.fn and not value.returned and self.escaped[value.node]
end

-- Checks the table where it stands. check: {literal=, write=} of fit.lua.
function M.check(self, view, value, o, check)
  if M.is_foreign(self, value) then
    return
  end
  local file, given = self.file, given_of(self, value.node)
  if not given.unclear then
    self.file = self.file_of[value.node] or file
    check.literal(self, view, value, given.names, o)
  end
  for _, one in ipairs(held(self, value)) do
    self.file = one.file
    check.write(self, view, one, o)
  end
  self.file = file
end

return M
