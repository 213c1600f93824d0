-- assert.settled(world), assert.no_leaks(world), assert.same_state(a, b).

local world = require("perilune.world")
local flats = require("perilune.explore.flat")
local states = require("perilune.explore.state")

local M = {}

local function settled(self)
  local ok, why = world.settled(self.handle)
  return ok, why
end

-- All objects of all kinds that can be listed.
local function all_objects(self)
  local out = {}
  for _, kind in ipairs(self:all_kinds()) do
    for _, object in ipairs(self:list(kind)) do
      out[#out + 1] = object
    end
  end
  return out
end

local function name_of(object)
  local metadata = object.metadata
  return object.apiVersion .. "/" .. object.kind .. " "
    .. (metadata.namespace and metadata.namespace .. "/" or "") .. metadata.name
end

local function leaks(self)
  local there, found = {}, {}
  local objects = all_objects(self)
  for _, object in ipairs(objects) do
    there[object.metadata.uid or ""] = true
  end
  for _, object in ipairs(objects) do
    local owners, owned = object.metadata.ownerReferences or {}, false
    for _, owner in ipairs(owners) do
      owned = owned or there[owner.uid]
    end
    if #owners > 0 and not owned then
      found[#found + 1] = name_of(object) .. " is there, and its owner " .. owners[1].kind .. " "
        .. owners[1].name .. " is gone"
    end
  end
  return #found == 0, table.concat(found, "\n")
end

local function canon(self)
  return states.plain(flats.of(all_objects(self), self.externals))
end

local function difference_text(d)
  local name = d.kind .. " " .. d.key
  if d.field == "" then
    return ("%s is in the %s world only"):format(name, d.missing and "first" or "second")
  end
  return ("%s %s is %s in the first world, %s in the second one"):format(name, d.field, d.want,
    d.is)
end

local function same_state(a, b)
  local lines = {}
  for _, d in ipairs(states.differences(canon(a), canon(b))) do
    lines[#lines + 1] = difference_text(d)
  end
  return #lines == 0, table.concat(lines, "\n")
end

-- check_world: a checker.
function M.install(check_world)
  local assert = require("luassert")
  local say = require("say")
  local function add(name, worlds, f, text)
    say:set("assertion." .. name .. ".positive", text .. ":\n%s")
    say:set("assertion." .. name .. ".negative", "not: " .. text .. "\n%s")
    assert:register("assertion", name, function(_, arguments)
      for i = 1, worlds do
        check_world("assert." .. name .. ": argument " .. i, arguments[i])
      end
      local ok, why = f(arguments[1], arguments[2])
      arguments[1] = why or ""
      arguments.nofmt = arguments.nofmt or {}
      arguments.nofmt[1] = true
      return ok
    end, "assertion." .. name .. ".positive", "assertion." .. name .. ".negative")
  end
  add("settled", 1, settled, "the world has not settled")
  add("no_leaks", 1, leaks, "something is left over")
  add("same_state", 2, same_state, "the two states differ")
end

return M
