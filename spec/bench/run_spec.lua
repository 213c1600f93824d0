-- The benchmark works: tiny numbers, Perilune and the floor alone, and every figure of each case is
-- there. What the figures are is not looked at; a test's machine is never quiet.

local json = require("cjson")

local build = os.getenv("PL_BUILD") or "build"

local wanted = {
  sync = { "synced_s", "all_reconciled_s", "cpu_s", "rss_bytes", "peak_bytes" },
  churn = { "events_a_second", "cpu_us_an_event", "reconciles_an_event" },
  latency = { "100_a_second_p50_us", "100_a_second_p99_us", "500_a_second_p50_us",
    "500_a_second_writes_an_event" },
  memory = { "resting_bytes", "synced_bytes_an_object", "updated_bytes_an_object",
    "churned_bytes_an_object", "deleted_bytes_a_live_object" },
  reconcile = { "reconciles_a_second" },
  idle = { "first_request_ms", "rss_bytes", "threads", "wake_ups_a_minute", "program_bytes" },
}

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

-- Runs it and gives bench.json back, decoded, and the folder of all results.
local function run(arguments)
  local folder = os.tmpname()
  os.remove(folder)
  local command = ("scripts/bench/run %s --quick --peers '' --build %s --out %s >%s.log 2>&1")
    :format(arguments, build, folder, folder)
  local ok = os.execute(command)
  local log = read(folder .. ".log")
  os.remove(folder .. ".log")
  assert.is_true(ok == true or ok == 0, log)
  finally(function()
    os.execute("rm -rf " .. folder)
  end)
  return json.decode(read(folder .. "/bench.json")), folder
end

local function check_cell(case, cell, subjects)
  local own = assert(subjects.perilune, case .. ", " .. cell .. ": nothing of Perilune")
  for _, metric in ipairs(wanted[case]) do
    local one = assert(own[metric], ("%s, %s: no %s"):format(case, cell, metric))
    assert.equal(1, one.n)
    assert.equal("number", type(one.median))
    assert.is_true(one.min <= one.median and one.median <= one.max)
  end
end

local function check_complete(result, case)
  local count = 0
  for cell, subjects in pairs(assert(result.cases[case], "no case " .. case)) do
    check_cell(case, cell, subjects)
    count = count + 1
  end
  assert.is_true(count > 0, case .. " has no cells")
end

describe("scripts/bench/run", function()
  it("writes every figure of the cases with websites", function()
    local result, folder = run("sync churn latency memory reconcile --cell websites")
    assert.same({}, result.failures)
    for _, case in ipairs({ "sync", "churn", "latency", "memory", "reconcile" }) do
      check_complete(result, case)
    end
    -- Every event that was sent alone is answered.
    local alone = result.cases.latency["200 websites, 1 worker"].perilune
    assert.is_true(alone["100_a_second_writes_an_event"].median > 0.5)
    assert.is_truthy(result.cases.sync["websites TLS LIST"]["floor:discard"].synced_s)
    local text = read(folder .. "/bench.md")
    assert.is_truthy(text:find("websites TLS WatchList", 1, true))
    assert.is_truthy(text:find("| watch events, one worker, /s | %d"))
    assert.is_truthy(read(folder .. "/charts/churn-websites-one-worker.svg"):find("</svg>", 1, true))
  end)


  it("measures idling, and names a case that is none", function()
    local result = run("idle")
    check_complete(result, "idle")
    local pipe = io.popen("scripts/bench/run nosuchcase 2>&1; echo status $?")
    local said = pipe:read("*a")
    pipe:close()
    assert.is_truthy(said:find("there is no case nosuchcase", 1, true), said)
    assert.is_truthy(said:find("status 2", 1, true), said)
  end)
end)
