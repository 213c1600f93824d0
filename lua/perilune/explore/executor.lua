-- Executes a plan: opens a world, runs the scenario in it, and carries out the plan's disturbance
-- at each point. The scenario sees an ordinary world; this module observes its steps and settled
-- points. It also decides which settled points are judged: only those after all disturbances have
-- ended and all caches are current.
--
-- `o`: open(how, at, opened) -> a world (perilune.test) that calls opened(world) before its hosts start,
-- and at(point, once) at its points; f, the scenario; kind_of(world, resource) -> "apps/v1/Deployment".

local choosers = require("perilune.explore.chooser")
local claims = require("perilune.explore.claims")
local flips = require("perilune.test_flips")
local report = require("perilune.explore.report")
local flats = require("perilune.explore.flat")
local states = require("perilune.explore.state")

local format = string.format
local M = {}

local DOWN = 1 -- seconds that a restart takes
local RESTARTS = 20 -- limit for one execution
local STEPS = 10000 -- limit of steps until the number of effects in a plan has happened
local ELECTION = 20 -- seconds in which a leader is elected that the Lease does not name yet
local PATIENT_RECONCILES = 5000 -- limit of reconciles in this time

local UNFINISHED = "the scenario needs what the step before it leads to"
local REFUSED = "a user would try a refused call of the scenario again"
local RECOVERING = "the scenario needs what a disturbance delays"

local exec = {}
exec.__index = exec

