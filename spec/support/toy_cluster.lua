-- A small simulated cluster for the explorer's own specs: a store, and controllers that are
-- functions. It implements only the interface between a search and the executor of its plans:
-- crashes, refusals and lost answers at effects, restarts, and steps. Its caches never lag.

local chooser = require("perilune.explore.chooser")
local options = require("perilune.explore.options")
local plans = require("perilune.explore.plan")
local flats = require("perilune.explore.flat")

local M = {}

local CRASH = setmetatable({}, { __tostring = function() return "the process ends" end })

local function copy(value)
  if type(value) ~= "table" then
    return value
  end
  local out = {}
  for k, v in pairs(value) do
    out[k] = copy(v)
  end
  return out
end

local toy = {}
toy.__index = toy

local function id_of(kind, key)
  return kind .. " " .. key
end

function toy:trace_add(entry)
  entry.step = self.choose.step
  self.trace[#self.trace + 1] = entry
end

local function store(self, verb, kind, key, body)
  local id = id_of(kind, key)
  local old = self.objects[id]
  if verb == "create" and old then
    return nil, "AlreadyExists"
  elseif verb == "delete" then
    self.objects[id] = nil
    return true
  end
  local namespace, name = key:match("^(.-)/(.*)$")
  local api, short = kind:match("^(.*)/([^/]+)$")
  self.uids = self.uids + 1
  local object = copy(old) or { apiVersion = api, kind = short, metadata = { name = name,
    namespace = namespace, uid = "uid-" .. self.uids } }
  for field, value in pairs(body or {}) do
    object[field] = copy(value)
  end
  self.objects[id] = object
  for other in pairs(self.controllers) do
    self.dirty[other] = true
  end
  return object
end

local function fault(self, d)
  self:trace_add({ what = "fault", text = d.what })
end

-- A request of a controller. Raises the error that the plan says.
function toy:write(verb, kind, key, body, line)
  local short = kind:match("[^/]+$")
  local place = { controller = self.controller, key = self.key, verb = verb, kind = short, object = key }
  local d = self.choose:effect(place, { name = plans.name(place), line = line,
    options = options.of_request({ verb = verb, first = self.first }) })
  self.first = false
  local entry = { what = "effect", run = self.run, controller = self.controller, key = self.key,
    verb = verb, api = kind, kind = short, object = key, line = line, after_restart = self.restarted }
  if d and d.how == "before" then
    fault(self, d)
    error(CRASH, 0)
  elseif d and d.what == "refuse" and d.how ~= "exists" then
    entry.outcome = d.how
    self:trace_add(entry)
    fault(self, d)
    error({ reason = d.how }, 0)
  end
  local done, why = store(self, verb, kind, key, body)
  entry.outcome = done and "done" or why
  self:trace_add(entry)
  if d then
    fault(self, d)
    error((d.what == "crash" or d.what == "reload") and CRASH or { reason = d.how }, 0)
  elseif not done then
    error({ reason = why }, 0)
  end
  return done
end

function toy:get(kind, key)
  return copy(self.objects[id_of(kind, key)])
end

-- A user's step.
function toy:apply(kind, key, body)
  self.choose:begin_step(("apply %s %s"):format(kind, key))
  self:trace_add({ what = "step", text = ("apply %s %s"):format(kind, key) })
  store(self, "apply", kind, key, body)
end

local function reconcile_all(self)
  for name, f in pairs(self.controllers) do
    local runs, failures = 0, 0
    while self.dirty[name] and runs < 50 do
      self.dirty[name], runs = nil, runs + 1
      self.controller, self.key, self.run, self.first = name, "default/a", runs, true
      local ok, e = pcall(f, self, "default/a")
      if not ok then
        if e == CRASH then
          self.memory, self.restarted = {}, true
        elseif type(e) == "string" then
          self.errors[#self.errors + 1] = { controller = name, key = self.key, message = e }
        end
        failures = failures + 1
        self.dirty[name] = failures < 10
      end
    end
    if runs == 50 or failures == 10 then
      self.unsettled = { controller = name, key = self.key, message = "never settles" }
    end
  end
end

local function remember(self)
  local list = {}
  for _, object in pairs(self.objects) do
    list[#list + 1] = object
  end
  self.settles[#self.settles + 1] = { step = self.choose.step, state = flats.of(list),
    over = self.choose:is_over() }
end

function toy:settle()
  reconcile_all(self)
  for _, d in ipairs(self.choose:of_step("restart")) do
    self.choose:use(d)
    fault(self, d)
    self.memory, self.restarted = {}, true
    for name in pairs(self.controllers) do
      self.dirty[name] = true
    end
    reconcile_all(self)
  end
  remember(self)
end

-- execute(plan, how) for a scenario: f(world), with controllers name -> function(world, key).
function M.executor(controllers, f)
  return function(plan, how)
    local self = setmetatable({ objects = {}, controllers = controllers, dirty = {}, memory = {},
      uids = 0, trace = {}, errors = {}, settles = {}, choose = chooser.new(plan, how), seed = how.seed }, toy)
    f(self)
    local lines = {}
    for i, e in ipairs(self.trace) do
      lines[i] = table.concat({ e.what, e.step, e.verb or "", e.object or "", e.outcome or "" }, " ")
    end
    return { plan = plan, trace = self.trace, digest = table.concat(lines, "\n"), settles = self.settles,
      errors = self.errors, unsettled = self.unsettled, points = self.choose.points,
      kinds = self.choose.kinds, steps = self.choose.step, last_point = self.choose.last_point,
      unmet = self.choose:unmet() }
  end
end

return M
