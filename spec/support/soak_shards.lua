-- A long random run of replicas that share shards (scripts/soak --shards): they join, stop, are
-- killed and frozen past their deadlines while objects change all the time. Each run writes when it
-- begins and when it ends, and a watch records this. No two replicas may run a key at the same
-- time, nobody may write late, and in the end every object must have been reconciled in its final
-- state. Ends with figures, and with exit status 1 if anything differed.

local e2e = require("spec.support.e2e")

local options = { minutes = 10, seed = os.time() % 1000000, objects = 2000, namespaces = 200,
  shards = 12, by = "namespace", lease = 6 }
do
  local i = 1
  while arg[i] do
    local name = arg[i]:match("^%-%-(%w+)$")
    if name == "kube" or name == "gate" then
      options[name] = true
    elseif name == "by" and (arg[i + 1] == "uid" or arg[i + 1] == "namespace") then
      options.by = arg[i + 1]
      i = i + 1
    elseif options[name] and tonumber(arg[i + 1]) then
      options[name] = tonumber(arg[i + 1])
      i = i + 1
    elseif name ~= "shards" then
      io.stderr:write("usage: scripts/soak --shards [--minutes N] [--seed S] [--objects N] ",
        "[--by namespace|uid] [--lease SECONDS] [--kube [--gate]]\n")
      os.exit(2)
    end
    i = i + 1
  end
end

math.randomseed(options.seed)

-- Seconds. Longer on a busy machine: a replica that cannot renew in time ends with 3.
local LEASE = options.lease
local DEADLINE, RETRY = math.floor(LEASE * 2 / 3), LEASE / 12
local MOST, FEWEST = 5, 2 -- replicas

local script = [[
local perilune = require("perilune")
local client = perilune.client
local n = 0
local function note(request, at, done)
  n = n + 1
  client:patch("v1/ConfigMap", request, { metadata = { annotations =
    { at = at, who = "WHO", seq = "WHO-" .. n, done = done } } }, { force_write = true })
end
perilune.controller("soak", { max_concurrent_reconciles = 8,
    rate_limiter = { base = "20ms", max = "2s" } })
  :For("v1/ConfigMap", { labels = "soak=yes", writes = { "patch" } })
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if not map or perilune.dig(map, "metadata", "annotations", "done") == map.data.n then return end
    note(request, "begin")
    perilune.sleep("5ms")
    note(request, "end", map.data.n)
  end)
]]

local figures = { joins = 0, stops = 0, kills = 0, freezes = 0, patches = 0, runs = 0, overlaps = 0,
  late = 0, unseen = 0, unexpected = 0 }
local server, recording
local replicas, disturbed, born = {}, {}, 0

local function say(format, ...)
  io.write("soak: ", format:format(...), "\n")
  io.flush()
end

local function path_of(i)
  return ("/api/v1/namespaces/soak-%03d/configmaps"):format((i - 1) % options.namespaces)
end

local function make_objects()
  local requests = {}
  for i = 0, options.namespaces - 1 do
    requests[#requests + 1] = { "POST", "/api/v1/namespaces",
      { metadata = { name = ("soak-%03d"):format(i) } } }
  end
  server:bulk(requests)
  requests = {}
  for i = 1, options.objects do
    requests[i] = { "POST", path_of(i), { metadata = { name = "map-" .. i, labels = { soak = "yes" } },
      data = { n = "0" } } }
  end
  assert(server:bulk(requests)[201] == options.objects, "the objects could not be made")
end

local function record()
  local file = e2e.folder() .. "/record"
  local url = server.url .. "/api/v1/configmaps?watch=true&labelSelector=soak%3Dyes&timeoutSeconds=36000"
  recording = e2e.process.start({ "sh", "-c", "exec " .. server.curl:gsub("%-%-max%-time %d+", "")
    .. " -N -H 'Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' '" .. url .. "'" },
    { stdout = file })
  e2e.eventually("the recording runs", function()
    return e2e.read_file(file):find('"ADDED"', 1, true)
  end)
  return file
end

-- ---- replicas ----

local function join()
  born = born + 1
  local who = "r" .. born
  replicas[#replicas + 1] = { who = who, host = e2e.start_host(server, (script:gsub("WHO", who)), {
    "--shards", tostring(options.shards), "--shard-by", options.by,
    "--leader-elect-resource-namespace", "default", "--leader-elect-resource-name", "soak",
    "--leader-elect-lease-duration", LEASE .. "s", "--leader-elect-renew-deadline", DEADLINE .. "s",
    "--leader-elect-retry-period", ("%dms"):format(RETRY * 1000), "--admin-socket", "0" }) }
  figures.joins = figures.joins + 1
end

