local spec = require("spec.support.host")
local perilune = require("perilune")

local host = spec.host

local function refuses(part, ...)
  local message = spec.message_of(perilune.event, ...)
  assert(message:find(part, 1, true), message)
end

describe("perilune.event", function()
  local said

  before_each(function()
    spec.reset()
    said = nil
    host.event = function(...)
      said = { n = select("#", ...), ... }
    end
  end)

  local pod = { apiVersion = "v1", kind = "Pod",
    metadata = { name = "p", namespace = "d", uid = "u", resourceVersion = "7" } }

  it("hands the object's reference and the texts to the core", function()
    perilune.event(pod, "Warning", "Broken", "it is broken")
    assert.are.same({ n = 9, true, "v1", "Pod", "d", "p", "u", "7", "Broken", "it is broken" },
      said)
  end)

  it("takes objects without namespace, uid and version", function()
    perilune.event({ apiVersion = "v1", kind = "Node", metadata = { name = "n" } }, "Normal",
      "Seen", "")
    assert.are.same({ n = 9, false, "v1", "Node", nil, "n", nil, nil, "Seen", "" }, said)
  end)

  it("names what is wrong with its arguments", function()
    refuses("the object must be a table with apiVersion and kind, not nil", nil, "Normal", "A", "x")
    refuses("the object must have apiVersion and kind", { metadata = { name = "p" } }, "Normal",
      "A", "x")
    refuses("has no name", { apiVersion = "v1", kind = "Pod", metadata = {} }, "Normal", "A", "x")
    refuses("the object has no metadata", { apiVersion = "v1", kind = "Pod", name = "p" },
      "Normal", "A", "x")
    refuses('must be "Normal" or "Warning", not the string "Warn"; did you mean "Warning"?', pod,
      "Warn", "A", "x")
    refuses("the reason must be a string, not nil", pod, "Normal", nil, "x")
    refuses('such as "Scaled", not the string "two words"', pod, "Normal", "two words", "x")
    refuses("at most 128 bytes", pod, "Normal", ("x"):rep(129), "x")
    refuses("the message must be a string, not nil", pod, "Normal", "A")
    refuses("more arguments", pod, "Normal", "A", "x", "y")
    refuses("event takes no cluster: it knows the host's own alone", pod, "Normal", "A", "x", { cluster = "edge" })
    assert.is_nil(said)
    spec.assert_positioned("event_spec.lua", function()
      perilune.event(pod, "Warn", "A", "x")
    end)
  end)

  it("reads each member once: what was checked is what is sent", function()
    local function fickle(answers)
      local reads = {}
      return setmetatable({}, { __index = function(_, name)
        reads[name] = (reads[name] or 0) + 1
        return reads[name] == 1 and answers[name] or nil
      end })
    end
    perilune.event(fickle({ apiVersion = "apps/v1", kind = "Deployment",
      metadata = fickle({ name = "p", namespace = "d", uid = "u", resourceVersion = "7" }) }),
      "Normal", "Seen", "x")
    assert.are.same({ n = 9, false, "apps/v1", "Deployment", "d", "p", "u", "7", "Seen", "x" },
      said)
  end)

  it("is not for main chunks", function()
    host.set_phase("load")
    refuses("while the script is loaded", pod, "Normal", "A", "x")
  end)
end)
