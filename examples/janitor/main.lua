-- Deletes objects when they expire. The annotation `example.com/ttl: 24h` counts from the object's
-- creation, `example.com/expires: 2026-12-31T00:00:00Z` names the time. Both apply to namespaces
-- and to objects of every namespaced kind that can be listed and deleted, also of kinds that are
-- installed later. The clean-up runs once a minute, or as often as --config says:
--
--     {"every": "10m", "skip": ["v1/Event", "v1/Secret"], "dry_run": true}
local perilune = require("perilune")
local client, live = perilune.client, perilune.live

local TTL, EXPIRES = "example.com/ttl", "example.com/expires"
local DAY = 24 * 60 * 60

local skipped = {}
for _, kind in ipairs(perilune.config.skip
  or { "v1/Event", "events.k8s.io/v1/Event", "coordination.k8s.io/v1/Lease" }) do
  skipped[kind] = true
end

local metrics = perilune.metrics
local deleted = metrics.counter("janitor_deleted_total", "Objects that were deleted.", { "kind" })
local mistakes = metrics.gauge("janitor_mistakes", "Objects whose annotations make no sense.")

-- ---- when? ----

-- "90m", "36h", "7d" or "2w" in seconds; nil for any other text.
local function seconds_of(text)
  local count, unit = text:match("^(%d+)([dw])$")
  if count then
    return tonumber(count) * (unit == "w" and 7 or 1) * DAY
  end
  local ok, seconds = pcall(perilune.duration, text)
  return ok and seconds > 0 and seconds or nil
end

local function time_of(text)
  local ok, seconds = pcall(perilune.time.parse, text)
  return ok and seconds or nil
end

-- When the object expires, and why. Without such an annotation nil; for an invalid one nil and a
-- message.
local function ending(object)
  local annotations = object.metadata.annotations
  if not annotations then
    return nil
  end
  local expires, ttl = annotations[EXPIRES], annotations[TTL]
  if expires then
    local at = time_of(expires)
    return at, at and "it expired at " .. expires or EXPIRES .. " is no time: " .. expires
  elseif ttl then
    local seconds = seconds_of(ttl)
    local born = time_of(object.metadata.creationTimestamp)
    return seconds and born and born + seconds,
      seconds and "it is older than " .. ttl or TTL .. " is no duration: " .. ttl
  end
end

-- ---- who? ----

-- "v1/ConfigMap", ...: the kinds whose objects users create and the janitor can delete.
local function kinds_to_clean(log)
  local kinds, missing = perilune.kinds{ verb = { "list", "delete" } }
  for _, group in ipairs(missing) do
    log:warn("what it serves is not known: its objects are left alone", { group = group })
  end
  local out = {}
  for _, kind in ipairs(kinds) do
    local wanted = kind.namespaced or kind.kind == "v1/Namespace"
    if wanted and not skipped[kind.kind] then
      out[#out + 1] = kind.kind
    end
  end
  return out
end

-- ---- the work ----

local Round = {}
Round.__index = Round

function Round:delete(kind, object, why)
  local key = perilune.key(object)
  self.log:info("delete", { kind = kind, object = key, why = why })
  if perilune.config.dry_run then
    return
  end
  perilune.event(object, "Normal", "TimeIsUp", "The janitor deletes it: " .. why)
  -- The uid is a precondition: a new object with the same name is not deleted.
  local gone, e = perilune.try(client.delete, client, kind, key,
    { uid = object.metadata.uid, propagation = "Background" })
  if gone then
    deleted:inc{ kind = kind }
    self.count = self.count + 1
  elseif e then
    self.log:warn("it could not be deleted", { kind = kind, object = key, error = tostring(e) })
  end
end

function Round:look_at(kind, object)
  local at, why = ending(object)
  if why and not at then
    self.mistakes = self.mistakes + 1
    self.log:warn(why, { kind = kind, object = perilune.key(object) })
  elseif at and at <= self.now and not object.metadata.deletionTimestamp then
    self:delete(kind, object, why)
  end
end

-- Requests only metadata, in pages of 500.
function Round:clean(kind)
  for object in live:each(kind, { metadata_only = true }) do
    self:look_at(kind, object)
  end
end

perilune.every(perilune.config.every or "1m", {
  name = "janitor",
  immediate = true,
  writes = { ["*"] = { "delete" } },
}, function(context)
  local round = setmetatable({ log = context.log, now = perilune.time.now(), count = 0,
    mistakes = 0 }, Round)
  for _, kind in ipairs(kinds_to_clean(context.log)) do
    local _, e = perilune.try(round.clean, round, kind)
    if e and not perilune.errors.is_not_found(e) then -- 404: the CRD was deleted meanwhile
      context.log:warn("it could not be looked at", { kind = kind, error = tostring(e) })
    end
  end
  mistakes:set(round.mistakes)
  context.log:info("the round is over", { deleted = round.count, mistakes = round.mistakes })
end)
