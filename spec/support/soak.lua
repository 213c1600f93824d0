-- A long random run (scripts/soak): random writes and faults, a host that mirrors what it sees, and
-- comparisons of its cache with the server from time to time. Ends with figures, and with exit
-- status 1 if anything differed.

local e2e = require("spec.support.e2e")
local held_ports = require("spec.support.held_ports")
local mirror = require("spec.support.mirror")
local proxies = require("spec.support.proxy")

local options = { minutes = 10, seed = os.time() % 1000000, kube = false }
do
  local i = 1
  while arg[i] do
    local name = arg[i]:match("^%-%-(%w+)$")
    if name == "kube" then
      options.kube = true
    elseif (name == "minutes" or name == "seed") and tonumber(arg[i + 1]) then
      options[name] = tonumber(arg[i + 1])
      i = i + 1
    else
      io.stderr:write("usage: scripts/soak [--minutes N] [--seed S] [--kube]\n")
      os.exit(2)
    end
    i = i + 1
  end
end

local NAMESPACES, OBJECTS = 6, 200 -- names that objects may have, in each
local ROUND = 20 -- seconds of trouble between two comparisons

-- The seed determines the faults and writes and their order; their times depend on the machine.
math.randomseed(options.seed)
local function pick(from)
  return from[math.random(#from)]
end

local function say(format, ...)
  io.write("soak: ", format:format(...), "\n")
  io.flush()
end

local figures = { writes = 0, faults = 0, by_fault = {}, relists = 0, watches = 0, events = 0,
  reconciles = 0, comparisons = 0, differences = 0, twice = 0, restarts = 0, rss = 0 }

local server, proxy, host
local namespaces = {}

local function make_namespaces()
  local requests = {}
  for i = 1, NAMESPACES do
    namespaces[i] = "soak-" .. i
    requests[i] = { "POST", "/api/v1/namespaces", { apiVersion = "v1", kind = "Namespace",
      metadata = { name = namespaces[i] } } }
  end
  server:bulk(requests)
end

-- ---- writes ----

local function random_write(namespace)
  local name = "object-" .. math.random(OBJECTS)
  local path, dice = mirror.path(namespace), math.random()
  local value = ("x"):rep(math.random(0, 300)) .. math.random(1e9)
  if dice < 0.4 then
    return { "POST", path, mirror.config(name, value) }
  elseif dice < 0.8 then
    return { "PATCH", path .. "/" .. name, { data = { v = value } }, "application/merge-patch+json" }
  end
  return { "DELETE", path .. "/" .. name }
end

local function write_some()
  local requests = {}
  for i = 1, math.random(5, 40) do
    requests[i] = random_write(pick(namespaces))
  end
  for status, count in pairs(server:bulk(requests)) do
    if status < 300 then
      figures.writes = figures.writes + count
    end
  end
end

-- ---- faults ----

local status = proxies.status
local answers = {
  { 410, status(410, "Expired", "too old resource version: 1 (2)") },
  { 429, status(429, "TooManyRequests", "slow down"), { ["Retry-After"] = "1" } },
  { 429, status(429, "TooManyRequests", "slow down") },
  { 500, status(500, "InternalError", "etcdserver: leader changed") },
  { 503, "upstream connect error" },
  { 403, status(403, "Forbidden", "no right") },
  { 200, "<html>Sign in</html>", { ["Content-Type"] = "text/html" } },
  { 504, status(504, "Timeout", "Too large resource version: 9, current: 8") },
}

local edits = {
  { inject = { proxies.error_event(status(410, "Expired", "too old resource version")) } },
  { inject = { proxies.error_event(status(500, "InternalError", "lost")) } },
  { inject = { '{"type":"BOOKMARK"}' } },
  { inject = { '{"type":"ADDED","object":{"kind' }, inject_at = 3 },
  { inject_big = 17 * 1048576 },
  { twice = true },
  { pieces = { 1, 50 } },
  { cut = { 0, 5000 } }, { cut = { 0, 5000 }, how = "close", short_chunk = true },
  { cut = { 0, 500 }, how = "end" }, { cut_wire = { 1, 400 } },
  { close = true }, { silent = true },
  { end_after = 1 }, { delay = 1 },
}

local function copy(from)
  local out = {}
  for key, value in pairs(from) do
    out[key] = value
  end
  return out
end

-- Adds a fault to some requests of one namespace, or of all.
local function rule_fault()
  local rule
  if math.random() < 0.4 then
    local answer = pick(answers)
    rule = { status = answer[1], body = answer[2], headers = answer[3] }
  else
    rule = copy(pick(edits))
  end
  rule.name = "soak"
  rule.path = math.random() < 0.7 and mirror.path(pick(namespaces)) or "^/api/v1/namespaces/soak-"
  rule.query = pick({ "watch=true", "watch=true", "^", "^" })
  rule.times = math.random(1, 6)
  rule.chance = pick({ 1, 0.5 })
  if rule.query == "^" and (rule.inject or rule.inject_big or rule.twice) then
    rule.query = "watch=true" -- lists and answers to writes are no lines
  end
  proxy:add({ rule })
end

local function pause(seconds)
  e2e.process.pause(seconds)
end

local function restart_embedded()
  local address = server.url:match("//(.*)")
  server.child:signal("KILL")
  server.child:wait()
  local old = server
  server = e2e.start_embedded({ "--listen", address, "--insecure" })
  host.server = server
  old.child = nil
  make_namespaces()
  server:create("/api/v1/namespaces", { apiVersion = "v1", kind = "Namespace",
    metadata = { name = host.control } })
end

local faults = {
  { "rule", 12, rule_fault },
  { "cut", 3, function() proxy:cut() end },
  { "end", 3, function() proxy:finish("soak-") end },
  { "refuse", 2, function()
    proxy:down()
    pause(math.random() * 4)
    write_some()
    proxy:up()
  end },
  { "restart", 1, function()
    figures.restarts = figures.restarts + 1
    if options.kube then
      server:kill()
      server:again()
    else
      restart_embedded()
    end
  end },
}
if not options.kube then
  faults[#faults + 1] = { "compact", 2, function() server:request("POST", "/debug/compact") end }
  faults[#faults + 1] = { "freeze", 1, function()
    server.child:signal("STOP")
    pause(math.random() * 5)
    server.child:signal("CONT")
  end }
end

local weights = 0
for _, fault in ipairs(faults) do
  weights = weights + fault[2]
end

local function one_fault()
  local dice = math.random() * weights
  for _, fault in ipairs(faults) do
    dice = dice - fault[2]
    if dice < 0 then
      figures.faults = figures.faults + 1
      figures.by_fault[fault[1]] = (figures.by_fault[fault[1]] or 0) + 1
      return fault[3]()
    end
  end
end

-- ---- comparisons ----

local log_mark = 0

local function count_requests()
  local asked = proxy:requests(nil, log_mark)
  for _, one in ipairs(asked) do
    if one.path:find("soak-", 1, true) and one.path:find("/configmaps$") then
      if one.verb == "list" or one.verb == "stream" then
        figures.relists = figures.relists + (one.token and 0 or 1)
      elseif one.verb == "watch" then
        figures.watches = figures.watches + 1
      end
    end
  end
  log_mark = proxy:mark()
end

local function note_memory()
  figures.rss = math.max(figures.rss, host.host.child:rss())
end

local function compare()
  proxy:clear()
  local ok, told = pcall(host.agree, host, namespaces, 150)
  figures.comparisons = figures.comparisons + 1
  if not ok then
    figures.differences = figures.differences + 1
    say("DIFFERENT: %s", tostring(told))
    return
  end
  figures.events, figures.reconciles, figures.twice = 0, 0, 0
  for _, one in pairs(told) do
    figures.events = figures.events + one.events
    figures.reconciles = figures.reconciles + one.runs
    figures.twice = figures.twice + one.twice
  end
  count_requests()
end

-- ---- the run ----

say("%g minutes, seed %d, on %s", options.minutes, options.seed,
  options.kube and "kube-apiserver" or "the embedded server")
server = options.kube and e2e.start_kube()
  or e2e.start_embedded({ "--listen", held_ports.address(), "--insecure" })
proxy = proxies.start(server, options.seed)
make_namespaces()
host = mirror.start(server, proxy, namespaces, { "--request-timeout", "5s" })
host:synced()

local function body()
  local started = e2e.now()
  local ends = started + options.minutes * 60
  while e2e.now() < ends and figures.differences == 0 do
    local round_ends = math.min(e2e.now() + ROUND, ends)
    while e2e.now() < round_ends do
      host.host:must_run()
      write_some()
      if math.random() < 0.25 then
        one_fault()
      end
      note_memory()
      pause(math.random() * 0.3)
    end
    compare()
    note_memory()
    if figures.comparisons % 6 == 0 then
      say("%d s: %d events, %d faults, %d relists", e2e.now() - started, figures.events,
        figures.faults, figures.relists)
    end
  end
  host:stop()
end

local ok, why = pcall(body)
local by_fault = {}
for name, count in pairs(figures.by_fault) do
  by_fault[#by_fault + 1] = count .. " " .. name
end
table.sort(by_fault)
say("seed %d: %d writes, %d events, %d reconciles", options.seed, figures.writes, figures.events,
  figures.reconciles)
say("%d faults (%s), %d restarts", figures.faults, table.concat(by_fault, ", "), figures.restarts)
say("%d lists, %d watches, %d comparisons", figures.relists, figures.watches, figures.comparisons)
say("differences: %d, told twice: %d, largest resident size: %.1f MiB", figures.differences,
  figures.twice, figures.rss / 1048576)
local failed = not ok or figures.differences > 0 or figures.twice > 0
if failed then
  say("FAILED%s; logs are in %s", ok and "" or ": " .. tostring(why), e2e.folder())
  os.execute("cp -r " .. e2e.folder() .. " /tmp/soak-failed-" .. options.seed)
end
proxy:stop()
pcall(server.stop, server)
if not failed then
  e2e.finish()
end
os.exit(failed and 1 or 0)
