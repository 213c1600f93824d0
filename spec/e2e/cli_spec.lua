-- The command line's contract: help, versions, unknown words, exit codes.

local e2e = require("spec.support.e2e")

local commands = { "run", "dev", "check", "apiserver", "status", "why", "queue", "pause", "resume",
  "reload", "repl", "new", "rbac", "manifests", "uninstall", "types", "completion", "version" }

describe("the command line", function()
  teardown(e2e.finish)

  it("lists the commands", function()
    local code, out = e2e.run("--help")
    assert.equal(0, code)
    for _, name in ipairs(commands) do
      assert(out:find("\n  " .. name .. " ", 1, true), out)
    end
  end)

  it("has help for every command", function()
    for _, name in ipairs(commands) do
      local code, out = e2e.run(name, "--help")
      assert.equal(out, select(2, e2e.run("help", name)))
      assert.equal(0, code)
      assert(out:find("usage: perilune " .. name, 1, true), out)
    end
  end)

  it("lists the flags that each command takes, and refuses the others", function()
    local of_run_alone, of_dev_alone = { "kubeconfig", "context", "server" },
      { "as-serviceaccount", "filename", "manifests", "shard-selector", "simulate" }
    local of_check = "cluster config context jit kubeconfig log-format log-level lua-memory schema server unsafe-stdlib"
    local of_check_alone = { cluster = true, schema = true, context = true, kubeconfig = true, server = true }
    local flags = {}
    for _, name in ipairs({ "run", "dev", "check" }) do
      local list, known = {}, {}
      local _, out = e2e.run(name, "--help")
      for flag in out:gmatch("\n  [^\n]-%-%-([%l-]+)") do
        list[#list + 1], known[flag] = flag, true
      end
      table.sort(list)
      flags[name] = { list = list, known = known }
    end
    assert.equal(of_check, table.concat(flags.check.list, " "))
    for _, pair in ipairs({ { "run", of_run_alone, "dev" }, { "dev", of_dev_alone, "run" } }) do
      local alone = {}
      for _, flag in ipairs(flags[pair[1]].list) do
        alone[#alone + 1] = not flags[pair[3]].known[flag] and flag or nil
      end
      table.sort(pair[2])
      assert.same(pair[2], alone)
      for _, flag in ipairs(alone) do
        local code, _, err = e2e.run(pair[3], "--" .. flag, "x", "a.lua")
        assert.equal(2, code)
        assert(err:find(("--%s is a flag of `perilune %s`"):format(flag, pair[1]), 1, true), err)
      end
    end
    for _, flag in ipairs(flags.check.list) do
      assert(of_check_alone[flag] or flags.run.known[flag] and flags.dev.known[flag], flag)
    end
    assert.truthy(flags.run.known["leader-elect"])
  end)

  it("has every command, signal and exit code in the manual", function()
    local page = e2e.read_file("host/cli/perilune.1")
    for _, name in ipairs(commands) do
      assert(page:find("\n.TP\n.B " .. name .. "\n", 1, true), name)
    end
    for _, code in ipairs({ 0, 1, 2, 3, 4 }) do
      assert(page:find("\n.TP\n" .. code .. "\n", 1, true), code)
    end
    for _, signal in ipairs({ "SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1" }) do
      assert(page:find(signal, 1, true), signal)
    end
  end)

  it("prints versions", function()
    local code, out = e2e.run("version")
    assert.equal(0, code)
    assert(out:find("perilune %d+%.%d+%.%d+"), out)
    assert(out:find("LuaJIT 2.1", 1, true), out)
    assert(out:find("libcurl/", 1, true), out)
    assert(out:find("OpenSSL/", 1, true), out)
  end)

  local usage = {
    { { "rnu" }, 'did you mean "run"' },
    { { "run", "--kubeconfg", "x", "a.lua" }, "did you mean --kubeconfig" },
    { { "run" }, "no script given" },
    { { "run", "--lanes", "zero", "a.lua" }, "--lanes" },
    { { "run", "--lanes" }, "needs a value" },
    { { "run", "--dry-run=maybe", "a.lua" }, "true or false" },
    { { "run", "--log-format=xml", "a.lua" }, "text|json" },
    { { "apiserver", "--listen", "nonsense" }, "HOST:PORT" },
    { { "apiserver", "a.lua" }, "it takes no arguments: a.lua" },
    { { "status", "copies" }, "it takes no arguments: copies" },
    { { "repl", "1 + 1" }, "it takes no arguments: 1 + 1" },
    { { "version", "please" }, "it takes no arguments: please" },
    { { "run", "-f", "x", "a.lua" }, "-f is a flag of `perilune dev`" },
    { { "check", "--no-reload", "a.lua" }, "--no-reload is a flag of `perilune run` and `perilune dev`" },
    { { "run", "--server", "nope", "a.lua" }, '--server: "nope": it must be https://HOST' },
    { { "run", "--server", "ftp://nope", "a.lua" }, '--server: "ftp://nope": it must be https://' },
    { { "run", "--namespace", "../x", "a.lua" }, "must be a namespace's name" },
    { { "run", "--namespace", "", "a.lua" }, "must not be empty" },
    { { "run", "--webhook-secret", "foo", "a.lua" }, "NAMESPACE/NAME such as my-app/certs" },
    { { "uninstall", "--webhook-secret", "foo", "a.lua" }, "NAMESPACE/NAME such as my-app/certs" },
    { { "run", "--webhook-service", "A_/b", "a.lua" }, "NAMESPACE/NAME[:PORT] such as my-app/hooks:443" },
    { { "run", "--leader-elect-resource-name", "Bad_N", "a.lua" }, "an object's name such as my-app" },
    { { "run", "--leader-elect-resource-namespace", "a.b", "a.lua" }, "a namespace's name such as my-app" },
    { { "run", "--leader-elect", "--leader-elect-lease-duration", "10s", "a.lua" },
      "lease duration must be longer than the renew deadline" },
    { { "run", "--leader-elect", "--leader-elect-renew-deadline", "2s", "a.lua" },
      "renew deadline must be longer than 1.2 retry periods" },
    { { "run", "--on-lost-lease", "panic", "a.lua" }, "exit|standby" },
    { { "run", "--once-timeout", "5s", "a.lua" }, "--once-timeout goes with --once" },
    { { "dev", "--once-timeout", "5s", "--no-once", "a.lua" }, "--once-timeout goes with --once" },
    { { "run", "--on-lost-lease", "standby", "a.lua" }, "--on-lost-lease goes with --leader-elect or --shards" },
    { { "run", "--shard-by", "uid", "a.lua" }, "--shard-by goes with --shards" },
    { { "run", "--kube-api-burst", "5", "a.lua" }, "--kube-api-burst goes with --kube-api-qps" },
    { { "run", "--record-secrets", "a.lua" }, "--record-secrets goes with --record" },
    { { "run", "--record", "x,most=1MiB", "a.lua" }, "it must be FILE or FILE,max=SIZE" },
    { { "run", "--record", "x,max=much", "a.lua" }, "it must be FILE or FILE,max=SIZE" },
    { { "check", "--context", "x", "a.lua" }, "--context goes with --cluster" },
    { { "rbac", "--pid", "7", "a.lua" }, "--pid goes with --recorded" },
    { { "test", "--plan", "x", "." }, "--plan goes with --explore" },
    { { "run", "--lua-memory", "1023KiB", "a.lua" }, "it must be a size of at least 1MiB" },
    { { "check", "--lua-memory", "4EiB", "a.lua" },
      '"4EiB": it must be a size of at least 1MiB and at most 1073741824MiB' },
    { { "run", "--shards", "4", "--no-leader-elect", "a.lua" }, "--shards elects leaders: leave out" },
    { { "run", "--shards", "257", "a.lua" }, "it must be a whole number from 1 to 256" },
    { { "reload", "--keys", "3" }, "--keys goes with --shadow" },
    { { "reload", "--shadow" }, "--shadow needs the PATH... of a candidate" },
    { { "reload", "main.lua" }, "paths are only taken with --shadow: main.lua; usage: perilune reload" },
    { { "why", "v1/ConfigMap" }, "it takes a kind and a key; usage: perilune why [FLAGS] KIND NAMESPACE/NAME" },
    { { "why", "v1/ConfigMap", "default", "a" }, "it takes a kind and a key" },
    { { "pause", "v1/ConfigMap" }, "it takes a kind and a key; usage: perilune pause [FLAGS] KIND NAMESPACE/NAME" },
    { { "queue", "empty" }, '"empty" is not list, requeue or drop; usage: perilune queue' },
    { { "queue", "requeue", "copies" }, "requeue takes a controller and a key" },
    { { "queue", "drop" }, "drop takes a controller and a key" },
    { { "queue", "list", "copies", "default/a" }, "list takes one controller or none" },
    { { "tune", "--controller", "copies" },
      "--controller goes with --workers or --retry-base or --retry-max or --retry-qps" },
    { { "tune", "--reset", "--level", "debug" }, "--reset undoes all changes: use it alone" },
    { { "tune", "--controller", "copies", "--retry-qps", "0" }, "it must be above 0" },
    { { "tune", "--controller", "copies", "--retry-base", "2s", "--retry-max", "1s" },
      "--retry-base must not be longer than --retry-max" },
    { { "test" }, "no PATH given; usage: perilune test [FLAGS] PATH..." },
    { { "replay" }, "no FILE given; usage: perilune replay [FLAGS] FILE [PATH...]" },
    { { "types" }, "no script given; usage: perilune types [FLAGS] PATH..." },
    { { "new" }, "no name given; usage: perilune new [FLAGS] NAME" },
    { { "completion" }, "no shell given; usage: perilune completion" },
    { { "completion", "bash", "zsh" }, "it takes one shell, not 2 words; usage: perilune completion" },
    { { "completion", "man" }, "no command given; usage: perilune completion man COMMAND" },
    {}, -- no command at all
  }
  for _, case in ipairs(usage) do
    it("exits with 2 for: perilune " .. table.concat(case[1] or {}, " "), function()
      local code, _, err = e2e.run(unpack(case[1] or {}))
      assert.equal(2, code)
      assert(err:find(case[2] or "usage", 1, true), err)
    end)
  end

  it("takes no pipe for a script", function()
    local fifo = e2e.folder() .. "/fifo.lua"
    assert.equal(0, os.execute("mkfifo " .. fifo))
    local code, _, err = e2e.run("check", fifo)
    assert.equal(1, code)
    assert.equal(fifo .. ": not a regular file\n", err)
  end)

  it("exits with 1 when there is no cluster to talk to", function()
    local script = e2e.write_file(e2e.folder() .. "/a.lua", [[
require("perilune").controller("a"):For("v1/Pod"):Reconcile(function() end)
]])
    local code, _, err = e2e.run("run", script, "--kubeconfig", "/nowhere/kubeconfig")
    assert.equal(1, code)
    assert(err:find("/nowhere/kubeconfig", 1, true), err)
  end)

  it("says what is wrong with the script before what is wrong with the cluster", function()
    local script = e2e.write_file(e2e.folder() .. "/b.lua", [[error("the script's")]])
    local code, _, err = e2e.run("run", script, "--kubeconfig", "/nowhere/kubeconfig")
    assert.equal(1, code)
    assert(err:find("b.lua:1: the script's", 1, true), err)
    assert(not err:find("/nowhere/kubeconfig", 1, true), err)
  end)

  it("names the controller that is not declared each time", function()
    local script = e2e.write_file(e2e.folder() .. "/different.lua", [[
local perilune = require("perilune")
perilune.controller("always"):For("v1/Pod"):Reconcile(function() end)
local address = tostring({}):match("(%x+)$")
perilune.controller("c" .. address):For("v1/ConfigMap"):Reconcile(function() end)
]])
    local code, _, err = e2e.run("run", script, "--lanes", "2", "--kubeconfig", "/nowhere/kubeconfig")
    assert.equal(1, code)
    assert(err:find("different.lua:4: c%x+ is not declared each time that the scripts are loaded: "), err)
  end)

  it("says how large a script may be", function()
    local script = e2e.write_file(e2e.folder() .. "/large.lua", ("-"):rep(70000))
    local code, _, err = e2e.run("check", script, "--lua-memory", "1MiB")
    assert.equal(1, code)
    assert(err:find("large.lua: it has 70000 bytes; a script may have 65536", 1, true), err)
  end)

  it("exits with 1 for a script that is not there", function()
    local code, _, err = e2e.run("run", "/nowhere/script.lua")
    assert.equal(1, code)
    assert(err:find("/nowhere/script.lua", 1, true), err)
  end)

  it("takes flags before and after paths, from the environment and from --config", function()
    local script = e2e.write_file(e2e.folder() .. "/b.lua", [[
local perilune = require("perilune")
perilune.controller("from-" .. perilune.config.name):For("v1/Pod"):Reconcile(function() end)
]])
    local config = e2e.write_file(e2e.folder() .. "/config.yaml", "name: file\nflags:\n  lanes: 2\n")
    local code, out, err = e2e.run("check", script, "--config=" .. config, "--log-level", "warn")
    assert.equal(0, code, err)
    assert(out:find("from-file", 1, true), out)
    local bad = e2e.write_file(e2e.folder() .. "/bad.yaml", "flags:\n  lane: 2\n")
    local other = e2e.write_file(e2e.folder() .. "/other.yaml", "flags: {config: config.yaml}\n")
    local refused, _, why = e2e.run("check", "--config", other, script)
    assert.equal(1, refused)
    assert(why:find(other .. ": flags.config: only the command line and the environment can set it", 1, true), why)
    refused, _, why = e2e.run("check", "--config", bad, script)
    assert.equal(1, refused)
    assert(why:find("did you mean --lanes", 1, true), why)
  end)

  for flag, value in pairs({
    namespace = "Web", server = "nope", ["ui-bind-address"] = "8080", ["metrics-bind-address"] = "8080",
    ["webhook-bind-address"] = "8080", ["webhook-url"] = "http://a", record = "x,max=much",
  }) do
    it("names the place of what a value of --" .. flag .. " must be", function()
      local script = e2e.write_file(e2e.folder() .. "/place.lua", "")
      local file = e2e.write_file(e2e.folder() .. "/place.yaml", ("flags:\n  %s: %q\n"):format(flag, value))
      local code, _, err = e2e.run("run", script, "--config", file)
      assert.equal(1, code)
      local place = ("%s: flags.%s: %q"):format(file, flag, value)
      assert(err:find("perilune run: " .. place, 1, true), err)
      code, _, err = e2e.run("run", script, "--" .. flag, value)
      assert.equal(2, code)
      assert(err:find(("perilune run: --%s: %q"):format(flag, value), 1, true), err)
    end)
  end

  it("gives no socket the number of a standard stream that was closed", function()
    local out = e2e.folder() .. "/closed.kubeconfig"
    local pipe = assert(io.popen(e2e.binary .. " apiserver --kubeconfig-out " .. out
      .. " <&- >&- 2>&- & echo $!"))
    local pid = pipe:read("*l")
    pipe:close()
    e2e.eventually("the server writes its kubeconfig", function()
      return e2e.read_file(out) ~= ""
    end)
    for fd = 0, 2 do
      local link = assert(io.popen("readlink /proc/" .. pid .. "/fd/" .. fd))
      assert.equal("/dev/null", link:read("*l"))
      link:close()
    end
    os.execute("kill " .. pid)
  end)

  it("serves its API to whoever has the token of the kubeconfig, and to no page of others", function()
    local server = e2e.start_embedded()
    local path = "/api/v1/namespaces/default/configmaps"
    assert.equal(200, (server:request("GET", path)))
    local curl, plain = server.curl, server.curl:gsub("%-H '[^']*'", "")
    server.curl = plain
    assert.equal(401, (server:request("GET", path)))
    assert.equal(401, (server:request("GET", "/version")))
    server.curl = plain .. " -H 'Authorization: Bearer wrong'"
    assert.equal(401, (server:request("POST", path, { metadata = { name = "a" } })))
    server.curl = curl .. " -H 'Origin: https://evil.example.com'"
    assert.equal(403, (server:request("GET", path)))
    server.curl = curl .. " -H 'Host: evil.example.com'"
    assert.equal(403, (server:request("GET", path)))
    local stat = assert(io.popen("stat -c %a " .. server.kubeconfig))
    assert.equal("600", stat:read("*l"))
    stat:close()
    server.curl = curl
    server:stop()
  end)

  it("says so when others reach its API, and asks for nothing where it was told to", function()
    local server = e2e.start_embedded({ "--listen", "0.0.0.0:0", "--insecure" })
    assert.equal("http", server.url:match("^%w+"))
    assert.equal(200, (server:request("GET", "/version")))
    local warning = e2e.read_file((server.kubeconfig:gsub("%.kubeconfig$", ".err")))
    assert(warning:find("warning: 0.0.0.0 is not a loopback address", 1, true), warning)
    assert(warning:find("without credentials", 1, true), warning)
    server:stop()
  end)

  it("loads a folder's main.lua alone, else its files in name order without specs", function()
    local folder = e2e.folder() .. "/many"
    os.execute("mkdir -p " .. folder .. "/lib")
    local text = [[require("perilune").controller(require("lib.names").%s):For("v1/Pod"):Reconcile(function() end)]]
    e2e.write_file(folder .. "/lib/names.lua", 'return { a = "from-a", b = "from-b", main = "from-main" }')
    e2e.write_file(folder .. "/b.lua", text:format("b"))
    e2e.write_file(folder .. "/a.lua", text:format("a"))
    e2e.write_file(folder .. "/a_spec.lua", "error('specs are not loaded')")
    local code, out, err = e2e.run("check", folder)
    assert.equal(0, code, err)
    assert(out:find("from%-a.*from%-b"), out)
    e2e.write_file(folder .. "/main.lua", text:format("main"))
    code, out = e2e.run("check", folder)
    assert.equal(0, code)
    assert(out:find("from-main", 1, true) and not out:find("from-a", 1, true), out)
  end)

  it("opens io, debug and ffi to scripts with --unsafe-stdlib alone", function()
    local script = e2e.write_file(e2e.folder() .. "/unsafe.lua", [[
local perilune = require("perilune")
local ffi = require("ffi")
assert(io.open and debug.getinfo and ffi.new)
perilune.controller("unsafe"):For("v1/Pod"):Reconcile(function() end)
]])
    local code, _, err = e2e.run("check", script)
    assert.equal(1, code)
    assert(err:find(":2:", 1, true), err)
    local opened, _, why = e2e.run("check", script, "--unsafe-stdlib")
    assert.equal(0, opened, why)
  end)

  it("exits with 4 when nothing could start in time", function()
    local script = e2e.write_file(e2e.folder() .. "/c.lua", [[
require("perilune").controller("c", { cache_sync_timeout = "200ms" })
  :For("nowhere.example.com/v1/Nothing"):Reconcile(function() end)
]])
    local code, _, err = e2e.run("run", script, "--kubeconfig", e2e.server().kubeconfig)
    assert.equal(4, code, err)
  end)
end)
