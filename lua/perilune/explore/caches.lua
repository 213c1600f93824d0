-- Caches that a plan holds back: whose events come late (lag), or never (unobserved). A cache that is
-- late is current again at the end of its step; one that misses events is listed again after the next
-- step. Nothing is judged while a cache is held back. Adds its methods to an executor's class.

local HELD_RECONCILES = 300 -- limit of reconciles while a cache is held back
-- Of one key, if it needs no more undisturbed:
local HELD_RUNS = 12 -- work that repeats itself until the cache is current adds nothing
local HELD_RETRIES = 3 -- runs that back off without a change: the next ones will be the same
local SLOW = 0.1 -- seconds of a write until a cache is listed again: so work that repeats itself is soon over
local RELIST = 120 -- limit of seconds until an expired watch is listed again

local INCONCLUSIVE = "the caches could not catch up"

return function(exec)

function exec:hold_of_step()
  for _, what in ipairs({ "lag", "unobserved" }) do
    for _, d in ipairs(self.choose:of_step(what)) do
      local resource = self.world:explore_resource(d.kind)
      if resource then
        self.choose:use(d)
        self:fault(d)
        self.world:explore_hold(resource, true)
        self.held[#self.held + 1] = resource
        if what == "unobserved" then
          -- After a step that came early, this one is the next step already.
          local step = self.unfinished and d.step - 1 or d.step
          self.unseen[#self.unseen + 1] = { resource = resource, kind = d.kind, step = step }
        end
      end
    end
  end
end

-- Whether a cache, or the garbage collector, is held back.
function exec:holds_back()
  return #self.held > 0 or #self.unseen > 0
end

-- Ends the holding of caches, but of those whose events stay unobserved. Returns whether there were any.
function exec:release()
  local unseen, held = {}, {}
  for _, of in ipairs(self.unseen) do
    if of.resource then -- else it is the garbage collector
      unseen[of.resource] = true
    end
  end
  for _, resource in ipairs(self.held) do
    if unseen[resource] then
      held[#held + 1] = resource
    else
      self.world:explore_hold(resource, false)
    end
  end
  local some = #held < #self.held
  self.held = held
  return some
end

-- Caches whose events only come late become current; those of unobserved kinds stay held.
function exec:end_lag()
  if self:release() then
    self:run_on()
  end
end

-- Ends the holding of caches. Watches whose events were to stay unobserved expire and are listed
-- again; the others deliver their events.
function exec:catch_up()
  local unseen = self.unseen
  self.unseen = {}
  for _, of in ipairs(unseen) do
    if of.garbage then
      self.world:explore_hold_garbage(false)
    else
      for _, host in ipairs(self.world.hosts) do
        self.relist[host .. " " .. of.resource] = self.world:explore_runs(host) or nil
      end
      self.world:explore_expire(of.resource)
    end
  end
  self:release()
  self.world:explore_limit(HELD_RECONCILES)
  self.world:explore_pace(SLOW)
  for _ = 1, #unseen > 0 and RELIST or 0 do -- a reflector pauses before it lists again
    if not next(self.relist) then break end
    local ok = pcall(self.world.advance, self.world, 1)
    if not ok then -- endless runs at one instant: the cache cannot become current
      self.inconclusive = INCONCLUSIVE
      error(INCONCLUSIVE, 0)
    end
  end
  self.world:explore_limit()
  self.world:explore_pace()
  self:run_on()
end

-- Keeps the state that a restart would find now.
function exec:note_while_held()
  if #self.held > 0 and #self.plan == 1 then
    self.while_held[self.choose.step] = { state = self:state() }
  end
end

local function limit_held(self)
  local needed = self.how.runs or 0
  self.world:explore_limit(HELD_RECONCILES, math.max(HELD_RUNS, 2 * needed), math.max(HELD_RETRIES, needed))
end

-- Calls f(...) within the limits of reconciles that were set. Returns false when these are used up.
local function within(self, f, ...)
  local ok, e = pcall(f, ...)
  self.world:explore_limit()
  if not ok and not self.says_unsettled(e) then
    error(e, 0)
  end
  return ok
end

-- It is no error when the world has not settled then.
function exec:settle_within(o)
  limit_held(self)
  within(self, self.world.settle, self.world, o)
end

-- While the server refuses, each retry may lead to something else: a script may give up.
function exec:settle_refused(o)
  self.world:explore_limit(HELD_RECONCILES)
  within(self, self.world.settle, self.world, o)
end

function exec:advance_within(seconds)
  limit_held(self)
  return within(self, self.advance, self, seconds)
end
end
