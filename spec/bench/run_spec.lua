-- Runs the benchmark with tiny numbers, for Perilune and the floor only: each case must give every
-- figure. The figures themselves are not checked, because a machine that runs tests is never idle.

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
  scale = { "synced_s", "rss_bytes_an_object", "turns_over_20_ms", "turns_over_50_ms" },
  idle = { "first_request_ms", "rss_bytes", "threads", "wake_ups_a_minute", "program_bytes" },
}

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

-- Runs the benchmark. Returns the decoded bench.json and the folder of all results.
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

-- The fields of a protobuf message: for each number its values, in order.
local function fields(message)
  local found, at = {}, 1
  local function varint()
    local value, scale = 0, 1
    repeat
      local byte = assert(message:byte(at))
      value, scale, at = value + byte % 128 * scale, scale * 128, at + 1
    until byte < 128
    return value
  end
  while at <= #message do
    local tag = varint()
    local number, value = math.floor(tag / 8), varint()
    if tag % 8 == 2 then
      at, value = at + value, message:sub(at, at + value - 1)
    else
      assert.equal(0, tag % 8)
    end
    found[number] = found[number] or {}
    table.insert(found[number], value)
  end
  assert.equal(#message + 1, at)
  return found
end

-- The type in the envelope of an object, and its message.
local function unwrapped(bytes)
  assert.equal("k8s\0", bytes:sub(1, 4))
  local envelope = fields(bytes:sub(5))
  local type_meta = fields(envelope[1][1])
  return type_meta[1][1] .. " " .. type_meta[2][1], fields(envelope[2][1])
end

local function output_of(command)
  local pipe = io.popen(command)
  local text = pipe:read("*a")
  pipe:close()
  return text
end

-- Starts a load server and returns its ports.
local function load_server(options)
  local pipe = io.popen(("%s/scripts/bench/bench-load-server %s & echo $!"):format(build, options))
  local pid, ports = pipe:read("*l"), pipe:read("*l")
  if pid:find("{", 1, true) then
    pid, ports = ports, pid
  end
  finally(function()
    os.execute("kill " .. pid)
    pipe:close()
  end)
  return json.decode(ports)
end

describe("bench-load-server", function()
  it("has the same pods as protobuf", function()
    assert(os.execute(("cmake --build %s --target bench-load-server >/dev/null"):format(build)))
    local ports = load_server("--pods 300")
    local url = ("http://127.0.0.1:%d/api/v1/pods?limit=200"):format(ports.plain)
    local ask = "curl -s -H 'Accept: application/vnd.kubernetes.protobuf,application/json' '%s'"
    local listed = json.decode(output_of(ask:format(url))) -- nobody has had it made
    output_of(("curl -s 'http://127.0.0.1:%d/settings?protobuf=1'"):format(ports.control))
    local type_name, list = unwrapped(output_of(ask:format(url)))
    assert.equal("v1 PodList", type_name)
    local head = fields(list[1][1])
    assert.equal(listed.metadata.resourceVersion, head[2][1])
    assert.equal(listed.metadata.continue, head[3][1])
    assert.equal(200, #list[2])
    for i, item in ipairs(listed.items) do
      local pod = fields(list[2][i])
      local metadata, spec, status = fields(pod[1][1]), fields(pod[2][1]), fields(pod[3][1])
      assert.equal(item.metadata.name, metadata[1][1])
      assert.equal(item.metadata.uid, metadata[5][1])
      assert.equal(item.metadata.resourceVersion, metadata[6][1])
      assert.equal(#item.metadata.managedFields, #metadata[17])
      assert.equal(#item.spec.containers, #spec[2])
      assert.equal(item.spec.containers[1].livenessProbe.httpGet.path,
        fields(fields(fields(fields(spec[2][1])[10][1])[1][1])[2][1])[1][1])
      assert.equal(item.status.podIP, status[6][1])
    end
  end)

  it("watches them as protobuf", function()
    local ports = load_server("--pods 20")
    output_of(("curl -s 'http://127.0.0.1:%d/settings?protobuf=1'"):format(ports.control))
    local stream = output_of(("curl -s -m 1 -H 'Accept: application/vnd.kubernetes.protobuf;stream=watch' "
      .. "'http://127.0.0.1:%d/api/v1/pods?watch=1&sendInitialEvents=true'"):format(ports.plain))
    local events = {}
    while stream ~= "" do
      local a, b, c, d = stream:byte(1, 4)
      local len = ((a * 256 + b) * 256 + c) * 256 + d
      local event = fields(stream:sub(5, 4 + len))
      local type_name, pod = unwrapped(fields(event[2][1])[1][1])
      assert.equal("v1 Pod", type_name)
      table.insert(events, { event[1][1], fields(pod[1][1]) })
      stream = stream:sub(5 + len)
    end
    assert.equal(21, #events)
    assert.equal("ADDED", events[1][1])
    assert.equal("BOOKMARK", events[21][1])
    local ends = fields(events[21][2][12][1])
    assert.equal("k8s.io/initial-events-end", ends[1][1])
    assert.equal("true", ends[2][1])
  end)
end)

describe("scripts/bench/run", function()
  it("writes every figure of the cases with websites", function()
    local result, folder = run("sync churn latency memory reconcile --cell websites")
    assert.same({}, result.failures)
    for _, case in ipairs({ "sync", "churn", "latency", "memory", "reconcile" }) do
      check_complete(result, case)
    end
    -- Each event that was sent alone must be answered.
    local alone = result.cases.latency["200 websites, 1 worker"].perilune
    assert.is_true(alone["100_a_second_writes_an_event"].median > 0.5)
    assert.is_truthy(result.cases.sync["websites TLS LIST"]["floor:discard"].synced_s)
    local text = read(folder .. "/bench.md")
    assert.is_truthy(text:find("websites TLS WatchList", 1, true))
    assert.is_truthy(text:find("| watch events, one worker, /s | %d"))
    assert.is_truthy(read(folder .. "/charts/churn-websites-one-worker.svg"):find("</svg>", 1, true))
  end)

  it("counts what held up the I/O thread", function()
    check_complete(run("scale --cell '100 websites'"), "scale")
  end)

  it("measures idling, and names a case that is none", function()
    local result = run("idle")
    check_complete(result, "idle")
    local said = output_of("scripts/bench/run nosuchcase 2>&1; echo status $?")
    assert.is_truthy(said:find("there is no case nosuchcase", 1, true), said)
    assert.is_truthy(said:find("status 2", 1, true), said)
  end)
end)
