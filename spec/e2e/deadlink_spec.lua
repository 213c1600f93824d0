-- Connections whose packets vanish without FIN or RST. A hanging request is given up in bounded
-- time, the next request goes over another connection, and nothing is listed again.

local e2e = require("spec.support.e2e")
local mirror = require("spec.support.mirror")

local script = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("mirror", { rate_limiter = { base = "50ms", max = "2s" } })
  :For("v1/ConfigMap", { labels = "mirror=yes", writes = { "patch" } })
  :Reconcile(function(request, context)
    local config = client:get("v1/ConfigMap", request)
    if config and config.metadata.name == "poll" then
      local _, e = perilune.try(perilune.live.get, perilune.live, "v1/ConfigMap", request)
      context.log:info(e and "no answer" or "read", { error = e and e.message })
    end
    if not config or config.data.v == perilune.dig(config, "metadata", "annotations", "seen") then
      return { requeue_after = config and config.metadata.name == "poll" and "200ms" or nil }
    end
    context.log:info("saw", { v = config.data.v })
    client:patch("v1/ConfigMap", request, { metadata = { annotations = { seen = config.data.v } } })
    context.log:info("wrote", { v = config.data.v })
    return { requeue_after = "200ms" }
  end)
]]

describe("a dead connection", function()
  local server, namespace, relay

  setup(function()
    server = e2e.server({ "--insecure" }) -- over TLS the relay could not read the requests
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(function()
    e2e.clean_up()
    if relay then
      relay.child:signal("KILL")
      relay.child:wait()
      relay = nil
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

  local function change(name, value)
    server:patch(path(name), { data = { v = value } })
  end

  -- How many lines of the relay so far begin with `word` and match `pattern`.
  local function told(word, pattern)
    local count = 0
    for line in e2e.read_file(relay.out):gmatch("[^\n]+") do
      if line:find("^" .. word) and line:find(pattern or "") then
        count = count + 1
      end
    end
    return count
  end

  local function start(flags)
    local all = { "--namespace", namespace }
    for _, flag in ipairs(flags or {}) do
      all[#all + 1] = flag
    end
    local link
    relay, link = e2e.start_link(server)
    return e2e.start_host(link, script, all)
  end

  local function logged(host, word, value, seconds)
    return host:logged(function(line) return line.msg == word and line.v == value end, seconds)
  end

  -- Lets all connections die, and returns when that has happened.
  local function cut(signal)
    local before = told("dead")
    relay.child:signal(signal)
    e2e.eventually("the connections are dead", function() return told("dead") > before end)
  end

  -- The lists of the kind that the server was asked for, without those with a limit of 1, which
  -- only read the version. Over TLS the relay cannot count them.
  local function lists()
    return told("ask", "GET [^?]+/configmaps%?.*limit=500")
  end

  -- F16. The guards have 45 s; the actual time is printed, not checked.
  it("under a watch is replaced, and the watch resumed without a list", function()
    local host = start()
    create("one", "a")
    logged(host, "wrote", "a")
    local listed, connections = lists(), told("accept")
    cut("USR1")
    local from = e2e.now()
    change("one", "b")
    logged(host, "saw", "b", 120)
    print(("# the watch was replaced after %.1f s"):format(e2e.now() - from))
    logged(host, "wrote", "b")
    assert.is_true(told("accept") > connections)
    if not e2e.is_kube then
      assert.equal(1, listed)
      assert.equal(1, lists())
    end
    host:stop()
  end)

  -- F17. The reads of a run use the dead connection first: the first one waits for its time-out.
  -- All others must use another connection, long before the watch is given up.
  it("that a request waited for in vain is not used by the next", function()
    local host = start({ "--request-timeout", "3s" })
    create("poll", "a")
    logged(host, "wrote", "a")
    e2e.eventually("reads are answered", function() return host:count_logged("^read") > 3 end)
    cut("USR1")
    local from, good = e2e.now(), host:count_logged("^read")
    host:logged("^no answer", 60)
    e2e.eventually("reads are answered again", function()
      return host:count_logged("^read") > good + 3
    end)
    print(("# answered again after %.1f s"):format(e2e.now() - from))
    assert.equal(1, host:count_logged("^no answer"))
    change("poll", "b")
    logged(host, "wrote", "b", 120)
    host:stop()
  end)

  it("before the first list delays the start and nothing else", function()
    local link
    relay, link = e2e.start_link(server)
    relay.child:signal("USR2")
    e2e.eventually("nobody answers", function()
      return os.execute("curl -s --max-time 1 " .. e2e.read_file(link.kubeconfig):match('server: "([^"]+)"')
        .. "/version >/dev/null") ~= 0
    end)
    create("one", "a")
    local host = e2e.start_host(link, script, { "--namespace", namespace })
    host:logged(function(line) return line.level == "warn" and tostring(line.error):find("no connection") end, 60)
    relay.child:signal("HUP")
    logged(host, "wrote", "a", 90)
    host:stop()
  end)
end)
