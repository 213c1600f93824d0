-- An executor of the explorer's plans (lua/perilune/explore/README.md) on a real API server: the
-- scenario's steps are requests, the host is a process behind the fault proxy, a crash is SIGKILL.
-- The explorer's judge checks its results, so both must have the same end.
--
-- It supports crashes, refusals, lost answers, outages, restarts and stale caches. Scenarios use
-- the namespace "default"; each execution really has a separate namespace, which the states do not
-- show.

require("spec.support.host")
local cjson = require("cjson")
local e2e = require("spec.support.e2e")
local proxies = require("spec.support.proxy")
local flats = require("perilune.explore.flat")

local M = {}

-- The kinds that scenarios and their controllers write.
local paths = {
  ["example.com/v1/Cluster"] = { "example.com/v1", "clusters" },
  ["v1/ConfigMap"] = { "v1", "configmaps" },
  ["v1/Secret"] = { "v1", "secrets" },
  ["v1/Pod"] = { "v1", "pods" },
  ["v1/PersistentVolumeClaim"] = { "v1", "persistentvolumeclaims" },
}
local methods = { create = "POST", update = "PUT", patch = "PATCH", delete = "DELETE" }
local REPEATED = 3 -- a key that has failed so often in a settled world fails for ever

local World = {}
World.__index = World

function World:path(kind, name)
  local of = assert(paths[kind], kind)
  return e2e.path(of[1], self.namespace, of[2], name)
end

local function kind_of(name) -- "Cluster" as plans name it
  for kind in pairs(paths) do
    if kind:match("[^/]+$") == name then
      return kind
    end
  end
  error("no such kind: " .. name)
end

-- ---- disturbances ----

local function answer(code, reason)
  return proxies.status(code, reason, "as the plan says")
end

local refusals = {
  ["500"] = { status = 500, body = answer(500, "InternalError") },
  ["403"] = { status = 403, body = answer(403, "Forbidden") },
  conflict = { status = 409, body = answer(409, "Conflict") },
  exists = { status = 409, body = answer(409, "AlreadyExists") },
}

-- The part of a proxy rule that selects the requests of a place ("create Secret default/a-ssl").
function World:requests_of(verb, kind, key)
  local plain, subresource = kind:match("^([^/]+)/?(.*)$")
  local name = key and key:match("[^/]+$")
  local path = self:path(kind_of(plain)) .. (verb == "create" and "" or "/" .. (name or "[^/]+"))
    .. (subresource ~= "" and "/" .. subresource or "")
  return { method = methods[verb], path = "^" .. path .. "$",
    content = verb == "create" and name and '"name":"' .. name .. '"' or nil }
end

local effects = {
  crash = function(rule, d)
    rule.hold = true
    rule.silent = d.how == "before" or nil
    assert(d.how ~= "unanswered", "not told apart from after")
  end,
  refuse = function(rule, d)
    local refusal = assert(refusals[d.how], d.how)
    rule.status, rule.body = refusal.status, refusal.body
  end,
  lose = function(rule)
    rule.cut_wire = 0
  end,
}

-- The rules of the step that begins.
function World:arm()
  for i, d in ipairs(self.plan) do
    if d.step == self.step then
      local rule
      if d.place then
        rule = self:requests_of(d.place.verb, d.place.kind, d.place.object or d.place.key)
        rule.skip = (d.n or 1) - 1
        assert(effects[d.what], d.what)(rule, d)
      elseif d.what == "outage" then
        rule = self:requests_of(d.verb, d.kind)
        rule.times, rule.close = 0, true
      end
      if rule then
        rule.name = tostring(i)
        self.proxy:add({ rule })
        self.armed[i] = d
      end
    end
  end
end

-- Whether the fault of disturbance i has happened.
function World:has_met(i)
  for _, entry in ipairs(self.proxy:requests(nil, self.mark)) do
    if entry.rule == tostring(i) and entry.done ~= "" then
      return true
    end
  end
  return self.armed[i].how == "before" and (self.proxy:hits()[tostring(i)] or 0) > 0
end

function World:kill()
  self.host.child:signal("KILL")
  self.host.child:wait()
end

function World:start()
  self.socket = e2e.folder() .. "/" .. e2e.unique("s")
  self.host = e2e.start_host(self.proxy, self.script,
    { "--namespace", self.namespace, "--admin-socket", self.socket, "--leader-elect=false",
      "--log-level", "warn" })
end

function World:start_again()
  self:kill()
  self.proxy:release()
  self:start()
end

-- ---- settling ----

function World:status()
  local code, out = e2e.ask(self.socket, "status", "-o", "json")
  return code == 0 and cjson.decode(out) or nil
end

-- Returns the number of runs when nothing is queued or running, or all remaining keys fail again
-- and again; else nil.
function World:idle()
  local status = self:status()
  local runs = 0
  for _, c in ipairs(status and status.controllers or {}) do
    if c.state ~= "running" or c.in_flight > 0 or c.ready > 0 or c.delayed > c.failing then
      return nil
    end
    self.errors = self.errors or c.errors
    if c.failing > 0 and c.errors - self.errors < REPEATED then
      return nil
    end
    runs = runs + (c.failing > 0 and 0 or c.runs)
  end
  return status and runs, status
end

