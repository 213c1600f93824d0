-- The API server's name does not resolve for a while: before the first contact or in the middle of
-- work, with a resolver that reports it or one that does not answer. spec/support/names.c replaces
-- the C library's resolver.
--
-- PL_NAMELESS is how many seconds the outage in the middle of work lasts (default 45).

local e2e = require("spec.support.e2e")
local mirror = require("spec.support.mirror")
local proxies = require("spec.support.proxy")

local NAME = "api.perilune.test"
local SETTLED = 1.5 -- a watch that ends sooner is another trouble (rule 68)
local outage = tonumber(os.getenv("PL_NAMELESS") or "45")

describe("a name that does not resolve", function()
  local server, proxy, namespace, trouble, host

  setup(function()
    server = e2e.server({ "--insecure" }) -- a token would cause a warning
    proxy = proxies.start(server)
  end)
  before_each(function()
    namespace = server:new_namespace()
    trouble = e2e.folder() .. "/" .. e2e.unique("trouble")
  end)
  after_each(e2e.clean_up)
  teardown(function()
    e2e.clean_up()
    proxy:stop()
    e2e.finish()
  end)

  -- seconds: how long the resolver takes to fail.
  local function fail(seconds)
    e2e.write_file(trouble, tostring(seconds or ""))
  end

  local function heal()
    assert(os.remove(trouble))
  end

  local function asked()
    return #e2e.read_file(trouble .. ".asked")
  end

  local function start(flags)
    local text = e2e.read_file(proxy.kubeconfig):gsub("127%.0%.0%.1", NAME)
    local target = { kubeconfig = e2e.write_file(trouble .. ".kubeconfig", text) }
    local mirrors = mirror.start(server, target, { namespace }, flags,
      { env = e2e.preloaded("names", { SPEC_NAME = NAME, SPEC_NAME_TROUBLE = trouble }) })
    host = mirrors.host
    return mirrors
  end

  local function said(part)
    return host:count_logged(part)
  end

  local function probe(path)
    return (host:ask("health", path))
  end

  local function write(name, value)
    server:create(mirror.path(namespace), mirror.config(name, value))
  end

  local function sources(mark)
    local out = {}
    for _, one in ipairs(proxy:requests(mirror.path(namespace), mark)) do
      out[#out + 1] = one.verb .. "@" .. tostring(one.rv)
    end
    return out
  end

  it("is waited for at the start", function()
    fail()
    write("one", "a")
    local mark = proxy:mark()
    local mirrors = start()
    host:logged("^the API server does not answer")
    e2e.process.pause(8)
    assert.equal(1, #host:complaints(), host:text())
    assert.truthy(host:complaints()[1].error:find(NAME, 1, true), host:complaints()[1].error)
    assert.equal(200, probe("/healthz"))
    local code, text = host:ask("health", "/readyz?verbose")
    assert.equal(500, code, text)
    assert.truthy(text:find(NAME, 1, true), text)
    assert.is_true(asked() >= 3, asked() .. " look-ups")
    assert.is_true(asked() < 30, asked() .. " look-ups")
    assert.equal(mark, proxy:mark())
    heal()
    mirrors:synced()
    mirrors:agree({ namespace })
    assert.equal(1, said("^the API server does not answer"))
    assert.equal(1, said("^the API server answers again"))
    assert.equal(200, probe("/readyz"))
    host:stop()
  end)

  it("costs no list, two lines and the Lease for that long", function()
    local mirrors = start({ "--leader-elect", "--leader-elect-resource-namespace", namespace,
      "--leader-elect-lease-duration", "6s", "--leader-elect-renew-deadline", "4s",
      "--leader-elect-retry-period", "500ms", "--on-lost-lease", "standby" })
    mirrors:synced()
    write("one", "a")
    mirrors:agree({ namespace })
    e2e.process.pause(SETTLED)
    local before, known = asked(), sources()
    fail()
    -- An open connection needs no name, nor does a new one while the address is cached.
    proxy:add({ { name = "lease", path = "/leases", times = 0, close = true } })
    proxy:cut()
    local lost_from = e2e.now()
    host:logged("^the API server does not answer")
    host:logged("^lease lost")
    local mark = proxy:mark()
    write("two", "a")
    server:delete(mirror.path(namespace) .. "/one")
    e2e.process.pause(outage - (e2e.now() - lost_from))
    assert.equal(mark, proxy:mark()) -- nothing was received
    assert.equal(1, said("^the API server does not answer"))
    assert.equal(0, said("^the API server answers again"))
    assert.equal(1, said("^lease lost"))
    assert.equal(200, probe("/healthz"))
    assert.equal(200, probe("/readyz")) -- a controller that has synced stays ready
    -- The replica tries to get the Lease each 500 to 1,100 ms, with two requests; sources try at
    -- most 10 s apart.
    local tries = asked() - before
    assert.is_true(tries > outage / 10 and tries < 8 * outage, tries .. " look-ups")
    local lines = #host:complaints()
    assert.is_true(lines <= 8, host:text())

    proxy:clear()
    heal()
    mirrors:agree({ namespace })
    host:logged("^the API server answers again")
    e2e.eventually("it leads again", function() return said("^lease acquired") == 2 end)
    local now = sources(mark)
    for _, verb in ipairs(now) do
      assert.is_nil(verb:find("^list"), table.concat(known, " ") .. " | " .. table.concat(now, " "))
    end
    assert.equal(lines, #host:complaints(), host:text())
    assert.equal(1, said("^the API server answers again"))
    assert.equal(1, said("^the lease can be reached again"))
    assert.is_true(host.child:is_running())
    host:stop()
  end)

  for _, state in ipairs({ "at the start", "later" }) do
    it("is looked up for longer than anybody waits, " .. state, function()
      local mirrors
      local grace = { "--graceful-shutdown-timeout", "10s" }
      if state == "later" then
        mirrors = start(grace)
        mirrors:synced()
        mirrors:agree({ namespace })
        e2e.process.pause(SETTLED)
        fail(3600)
        proxy:cut()
      else
        fail(3600)
        mirrors = start(grace)
      end
      -- No request of the host waits that long, and none delays the others.
      host:logged("^the API server does not answer")
      for _ = 1, 10 do
        local from = e2e.now()
        assert.equal(200, probe("/healthz"))
        assert.is_true(e2e.now() - from < 5, "the loop was held up")
        e2e.process.pause(0.3)
      end
      if state == "later" then
        heal()
        write("late", "a")
        mirrors:agree({ namespace })
        fail(3600)
      end
      local from = e2e.now()
      host:stop()
      assert.is_true(e2e.now() - from < 25, "the end took " .. e2e.now() - from .. " s")
    end)
  end

  it("does not keep a host from ending", function()
    fail()
    start({ "--graceful-shutdown-timeout", "10s" })
    host:logged("^the API server does not answer")
    host:stop()
    local last = host:log()[#host:log()]
    assert.same({ "stopped", 0 }, { last.msg, last.exit_code })
  end)
end)
