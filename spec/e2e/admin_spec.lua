-- The admin socket: status, why, queue, pause and resume on a running host.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")

local script = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("copies", {max_concurrent_reconciles = 1})
  :For("v1/ConfigMap", {namespaces = {NAMESPACE}, labels = "copy=yes",
    predicates = {perilune.predicate.fields_changed("data")}})
  :Owns("v1/Secret", {namespaces = {NAMESPACE}})
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if not map then return end
    if map.data.fail then error("it must not be so") end
    if map.data.slow then perilune.sleep("60s") end
    client:create_or_update(
      {apiVersion = "v1", kind = "Secret", metadata = {name = map.metadata.name}},
      function(secret) secret.stringData = {copy = map.data.text} end, {owner = map})
  end)
]]

describe("the admin socket", function()
  local server, namespace, host, socket

  local function ask(...)
    return e2e.ask(socket, ...)
  end

  local function decoded(...)
    local words = { ... }
    words[#words + 1] = "-o"
    words[#words + 1] = "json"
    local code, out, err = ask(unpack(words))
    assert.equal(0, code, err)
    return cjson.decode(out)
  end

  local function path(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function map(name, data)
    return { apiVersion = "v1", kind = "ConfigMap", data = data,
      metadata = { name = name, labels = { copy = "yes" } } }
  end

  local function why(name)
    local answer = decoded("why", "v1/ConfigMap", namespace .. "/" .. name)
    assert.equal(1, #answer.keys)
    return answer.keys[1]
  end

  local function happened(key, what, detail)
    for _, entry in ipairs(key.history) do
      if entry.what == what and entry.detail:find(detail, 1, true) then
        return entry
      end
    end
  end

  -- A running host. It finds objects that other specifications have left, some of whose keys sleep
  -- for a minute, and must stop all the same.
  local function start(admin_socket, ...)
    local one = e2e.start_host(server, (script:gsub("NAMESPACE", string.format("%q", namespace))),
      { "--admin-socket", admin_socket, "--graceful-shutdown-timeout", "5s", ... })
    e2e.eventually("the controller runs", function()
      return one:count_logged("^controller started$") == 1
    end)
    return one
  end

  setup(function()
    server = e2e.server()
    namespace = server:new_namespace()
    socket = e2e.folder() .. "/admin.sock"
    host = start(socket)
  end)
  after_each(function() host:must_run() end)
  teardown(function()
    host:stop()
    e2e.finish()
  end)

  it("is the owner's alone", function()
    local pipe = io.popen("stat -c %a " .. socket)
    assert.equal("600\n", pipe:read("*a"))
    pipe:close()
  end)

  it("shows controllers and sources", function()
    local status = decoded("status")
    assert.equal("copies", status.controllers[1].name)
    assert.equal("running", status.controllers[1].state)
    assert.equal(2, #status.sources)
    for _, source in ipairs(status.sources) do
      assert.is_true(source.synced)
    end
    local code, text = ask("status")
    assert.equal(0, code)
    assert(text:find("copies%s+running%s+0%s+0"), text)
  end)

  it("tunes the log and a controller for a while, and back", function()
    local tuned = decoded("tune")
    assert.same({ "info", 0 }, { tuned.log_level, #tuned.controllers })
    local code, text, err = ask("tune", "--level", "debug", "--controller", "copies", "--workers", "3",
      "--retry-max", "2s", "--for", "10m")
    assert.equal(0, code, err)
    assert(text:find("log level debug, for %d+ s more"), text)
    assert(text:find("controller copies: workers 3 %(declared 1%), longest delay 2 s, for %d+ s more"), text)
    tuned = decoded("tune")
    assert.same({ 3, 1, 2 }, { tuned.controllers[1].workers, tuned.controllers[1].declared_workers,
      tuned.controllers[1].retry_max_seconds })
    local of_status = decoded("status").controllers[1].tuned
    assert.same({ 3, 2 }, { of_status.workers, of_status.retry_max_seconds })
    assert(of_status.left_seconds > 0 and of_status.left_seconds <= 600)
    text = select(2, ask("status"))
    assert(text:find("tuned for %d+ s more: workers 3 retry_max_seconds 2"), text)
    server:create(path(), map("tuned", { text = "a" }))
    e2e.eventually("the log is at debug level", function()
      for _, line in ipairs(host:log()) do
        if line.level == "debug" then
          return true
        end
      end
    end)
    tuned = decoded("tune", "--reset")
    assert.same({ "info", 0 }, { tuned.log_level, #tuned.controllers })
  end)

  it("gives a tuning back when its time is over", function()
    decoded("tune", "--level", "warn", "--controller", "copies", "--workers", "2", "--for", "1s")
    e2e.eventually("nothing is tuned", function()
      local tuned = decoded("tune")
      return tuned.log_level == "info" and #tuned.controllers == 0
    end)
    assert.equal(1, host:count_logged("^log level restored$"))
  end)

  it("refuses flags of tune that say nothing alone", function()
    for flag, value in pairs({ workers = "2", ["retry-base"] = "1s", ["retry-qps"] = "1", ["for"] = "1m" }) do
      local code, _, err = ask("tune", "--" .. flag, value)
      assert.equal(2, code)
      assert(err:find("--" .. flag .. " goes with ", 1, true), err)
    end
  end)

  it("refuses a tuning that makes no sense", function()
    local wrong = {
      ['there is no controller "nobody"'] = { "--controller", "nobody", "--workers", "2" },
      ['there is no controller "copis"; did you mean "copies"?'] = { "--controller", "copis", "--workers", "2" },
    }
    for part, words in pairs(wrong) do
      local code, _, err = ask("tune", unpack(words))
      assert.equal(1, code)
      assert(err:find(part, 1, true), err)
    end
    local out_of_range = {
      ['--retry-base: "1ns": it must be from 1ms to 24h'] = { "--retry-base", "1ns" },
      ['--retry-max: "25h": it must be from 1ms to 24h'] = { "--retry-max", "25h" },
      ['--for: "10ms": it must be from 1s to 24h'] = { "--workers", "2", "--for", "10ms" },
      ['--for: "99999h": it must be from 1s to 24h'] = { "--workers", "2", "--for", "99999h" },
      ['--retry-qps: "1e9": it must be a number from 0 to 1000000'] = { "--retry-qps", "1e9" },
      ['--workers: "5000": it must be a whole number from 1 to 1000'] = { "--workers", "5000" },
    }
    for message, words in pairs(out_of_range) do
      local code, _, err = ask("tune", "--controller", "copies", unpack(words))
      assert.equal(2, code)
      assert(err:find(message, 1, true), err)
    end
    assert.equal(2, (ask("tune", "--level", "loud")))
    assert.equal(2, (ask("tune", "debug")))
    assert.same({}, decoded("tune").controllers)
    assert.is_nil(decoded("status").controllers[1].tuned)
  end)

  it("profiles scripts, as folded stacks and as a picture", function()
    local file = e2e.folder() .. "/profile"
    for i = 1, 20 do
      server:create(path(), map("profiled-" .. i, { text = "a" }))
    end
    local code, text, err = ask("profile", "--seconds", "1", "--svg", file .. ".svg", "-o", file .. ".txt")
    assert.same({ 0, "" }, { code, text }, err)
    for line in e2e.read_file(file .. ".txt"):gmatch("[^\n]+") do
      assert(line:find("^%S+ %d+$"), line)
    end
    local picture = e2e.read_file(file .. ".svg")
    assert(picture:find('^<svg xmlns="http://www.w3.org/2000/svg"') and picture:find("</svg>\n$"), picture)
    assert.is_nil(picture:gsub('xmlns="[^"]*"', ""):find("http", 1, true))
    code, text, err = ask("profile", "--seconds", "601")
    assert.equal("", text)
    assert.equal(2, code)
    assert(err:find('--seconds: "601": it must be a whole number from 1 to 600', 1, true), err)
    code, text, err = ask("profile", "--seconds", "1", "-o", "/nowhere/at/all")
    assert.equal("", text)
    assert.equal(1, code)
    assert(err:find("/nowhere/at/all: No such file or directory", 1, true), err)
    assert.equal(2, (ask("profile", "--seconds", "0")))
    assert.equal(2, (ask("profile", "copies")))
  end)

  it("shows them again each second until the host ends", function()
    local other_socket = e2e.folder() .. "/watched.sock"
    local out = e2e.folder() .. "/" .. e2e.unique("watched")
    local other = start(other_socket)
    local child = e2e.process.start({ e2e.binary, "status", "--watch", "--admin-socket", other_socket },
      { stdout = out, stderr = out .. ".err" })
    e2e.eventually("it was shown twice", function()
      return select(2, e2e.read_file(out):gsub("copies%s+running", "")) >= 2
    end)
    other:stop()
    assert.equal(1, (child:wait(e2e.patience)))
    assert(e2e.read_file(out .. ".err"):find("perilune status: ", 1, true), e2e.read_file(out .. ".err"))
  end)

  it("tells what happened to a key, and to the key that a child wakes", function()
    server:create(path(), map("told", { text = "a" }))
    local key = e2e.eventually("the copy is there", function()
      local key = why("told")
      return happened(key, "called", "create v1/Secret " .. namespace .. "/told: ok") and
        happened(key, "ended", "done") and key
    end)
    assert(happened(key, "event", "ADDED v1/ConfigMap " .. namespace .. "/told"))
    assert.is_true(key.cached)
    server:patch(path("told"), { metadata = { annotations = { a = "b" } } })
    e2e.eventually("the predicate dropped the change", function()
      return happened(why("told"), "dropped", "MODIFIED v1/ConfigMap")
    end)
    server:patch(path("told"), { data = { text = "b" } })
    e2e.eventually("the change is told with its path", function()
      return happened(why("told"), "event", ": data.text")
    end)
    local child = decoded("why", "Secret", namespace .. "/told")
    assert.equal(namespace .. "/told", child.keys[1].key)
    assert.equal("owns", child.keys[1].through)
    -- `why` shows the change before the run that it causes has ended.
    e2e.eventually("the key is at rest", function()
      local _, text = ask("why", "configmap", namespace .. "/told")
      return text:find("idle: it waits", 1, true)
    end)
  end)

  it("shows failures, their error and when the next try comes", function()
    server:create(path(), map("failing", { fail = "yes" }))
    e2e.eventually("it failed a few times", function()
      local key = why("failing")
      return (key.failures or 0) >= 5 and key.last_error:find("it must not be so", 1, true) and
        key.waits_for and key.waits_for:find("for its due time", 1, true)
    end)
    local status = decoded("status")
    assert.equal(1, status.controllers[1].failing)
    assert(status.controllers[1].last_error.message:find("it must not be so", 1, true))
    -- A key that is being retried at this moment is in no queue.
    e2e.eventually("it is listed", function()
      local code, out = ask("queue", "list", "copies")
      assert.equal(0, code)
      return out:find(namespace .. "/failing", 1, true)
    end)
    e2e.eventually("it is dropped", function()
      local code, out = ask("queue", "drop", "copies", namespace .. "/failing")
      assert.equal(0, code)
      assert(out == "dropped\n" or out == "it was not in the queue\n", out)
      return out == "dropped\n"
    end)
    local queues = decoded("queue").queues
    assert.equal(0, queues[1].total)
    local failures = why("failing").failures
    assert.equal(0, (ask("queue", "requeue", "copies", namespace .. "/failing")))
    e2e.eventually("it was tried again", function()
      return why("failing").failures > failures
    end)
    server:delete(path("failing"))
  end)

  it("parks a paused object until it is resumed", function()
    server:create(path(), map("parked", { text = "a" }))
    e2e.eventually("it is reconciled", function() return happened(why("parked"), "ended", "done") end)
    local code, _, err = ask("pause", "v1/ConfigMap", namespace .. "/parked")
    assert.equal(0, code, err)
    server:patch(path("parked"), { data = { text = "b" } })
    e2e.eventually("it is parked", function()
      local key = why("parked")
      return key.waits_for and key.waits_for:find("paused", 1, true)
    end)
    assert.equal(1, decoded("status").controllers[1].paused)
    assert.equal(0, (ask("resume", "configmap", namespace .. "/parked")))
    e2e.eventually("the copy follows", function()
      local secret = server:get("/api/v1/namespaces/" .. namespace .. "/secrets/parked")
      return secret.data.copy == "Yg=="
    end)
    code, _, err = ask("pause", "v1/ConfigMap", namespace .. "/nosuch")
    assert.equal(1, code)
    assert(err:find("nosuch", 1, true), err)
  end)

  it("says which run a key waits for", function()
    server:create(path(), map("slow", { slow = "yes" }))
    e2e.eventually("it runs", function()
      local key = why("slow")
      return key.waits_for and key.waits_for:find("running for", 1, true)
    end)
    server:create(path(), map("behind", { text = "a" }))
    e2e.eventually("the next one waits for it", function()
      local key = why("behind")
      return key.waits_for and key.waits_for:find("for a free worker", 1, true)
    end)
  end)

  local mistakes = {
    { { "why", "v1/Pod", "a/b" }, 1, "no controller watches" },
    { { "why", "v1/ConfigMap", "a/b/c" }, 1, "takes a kind and a key" },
    { { "why", "v1/ConfigMap" }, 2, "usage" },
    { { "queue", "list", "nosuch" }, 1, "no controller" },
    { { "queue", "requeue", "copies", "lonely" }, 1,
      'requeue to controller "copies": v1/ConfigMap is namespaced: "lonely" needs a namespace' },
    { { "queue", "requeue", "copies", "a/b/c" }, 1, "takes a controller and a key" },
    { { "queue", "list", "copise" }, 1, 'did you mean "copies"?' },
    { { "pause", "v1/Secret", "a/b" }, 1, "no controller is For" },
    { { "status", "--outptu", "json" }, 2, "did you mean --output" },
  }
  for _, case in ipairs(mistakes) do
    it("refuses: perilune " .. table.concat(case[1], " "), function()
      local code, _, err = ask(unpack(case[1]))
      assert.equal(case[2], code)
      assert(err:find(case[3], 1, true), err)
    end)
  end

  it("answers rubbish with an error", function()
    local function raw(line)
      local pipe = io.popen(string.format([[python3 - <<'END'
import socket
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(%q)
s.sendall(b'%s\n')
print(s.makefile().readline())
END]], socket, line))
      local out = pipe:read("*a")
      pipe:close()
      return out
    end
    assert(raw("rubbish"):find("one line of JSON", 1, true))
    assert(raw('{"v":9,"command":"status"}'):find("speaks version 1", 1, true))
    assert(raw('{"v":1,"command":"statsu"}'):find('did you mean', 1, true))
    assert(raw("[]"):find('"ok":false', 1, true))
    local refused = {
      [ [["queue","action":"empty"]] ] = "can list, requeue and drop",
      [ [["queue","action":"drop","controller":"copies"]] ] = "takes a controller and a key",
      [ [["tune","controller":"copies"]] ] = "a controller is named, and no number of it",
      [ [["tune","workers":2]] ] = "numbers are those of a controller",
      [ [["tune","for_ms":2000]] ] = "a time is given, and nothing that changes",
      [ [["tune","reset":true,"log_level":"debug"]] ] = "reset undoes all changes",
      [ [["tune","controller":"copies","qps":0]] ] = "must be above zero",
      [ [["tune","controller":"copies","qps":1e9]] ] = "must be at most 1000000",
      [ [["tune","controller":"copies","base_ms":2000,"max_ms":1000]] ] = "the first delay is longer",
    }
    for members, part in pairs(refused) do
      local answer = raw('{"v":1,"command":' .. members .. "}")
      assert(answer:find(part, 1, true), answer)
    end
  end)

  it("reloads scripts and says what became of it", function()
    local file, other_socket = e2e.folder() .. "/reloaded.lua", e2e.folder() .. "/other.sock"
    local function save(reconcile)
      e2e.write_file(file, string.format([[
local perilune = require("perilune")
perilune.controller("maps"):For("v1/ConfigMap", {namespaces = {%q}}):Reconcile(%s)
]], namespace, reconcile))
    end
    local function reload()
      return e2e.run("reload", "--admin-socket", other_socket)
    end
    save("function() end")
    local other = e2e.start_host(server, file, { "--no-reload", "--admin-socket", other_socket })
    e2e.eventually("it runs", function() return other:count_logged("^controller started$") == 1 end)
    local code, out = reload()
    assert.equal(0, code)
    assert.equal("unchanged: generation 1\n", out)
    save("function() return end")
    code, out = reload()
    assert.equal(0, code)
    assert.equal("applied: generation 2\n", out)
    save("function( end")
    code, out = reload()
    assert.equal(1, code)
    assert(out:find("^rejected: generation 2\n"), out)
    assert(out:find("reloaded.lua:2", 1, true), out)
    local _, text = e2e.run("status", "--admin-socket", other_socket)
    assert(text:find("generation  2, digest %x+"), text)
    assert(text:find("refused     .*reloaded.lua:2"), text)
    save("function() end")
    assert.equal("applied: generation 3\n", select(2, reload()))
    assert.is_nil(select(2, e2e.run("status", "--admin-socket", other_socket)):find("refused", 1, true))
    other:stop()
  end)

  it("evaluates Lua with the caches to read and nothing to change", function()
    local function repl(text)
      return ask("repl", "-e", text)
    end
    server:create(path(), map("seen", { text = "a" }))
    e2e.eventually("it is cached", function()
      local code, out = repl(string.format("client:get('v1/ConfigMap', '%s/seen').data.text", namespace))
      return code == 0 and out == '"a"\n'
    end)
    local code, out, err = repl("1 + 1, 'two', nil")
    assert.equal(0, code)
    assert.equal('2\n"two"\nnil\n', out)
    assert.equal("", err)
    code, out, err = repl(string.format("client:delete('v1/ConfigMap', '%s/seen')", namespace))
    assert.equal(1, code)
    assert(err:find("refused (read-only)", 1, true), err)
    assert.equal("", out)
    code, out, err = repl("x = = 1")
    assert.equal(1, code)
    assert.equal("", out)
    assert(err:find("unexpected symbol", 1, true), err)
    local input = e2e.write_file(e2e.folder() .. "/lines", "x = {a = 1}\nx.a = x.a + 1\nx\nnope()\nx.a\n")
    local pipe = io.popen(string.format("%s repl --admin-socket %s < %s 2>/dev/null", e2e.binary, socket, input))
    assert.equal("a: 2\n2\n", pipe:read("*a"))
    pipe:close()
    assert.equal("\"seen\"\n", select(2, repl(string.format(
      "perilune.live:get('v1/ConfigMap', '%s/seen').metadata.name", namespace))))
  end)

  it("answers a mistake in showing a value, and goes on with the session", function()
    local input = e2e.write_file(e2e.folder() .. "/raising",
      'error(setmetatable({}, {__tostring = function() error("boom") end}))\nx = 2\nx\n')
    local pipe = io.popen(string.format("%s repl --admin-socket %s < %s 2>&1", e2e.binary, socket, input))
    local out = pipe:read("*a")
    pipe:close()
    assert(out:find("boom.*\n2\n$"), out)
  end)

  it("lets a session declare no metrics", function()
    local code, _, err = ask("repl", "-e", "perilune.metrics.counter('from_a_session_total', 'none')")
    assert.equal(1, code)
    assert(err:find("nothing can be changed here", 1, true), err)
  end)

  it("ends the sessions of clients that went away", function()
    local other_socket = e2e.folder() .. "/places.sock"
    local other = start(other_socket)
    local clients = {}
    for i = 1, 4 do
      clients[i] = e2e.process.start({ e2e.binary, "repl", "-e", "perilune.sleep('1h')",
        "--admin-socket", other_socket })
    end
    e2e.eventually("their tasks run", function() return other:count_logged("^task started$") == 4 end)
    local code, _, err = e2e.run("repl", "-e", "1", "--admin-socket", other_socket)
    assert.equal(1, code)
    assert(err:find("4 sessions are open", 1, true), err)
    for _, client in ipairs(clients) do
      client:signal("KILL")
      client:wait(e2e.patience)
    end
    e2e.eventually("there is room again", function()
      return e2e.run("repl", "-e", "1", "--admin-socket", other_socket) == 0
    end)
    other:stop()
  end)

  it("ends an idle session with its client's connection, and shows none in the metrics", function()
    local other_socket = e2e.folder() .. "/idle.sock"
    local other = start(other_socket)
    local clients, inputs = {}, {}
    for i = 1, 4 do
      local fifo, out = e2e.folder() .. "/idle-in-" .. i, e2e.folder() .. "/idle-out-" .. i
      assert(os.execute("mkfifo " .. fifo) == 0)
      inputs[i] = assert(io.open(fifo, "r+")) -- stays open: the answer never ends
      clients[i] = e2e.process.start({ "sh", "-c", ("exec %s repl --admin-socket %s < %s")
        :format(e2e.binary, other_socket, fifo) }, { stdout = out })
      inputs[i]:write("x = 1\nx + 1\n")
      inputs[i]:flush()
      e2e.eventually("client " .. i .. " is answered", function() return e2e.read_file(out) == "2\n" end)
    end
    local metrics = other:metrics()
    assert.truthy(metrics:value("controller_runtime_active_workers", { controller = "copies" }))
    for id in pairs(metrics.series) do
      assert.is_nil(id:find('"repl"', 1, true), id)
    end
    local code, _, err = e2e.run("repl", "-e", "1", "--admin-socket", other_socket)
    assert.equal(1, code)
    assert(err:find("4 sessions are open", 1, true), err)
    for i, client in ipairs(clients) do
      client:signal("INT") -- as Ctrl-C does
      client:wait(e2e.patience)
      inputs[i]:close()
    end
    e2e.eventually("there is room again", function()
      return e2e.run("repl", "-e", "1", "--admin-socket", other_socket) == 0
    end)
    other:stop()
  end)

  it("makes no socket at a path that is too long for one, and says how long it may be", function()
    local dir = e2e.folder() .. "/long"
    assert(os.execute("mkdir -p " .. dir))
    local function of(bytes)
      return dir .. "/" .. ("s"):rep(bytes - #dir - 1)
    end
    local script_text = "local perilune = require('perilune')\nperilune.every('1h', {}, function() end)\n"
    local other = e2e.start_host(server, script_text, { "--admin-socket", of(108) })
    local line = other:logged("^no admin socket")
    assert.equal("warn", line.level)
    assert.truthy(line.error:find("too long for a socket: it may have 107 bytes at most", 1, true), line.error)
    other:stop()
    assert.truthy(select(3, e2e.run("status", "--admin-socket", of(108))):find("107 bytes at most", 1, true))
    other = e2e.start_host(server, script_text, { "--admin-socket", of(107) })
    e2e.eventually("it answers", function()
      return e2e.run("status", "--admin-socket", of(107)) == 0
    end)
    local pipe = io.popen("ls " .. dir)
    assert.equal(("s"):rep(107 - #dir - 1) .. "\n", pipe:read("*a"))
    pipe:close()
    other:stop()
  end)

  it("leaves the memos of a controller alone that is called as a session's task is", function()
    local other_socket = e2e.folder() .. "/named.sock"
    local other = e2e.start_host(server, [[
local perilune = require("perilune")
perilune.controller("repl")
  :For("v1/ConfigMap", {namespaces = {]] .. string.format("%q", namespace) .. [[}, labels = "memo=yes"})
  :Reconcile(function(request, context)
    local memo = perilune.memo(request)
    memo.runs = (memo.runs or 0) + 1
    context.log:info("run " .. memo.runs)
  end)
]], { "--admin-socket", other_socket })
    server:create(path(), { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "kept", labels = { memo = "yes" } } })
    other:logged("^run 1$")
    assert.equal(0, (e2e.run("repl", "-e", "1", "--admin-socket", other_socket)))
    e2e.eventually("the session is closed", function()
      local _, out = e2e.run("repl", "-e", "1", "--admin-socket", other_socket)
      return out == "1\n"
    end)
    server:patch(path("kept"), { data = { a = "b" } })
    other:logged("^run 2$")
    other:stop()
  end)

  it("keeps values of Secrets out of the history, also where the server quotes them", function()
    local other_socket = e2e.folder() .. "/secrets.sock"
    local other = e2e.start_host(server, [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("leaks")
  :For("v1/ConfigMap", {namespaces = {]] .. string.format("%q", namespace) .. [[}, labels = "leak=yes"})
  :Reads("v1/Secret")
  :Writes("v1/ConfigMap", {"create"})
  :Reconcile(function(request, context)
    local secret = client:get("v1/Secret", request)
    local name = perilune.base64.decode(secret.data.name)
    perilune.live:get("v1/ConfigMap", {namespace = request.namespace, name = name})
    perilune.try(perilune.http.request, {url = "http://127.0.0.1:1/hook/" .. name})
    context.log:info("seen", {all = {perilune.base64.decode(secret.data.lines)}})
    client:create({apiVersion = "v1", kind = "ConfigMap", metadata = {namespace = request.namespace,
      name = "labelled", labels = {a = perilune.base64.decode(secret.data.word)}}})
  end)
]], { "--admin-socket", other_socket })
    local key = namespace .. "/leaks"
    server:create("/api/v1/namespaces/" .. namespace .. "/secrets", { apiVersion = "v1", kind = "Secret",
      metadata = { name = "leaks" }, stringData = { word = "not to be seen!", name = "hush.hush",
        lines = "hush\n\"hush\"" } })
    server:create(path(), { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "leaks", labels = { leak = "yes" } } })
    local out
    -- The call is shown before the failed run has ended, and the end has its message.
    e2e.eventually("a run that the server refused has ended", function()
      out = select(2, e2e.run("why", "v1/ConfigMap", key, "--admin-socket", other_socket))
      return out:find("ended     error: ", 1, true)
    end)
    assert(out:find("create v1/ConfigMap " .. namespace .. "/labelled: 422 Invalid", 1, true), out)
    assert(out:find('Invalid value: "<15 bytes>"', 1, true), out)
    assert(out:find("get v1/ConfigMap " .. namespace .. "/<9 bytes>: ", 1, true), out)
    assert(out:find("GET http://127.0.0.1:1/hook/<9 bytes>: ", 1, true), out)
    assert.same({ "<11 bytes>" }, other:logged("^seen$").all)
    for _, word in ipairs({ "not to be seen", "hush" }) do
      assert.is_nil(out:find(word, 1, true), out)
      assert.is_nil(other:text():find(word, 1, true), other:text())
    end
    other:stop()
  end)

  it("keeps passwords in URLs to itself", function()
    local other_socket = e2e.folder() .. "/urls.sock"
    local other = e2e.start_host(server, [[
local perilune = require("perilune")
perilune.controller("calls")
  :For("v1/ConfigMap", {namespaces = {]] .. string.format("%q", namespace) .. [[}, labels = "call=yes"})
  :Reconcile(function(request, context)
    local _, e = perilune.try(perilune.http.request, {url = "http://me:hidden@127.0.0.1:1/public?token=private"})
    context.log:info("called", {at = e.key})
  end)
]], { "--admin-socket", other_socket })
    server:create(path(), { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "calls", labels = { call = "yes" } } })
    other:logged("^called$")
    local _, out = e2e.run("why", "v1/ConfigMap", namespace .. "/calls", "--admin-socket", other_socket)
    assert(out:find("GET http://127.0.0.1:1/public?...: ", 1, true), out)
    for _, word in ipairs({ "hidden", "private" }) do
      assert.is_nil(out:find(word, 1, true), out)
      assert.is_nil(other:text():find(word, 1, true), other:text())
    end
    other:stop()
  end)

  it("ends a session that computes for too long, and closes open ones when the host stops", function()
    local other_socket = e2e.folder() .. "/busy.sock"
    local other = start(other_socket, "--reconcile-cpu-limit", "1s")
    local code, _, err = e2e.run("repl", "-e", "while true do end", "--admin-socket", other_socket)
    assert.equal(1, code)
    assert(err:find("CPU limit exceeded", 1, true), err)
    local waiting = e2e.process.start({ e2e.binary, "repl", "-e", "perilune.sleep('1h')",
      "--admin-socket", other_socket }, { stdout = "/dev/null", stderr = "/dev/null" })
    e2e.eventually("its task runs", function() return other:count_logged("^task started$") >= 2 end)
    other:stop()
    assert.equal(1, (waiting:wait(e2e.patience)))
  end)

  it("says so when no host is there", function()
    local code, _, err = e2e.run("status", "--admin-socket", "/nowhere/at/all.sock")
    assert.equal(1, code)
    assert(err:find("/nowhere/at/all.sock", 1, true), err)
  end)

  it("asks the host with the typed --pid, whatever socket the environment names", function()
    local code, _, err = e2e.run_with({ PERILUNE_ADMIN_SOCKET = socket }, "status", "--pid", "1")
    assert.equal(1, code)
    assert(err:find("no host with pid 1 has a socket", 1, true), err)
    assert.equal(0, (e2e.run_with({ PERILUNE_ADMIN_SOCKET = socket }, "status")))
  end)

  it("does not keep a host from running when it can't be made", function()
    local other = start("/nowhere/at/all.sock")
    assert.truthy(other:text():find("no admin socket", 1, true))
    other:stop()
  end)
end)
