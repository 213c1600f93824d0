-- The module that scripts see: what a script does not use is not loaded.

local spec = require("spec.support.host")

local function loaded()
  local out = {}
  for name in pairs(package.loaded) do
    out[#out + 1] = name:match("^perilune%.(%w+)$")
  end
  table.sort(out)
  return table.concat(out, " ")
end

describe("require(\"perilune\")", function()
  local perilune

  before_each(function()
    spec.reset()
    spec.forget()
    perilune = require("perilune")
  end)

  it("loads what every controller needs", function()
    assert.equal("channel check client controller errors host log predicate query ref result",
      loaded())
  end)

  it("loads a module when one of its names is read", function()
    local before = loaded()
    assert.equal("function", type(perilune.cron))
    assert.equal(perilune.cron, require("perilune.cron").cron)
    assert.equal("perilune.webhook", getmetatable(perilune.webhook))
    assert.equal(perilune.webhook.validate, require("perilune.webhook").validate)
    assert.is_not.equal(before, loaded())
  end)

  it("shows no more of a module than scripts may call", function()
    local message = spec.message_of(function()
      return perilune.webhook.finish
    end)
    assert.truthy(message:find('perilune.webhook has no "finish"', 1, true))
  end)

  it("knows names that are not loaded yet", function()
    local message = spec.message_of(function()
      return perilune.regexp
    end)
    assert.truthy(message:find('did you mean "regex"', 1, true), message)
  end)
end)
