-- Two hundred watches through one proxy: streams cut at every byte of an event, a server that goes
-- away under all of them at once, and refused connections.

local e2e = require("spec.support.e2e")
local mirror = require("spec.support.mirror")
local proxies = require("spec.support.proxy")

-- Cuts at 1..600: an event has about 450 bytes. Sanitizers look for other things, and slowly.
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

  -- A host of its own for each, as pauses grow.
  before_each(function()
    local mark = proxy:mark()
    host = mirror.start(server, proxy, namespaces)
    host.mark = mark
    host:synced()
  end)

  after_each(function()
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

  it("come back one by one, not in step, and list nothing (F37)", function()
    e2e.eventually("all watch", all_watch)
    local mark = proxy:mark()
    local rule = { name = "away", times = 0, path = "^", close = true }
    proxy:add({ rule })
    proxy:cut()
    local verbs, by_source
    e2e.eventually("every source tries twice", function()
      verbs, by_source = asked_since(mark)
      local tries = 0
      for i = 1, WATCHES do
        tries = tries + math.min(2, by_source[i] and #by_source[i] or 0)
      end
      return tries == 2 * WATCHES, tries
    end)
    proxy:clear("away")
    -- Between its first and its second try lies a pause of 0.8 s at least; busy loops have none.
    local first, most = {}, 0
    for i = 1, WATCHES do
      first[i] = by_source[i][1].time
      most = math.max(most, #by_source[i])
      for k = 2, #by_source[i] do
        assert.is_true(by_source[i][k].time - by_source[i][k - 1].time >= 0.75)
      end
    end
    assert.is_true(most <= 20, most .. " tries of one source")
    -- Not in step: the first tries spread over the pause (0.8 s at least).
    table.sort(first)
    local crowd = 0
    for i = 1, WATCHES do
      local k = i
      while k <= WATCHES and first[k] - first[i] < 0.1 do
        k = k + 1
      end
      crowd = math.max(crowd, k - i)
    end
    assert.is_true(crowd < WATCHES * 0.6, crowd .. " tried within 100 ms")
    create_everywhere("back", "a")
    host:agree(namespaces)
    verbs = asked_since(mark)
    assert.equal(0, verbs.list + verbs.stream)
    host:stop()
  end)

  it("survive refused connections without a list (F20, F37)", function()
    e2e.eventually("all watch", all_watch)
    local mark = proxy:mark()
    proxy:down()
    create_everywhere("down", "a")
    proxy:up()
    host:agree(namespaces)
    local verbs = asked_since(mark)
    assert.equal(0, verbs.list + verbs.stream)
    -- One line for each source and each kind of trouble, whatever the number of retries.
    for _, namespace in ipairs(namespaces) do
      local said = host:troubles(namespace)
      assert.is_true(#said <= 3, table.concat(said, "\n"))
    end
    host:stop()
  end)
end)
