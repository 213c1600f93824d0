-- Hostile scripts: each is ended or its lane is abandoned. The host and all other scripts continue
-- to work.

local e2e = require("spec.support.e2e")
local hostile = require("spec.support.hostile")

local LIMIT = hostile.LIMIT

local cpu_message = ("script CPU limit exceeded (%g s without waiting)"):format(LIMIT)

local head = [[
local perilune = require("perilune")
local client = perilune.client
local function loop() while true do end end
]]
local good = hostile.good:gsub("^.-\n.-\n", "") -- without the head of the line

local sanitized = os.getenv("PL_SANITIZED")

describe("hostile scripts", function()
  local server, namespace, host

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function path(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function create(name, is, data)
    server:create(path(), { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = name, labels = { is = is } }, data = data })
  end

  local function start(script, flags)
    host = e2e.start_host(server, script, hostile.flags(namespace, flags))
    return host
  end

  local wanted = 0

  -- Every key of the harmless controller is reconciled once more.
  local function work_goes_on(what)
    assert(host, what)
    wanted = wanted + 1
    local want = tostring(wanted)
    for i = 1, 3 do
      server:patch(path("good-" .. i), { data = { want = want } })
    end
    e2e.eventually("the others' work goes on: " .. what, function()
      host:must_run()
      for i = 1, 3 do
        if server:get(path("good-" .. i)).data.seen ~= want then
          return false
        end
      end
      return true
    end)
  end

  local function begin()
    for i = 1, 3 do
      create("good-" .. i, "good", { want = "0" })
    end
  end

  local function failure_of(controller)
    for _, line in ipairs(host:log()) do
      if line.controller == controller and tostring(line.msg):find("^reconcile failed") then
        return line
      end
    end
  end

  -- Each case is a script with one controller, all in one host. Sanitizer builds run a third of
  -- similar cases. ThreadSanitizer runs no deep recursion, because it records the stack.
  local function run_group(group, thinned, meanwhile)
    begin()
    local cases = hostile.cases(group)
    for i = #cases, 1, -1 do
      if thinned and sanitized and i % 3 ~= 1 then
        table.remove(cases, i)
      end
    end
    local _, problems, took = hostile.run(server, namespace, cases, function(running)
      host = running
      meanwhile()
    end)
    assert.equal("", problems)
    if not sanitized then
      assert.equal(0, host:metrics():value("perilune_lane_stuck"))
    end
    print(("# %s: %d scripts in %.1f s"):format(group, #cases, took))
    return cases
  end

  for group, thinned in pairs({
    endless = true, memory = true, values = true, floods = true, odd = false, tampering = false, misuse = true,
  }) do
    -- A flood of errors overflows ThreadSanitizer's record of the stack.
    local it_runs = group == "floods" and sanitized == "thread" and pending or it
    it_runs("are ended, whatever they are made of: " .. group, function()
      run_group(group, thinned, function()
        work_goes_on("beside " .. group)
      end)
      host:stop()
    end)
  end

  local it_runs = sanitized == "thread" and pending or it
  it_runs("are ended, whatever they are made of: deep", function()
    run_group("deep", false, function()
      work_goes_on("beside deep")
    end)
    host:stop()
  end)

  -- Scripts on one lane share a state, so they can break each other; a new state is intact.
  it("are healed by a reload, whatever they have broken", function()
    local cases = run_group("vandals", false, function() end)
    hostile.mend(host, cases)
    host:logged("^reloaded$")
    work_goes_on("after the reload")
    host:stop()
  end)

  -- Hostile code outside of reconciles; afterwards the other controllers run once more.
  for what, case in pairs({
    ["a predicate"] = { [[
perilune.controller("bad"):For("v1/ConfigMap", { labels = "is=bad", predicates = { function() loop() end } })
  :Reconcile(function() end)
]], "a predicate raised" },
    ["a map function"] = { [[
perilune.controller("bad"):For("v1/Secret"):Watches("v1/ConfigMap", function() loop() end, { labels = "is=bad" })
  :Reconcile(function() end)
]], "map function failed" },
    ["an index function"] = { [[
perilune.index("v1/ConfigMap", "bad", function(map) if map.metadata.name == "bad" then loop() end end)
perilune.controller("bad"):For("v1/ConfigMap"):Reconcile(function() end)
]], "an index function raised" },
    ["a periodic task"] = { 'perilune.every("1h", { name = "bad", immediate = true }, loop)\n', "task failed" },
    ["a long task"] = { 'perilune.run("bad", {}, loop)\n', "task failed" },
  }) do
    it("are ended in " .. what, function()
      begin()
      start(head .. good .. case[1], { "--lanes", "1" })
      work_goes_on("before")
      create("bad", "bad", {})
      host:logged(function(line)
        return tostring(line.msg):find(case[2], 1, true)
          and tostring(line.error):find(cpu_message, 1, true)
      end)
      work_goes_on("after")
      assert.equal(0, host:metrics():value("perilune_lane_stuck"))
      host:stop()
    end)
  end

  it("are refused as a main chunk", function()
    for _, case in ipairs({
      { "loop()", "script CPU limit exceeded (2 s without waiting)" },
      { "while true do pcall(loop) end", "script CPU limit exceeded (2 s without waiting)" },
      { "local s = 'x' while true do s = s .. s end", "script memory limit exceeded (64 MiB)" },
      { "local s = ('x'):rep(3e7) return s .. s .. s .. s .. s .. s .. s .. s .. s .. s",
        "script memory limit exceeded (64 MiB)" },
      { "local function f() return (('x'):gsub('x', f)) end f()", "stack overflow" },
      { "return " .. hostile.pattern_bomb, "the main chunk can't be interrupted" },
    }) do
      start(head .. case[1] .. "\n")
      assert.equal(1, host.child:wait(e2e.patience), case[1])
      -- With a sanitizer, the copies may need 2 s of time before they reach the memory limit.
      local is_ended = host:text():find(case[2], 1, true) or (sanitized
        and case[2]:find("memory limit", 1, true) and host:text():find("script CPU limit exceeded", 1, true))
      assert(is_ended, case[1] .. ": " .. host:text())
    end
  end)

  -- LuaJIT's own loadstring, which scripts have only with --unsafe-stdlib, allocates too much in
  -- one call.
  it("end the process at four times the memory limit, and are named", function()
    start(head .. [[
local text = ("function g()" .. ("f{1,1}"):rep(2000) .. " end "):rep(700)
loadstring(text)
]], { "--unsafe-stdlib", "--lua-memory", "16MiB" })
    assert.equal(1, host.child:wait(e2e.patience))
    local line = host:log()[#host:log()]
    assert.equal("a script needs more than four times its memory limit; giving up", line.msg)
    assert.matches("host%-.*%.lua$", line.script)
    assert.equal(16 * 2 ^ 20, line.limit_bytes)
  end)

  local function wait_for_stuck(count)
    e2e.eventually("the lane is given up", function()
      host:must_run()
      return host:metrics():value("perilune_lane_stuck") == count
    end)
  end

  local endless_bad = [[
perilune.controller("bad", { rate_limiter = { base = "1h", max = "2h" } })
  :For("v1/ConfigMap", { labels = "is=bad" })
  :Reconcile(function(request, context)
    %s
    context.log:info("tamed", { name = request.name })
  end)
]]

  it("whose every run can't be ended are rolled back before the host would end", function()
    begin()
    start(head .. good .. endless_bad:format("local tame = true"), { "--lanes", "1" })
    for i = 1, 6 do
      create("bad-" .. i, "bad", {})
      host:logged(function(line) return line.msg == "tamed" and line.name == "bad-" .. i end)
    end
    e2e.write_file(host.log_file:gsub("%.log$", ".lua"), head .. good .. endless_bad:format(hostile.pattern_bomb))
    host:logged("^the new scripts fail: returning to the old ones$")
    work_goes_on("on the old scripts")
    local page = host:metrics()
    assert.equal(1, page:value("perilune_reload_total", { result = "rolled_back" }))
    assert(page:value("perilune_lane_stuck") <= 4)
    host.child:signal("KILL")
    host.child:wait(e2e.patience)
  end)

  it("end the process when too many lanes are stuck", function()
    begin()
    start(head .. good .. endless_bad:format(hostile.pattern_bomb), { "--lanes", "1" })
    for i = 1, 5 do
      create("bad-" .. i, "bad", {})
    end
    assert.equal(1, host.child:wait(e2e.patience * 2))
    local line = host:log()[#host:log()]
    assert.equal("too many lanes are stuck in scripts that can't be interrupted; giving up", line.msg)
    assert.equal(5, line.stuck)
  end)

  -- Nothing can end these: the lane is replaced, and a saved fix repairs the host. The abandoned
  -- thread goes on and stays counted; it does not concern the scripts that run now.
  for what, case in pairs({
    ["a pattern"] = { "return " .. hostile.pattern_bomb, {} },
    ["a compiled loop"] = { "local x = 0 while true do x = (x + 1) % 7 end", { "--jit" } },
  }) do
    it("that nothing can end cost their lane: " .. what, function()
      begin()
      local bad = [[
perilune.controller("bad", { rate_limiter = { base = "1h", max = "2h" } })
  :For("v1/ConfigMap", { labels = "is=bad" })
  :Reconcile(function(request, context)
    if request.name == "bad" then %s end
    context.log:info("tamed", { name = request.name })
  end)
]]
      start(head .. good .. bad:format(case[1]), { "--lanes", "1", "--no-reload-guard",
        unpack(case[2]) })
      work_goes_on("before")
      create("bad", "bad", {})
      wait_for_stuck(1)
      local took = host:metrics():value("controller_runtime_reconcile_time_seconds_sum", { controller = "bad" })
      print(("# %s: given up %.0f ms after its limit"):format(what, (took - LIMIT) * 1000))
      assert.matches("could not be interrupted", failure_of("bad").error)
      assert.equal(500, (host:ask("health", "/healthz/lanes")))
      work_goes_on("on the lane that replaces it")
      for i = 1, 6 do -- events do not run it again, because each run would cost a lane
        server:patch(path("bad"), { data = { turn = tostring(i) } })
        e2e.eventually("the key is refused", function()
          host:must_run()
          return host:metrics():value("controller_runtime_terminal_reconcile_errors_total",
            { controller = "bad" }) > i
        end)
      end
      assert.matches("^reconcile failed for good: not run again until its code changes", failure_of("bad").msg)
      assert.equal(1, host:metrics():value("perilune_lane_stuck"))
      create("calm", "bad", {})
      host:logged(function(line) return line.msg == "tamed" and line.name == "calm" end)
      e2e.write_file(host.log_file:gsub("%.log$", ".lua"), head .. good .. bad:format("local fixed = true"))
      host:logged(function(line) return line.msg == "tamed" and line.name == "bad" end)
      e2e.eventually("the host is healthy", function()
        return (host:ask("health", "/healthz/lanes")) == 200
      end)
      assert.equal(1, host:metrics():value("perilune_lane_stuck"))
      work_goes_on("after the fix")
      host.child:signal("TERM")
      host.child:wait(e2e.patience)
    end)
  end
end)