local function leave(i)
  return table.remove(replicas, i or math.random(#replicas))
end

local function ended(one, code)
  local got = one.host.child:wait(60)
  if got ~= code then
    figures.unexpected = figures.unexpected + 1
    say("%s ended with %s, not with %s", one.who, tostring(got), tostring(code))
  end
end

local actions = {
  join = join,
  stop = function()
    local one = leave()
    one.host.child:signal("TERM")
    ended(one, 0)
    figures.stops = figures.stops + 1
  end,
  kill = function()
    local one = leave()
    disturbed[one.who] = true
    one.host.child:signal("KILL")
    one.host.child:wait(10)
    figures.kills = figures.kills + 1
  end,
  freeze = function() -- until others have what it had; then it wakes up and must not write
    local one = leave()
    disturbed[one.who] = true
    one.host:logged("^shards arrive") -- who is no member yet has nothing to lose
    one.host.child:signal("STOP")
    e2e.process.pause(LEASE + 4 * RETRY + 2)
    one.host.child:signal("CONT")
    ended(one, 3)
    figures.freezes = figures.freezes + 1
  end,
}

local function disturb()
  local names = {}
  if #replicas < MOST then
    names[#names + 1] = "join"
  end
  if #replicas > FEWEST then
    names[#names + 1], names[#names + 2], names[#names + 3] = "stop", "kill", "freeze"
  end
  actions[names[math.random(#names)]]()
end

-- ---- load ----

local wanted = {}

local function load()
  local requests = {}
  for _ = 1, 400 do
    local i = math.random(options.objects)
    wanted[i] = (wanted[i] or 0) + 1
    requests[#requests + 1] = { "PATCH", path_of(i) .. "/map-" .. i,
      { data = { n = tostring(wanted[i]) } }, "application/merge-patch+json" }
  end
  figures.patches = figures.patches + #requests
  return server:bulk_start(requests, 100)
end

-- ---- judging ----

-- Checks what the watch has recorded: for each key, in the server's order.
local function judge(file)
  local last = {}
  for line in io.lines(file) do
    local name, ns = line:match('"name":"(map%-%d+)"'), line:match('"namespace":"(soak%-%d+)"')
    local at, who, seq = line:match('"at":"(%l+)"'), line:match('"who":"(%w+)"'), line:match('"seq":"([%w-]+)"')
    local key = name and ns and ns .. "/" .. name
    local before = key and last[key]
    if seq and (not before or before.seq ~= seq) then
      if at == "begin" then
        figures.runs = figures.runs + 1
        if before and before.at == "begin" and before.who ~= who and not disturbed[before.who] then
          figures.overlaps = figures.overlaps + 1
          say("%s: %s begins while %s is at it", key, who, before.who)
        end
      elseif not before or before.at ~= "begin" or before.who ~= who then
        figures.late = figures.late + 1
        say("%s: %s ends what %s has begun", key, who, before and before.who or "nobody")
      end
      last[key] = { at = at, who = who, seq = seq }
    end
  end
end

local function count_unseen()
  local count, token = 0, nil
  repeat
    local list = server:get("/api/v1/configmaps?labelSelector=soak%3Dyes&limit=500"
      .. (token and "&continue=" .. token or ""))
    for _, map in ipairs(list.items) do
      if (map.metadata.annotations or {}).done ~= map.data.n then
        count = count + 1
      end
    end
    token = list.metadata.continue
  until not token or token == ""
  return count
end

-- ---- the run ----

say("%g minutes, seed %d, %d shards by %s, %d objects in %d namespaces, on %s", options.minutes,
  options.seed, options.shards, options.by, options.objects, options.namespaces,
  options.kube and "kube-apiserver" or "the embedded server")
server = options.kube and e2e.start_kube(options.gate and "--feature-gates=ShardedListAndWatch=true")
  or e2e.start_embedded({ "--insecure" })
make_objects()
local file = record()

local function body()
  for _ = 1, 3 do
    join()
  end
  local ends = e2e.now() + options.minutes * 60
  while e2e.now() < ends do
    local wait, is_at_it = load()
    while is_at_it() and e2e.now() < ends do
      e2e.process.pause(1 + math.random() * 4)
      disturb()
      for _, one in ipairs(replicas) do
        one.host:must_run()
      end
    end
    wait()
  end
  e2e.eventually("every object is seen as it is", function()
    figures.unseen = count_unseen()
    return figures.unseen == 0, figures.unseen
  end, 120)
  while #replicas > 0 do
    local one = leave()
    one.host.child:signal("TERM")
    ended(one, 0)
  end
end

local ok, why = pcall(body)
recording:signal("TERM")
recording:wait(10)
judge(file)
say("%d joins, %d stops, %d kills, %d freezes; %d patches, %d runs", figures.joins, figures.stops,
  figures.kills, figures.freezes, figures.patches, figures.runs)
local differences = figures.overlaps + figures.late + figures.unseen + figures.unexpected
say("differences: %d (overlaps %d, late writes %d, not seen %d, unexpected ends %d)", differences,
  figures.overlaps, figures.late, figures.unseen, figures.unexpected)
local failed = not ok or differences > 0 or figures.runs == 0
if failed then
  say("FAILED%s", ok and "" or ": " .. tostring(why))
  os.execute("cp -r " .. e2e.folder() .. " /tmp/soak-shards-failed-" .. options.seed)
end
pcall(server.stop, server)
if not failed then
  e2e.finish()
end
os.exit(failed and 1 or 0)
