-- A controller that writes to each ConfigMap with the label mirror=yes what it has seen, records
-- the events, and compares its cache with a live list on request; and the functions for specs.

local e2e = require("spec.support.e2e")
local proxies = require("spec.support.proxy")

local M = {}

-- A request named "compare" compares its namespace. A Secret in CONTROL causes that request.
local script = [[
local perilune = require("perilune")
local client = perilune.client
local seen, counts = {}, {}

local function counts_of(namespace)
  counts[namespace] = counts[namespace] or { twice = 0, stale = 0, events = 0, runs = 0, big = 0 }
  return counts[namespace]
end

local function live_list(namespace)
  local out, token = {}, nil
  repeat
    local page, meta = perilune.live:list("v1/ConfigMap",
      { namespace = namespace, labels = "mirror=yes", limit = PAGE, continue = token })
    for _, one in ipairs(page) do out[one.metadata.name] = one end
    token = meta.continue
  until not token
  return out
end

local function compare(namespace, context)
  local cached, different, waiting, count = {}, 0, 0, 0
  for one in client:each("v1/ConfigMap", { namespace = namespace, labels = "mirror=yes" }) do
    cached[one.metadata.name] = one
  end
  local live = live_list(namespace)
  for name, object in pairs(live) do
    count = count + 1
    if not perilune.equal(object, cached[name]) then different = different + 1 end
    if perilune.dig(object, "metadata", "annotations", "seen") ~= object.data.v then
      waiting = waiting + 1
    end
  end
  for name in pairs(cached) do
    if not live[name] then different = different + 1 end
  end
  local told = counts_of(namespace)
  context.log:info("compared", { namespace = namespace, different = different, waiting = waiting,
    count = count, twice = told.twice, stale = told.stale, events = told.events, runs = told.runs,
    big = told.big })
end

-- Counts events; `twice` counts ADDED events of a known uid, `stale` missed deletions.
local function note(event)
  local meta = event.object.metadata
  local told = counts_of(meta.namespace)
  told.events = told.events + 1
  if event.type == "ADDED" then
    if seen[meta.uid] then told.twice = told.twice + 1 end
    seen[meta.uid] = true
  elseif event.type == "DELETED" then
    seen[meta.uid] = nil
    if event.stale then told.stale = told.stale + 1 end
    if meta.labels.trace then
      print("deleted " .. meta.namespace .. "/" .. meta.name .. " " .. meta.uid
        .. (event.stale and " stale" or ""))
    end
  end
  told.big = math.max(told.big, #(event.object.data.big or ""))
  return true
end

perilune.controller("mirror", { max_concurrent_reconciles = 8,
    rate_limiter = { base = "50ms", max = "2s" } })
  :For("v1/ConfigMap", { labels = "mirror=yes", writes = { "patch" }, predicates = { note } })
  :Watches("v1/Secret", function(secret)
    return { namespace = secret.metadata.labels.target, name = "compare" }
  end, { labels = "mirror=yes", namespaces = { CONTROL } })
  :Reconcile(function(request, context)
    if request.name == "compare" then return compare(request.namespace, context) end
    local config = client:get("v1/ConfigMap", request)
    if not config then return end
    local told = counts_of(request.namespace)
    told.runs = told.runs + 1
    local _, e = perilune.try(client.patch, client, "v1/ConfigMap", request,
      { metadata = { annotations = { seen = config.data.v } } })
    if e and not perilune.errors.is_not_found(e) then return nil, e end
  end)
]]

function M.path(namespace, plural)
  return e2e.core_path(namespace, plural or "configmaps")
end

function M.config(name, value, labels)
  labels = labels or {}
  labels.mirror = "yes"
  return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name, labels = labels },
    data = { v = value } }
end

-- Requests for Server:bulk: create all, change every third, delete every fifth.
function M.writes(namespace, first, last, value)
  local out, path = {}, M.path(namespace)
  for i = first, last do
    out[#out + 1] = { "POST", path, M.config("object-" .. i, value) }
  end
  for i = first, last, 3 do
    out[#out + 1] = { "PATCH", path .. "/object-" .. i, { data = { v = value .. "+" } },
      "application/merge-patch+json" }
  end
  for i = first, last, 5 do
    out[#out + 1] = { "DELETE", path .. "/object-" .. i }
  end
  return out
end

local Mirror = {}
Mirror.__index = Mirror

-- Starts a host that reaches the server through `target` (a proxy, or the server itself); the spec
-- uses the server directly. Each namespace has a separate watch. options: those of e2e.start_host.
function M.start(server, target, namespaces, flags, options)
  local control = server:new_namespace()
  local text = script:gsub("CONTROL", '"' .. control .. '"'):gsub("PAGE", tostring(proxies.page))
  local all = { "--namespace", control }
  for _, namespace in ipairs(namespaces) do
    all[#all + 1] = "--namespace"
    all[#all + 1] = namespace
  end
  for _, flag in ipairs(flags or {}) do
    all[#all + 1] = flag
  end
  return setmetatable({ server = server, control = control, asked = 0,
    host = e2e.start_host(target, text, all, options) }, Mirror)
end

function Mirror:synced()
  return self.host:logged("controller started")
end

local function compared(host)
  local last = {}
  for _, line in ipairs(host:log()) do
    if line.msg == "compared" then
      last[line.namespace] = last[line.namespace] or { count = 0 }
      last[line.namespace] = { line = line, count = last[line.namespace].count + 1 }
    end
  end
  return last
end

-- Asks for comparisons of namespaces; each may take a while.
function Mirror:ask(namespaces)
  local requests = {}
  for _, namespace in ipairs(namespaces) do
    self.asked = self.asked + 1
    requests[#requests + 1] = { "POST", M.path(self.control, "secrets"), { apiVersion = "v1",
      kind = "Secret", metadata = { name = "ask-" .. self.asked,
        labels = { mirror = "yes", target = namespace } } } }
  end
  self.server:bulk(requests)
end

-- Repeats the comparisons until cache and server agree in every namespace and every object is
-- reconciled. Returns the last comparisons by namespace.
function Mirror:agree(namespaces, seconds)
  local open, out = namespaces, {}
  local detail
  e2e.eventually("caches equal the server's lists", function()
    self.host:must_run()
    local before = compared(self.host)
    self:ask(open)
    local after
    local all_answered = pcall(e2e.eventually, "comparisons", function()
      after = compared(self.host)
      for _, namespace in ipairs(open) do
        local count = before[namespace] and before[namespace].count or 0
        if not after[namespace] or after[namespace].count == count then
          return false
        end
      end
      return true
    end, 5)
    local left = {}
    for _, namespace in ipairs(open) do
      local now, count = after[namespace], before[namespace] and before[namespace].count or 0
      local line = now and now.count > count and now.line
      if line and line.different == 0 and line.waiting == 0 then
        out[namespace] = line
      else
        left[#left + 1] = namespace
        detail = namespace .. ": " .. (line and ("%d different, %d not reconciled"):format(
          line.different, line.waiting) or "no answer")
      end
    end
    open = left
    return #open == 0, tostring(detail) .. (all_answered and "" or ", not all answered")
  end, seconds or 3 * e2e.patience)
  return out
end

-- Warnings and errors about a namespace's source: {msg, error} lines.
function Mirror:troubles(namespace)
  local out = {}
  for _, line in ipairs(self.host:complaints()) do
    if tostring(line.source or ""):find(namespace, 1, true) then
      out[#out + 1] = line.msg .. ": " .. tostring(line.error or line.reason)
    end
  end
  return out
end

function Mirror:stop()
  self.host:stop()
end

return M
