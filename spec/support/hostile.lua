-- Runs hostile scripts for spec/e2e/hostile_spec.lua and scripts/bench/hostile. Each is one file
-- with one controller; all run in one host, beside a controller that is not hostile.
local e2e = require("spec.support.e2e")
local process = e2e.process

local M = {}

local data = "spec/data/hostile/"
local RECONCILED = "controller_runtime_reconcile_total"

-- Seconds of computing without waiting. A single call of a library takes longer with sanitizers.
M.LIMIT = os.getenv("PL_SANITIZED") and 1 or 0.1
M.MEMORY = 64 -- MiB for each Lua state

-- Short names of expected messages; any other expectation is the text of the message itself.
local expected = {
  cpu = { ("script CPU limit exceeded (%g s without waiting)"):format(M.LIMIT) },
  memory = { "script memory limit exceeded (64 MiB)", "script CPU limit exceeded" }, -- or that first
  limit = { "script CPU limit exceeded", "script memory limit exceeded" },
  misused = { "was misused", "script CPU limit exceeded" },
}

-- With sanitizers one call, such as doubling a table of 64 MiB, may take longer than the host waits
-- for a lane. The script is ended then, too, together with its lane.
if os.getenv("PL_SANITIZED") then
  for _, name in ipairs({ "cpu", "memory", "limit", "misused" }) do
    table.insert(expected[name], "could not be interrupted")
  end
end

M.pattern_bomb = '(("a"):rep(60)):find(("a*"):rep(30) .. "b")'

-- The cases of the group: { title, code, expected end of the message, runs = number of the run whose
-- message is compared, timeout = timeout of a run }.
function M.cases(group)
  if group ~= "misuse" then
    return dofile(data .. group .. ".lua")
  end
  local out = {}
  for name in dofile(data .. "lib/hostile.lua").functions:gmatch("%S+") do
    out[#out + 1] = { name, ("error('was misused ' .. hostile.misuse(%q) .. ' times')"):format(name), "misused" }
  end
  return out
end

-- The code of a case is in the third line. It keeps the base functions that it uses, since the
-- group "vandals" shares one state.
local file_text = ([[
local name, perilune, hostile = %q, require("perilune"), require("lib.hostile") BASE
perilune.controller(name, { reconcile_timeout = %q, rate_limiter = { base = "1h", max = "2h" } }) SOURCES
%s
end)
]]):gsub("BASE", "local client, loop, with, doubled, nested, kept = "
  .. "perilune.client, hostile.loop, hostile.with, hostile.doubled, hostile.nested "
  .. ("local NAMES = NAMES"):gsub("NAMES", "error, pcall, xpcall, select, tostring, type, pairs, ipairs, next, "
  .. "unpack, setmetatable, getmetatable, rawset"))
  :gsub("SOURCES", ':For("v1/ConfigMap", { labels = "is=none" }):WatchesChannel(name)'
  .. ":Reconcile(function(request, context)")

local good_text = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("good"):For("v1/ConfigMap", { labels = "is=good" })
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if map and map.data.seen ~= map.data.want then
      client:patch("v1/ConfigMap", request, { data = { seen = map.data.want } })
    end
  end)
perilune.run("starter", { leader_election = false }, function()
  for i = 1, %d do
    perilune.channel("h-" .. i):send({ namespace = "x", name = "y" })
    perilune.sleep(%g)
  end
end)
]]
M.good = good_text:match("^(.-)perilune%.run")

local function copy_folder(to)
  assert(os.execute(("mkdir -p %s && cp -r %slib %s"):format(to, data, to)) == 0)
end

-- Writes the cases' scripts; pause: s between their beginnings.
local function write_scripts(cases, pause)
  local folder = e2e.folder() .. "/" .. e2e.unique("hostile")
  copy_folder(folder)
  e2e.write_file(folder .. "/good.lua", good_text:format(#cases, pause))
  for i, case in ipairs(cases) do
    e2e.write_file(("%s/h-%d.lua"):format(folder, i), file_text:format("h-" .. i, case.timeout or "1m", case[2]))
  end
  return folder
end

function M.flags(namespace, more)
  local flags = { "--namespace", namespace, "--reconcile-cpu-limit", M.LIMIT * 1000 .. "ms",
    "--lua-memory", M.MEMORY .. "MiB" }
  for _, flag in ipairs(more or {}) do
    flags[#flags + 1] = flag
  end
  return flags
end

-- The titles of the cases whose last run has not ended, and their number.
local function unfinished(host, cases)
  local page, titles = host:metrics(), {}
  for i, case in ipairs(cases) do
    if page:sum(RECONCILED, { controller = "h-" .. i }) < (case.runs or 1) then
      titles[#titles + 1] = case[1]
    end
  end
  return titles
end

-- The last failure of each controller, as its log line.
local function failures(host)
  local out = {}
  for _, line in ipairs(host:log()) do
    if line.controller and tostring(line.msg):find("^reconcile failed") then
      out[line.controller] = line
    end
  end
  return out
end

-- What is wrong with the end of the case; nil: nothing.
local function judge(case, name, line)
  local want = case[3]
  if want == "any" then
    return nil
  end
  local texts = expected[want] or { want }
  if not line then
    return ('did not fail, want "%s"'):format(texts[1])
  end
  for _, text in ipairs(texts) do
    if line.error:find(text, 1, true) then
      local is_limit = line.error:find("script %w+ limit exceeded")
      local place = line.error:match("([%w-]+)%.lua:%d+: ") or line.error:match("^%[string ")
      if is_limit and place ~= name and place ~= "hostile" and place ~= "[string " then
        return "a limit without its place: " .. line.error
      end
      return nil
    end
  end
  return ('failed with "%s", want "%s"'):format(line.error:sub(1, 300), texts[1])
end

-- Starts a host with the cases and waits until all have ended; calls `meanwhile` from time to time.
-- Returns the host, and a text of what went wrong. With one lane a case begins when the one before
-- has ended, because the lane runs one at a time.
function M.run(server, namespace, cases, meanwhile)
  local folder = write_scripts(cases, 0.01)
  local host = e2e.start_host(server, folder, M.flags(namespace, { "--lanes", "1", "--no-reload-guard" }))
  host.folder = folder
  local started, left = process.now(), {}
  e2e.eventually("the scripts are ended", function()
    host:must_run()
    left = unfinished(host, cases)
    if #left > 0 then
      meanwhile(host)
    end
    return #left == 0, table.concat(left, "; "):sub(1, 400)
  end, 4 * e2e.patience)
  meanwhile(host)
  local took, problems, last = process.now() - started, {}, failures(host)
  for i, case in ipairs(cases) do
    local problem = judge(case, "h-" .. i, last["h-" .. i])
    if problem then
      problems[#problems + 1] = ("%s (h-%d): %s"):format(case[1], i, problem)
    end
  end
  return host, table.concat(problems, "\n"), took
end

-- The same scripts without the hostile part.
function M.mend(host, cases)
  for i in ipairs(cases) do
    e2e.write_file(("%s/h-%d.lua"):format(host.folder, i), file_text:format("h-" .. i, "1m", "-- tamed"))
  end
end

return M
