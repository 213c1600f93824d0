-- Faults in lists that come as the beginning of a watch (rules 75-79, 81): the host falls back to a
-- list in bounded time, and other sources are not affected.

local e2e = require("spec.support.e2e")
local mirror = require("spec.support.mirror")
local proxies = require("spec.support.proxy")

local status = proxies.status

-- rule: the fault of the streamed list of a namespace.
local faults = {
  { f = "F21", name = "no-bookmark", it = "whose end never comes is given up for a list",
    rule = { drop = "initial-events-end", times = 0 },
    check = function(verbs, asked)
      assert.matches("^stream .*list watch", verbs)
      for _, one in ipairs(asked) do
        if one.verb == "list" then
          assert.is_true(one.time - asked[1].time >= 25)
        end
      end
    end },
  { f = "F15, F22", name = "cut", it = "that is cut in the middle takes no version from its objects",
    rule = { cut = 900, times = 0 },
    check = function(verbs, asked)
      assert.matches("^stream stream.* list watch", verbs)
      for _, one in ipairs(asked) do
        assert.is_true(one.verb ~= "stream" or one.rv == nil or one.rv == "", one.query)
      end
    end },
  { f = "F22", name = "failed", it = "that is answered with an error is asked for as a list",
    rule = { status = 500, body = status(500, "InternalError", "no streams today") },
    check = function(verbs)
      assert.matches("^stream.* list watch", verbs)
    end },
  { f = "F22", name = "too-many", it = "that is answered 429 is asked for again",
    rule = { status = 429, body = status(429, "TooManyRequests", "slow down") },
    check = function(verbs)
      assert.matches("^stream stream", verbs)
    end },
  { f = "F21", name = "healthy", it = "that works is its source's only request",
    check = function(verbs, asked)
      assert.equal("stream", verbs)
      assert.is_true(asked[1].done == "")
    end },
}

describe("a streamed list", function()
  local server, proxy, host
  local namespaces, told = {}, nil

  setup(function()
    server = e2e.server()
    proxy = proxies.start(server)
    local requests = {}
    for i, fault in ipairs(faults) do
      fault.namespace = e2e.unique("stream-" .. fault.name)
      namespaces[i] = fault.namespace
      requests[#requests + 1] = { "POST", "/api/v1/namespaces", { apiVersion = "v1",
        kind = "Namespace", metadata = { name = fault.namespace } } }
    end
    server:bulk(requests)
    requests = {}
    for _, fault in ipairs(faults) do
      for i = 1, 6 do
        requests[#requests + 1] = { "POST", mirror.path(fault.namespace),
          mirror.config("object-" .. i, "a") }
      end
      if fault.rule then
        fault.rule.name = fault.name
        fault.rule.path = mirror.path(fault.namespace) .. "$"
        fault.rule.query = "sendInitialEvents=true"
        proxy:add({ fault.rule })
      end
    end
    assert.equal(6 * #faults, server:bulk(requests)[201])
    host = mirror.start(server, proxy, namespaces, { "--watch-list" })
    host.host:logged("controller started", 90)
    requests = {}
    for _, fault in ipairs(faults) do
      requests[#requests + 1] = { "POST", mirror.path(fault.namespace), mirror.config("late", "b") }
      requests[#requests + 1] = { "DELETE", mirror.path(fault.namespace) .. "/object-1" }
    end
    server:bulk(requests)
    told = host:agree(namespaces)
  end)

  teardown(function()
    e2e.clean_up()
    if proxy then
      proxy:stop()
    end
    e2e.finish()
  end)

  for _, fault in ipairs(faults) do
    it(fault.it .. " (" .. fault.f .. ")", function()
      local asked, verbs = proxy:requests(mirror.path(fault.namespace)), {}
      for i, one in ipairs(asked) do
        verbs[i] = one.verb
      end
      fault.check(table.concat(verbs, " "), asked)
      assert.equal(0, told[fault.namespace].twice)
      assert.equal(6, told[fault.namespace].count)
      assert.is_true(#host:troubles(fault.namespace) <= 1, table.concat(host:troubles(fault.namespace), "\n"))
    end)
  end

  it("leaves nothing behind", function()
    host:stop()
  end)
end)
