-- The host's machine runs out of resources: space for logs, readers of its output, file
-- descriptors, memory for scripts. The host reports it and continues where it can; otherwise it
-- ends with a clear message.

local e2e = require("spec.support.e2e")
local mirror = require("spec.support.mirror")

local script = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("mirror", { rate_limiter = { base = "50ms", max = "500ms" } })
  :For("v1/ConfigMap", { labels = "mirror=yes", writes = { "patch" } })
  :Reconcile(function(request, context)
    local config = client:get("v1/ConfigMap", request)
    if not config then return end
    if config.data.v == "bomb" then
      local grown = {}
      for i = 1, 1e9 do grown[i] = { i } end
    elseif config.data.v == "huge" then
      local much, parts = ("x"):rep(8 * 1024 * 1024), {}
      for i = 1, 100 do parts[i] = much end
      return table.concat(parts)
    end
    context.log:info("seen", { v = config.data.v })
    client:patch("v1/ConfigMap", request, { metadata = { annotations = { seen = config.data.v } } })
  end)
]]

describe("the host", function()
  local server, namespace, child, log

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
    child = nil
  end)
  after_each(function()
    e2e.clean_up()
    if child and child:is_running() then
      child:signal("KILL")
      child:wait()
      io.stderr:write(e2e.read_file(log))
    end
  end)
  teardown(function()
    e2e.finish()
  end)

  local function path(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function create(name, value)
    server:create(path(), mirror.config(name, value))
  end

  local function was_written(name, value)
    e2e.eventually(name .. " was written", function()
      assert(child == nil or child:is_running(), "the host ended")
      local one = server:get(path(name))
      return (one.metadata.annotations or {}).seen == value
    end)
  end

  -- Starts the host with special standard streams; `shell` is the redirection in bash.
  local function start_with(shell, options)
    local file = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("script") .. ".lua", script)
    log = e2e.folder() .. "/" .. e2e.unique("log")
    options = options or {}
    child = e2e.process.start({ "bash", "-c", 'exec "$0" "$@" ' .. shell, e2e.binary, "run", file,
      "--kubeconfig", server.kubeconfig, "--namespace", namespace, "--log-format", "json" },
      { stdout = options.stdout or log .. ".out", stderr = options.stderr or log })
  end

  local function stop()
    child:signal("TERM")
    assert.equal(0, (child:wait(e2e.patience)))
  end

  local streams = {
    { "a full disk under its log", "2>/dev/full" },
    { "a full disk under all it prints", ">/dev/full 2>&1" },
    { "standard streams that are closed", "<&- >&- 2>&-" },
    { "a reader of its log that went away", "2> >(head -n 1 >/dev/null)" },
    { "a reader of all it prints that went away", "> >(true) 2>&1" },
  }
  for _, one in ipairs(streams) do
    it("works with " .. one[1], function()
      start_with(one[2])
      for i = 1, 3 do
        create("object-" .. i, "a")
        was_written("object-" .. i, "a")
      end
      stop()
    end)
  end

  local function limit_descriptors(count)
    assert.equal(0, os.execute(("prlimit --pid %d --nofile=%d:"):format(child.pid, count)))
  end

  local function descriptors()
    local count = 0
    for _ in io.popen("ls /proc/" .. child.pid .. "/fd"):lines() do
      count = count + 1
    end
    return count
  end

  it("survives a time without file descriptors", function()
    local relay, link = e2e.start_link(server)
    local host = e2e.start_host(link, script, { "--namespace", namespace, "--request-timeout", "2s" })
    child, log = host.child, host.log_file
    create("one", "a")
    was_written("one", "a")
    local before = descriptors()
    limit_descriptors(3)
    relay.child:signal("ALRM")
    create("two", "a")
    local line = host:logged(function(line) return line.level == "warn" end)
    assert(line.error:find("[Tt]oo many open files"), line.error)
    host:must_run()
    limit_descriptors(1024)
    was_written("two", "a")
    e2e.eventually("no descriptor is left behind", function()
      return descriptors() <= before + 2, descriptors()
    end)
    assert(#host:complaints() <= 4, host:text())
    stop()
    relay.child:signal("KILL")
    relay.child:wait()
  end)

  it("ends in order without a file descriptor to spare", function()
    local host = e2e.start_host(server, script, { "--namespace", namespace },
      { env = { ASAN_OPTIONS = "detect_leaks=0" } }) -- whose search needs descriptors
    child, log = host.child, host.log_file
    create("one", "a")
    was_written("one", "a")
    limit_descriptors(3)
    stop()
  end)

  it("says that it cannot start without file descriptors", function()
    local file = e2e.write_file(e2e.folder() .. "/few.lua", script)
    local out, told = e2e.folder() .. "/few.log", 0
    for limit = 4, 20 do -- with 127 the system could not even load it
      local few = e2e.process.start({ "bash", "-c", "ulimit -n " .. limit .. '; exec "$0" "$@"',
        e2e.binary, "run", file, "--kubeconfig", server.kubeconfig }, { stderr = out })
      e2e.eventually("it has started or given up", function()
        return not few:is_running() or e2e.read_file(out):find('"msg":"started"')
      end)
      if not few:is_running() and few.code ~= 127 then
        assert.equal(1, few.code)
        assert(e2e.read_file(out):lower():find("too many open files"), e2e.read_file(out))
        told = told + 1
      end
      few:signal("TERM")
      few:wait(e2e.patience)
    end
    assert.is_true(told > 0)
  end)

  -- As in a container without it.
  it("needs no /dev, but for a standard stream that is closed", function()
    local script_file = e2e.write_file(e2e.folder() .. "/bare.lua", script)
    local function without_dev(command)
      local out = e2e.folder() .. "/bare.out"
      local bare = e2e.process.start({ "unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
        "mount -t tmpfs none /dev && exec " .. command, e2e.binary, script_file }, { stdout = out, stderr = out })
      return bare:wait(e2e.patience), e2e.read_file(out)
    end
    if (without_dev("true")) ~= 0 then
      pending("this machine lets nobody have a /dev of his own")
      return
    end
    local code, text = without_dev('"$0" check "$1"')
    assert.equal(0, code, text)
    assert(text:find("v1/ConfigMap", 1, true), text)
    code, text = without_dev('"$0" check "$1" <&-')
    assert.equal(1, code)
    assert(text:find("standard input is closed, and /dev/null cannot be opened: No such file", 1, true), text)
  end)

  it("ends a run that needs too much memory, and goes on", function()
    local host = e2e.start_host(server, script,
      { "--namespace", namespace, "--lua-memory", "32MiB" })
    child, log = host.child, host.log_file
    create("bomb", "bomb")
    local line = host:logged("reconcile failed")
    assert(line.error:find("%.lua:%d+: script memory limit exceeded"), line.error)
    create("one", "a")
    was_written("one", "a")
    stop()
  end)

  -- The process ends above four times the limit; a single block that would exceed this is refused.
  it("refuses a script a block of many times its memory, and goes on", function()
    local host = e2e.start_host(server, script,
      { "--namespace", namespace, "--lua-memory", "32MiB" })
    child, log = host.child, host.log_file
    create("huge", "huge")
    local line = host:logged("reconcile failed")
    assert(line.error:find("script memory limit exceeded", 1, true), line.error)
    create("one", "a")
    was_written("one", "a")
    stop()
  end)

  it("ends when what it was asked to write cannot be written", function()
    local function run(shell)
      local text = e2e.folder() .. "/" .. e2e.unique("words")
      local one = e2e.process.start({ "bash", "-c", shell, e2e.binary }, { stderr = text })
      local code = one:wait(e2e.patience)
      return code, e2e.read_file(text)
    end
    for _, command in ipairs({ "version", "--help", "run --help", "check examples/hello/main.lua" }) do
      local code, text = run('exec "$0" ' .. command .. " >/dev/full")
      assert.equal(1, code)
      assert.equal("perilune: standard output cannot be written: No space left on device\n", text)
    end
    local code, text = run('exec "$0" apiserver --kubeconfig-out /dev/full')
    assert.equal(1, code)
    assert.equal("perilune apiserver: /dev/full: No space left on device\n", text)
  end)
end)
