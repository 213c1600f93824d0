-- The world as the scenario sees it. Each call that changes something is a step: disturbances of that step
-- begin with it. What a rule of the scenario calls meanwhile is none: the rule stands for another server.
-- Nothing here decides what is disturbed: the plan does. Adds its methods to an executor's class.

local check = require("perilune.check")
local files = require("perilune.test_files")
local flats = require("perilune.explore.flat")

local format = string.format

local looks = { get = true, list = true, writes = true, requests = true, events = true, logs = true,
  metrics = true, why = true, runs = true }

local changes = { apply = true, create = true, update = true, patch = true, patch_status = true,
  delete = true }

-- What comes before the other replicas start: they may need it.
local prepares = { http = true, exec = true, external = true, always = true, simulate = true, start = true }

local function step_text(name, ...)
  local words = { name }
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    if type(v) == "string" and not v:find("\n") then
      words[#words + 1] = v
    elseif i <= 2 and type(v) == "table" and v.kind and v.metadata then
      words[#words + 1] = format("%s/%s %s", v.apiVersion, v.kind, flats.key_of(v))
    elseif i == 2 and type(v) == "table" and v.name then
      words[#words + 1] = v.namespace and v.namespace .. "/" .. v.name or v.name
    end
  end
  return table.concat(words, " ")
end

-- What only tells a controller what to do: labels, annotations, and fields of a spec with the usual names by which it
-- stops and goes on.
local instructions = { metadata = { labels = true, annotations = true },
  spec = { suspend = true, suspended = true, pause = true, paused = true } }

-- Whether a merge patch, of an object or of a kind and a reference, changes nothing but these.
local function instructs(name, value, ...)
  local patch = name == "patch" and select(type(value) == "table" and 1 or 2, ...)
  if type(patch) ~= "table" or not next(patch) then
    return false
  end
  for part, fields in pairs(patch) do
    local known = instructions[part]
    if not known or type(fields) ~= "table" then return false end
    for field in pairs(fields) do
      if not known[field] then return false end
    end
  end
  return true
end

return function(exec)

function exec:user_world()
  local class = getmetatable(self.world).class
  return setmetatable({}, { class = class, __index = function(_, name)
    local method = self.world[name]
    if method == nil then
      return class.metatable.__index[name] -- an error
    end
    if name == "settle" then
      return function(_, o)
        self:start_replicas()
        return self:settle(o)
      end
    elseif name == "advance" then
      return function(user, duration)
        self:start_replicas()
        self:advance_for_user(check.delay("advance", duration))
        return user
      end
    elseif type(method) ~= "function" then
      return method
    end
    return function(_, ...)
      if (changes[name] or looks[name]) and self.world:explore_asks_rule() then
        return method(self.world, ...)
      elseif not prepares[name] then
        self:start_replicas()
      end
      self:note_call(name, looks[name])
      if changes[name] then
        local text, is_told = step_text(name, ...), instructs(name, ...)
        self:before_step(is_told, name, ...)
        self.choose:begin_step(text, is_told)
        self:add({ what = "step", text = text })
        local kind, key = text:match("^delete %S-([^/%s]+) (%S+)$")
        if kind then
          self.choose:deletes(kind, key)
        end
        self:hold_of_step()
        self:others_of_step()
      elseif looks[name] and self.unfinished then
        self:settle_for_look()
      end
      return self:noticed(name, method(self.world, ...))
    end
  end })
end

-- Starts the other replicas when the first one runs.
function exec:start_replicas()
  if not self.all_started and self.world:explore_runs("main") then
    self.all_started = true
    self.world:explore_start()
  end
end

-- The scenario expects a settled world now, so disturbances that were to last until after the next
-- step end here. The last settled point is judged in this state, unless a step has come since.
function exec:settle_for_look()
  local last = table.remove(self.settles)
  self:settle({ whole = true, limit = self.settle_options and self.settle_options.limit })
  if last.step < self.choose.step then
    self.settles[#self.settles] = last
  end
end

-- Passes on the results of a user's call.
function exec:noticed(name, ...)
  if changes[name] then
    self.world:explore_wrote(...)
  end
  return ...
end

-- Whether the settled points so far have no object with this kind and key.
function exec:is_new(object)
  local id = flats.kind_of(object) .. " " .. flats.key_of(object)
  for _, settle in ipairs(self.settles) do
    for _, item in ipairs(settle.state) do
      if item.id == id then
        return false
      end
    end
  end
  return true
end

-- The kinds of objects that a create or apply brings into the world for the first time.
function exec:new_kinds(value)
  local kinds = {}
  for _, object in ipairs(files.objects("apply", value, self.world.folder)) do
    if type(object.metadata) == "table" and object.metadata.name and object.kind and self:is_new(object) then
      kinds[object.kind] = true
    end
  end
  return kinds
end

-- A create or apply of an object that is still being deleted would be lost, which is nobody's
-- fault. Which of two objects comes first may decide for good who gets what both want. So in these cases
-- finalizers of other clients are removed, and events that were to stay unobserved are delivered first. They
-- are delivered, too, before a controller is told what to do: what is right then depends on the moment.
function exec:before_step(is_told, name, value)
  if is_told and #self.unseen > 0 then
    return self:catch_up()
  elseif #self.unseen + #self.kept == 0 or not (name == "create" or name == "apply") then
    return
  end
  local kinds, deleting = self:new_kinds(value), false
  for _, item in ipairs(self:state()) do
    deleting = deleting or item.deleting
  end
  if deleting then
    self:let_go()
  end
  for _, of in ipairs(self.unseen) do
    if deleting or of.kind and kinds[of.kind] then
      return self:catch_up()
    end
  end
end
end
