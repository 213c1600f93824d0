-- The error objects of calls, their tests, perilune.try and perilune.terminal.
local spec = require("spec.support.host")
local perilune = require("perilune")

local errors = perilune.errors

local function raiser(e)
  return function()
    error(e, 0)
  end
end

describe("perilune.errors", function()
  local cases = {
    { "is_not_found", { type = "api", code = 404, reason = "NotFound" } },
    { "is_conflict", { type = "api", code = 409, reason = "Conflict" } },
    { "is_already_exists", { type = "api", code = 409, reason = "AlreadyExists" } },
    { "is_forbidden", { type = "api", code = 403, reason = "Forbidden" } },
    { "is_invalid", { type = "api", code = 422, reason = "Invalid" } },
    { "is_too_many_requests", { type = "api", code = 429, reason = "TooManyRequests" } },
    { "is_timeout", { type = "timeout" } },
    { "is_network", { type = "network" } },
    { "is_refused", { type = "refused", rule = "leader" } },
  }
  for _, case in ipairs(cases) do
    it("tells " .. case[1] .. " from all others", function()
      local e = spec.error(case[2])
      for _, other in ipairs(cases) do
        assert.equal(other[1] == case[1], errors[other[1]](e), other[1])
      end
    end)
  end

  it("takes a gateway's timeout for one", function()
    assert.is_true(errors.is_timeout(spec.error({ type = "api", code = 504, reason = "Timeout" })))
  end)

  it("answers false for what is no error object", function()
    for _, case in ipairs(cases) do
      for _, value in ipairs({ "text", 5, { type = "api", code = 404 }, perilune.null }) do
        assert.is_false(errors[case[1]](value))
      end
      assert.is_false(errors[case[1]](nil))
    end
  end)
end)

describe("an error object", function()
  it("has a text with verb, kind, key, code and reason", function()
    assert.equal("update v1/ConfigMap default/a: it changed (409 Conflict)",
      tostring(spec.api_error(409, "Conflict", "it changed")))
    assert.equal("no answer", tostring(spec.error({ type = "api", message = "no answer", code = 500,
      reason = "InternalError" })):match("^no answer"))
  end)

  it("of a network, a timeout and a refusal says so", function()
    assert.equal("get v1/Pod a/b: network: connection refused", tostring(spec.error({
      type = "network", message = "connection refused", verb = "get", kind = "v1/Pod", key = "a/b" })))
    assert.equal("timeout: 30s without an answer", tostring(spec.error({
      type = "timeout", message = "30s without an answer" })))
    assert.equal("update v1/Pod: refused (leader): not the leader", tostring(spec.error({
      type = "refused", rule = "leader", message = "not the leader", verb = "update", kind = "v1/Pod" })))
  end)

  it("shows its fields and hides how it is made", function()
    local e = spec.api_error(422, "Invalid")
    e.causes = { { field = "spec.replicas" } }
    assert.equal("spec.replicas", e.causes[1].field)
    assert.equal("perilune.error", getmetatable(e))
    assert.is_false((pcall(setmetatable, e, {})))
  end)
end)

describe("perilune.try", function()
  it("returns what the function returns", function()
    assert.same({ n = 3, 1, nil, 3 }, (function(...)
      return { n = select("#", ...), ... }
    end)(perilune.try(function(a, b)
      return a, nil, b
    end, 1, 3)))
    assert.equal(0, select("#", perilune.try(function() end)))
  end)

  it("returns nil and the error of the API, the network or a timeout", function()
    for _, kind in ipairs({ "api", "network", "timeout" }) do
      local e = spec.error({ type = kind })
      local value, caught = perilune.try(raiser(e))
      assert.is_nil(value)
      assert.is_true(rawequal(e, caught))
    end
  end)

  it("lets everything else pass unchanged", function()
    local own = { type = "api" }
    for _, e in ipairs({ "text", own, spec.error({ type = "refused" }), perilune.terminal("no"),
      spec.error({ type = "canceled" }) }) do
      local ok, raised = pcall(perilune.try, raiser(e))
      assert.is_false(ok)
      assert.is_true(rawequal(e, raised))
    end
    local ok, raised = pcall(perilune.try, raiser(nil))
    assert.is_false(ok)
    assert.is_nil(raised)
  end)

  it("needs a function", function()
    assert.equal("try needs a function, not a table", spec.message_of(perilune.try, {}))
  end)
end)

describe("perilune.terminal", function()
  it("makes an error that says why", function()
    local e = perilune.terminal("the name is taken")
    assert.equal("terminal", e.type)
    assert.equal("the name is taken", tostring(e))
  end)

  it("takes another error as the reason", function()
    local cause = spec.api_error(403, "Forbidden", "not yours")
    local e = perilune.terminal(cause)
    assert.equal(tostring(cause), tostring(e))
    assert.is_true(rawequal(cause, e.cause))
    assert.is_true(rawequal(e, perilune.terminal(e)))
  end)

  it("needs a reason", function()
    assert.truthy(spec.message_of(perilune.terminal):find("needs a reason", 1, true))
    assert.truthy(spec.message_of(perilune.terminal, "why", "more"):find("terminal got more arguments", 1, true))
  end)
end)