-- "KIND NAME VERSION" of each object of these kinds, sorted.
function World:versions(kinds)
  local lines = {}
  for _, kind in ipairs(kinds) do
    for _, object in ipairs(assert(self.server:get(self:path(kind))).items) do
      lines[#lines + 1] = kind .. " " .. object.metadata.name .. " " .. object.metadata.resourceVersion
    end
  end
  table.sort(lines)
  return table.concat(lines, ";")
end

local seen = [[
local lines = {}
for kind in ("%s"):gmatch("%%S+") do
  for _, object in ipairs(perilune.client:list(kind)) do
    lines[#lines + 1] = kind .. " " .. object.metadata.name .. " " .. object.metadata.resourceVersion
  end
end
table.sort(lines)
return table.concat(lines, ";")]]

-- Whether the caches are equal to the server, except those that are held back.
function World:current(status)
  local kinds = {}
  for _, source in ipairs(status.sources) do
    if not source.synced then
      return false
    elseif source.source ~= self.held then
      kinds[#kinds + 1] = source.source
    end
  end
  local code, out = e2e.ask(self.socket, "repl", "-e", seen:format(table.concat(kinds, " ")))
  return code == 0 and out:match('^"(.*)"') == self:versions(kinds)
end

function World:wait()
  self.errors = nil
  e2e.eventually("it has settled", function()
    local runs, status = self:idle()
    local settled = runs and self:current(status) and self:idle() == runs
    -- Checked last, so that a fault that happened before the world was idle is not missed.
    for i, d in pairs(self.armed) do
      if d.what ~= "outage" and self:has_met(i) then
        self.armed[i] = nil
        if d.what == "crash" then
          self:start_again()
          self.errors, settled = nil, false
        end
      end
    end
    return settled, self.host:text()
  end)
end

-- An outage ends once the world has settled in it.
function World:end_outages()
  for i, d in pairs(self.armed) do
    assert(d.what == "outage", "a part of the plan did not come to pass")
    self.armed[i] = nil
    self.proxy:clear(tostring(i))
    self:wait()
  end
end

-- ---- restarts ----

function World:restart()
  self:start_again()
  self:wait()
end

-- The version of the n-th event of a kind since a step began; 0: before the first step.
function World:version_at(kind, step, n)
  local path = self:path(kind) .. "?watch=true&timeoutSeconds=1&resourceVersion=" .. self.began[1]
  local _, _, text = self.server:request("GET", path)
  for line in text:gmatch("[^\n]+") do
    local version = cjson.decode(line).object.metadata.resourceVersion
    if tonumber(version) > tonumber(self.began[step]) then
      n = n - 1
      if n == 0 then
        return version
      end
    end
  end
  error("there was no such event of " .. kind)
end

-- Stops the host and starts it on a server whose cache of that kind lags until the world has
-- settled.
function World:stale(d)
  local kind = kind_of(d.kind)
  local version = d.from_n == 0 and self.began[1] or self:version_at(kind, d.from_step, d.from_n)
  local path = "^" .. self:path(kind) .. "$"
  self.proxy:add({
    { name = "stale", times = 0, path = path, query = "sendInitialEvents=true", status = 422,
      body = proxies.status(422, "Invalid", "sendInitialEvents: Forbidden") },
    { name = "stale", times = 0, path = path, query = "watch=true", silent = true },
    { name = "stale", times = 0, method = "GET", path = path,
      ask = { { "resourceVersion=0", "resourceVersion=" .. version .. "&resourceVersionMatch=Exact" } } },
  })
  self.held = kind
  self:start_again()
  self:wait()
  self.proxy:clear("stale")
  self.held = nil
  self.proxy:cut()
  self:wait()
end

-- ---- what scenarios call ----

-- JSON, which is also YAML; an empty list of finalizers stays a list.
local function body_of(object)
  return (cjson.encode(object):gsub("\\/", "/"):gsub('"finalizers":{}', '"finalizers":[]'))
end

function World:begin_step()
  self.step = self.step + 1
  self.began[self.step] = assert(self.server:get(self:path("v1/ConfigMap"))).metadata.resourceVersion
  self:arm()
end

function World:apply(object)
  self:begin_step()
  object.metadata.namespace = self.namespace
  self.server:patch(self:path(object.apiVersion .. "/" .. object.kind, object.metadata.name)
    .. "?fieldManager=user&force=true", body_of(object), "application/apply-patch+yaml")
end

function World:patch(kind, key, patch)
  self:begin_step()
  self.server:patch(self:path(kind, key:match("[^/]+$")), body_of(patch))
end

function World:delete(kind, key)
  self:begin_step()
  self.server:delete(self:path(kind, key:match("[^/]+$")))
end

function World:objects()
  local out = {}
  for kind in pairs(paths) do
    for _, object in ipairs(assert(self.server:get(self:path(kind))).items) do
      object.apiVersion, object.kind = kind:match("^(.*)/([^/]+)$")
      object.metadata.namespace = "default"
      if object.metadata.name ~= "kube-root-ca.crt" then
        out[#out + 1] = object
      end
    end
  end
  return out
end

function World:settle()
  local before
  self:wait()
  self:end_outages()
  for _, d in ipairs(self.plan) do
    if d.step == self.step and (d.what == "restart" or d.what == "stale") then
      before = flats.of(self:objects())
      self[d.what](self, d)
    end
  end
  self.settles[#self.settles + 1] = { step = self.step, over = true, before = before,
    state = flats.of(self:objects()) }
end

-- Executes a plan; returns what the judge needs of an execution.
function M.execute(server, proxy, script, scenario, plan)
  local self = setmetatable({ server = server, proxy = proxy, script = script, plan = plan, step = 0,
    settles = {}, armed = {}, began = {}, mark = proxy:mark(), namespace = server:new_namespace() }, World)
  self:start()
  self:wait()
  scenario(self)
  self:kill()
  proxy:clear()
  return { plan = plan, settles = self.settles, errors = {}, invariants = {}, versions = {}, restarts = {} }
end

return M
