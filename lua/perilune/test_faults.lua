-- Disturbances of a world by a spec: answers that fail or get lost, delayed watches, external
-- servers, and invariants.

local host = require("perilune.host")
local world = require("perilune.world")
local actors = require("perilune.test_actors")
local check = require("perilune.check")

local fail, format = check.fail, string.format
local M = {}

-- ---- answers ----

local STATUS = { Conflict = 409, AlreadyExists = 409, NotFound = 404, Forbidden = 403,
  Invalid = 422, TooManyRequests = 429, InternalError = 500, ServiceUnavailable = 503,
  Timeout = 504, Gone = 410, Expired = 410, Unauthorized = 401, BadRequest = 400 }

local function check_reason(what, value)
  check.text(what, value)
  if not STATUS[value] and value ~= "ConnectionRefused" then
    fail("%s: unknown reason %q; %s", what, value, check.nearest(value, STATUS))
  end
  return value
end

-- A checker for the status of an answer. called: what it must be, for the message.
local function status_from(least, called)
  return function(what, value)
    if check.integer(0)(what, value) < least or value > 599 then
      fail("%s must be %s%d to 599, not %d", what, called, least, value)
    end
    return value
  end
end

local fail_options = { verb = check.one_of("get", "list", "watch", "create", "update", "patch",
  "apply", "delete", "deletecollection", "exec"), kind = check.kind, key = check.text,
  times = check.integer(1), reason = check_reason,
  status = status_from(400, "the status of a failure, "),
  lost = check.boolean, after = check.integer(0) }

-- The status of the answer that the options describe; reasons have one status each.
local function status_of(o)
  local by_reason = o.reason and (STATUS[o.reason] or 0)
  if o.lost and (o.status or o.reason) then
    fail("fail: an answer that is lost has no %s; leave one of them out",
      o.status and "status" or "reason")
  elseif by_reason and o.status and o.status ~= by_reason then
    fail("fail: the reason %s%s; the status can't be %d, leave one of them out", o.reason,
      by_reason == 0 and " is no answer at all" or " has the status " .. by_reason, o.status)
  end
  return o.status or by_reason or 500
end

local function matches(rule, point)
  local resource, key = point.object:match("^(%S+) ?(.*)$")
  if point.verb == "create" and point.name ~= "" then
    key = key ~= "" and key .. "/" .. point.name or point.name
  end
  return (rule.verb == nil and point.verb ~= "watch" or rule.verb == point.verb)
    and (rule.resource == nil or rule.resource == resource)
    and (rule.key == nil or rule.key == key)
end

-- Finds the first rule that matches, and counts it down. Returns its disturbance, or nil.
local function apply_rules(self, point)
  for i, rule in ipairs(self.rules) do
    if matches(rule, point) then
      if rule.after > 0 then
        rule.after = rule.after - 1
        return nil
      end
      rule.times = rule.times - 1
      if rule.times == 0 then
        table.remove(self.rules, i)
      end
      return { act = rule.lost and "lose" or "refuse", status = rule.status, reason = rule.reason }
    end
  end
  return nil
end

-- The chooser of a world: the rules of the spec, then `choose`, that of an explorer.
function M.chooser(self, choose)
  return function(point, once)
    if point.kind == "request" and #self.rules > 0 then
      local act = apply_rules(self, point)
      if act then
        return act
      end
    end
    local lag = point.kind == "event" and next(self.lags) and self.lags[point.object:match("^%S+")]
    if lag then
      return { act = "later", delay = lag }
    end
    return choose and choose(point, once)
  end
end

-- ---- external servers ----

-- A pattern for a text such as "https://api.example.com/*"; * matches anything.
function M.glob(pattern)
  return "^" .. pattern:gsub("[%^%$%(%)%%%.%[%]%+%-%?]", "%%%0"):gsub("%*", ".*") .. "$"
end

-- The last rule whose pattern matches the text, or nil.
function M.rule_for(rules, text)
  for i = #rules, 1, -1 do
    if text:find(rules[i].pattern) then
      return rules[i]
    end
  end
  return nil
end

local function suggestion(url)
  return url:match("^(%a+://[^/?]+)") or url
end

-- The names of headers as the script wrote them; a rule may ask in any letters.
local function in_any_letters(headers)
  local lower = {}
  for name, value in pairs(headers) do
    lower[name:lower()] = value
  end
  return setmetatable(headers, { __index = function(_, name)
    return type(name) == "string" and lower[name:lower()] or nil
  end })
end

local function with_json(request)
  in_any_letters(request.headers)
  return setmetatable(request, { __index = function(_, name)
    if name == "json" then
      return #request.body > 0 and host.json_decode(request.body) or nil
    end
  end })
end

local function check_headers(what, value)
  local headers = {}
  for name, text in pairs(check.table(what, value)) do
    if type(name) ~= "string" or type(text) ~= "string" and type(text) ~= "number" then
      fail('%s must be names and texts such as {["Content-Type"] = "text/plain"}', what)
    end
    headers[name:lower()] = tostring(text)
  end
  return headers
