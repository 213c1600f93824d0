-- Status conditions.
local spec = require("spec.support.host")
local perilune = require("perilune")

local conditions = perilune.conditions

local function ready(extra)
  local condition = { type = "Ready", status = true, reason = "Up" }
  for name, value in pairs(extra or {}) do
    condition[name] = value
  end
  return condition
end

describe("perilune.conditions.set", function()
  local object
  before_each(function()
    object = { metadata = { generation = 7 } }
  end)

  it("adds a condition with all its fields", function()
    assert.is_true(conditions.set(object, ready({ message = "all well" })))
    local set = object.status.conditions[1]
    assert.same({ type = "Ready", status = "True", reason = "Up", message = "all well",
      observedGeneration = 7, lastTransitionTime = set.lastTransitionTime }, set)
    assert.is_true(math.abs(perilune.time.parse(set.lastTransitionTime) - os.time()) < 5)
    assert.truthy(set.lastTransitionTime:find("^%d+%-%d+%-%d+T%d+:%d+:%d+Z$"))
  end)

  it("has an empty message when none is given", function()
    conditions.set(object, ready())
    assert.equal("", object.status.conditions[1].message)
  end)

  it("keeps lastTransitionTime unless the status changes", function()
    object.status = { conditions = { { type = "Ready", status = "True", reason = "Up",
      lastTransitionTime = "2020-01-01T00:00:00Z" } } }
    assert.is_true(conditions.set(object, ready({ reason = "Other" })))
    assert.equal("2020-01-01T00:00:00Z", object.status.conditions[1].lastTransitionTime)
    assert.is_true(conditions.set(object, ready({ status = false, reason = "Down" })))
    assert.are_not.equal("2020-01-01T00:00:00Z", object.status.conditions[1].lastTransitionTime)
    assert.equal("False", object.status.conditions[1].status)
  end)

  it("changes nothing when it is set again", function()
    conditions.set(object, ready())
    object.status.conditions[1].lastTransitionTime = "2020-01-01T00:00:00Z"
    local before = perilune.hash(object)
    assert.is_false(conditions.set(object, ready()))
    assert.equal(before, perilune.hash(object))
  end)

  it("leaves other conditions alone", function()
    conditions.set(object, ready())
    conditions.set(object, { type = "Synced", status = "Unknown", reason = "Never" })
    conditions.set(object, ready({ status = "False", reason = "Down" }))
    assert.equal(2, #object.status.conditions)
    assert.equal("Unknown", conditions.get(object, "Synced").status)
  end)

  it("takes a null status and null conditions for none", function()
    object.status = perilune.null
    conditions.set(object, ready())
    object.status.conditions = perilune.null
    conditions.set(object, ready())
    assert.is_true(conditions.is_true(object, "Ready"))
  end)

  local wrong = {
    { "no reason", { type = "Ready", status = true }, "conditions.set needs reason" },
    { "no type", { status = true, reason = "Up" }, "conditions.set needs type" },
    { "no status", { type = "Ready", reason = "Up" }, "conditions.set needs status" },
    { "an empty reason", ready({ reason = "" }), "reason must not be empty" },
    { "a sentence as reason", ready({ reason = "it is up" }), "one CamelCase word" },
    { "a strange status", ready({ status = "yes" }), 'must be true, false, "True"' },
    { "an unknown field", ready({ mesage = "x" }), 'did you mean "message"?' },
    { "a message that is no text", ready({ message = 5 }), "message must be a string" },
    { "a type that is no name", ready({ type = "Re ady!" }), 'type must be a name such as "Ready"' },
    { "a long type", ready({ type = ("a"):rep(317) }), "type has 317 bytes; it may have 316" },
    { "an empty type", ready({ type = "" }), "type must not be empty" },
    { "a reason with a comma at its end", ready({ reason = "Up," }), "reason must be one CamelCase word" },
    { "a reason that begins with a digit", ready({ reason = "2Up" }), "reason must be one CamelCase word" },
    { "a long reason", ready({ reason = ("a"):rep(1025) }), "reason has 1025 bytes; it may have 1024" },
    { "a long message", ready({ message = ("\195\164"):rep(32769) }),
      "message has 32769 characters; it may have 32768" },
    { "nothing", nil, "conditions.set needs type" },
  }
  for i = 1, 16 do
    it("refuses " .. wrong[i][1], function()
      local message = spec.message_of(conditions.set, object, wrong[i][2])
      assert.truthy(message:find(wrong[i][3], 1, true), message)
    end)
  end

  it("takes what the API server takes", function()
    conditions.set(object, ready({ type = "example.com/Ready_2.x", reason = "A,b:c_",
      message = ("\195\164"):rep(32768) }))
    conditions.set(object, ready({ type = "ready", reason = ("r"):rep(1024) }))
    assert.equal(2, #object.status.conditions)
  end)

  it("refuses what is no object", function()
    assert.equal("conditions.set: the object must be a table, not nil",
      spec.message_of(conditions.set, nil, ready()))
  end)
end)

describe("perilune.conditions.get and is_true", function()
  local object = { status = { conditions = { { type = "Ready", status = "True" },
    { type = "Bad", status = "False" } } } }

  it("refuse a list of something else", function()
    local odd = { status = { conditions = { 42 } } }
    for name, more in pairs({ get = "Ready", is_true = "Ready",
      set = { type = "Ready", status = true, reason = "Up" } }) do
      assert.equal(("conditions.%s: status.conditions[1] must be a table, not the number 42"):format(name),
        spec.message_of(conditions[name], odd, more))
    end
  end)

  it("name themselves in errors", function()
    for _, name in ipairs({ "get", "is_true", "set" }) do
      assert.equal(("conditions.%s: the object must be a table, not nil"):format(name),
        spec.message_of(conditions[name], nil, "Ready"))
    end
    for _, name in ipairs({ "get", "is_true" }) do
      assert.equal(("conditions.%s: the type must be a string, not the number 5"):format(name),
        spec.message_of(conditions[name], object, 5))
      assert.truthy(spec.message_of(conditions[name], object, "Ready", 1):find("conditions." .. name, 1, true))
    end
  end)

  it("find a condition by its type", function()
    assert.equal("False", conditions.get(object, "Bad").status)
    assert.is_true(conditions.is_true(object, "Ready"))
    assert.is_false(conditions.is_true(object, "Bad"))
  end)

  it("know when there is none", function()
    assert.is_nil(conditions.get(object, "Other"))
    assert.is_false(conditions.is_true(object, "Other"))
    assert.is_nil(conditions.get({}, "Ready"))
    assert.is_nil(conditions.get({ status = perilune.null }, "Ready"))
  end)
end)
