-- Two hundred watches through one proxy: streams that are cut at each byte of an event, a server
-- that stops under all of them at once, and refused connections.

local e2e = require("spec.support.e2e")
local mirror = require("spec.support.mirror")
local proxies = require("spec.support.proxy")

-- Cuts at 1..600: an event has about 450 bytes. Fewer with sanitizers, which are slow.
local sanitized = os.getenv("PL_SANITIZED") ~= nil
local WATCHES, ROUNDS = sanitized and 50 or 200, sanitized and 1 or 3

describe("many watches", function()
  local server, proxy, host
  local namespaces, paths = {}, {}

  setup(function()
    server = e2e.server()
    proxy = proxies.start(server)
    local requests = {}
    for i = 1, WATCHES do
      namespaces[i] = ("many-%03d"):format(i)
      paths[mirror.path(namespaces[i])] = i
      requests[i] = { "POST", "/api/v1/namespaces", { apiVersion = "v1", kind = "Namespace",
        metadata = { name = namespaces[i] } } }
    end
    assert.equal(WATCHES, server:bulk(requests)[201])
  end)

  -- A new host for each test, because pauses grow.
  before_each(function()
    local mark = proxy:mark()
    host = mirror.start(server, proxy, namespaces)
    host.mark = mark
    host:synced()
  end)

  after_each(function()
    proxy:clear("away") -- even if the test has failed, because the next one needs the server
    e2e.clean_up()
  end)

  teardown(function()
    e2e.clean_up()
    if proxy then
      proxy:stop()
    end
    e2e.finish()
  end)

  -- Requests of the sources since mark, by verb, and those of each source.
  local function asked_since(mark)
    local verbs, by_source = { watch = 0, list = 0, probe = 0, stream = 0 }, {}
    for _, one in ipairs(proxy:requests(nil, mark)) do
      local source = paths[one.path]
      if source and verbs[one.verb] then
        verbs[one.verb] = verbs[one.verb] + 1
        by_source[source] = by_source[source] or {}
        table.insert(by_source[source], one)
      end
    end
    return verbs, by_source
  end

  local function all_watch()
    local watching = {}
    for _, one in ipairs(proxy:requests(nil, host.mark)) do
      if paths[one.path] and one.verb == "watch" then
        watching[paths[one.path]] = one.done == "" or nil
      end
    end
    for i = 1, WATCHES do
      if not watching[i] then
        return false, namespaces[i]
      end
    end
    return true
  end

  local function create_everywhere(name, value)
    local requests = {}
    for i, namespace in ipairs(namespaces) do
      requests[i] = { "POST", mirror.path(namespace), mirror.config(name, value) }
    end
    assert.equal(WATCHES, server:bulk(requests)[201])
  end

  it("resume wherever an event is cut, with multi-byte text and chunks of a few bytes (F23)", function()
    for round = 1, ROUNDS do
      e2e.eventually("all watch", all_watch)
      local mark, rules = proxy:mark(), {}
      for i, namespace in ipairs(namespaces) do
        rules[i] = { name = "cut", path = mirror.path(namespace) .. "$", query = "watch=",
          cut = sanitized and i * 9 or (round - 1) * WATCHES + i, pieces = 1 + i % 9,
          how = i % 2 == 0 and "close" or "reset" }
      end
      proxy:add(rules)
      proxy:finish("/configmaps$")
      e2e.eventually("every watch has its cut", function()
        return proxy:hits().cut == WATCHES
      end)
      proxy:clear("cut")
      create_everywhere("cut-" .. round, "grün – 日本語 – 😀")
      local told = host:agree(namespaces)
      local verbs = asked_since(mark)
      assert.equal(0, verbs.list + verbs.stream)
      for _, one in pairs(told) do
        assert.equal(0, one.twice)
        assert.equal(round, one.count)
      end
    end
    host:stop()
  end)

  it("let few of them try while the server is away, and come back one by one (F37)", function()
    e2e.eventually("all watch", all_watch)
    local mark = proxy:mark()
    proxy:add({ { name = "away", times = 0, path = "^", close = true } })
    proxy:cut()
    local tries
    e2e.eventually("some have tried", function()
      local verbs = asked_since(mark)
      tries = verbs.watch + verbs.probe + verbs.list + verbs.stream
      return tries >= 12
    end)
    -- A few at first, then at most three at a time, after common pauses.
    assert.is_true(tries < 60, tries .. " tries")
    proxy:clear("away")
    local back = proxy:mark()
    create_everywhere("back", "a")
    host:agree(namespaces)
    local verbs = asked_since(mark)
    assert.equal(0, verbs.list + verbs.stream)
    local times, crowd = {}, 0
    for _, asked in pairs(select(2, asked_since(back))) do
      times[#times + 1] = asked[#asked].time
    end
    assert.is_true(#times > WATCHES - 60, #times .. " came back")
    table.sort(times)
    for i = 1, #times do
      local k = i
      while times[k] and times[k] - times[i] < 0.1 do
        k = k + 1
      end
      crowd = math.max(crowd, k - i)
    end
    -- Two hundred take four seconds. Fifty take less than one second, and a proxy that got no CPU
    -- time for a while would see them all at once; unit/sync/reconnect tests them on virtual time.
    assert.is_true(sanitized or crowd < WATCHES * 0.6, crowd .. " came within 100 ms")
    host:stop()
  end)

  it("survive refused connections without a list (F20, F37)", function()
    e2e.eventually("all watch", all_watch)
    local mark = proxy:mark()
    proxy:down()
    create_everywhere("down", "a")
    host.host:logged("^the API server does not answer$") -- some have tried
    proxy:up()
    host:agree(namespaces)
    local verbs = asked_since(mark)
    assert.equal(0, verbs.list + verbs.stream)
    -- One line for each source and each kind of trouble, for any number of retries.
    for _, namespace in ipairs(namespaces) do
      local said = host:troubles(namespace)
      assert.is_true(#said <= 3, table.concat(said, "\n"))
    end
    host:stop()
  end)
end)