end

local function any(_, value)
  return value
end

local answer_checks = { status = status_from(200, ""), headers = check_headers, body = check.text,
  json = any }

local function finish_answer(answer, request)
  local what = format("http: the answer to %s %s", request.method, request.url)
  answer = check.options(what, check.table(what, answer), answer_checks)
  local headers, body = answer.headers or {}, answer.body
  if answer.json ~= nil then
    if body then
      fail("%s has both json and body; leave one of them out", what)
    end
    body = host.json_encode(answer.json)
    headers["content-type"] = headers["content-type"] or "application/json"
  end
  return { status = answer.status or 200, headers = headers, body = body or "" }
end

local function answer_http(self, request)
  local rule = M.rule_for(self.http_rules, request.url)
  if rule then
    return finish_answer(rule.f(with_json(request)), request)
  end
  error(format('%s %s: no rule answers it; add: world:http("%s/*", function(request) '
    .. "return { status = 200, json = {} } end)", request.method, request.url,
    suggestion(request.url)), 0)
end

-- The tables of World:external as a text; nil: there are none, or they are not plain.
local function text_of(externals)
  local ok, text = pcall(host.json_encode, externals)
  return ok and next(externals) and text or nil
end

-- Answers a request, and tells the world when the rule has changed what is outside.
local function answer_outside(self, request)
  local before = text_of(self.externals)
  local answer = answer_http(self, request)
  if text_of(self.externals) ~= before then
    world.changed_outside(self.handle)
  end
  return answer
end

-- ---- invariants ----

-- What is wrong, as the rule says it: a text or an error object, also after false; nil: nothing.
local function said_by(rule, said, why)
  local problem = said == false and why or said
  local text = type(problem) == "table" and rawget(problem, "message") or problem
  return type(text) == "string" and format("always %q: %s", rule.name, text) or nil
end

-- Calls the rule, which can't write meanwhile.
local function judge(self, rule)
  self.judged = rule.name
  local ok, said, why = pcall(rule.f, self)
  self.judged = false
  if not ok then
    error(said, 0)
  end
  return said, why
end

-- The message of the first rule that is broken; nil: none is.
local function broken_rule(self)
  for _, rule in ipairs(self.always_rules) do
    local message = said_by(rule, judge(self, rule))
    if message then
      return message
    end
  end
end

-- Asks to be told of stored objects, if actors or invariants need it.
local function follow_stores(self)
  world.on_stored(self.handle, (#self.always_rules > 0 or #self.actors > 0) and function()
    if self.following then
      return
    end
    self.following = true
    local _, message = pcall(function()
      actors.run(self)
      return broken_rule(self)
    end)
    self.following = false
    if message then
      error(message, 0)
    end
  end or nil)
end

-- Called before the world is opened.
function M.prepare(self)
  self.rules, self.lags, self.following = {}, {}, false
end

function M.begin(self)
  self.http_rules = {}
  self.always_rules, self.externals = {}, {}
  actors.begin(self, follow_stores)
  world.on_http(self.handle, function(request)
    return answer_outside(self, request)
  end)
end

function M.install(World)
  actors.install(World)

  -- The next matching requests get this answer.
  function World:fail(o)
    o = check.options("fail", o, fail_options)
    local status = status_of(o)
    self.rules[#self.rules + 1] = { verb = o.verb == "apply" and "patch" or o.verb,
      resource = o.kind and self:resource_name(o.kind), key = o.key, times = o.times or 1,
      status = status, reason = o.reason, lost = o.lost, after = o.after or 0 }
    return self
  end

  function World:lag(kind, duration)
    local seconds = check.delay("lag", duration)
    self.lags[self:resource_name(check.kind("lag", kind))] = seconds > 0 and seconds or nil
    return self
  end

  local function hold(self, what, kind, held)
    world.hold(self.handle, self:resource_name(check.kind(what, kind)), held)
    return self
  end

  function World:pause_watch(kind)
    return hold(self, "pause_watch", kind, true)
  end

  function World:resume_watch(kind)
    return hold(self, "resume_watch", kind, false)
  end

  -- The server forgets its history.
  function World:compact()
    world.request(self.handle, "POST", "/debug/compact", nil, nil)
    return self
  end

  -- f(request) answers perilune.http.request for URLs that match; the last matching rule counts.
  function World:http(pattern, f)
    check.text("http", pattern)
    check.func("http: the answer", f)
    self.http_rules[#self.http_rules + 1] = { pattern = M.glob(pattern), f = f }
    return self
  end

  -- A table that represents something outside of the cluster.
  function World:external(name)
    check.text("external", name)
    self.externals[name] = self.externals[name] or {}
    return self.externals[name]
  end

  -- f(world) runs after every write. A text that it returns, or an error, is a failure.
  function World:always(name, f)
    check.text("always", name)
    check.func("always: the rule", f)
    self.always_rules[#self.always_rules + 1] = { name = name, f = f }
    follow_stores(self)
    local message = broken_rule(self)
    return message and fail("%s", message) or self
  end
end

return M