function exec:add(entry)
  entry.step = self.choose.step
  self.trace[#self.trace + 1] = entry
end

function exec:fault(d)
  self:add({ what = "fault", text = report.fault_text(d) })
  self.world:explore_forget_rounds() -- a round that was disturbed says nothing about the next one
end

require("perilune.explore.caches")(exec)
require("perilune.explore.converged").add_to(exec)
require("perilune.explore.points")(exec)
require("perilune.explore.result")(exec)
require("perilune.explore.others")(exec)
require("perilune.explore.user")(exec)

-- ---- settling ----

function exec:stale_of_step()
  for _, d in ipairs(self.choose:of_step("stale")) do
    if not self.choose.used[d] then
      local version = d.from_n == 0 and self.first_version or self.choose:version_at(d)
      if version then
        self.choose:use(d)
        self:fault(d)
        return { kind = d.kind, version = version }
      end
    end
  end
end

function exec:start_again()
  self:keep_unanswered()
  self.restarts = self.restarts + 1
  self.restarted, self.wrote, self.open, self.runs = true, {}, {}, {}
  self:await(nil)
  self.stale = self:stale_of_step()
  self.world:explore_start()
  self:set_lateness()
  self:load_ahead()
end

-- Branches that restart the host need not load its scripts.
function exec:load_ahead()
  if self.choose.waiting then
    self.world:explore_load_ahead()
  end
end

-- Lets time pass. A host that a disturbance kills meanwhile starts again a second later.
function exec:advance(seconds)
  local finish, ran, left = self.world:now() + seconds, self.world:explore_runs(), seconds
  repeat
    self.world:explore_advance(left)
    left = finish - self.world:now()
    if ran and left > 0 and not self.world:explore_runs() and self.restarts < RESTARTS then
      self.world:explore_advance(math.min(DOWN, left))
      self:start_again()
      left = finish - self.world:now()
    end
  until left <= 0
end

-- The host is down, so no webhook has answered a user's request. Starts it, and the user tries
-- again.
function exec:start_for_user()
  if self.world:explore_runs() or self.restarts >= RESTARTS then
    return false
  end
  self:start_again()
  return true
end

-- Reloads the scripts in the middle of a run. Steps one by one up to that place, no further than
-- the world would settle.
function exec:reload_of_step(o)
  local wanted
  for _, d in ipairs(self.reloaded and {} or self.choose:of_step("reload")) do
    wanted = d
  end
  local finish = self.world:explore_end(o)
  for _ = 1, wanted and STEPS or 0 do
    if self.reload_now or not self.world:explore_runs() or not self.world:explore_step(finish) then
      break
    end
  end
  if self.reload_now and self.world:explore_runs() then
    self.reload_now, self.reloaded = false, true
    self.world:reload()
  end
end

local function text_of(e)
  return tostring(type(e) == "table" and e.message or e)
end

-- Whether a settle has failed because its limit was over.
local function is_over_limit(e)
  return text_of(e):find("has not settled within", 1, true) ~= nil
end

-- While a cache is held back, or lists are reversed, endless work is not a finding: it may end when the
-- disturbance ends. A host that dies, or a request that is sent late, when the limit is over, gets the limit again.
function exec:settle_once(o)
  if #self.held > 0 or self.reversed then
    return self:settle_within(o)
  end
  local ok, e = pcall(self.world.settle, self.world, o)
  if ok or is_over_limit(e) and not self.world:explore_runs() then
    return
  elseif not self.delayed then
    error(e, 0)
  end
  self.delayed = false
  self.world:settle(o)
end

-- Runs until the world has settled, with restarts after crashes, each time within the limit that the scenario has
-- asked for last. Raises the world's error if it never settles.
function exec:run_on()
  local o = self.settle_options
  for _ = 1, RESTARTS do
    if self.world:explore_runs() then
      self:reload_of_step(o)
    end
    if self.world:explore_runs() then
      self:settle_once(o)
    end
    if self.pending and self.world:explore_runs() then -- nothing happened after it
      self.reload_now = self.pending.what == "reload"
      if not self.reload_now then
        self.world:explore_crash(self.pending_host)
      end
      self:await(nil)
    elseif self.world:explore_runs() and not self.reload_now then
      return
    end
    if not self.world:explore_runs() then
      self:start_again()
    end
  end
end

local function writes_since(trace, from)
  local out = {}
  for i = from + 1, #trace do
    local e = trace[i]
    if e.what == "effect" and e.writes and e.done and not flats.is_event(e.api) then
      out[#out + 1] = e
    end
  end
  return out
end

-- Settles without letting time pass: runs that sleep continue later.
function exec:settle_now()
  local ok, e = pcall(self.world.settle, self.world, { limit = self.world.elects and ELECTION or 0 })
  if not ok and not is_over_limit(e) then
    error(e, 0)
  end
end

-- The object's spec has changed, perhaps only in a field that follows the clock: the object has
-- another generation. Returns the change, or nil.
local function changed_spec(before, after, api, key)
  for place, item in pairs(before.items) do
    local now = after.items[place]
    if item.kind == api and item.key == key and now and now.uid == item.uid
      and now.item.generation ~= item.item.generation then
      return { place = place, kind = item.kind, key = item.key, field = "metadata.generation",
        want = item.item.generation, is = now.item.generation }
    end
  end
end

-- Restarts the host at a settled point. Nothing may be written then.
function exec:restart_here()
  for _, d in ipairs(self.choose:of_step("restart")) do
    if not self.choose.used[d] then
      self.choose:use(d)
      self:fault(d)
      self.before = self:state()
      local before, from = states.plain(self.before), #self.trace
      self.world:explore_crash()
      pcall(self.world.advance, self.world, self.how.down or DOWN)
      self:start_again()
      self:settle_now()
      local after = states.plain(self:state())
      local changed = states.differences(before, after)
      for _, e in ipairs(writes_since(self.trace, from)) do
        local api = e.api:gsub("/status$", "")
        local field
        for _, c in ipairs(changed) do
          field = field or (e.verb == "http" and c.kind == "external" and c)
            or (c.kind == api and c.key == (e.object or c.key) and c)
        end
        field = field or changed_spec(before, after, api, e.object)
        if field then
          self.rewrites[#self.rewrites + 1] = { id = field.place, kind = field.kind, key = field.key,
            field = field.field, is = field.is, want = field.want, line = e.line, step = e.step,
            settle = #self.settles + 1 }
        end
      end
      self:run_on()
    end
  end
end

function exec:state()
  return flats.of_records(self.world:explore_objects(), self.world:explore_externals())
end

-- Records the settled state, and the state before a restart in this step. merged: the next step
-- came early, so the world has not settled.
function exec:record(merged)
  local over = not merged and #self.unseen == 0 and not self.pending
  local before = self.before
  self.before = nil
  local ok, why = self.world:explore_settled()
  for _ = 0, over and #self.plan or -1 do -- a part of the plan may have made it fail a moment ago
    if ok then break end
    self:run_on()
    ok, why = self.world:explore_settled()
  end
  local state = self:state()
  self.longest = math.max(self.longest, self.world:now() - self.began - self.spent)
  self.spent = self.world:now() - self.began
  local settle = { step = self.choose.step, state = state, merged = merged, before = before, over = over,
    memory = #self.plan == 0 and not self.choose.waiting and self.world:explore_memory() or nil }
  self.settles[#self.settles + 1] = settle
  if self.how.recorded then
    self.how.recorded(settle, #self.settles)
  end
  for _, claim in ipairs(#self.plan == 0 and self.claims:settled(state) or {}) do
    claim.step = self.choose.step
    self.false_claims[#self.false_claims + 1] = claim
  end
  if over and not ok and not self.unsettled then
    self.unsettled = self:unsettled_by(why)
  end
end

-- The part of the plan by which the next step comes early; nil: none. A watch that was to be listed again by now
-- does not wait for yet another step.
function exec:is_early(o)
  for _, of in ipairs(self.unseen) do
    if of.step < self.choose.step then
      return nil
    end
  end
  for _, d in ipairs(not (o and o.whole) and self.choose:of_step("early", self.choose.step + 1) or {}) do
    if not self.choose.used[d] then
      return d
    end
  end
end

-- Runs until `d.n` effects have happened.
function exec:part_of_settle(d, o)
  local from, finish = self.effects, self.world:explore_end(o)
  self.choose:use(d)
  self:fault(d)
  for _ = 1, STEPS do
    if self.effects - from >= d.n or not self.world:explore_runs() then
      return
    elseif not self.world:explore_step(finish) then
      return self.choose:miss(d) -- the step before had settled
    end
  end
end

-- `settle` of the scenario. It may return before the world has settled: then the world is unfinished,
-- until the scenario looks at it or settles again.
function exec:settle(o)
  self.settle_options = o
  local early = self:is_early(o)
  self.unfinished, self.recovering = early ~= nil, false
  if early then
    self:part_of_settle(early, o)
    return self:record(true)
  end
  if #self.outages > 0 then
    self:end_outages()
  end
  self:run_on()
  self:note_while_held()
  if #self.choose:of_step("stale") > 0 and self.world:explore_runs() then
    for _, d in ipairs(self.choose:of_step("stale")) do
      if not self.choose.used[d] then
        if #self.held + #self.kept == 0 then -- otherwise changes of the step come after the restart
          self.before = self:state()
        end
        self.world:explore_crash()
        self:start_again()
        self:run_on()
      end
    end
  end
  self:end_others()
  for _, of in ipairs(not (o and o.whole) and self.unseen or {}) do
    if of.step == self.choose.step then
      self.unfinished = true
      self:end_lag()
      return self:record(false) -- it stays unseen until after the next step
    end
  end
  if self:holds_back() then
    self:catch_up()
  end
  self.stale = nil
  self:wait_if_patient()
  self:restart_here()
  self:record(false)
  self:end_if_converged()
end

-- Lets each step settle until the same time, however long its disturbances took.
function exec:wait_if_patient()
  if not self.how.patient then
    return
  end
  local now = self.world:now()
  self.world:explore_limit(PATIENT_RECONCILES)
  pcall(self.advance, self, math.max(self.began + self.how.patient * self.choose.step - now, 0))
  self.world:explore_limit()
end

function exec:finish()
  if self:holds_back() then
    self:catch_up()
    local last = self.settles[#self.settles]
    if last and last.step < self.choose.step then
      return -- the scenario ends without settling, so there is nothing to compare
    end
    self.settles[#self.settles] = nil
    self:wait_if_patient()
    self:record(false)
  end
end

-- The field that changes most while the world does not settle: "data.a" of the key's own object,
-- otherwise with kind and key; "": none does. And all of them as text.
function exec:flips(key)
  local fields = self.world:explore_flips()
  local first = fields[1]
  local name = first and (first.key == key and first.path or format("%s %s %s", first.kind, first.key, first.path))
  return name or "", flips.text(fields)
end

-- The message of an error of the scenario, and its place with ": "; "": it has none.
local function message_of(e)
  local text = text_of(e):gsub("(%l+): 0x%x+", "%1") -- an address is another one in each process
  if not text:find("explore", 1, true) then
    text = text:gsub("\nstack traceback.*", "")
  end
  local place, rest = text:match("^(%S+:%d+: )(.*)$")
  return rest or text, place or ""
end

-- Whether a world, or an assertion about it, says this: it never settles.
function exec.says_unsettled(e)
  local text = text_of(e)
  for _, words in ipairs({ "it does not settle", "it has not settled within", "the world has not settled" }) do
    if text:find(words, 1, true) then
      return true
    end
  end
  return false
end

-- Whether a user's call was refused because of what a disturbance may do: a webhook could not be asked or
-- has failed, or somebody's finalizer keeps an object that is made anew.
local function is_refused_to_user(text)
  return text:find("failed calling webhook", 1, true) ~= nil or text:find("object is being deleted", 1, true) ~= nil
end

function exec:scenario()
  local ok, e = xpcall(function()
    self.o.f(self:user_world())
    self:finish()
  end, function(problem)
    return type(problem) == "table" and problem or tostring(problem)
  end)
  if ok or self.inconclusive then
    return
  end
  local text, place = message_of(e)
  if self.says_unsettled(text) then
    local controller, key = text:match("(%S+) (%S+/%S+) %(%d+ runs")
    key = key or text:match("(%S+/%S+)") or ""
    local field, more = self:flips(key)
    self.unsettled = { message = text .. more, controller = controller, key = key, field = field,
      step = self.choose.step }
  elseif #self.plan > 0 and is_refused_to_user(text) then
    self.inconclusive = REFUSED
  elseif (self.unfinished or self.recovering) and not text:find('^always "') then
    self.inconclusive = self.unfinished and UNFINISHED or RECOVERING
  else
    self.invariants[#self.invariants + 1] = { name = "the scenario", message = place .. text,
      step = self.choose.step }
  end
end

-- An execution of `plan` until its world is open and its host has started.
local function begin(o, plan, how)
  local self = setmetatable({ o = o, plan = plan, how = how, choose = choosers.new(plan, how), trace = {}, wrote = {},
    open = {}, effects = 0, restarts = 0, settles = {}, errors = {}, invariants = {}, rewrites = {}, held = {},
    while_held = {}, unseen = {}, outages = {}, kept = {}, lists = {}, rollouts = {}, relist = {}, cached = {},
    runs = {}, failed = {}, versions = {}, longest = 0, spent = 0, claims = claims.new(), false_claims = {},
    removed = {} }, exec)
  self.world = o.open(self:set_clocks(how), function(point, once) return self:at(point, once) end,
    function(world) self.world = world end)
  self.world.when_unanswered = function() return self:start_for_user() end
  self.first_version, self.began = self.world:explore_version(), self.world:now()
  for _, d in ipairs(#self.world.hosts == 1 and self.choose:of_step("clock", 1) or {}) do
    self.choose:miss(d) -- there is no other clock
  end
  return self
end

local function go_on(self)
  math.randomseed(self.how.seed) -- for the scenario and its rules
  self:scenario()
  self.lines = self.world:explore_lines()
  return self:result()
end

-- Returns for a search: execute(plan, how), and prepare(how) -> {proceed(how), close()}. What was prepared is the
-- beginning of the undisturbed execution. Copies of this process may proceed with it, each once.
function M.new(o)
  o.known = setmetatable({}, { __mode = "k" }) -- see known_of
  local function execute(plan, how)
    local self = begin(o, plan, how)
    self:load_ahead()
    local result = go_on(self)
    if not self.choose.branched then -- a branch frees its worlds with its process
      self.world:close()
    end
    return result
  end
  local function prepare(how)
    local self = begin(o, {}, how)
    self.world:explore_load_ahead()
    return { close = function() self.world:close() end, proceed = function(more)
      self.how = more
      self.choose:branch_off(more.others, more.fork)
      return go_on(self)
    end }
  end
  return execute, prepare
end

return M
