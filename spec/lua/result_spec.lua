-- perilune.result: the results that a reconcile may return.
local spec = require("spec.support.host")
local perilune = require("perilune")
local result = require("perilune.result")

local function reconcile() end
local where = debug.getinfo(reconcile, "S")

local function outcome(...)
  return { result.of(reconcile, ...) }
end

describe("the result of a reconcile", function()
  it("is done for nothing and for an empty table", function()
    assert.same({ "done" }, outcome())
    assert.same({ "done" }, outcome(nil))
    assert.same({ "done" }, outcome(nil, nil))
    assert.same({ "done" }, outcome({}))
    assert.same({ "done" }, outcome({ requeue = false }))
  end)

  it("is requeue_after with seconds", function()
    assert.same({ "requeue_after", 30 }, outcome({ requeue_after = 30 }))
    assert.same({ "requeue_after", 90 }, outcome({ requeue_after = "1m30s" }))
    assert.same({ "requeue_after", 5 }, outcome({ requeue_after = 5, requeue = true }))
  end)

  it("is requeue for zero and less", function()
    assert.same({ "requeue" }, outcome({ requeue_after = 0 }))
    assert.same({ "requeue" }, outcome({ requeue_after = -1 }))
    assert.same({ "requeue" }, outcome({ requeue_after = "0s" }))
    assert.same({ "requeue" }, outcome({ requeue = true }))
  end)

  it("is waiting with its reason, on one line", function()
    assert.same({ "waiting", "2 pods are there" }, outcome(perilune.waiting("2 pods\n  are there")))
    for _, reason in ipairs({ "", "  ", 5, false, { "text" } }) do
      assert.truthy(spec.message_of(perilune.waiting, reason):find("waiting needs a reason", 1, true))
    end
    assert.truthy(spec.message_of(perilune.waiting):find("not nil", 1, true))
    assert.truthy(spec.message_of(perilune.waiting, "a", "b"):find("waiting", 1, true))
  end)

  it("raises an error that was returned", function()
    local e = spec.api_error(409, "Conflict")
    local ok, raised = pcall(result.of, reconcile, nil, e)
    assert.is_false(ok)
    assert.is_true(rawequal(e, raised))
    ok, raised = pcall(result.of, reconcile, perilune.try(error, e))
    assert.is_false(ok)
    assert.is_true(rawequal(e, raised))
    ok, raised = pcall(result.of, reconcile, nil, "text")
    assert.is_false(ok)
    assert.equal("text", raised)
  end)

  local wrong = {
    { "a boolean", { false }, "Reconcile returned the boolean false; return nothing" },
    { "a number", { 30 }, "Reconcile returned the number 30; return nothing" },
    { "null", { perilune.null }, "Reconcile returned perilune.null" },
    { "a second value", { {}, 1 }, "Reconcile returned a second value (the number 1)" },
    { "three values", { nil, nil, 1, n = 3 }, "Reconcile returned more than two values" },
    { "an unknown name", { { requeueAfter = 5 } }, 'did you mean "requeue_after"?' },
    { "an array", { { 30 } }, "Reconcile returned an array; return nothing" },
    { "an object", { { apiVersion = "v1", kind = "Pod", metadata = { name = "a" } } },
      "Reconcile returned an object (Pod); return nothing" },
    { "metadata", { { metadata = { name = "a" } } }, "Reconcile returned an object (?)" },
    { "waiting by hand", { { waiting = "a pod" } }, 'unknown option "waiting"' },
    { "a wrong type", { { requeue = "yes" } }, "requeue must be a boolean" },
    { "text that is no duration", { { requeue_after = "soon" } }, "requeue_after must be seconds" },
  }
  for _, case in ipairs(wrong) do
    it("refuses " .. case[1], function()
      local ok, e = pcall(result.of, reconcile, unpack(case[2], 1, case[2].n or #case[2]))
      assert.is_false(ok)
      assert.truthy(e:find(case[3], 1, true), e)
    end)
  end

  it("is blamed on the reconcile function, for it has returned", function()
    local co = coroutine.create(result.of) -- no line of this spec below it
    local ok, e = coroutine.resume(co, reconcile, 5)
    assert.is_false(ok)
    assert.truthy(e:find("result_spec.lua:" .. where.linedefined .. ": Reconcile returned", 1, true), e)
  end)
end)
