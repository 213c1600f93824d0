-- perilune.check: the messages for wrong arguments.
local spec = require("spec.support.host")
local perilune = require("perilune")
local check = require("perilune.check")

local null = perilune.null

local function refuses(expected, f, ...)
  assert.equal(expected, spec.message_of(f, ...))
end

describe("perilune.check", function()
  before_each(spec.reset)

  it("reports the script's line", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local ok, e = pcall(function() perilune.duration("soon") end)
    assert.is_false(ok)
    assert.truthy(e:find("check_spec.lua:" .. line .. ": duration must be", 1, true), e)
  end)

  it("describes values as a person would recognise them", function()
    assert.equal('the string "x"', check.describe("x"))
    assert.equal("the number 1.5", check.describe(1.5))
    assert.equal("the boolean true", check.describe(true))
    assert.equal("nil", check.describe(nil))
    assert.equal("perilune.null", check.describe(null))
    assert.equal("a table", check.describe({}))
    assert.equal("a function", check.describe(print))
    assert.equal('the string "' .. ("x"):rep(57) .. '..."', check.describe(("x"):rep(100)))
  end)

  it("takes values of one type", function()
    assert.equal(false, check.boolean("x", false))
    refuses("x must be a boolean, not nil", check.boolean, "x", nil)
    refuses('x must be a table, not the string "y"', check.table, "x", "y")
    refuses("x must be a function, not a table", check.func, "x", {})
    refuses("x must be a string, not perilune.null", check.string, "x", null)
    refuses("x must not be empty", check.string, "x", "")
    assert.equal("", check.text("x", ""))
  end)

  it("takes numbers within bounds", function()
    assert.equal(1.5, check.number(1)("x", 1.5))
    assert.equal(-5, check.number()("x", -5))
    refuses("x must be a number of at least 1, not the number 0.5", check.number(1), "x", 0.5)
    refuses("x must be a number, not the number nan", check.number(), "x", 0 / 0)
    refuses("x must be a number, not the number inf", check.number(), "x", math.huge)
    assert.equal(3, check.integer(1)("x", 3))
    refuses("x must be a whole number of at least 1, not the number 1.5", check.integer(1), "x", 1.5)
    refuses("x must be a whole number of at least 1, not the number 0", check.integer(1), "x", 0)
    refuses('x must be a whole number of at least 1, not the string "2"', check.integer(1), "x", "2")
    refuses("x must be a whole number of at least 1, not the number inf", check.integer(1), "x", math.huge)
    assert.equal(2147483647, check.integer(1)("x", 2147483647))
    refuses("x must be at most 2147483647, not the number 1e+300", check.integer(1), "x", 1e300)
  end)

  it("takes durations as seconds or text", function()
    assert.equal(90, check.duration("x", "1m30s"))
    assert.equal(0.25, check.duration("x", "250ms"))
    assert.equal(30, check.duration("x", 30))
    assert.equal(-1, check.duration("x", -1))
    refuses('x must be seconds or text such as "1m30s", not the string "5 minutes"',
      check.duration, "x", "5 minutes")
    refuses('x must be seconds or text such as "1m30s", not nil', check.duration, "x", nil)
    refuses("x must be longer than zero, not the number 0", check.positive_duration, "x", 0)
    refuses('x must be longer than zero, not the string "-1s"', check.positive_duration, "x", "-1s")
    refuses("x must be zero or longer, not the number -1", check.delay, "x", -1)
    refuses("x must be at most 1000000000 seconds, not the number 1e+300", check.duration, "x", 1e300)
    refuses('x must be at most 1000000000 seconds, not the string "300000h"', check.delay, "x", "300000h")
    assert.equal(0, check.delay("x", 0))
    assert.equal(1e9, check.positive_duration("x", 1e9))
    assert.equal(1.08e9, check.seconds("x", "300000h"))
  end)

  it("takes one of a list", function()
    local one = check.one_of("a", "b")
    assert.equal("b", one("x", "b"))
    refuses('x must be one of "a", "b", not the string "c"', one, "x", "c")
  end)

  it("takes arrays and names the element that is wrong", function()
    local strings = check.array_of(check.string)
    assert.same({ "a", "b" }, strings("x", { "a", "b" }))
    assert.same({}, strings("x", {}))
    assert.same({}, strings("x", perilune.array({})))
    refuses("x must be an array, not nil", strings, "x", nil)
    refuses('x must be an array such as {"a", "b"}, not a table with names or holes', strings, "x",
      { a = "b" })
    refuses("x[2] must be a string, not the number 5", strings, "x", { "a", 5 })
  end)

  it("takes kinds", function()
    assert.equal("apps/v1/Deployment", check.kind("x", "apps/v1/Deployment"))
    refuses('x: the kind must be a text such as "apps/v1/Deployment", not nil', check.kind, "x", nil)
    assert.truthy(spec.message_of(check.kind, "x", "Pod"):find('^x: .*Pod'))
  end)

  it("takes selectors in every form and refuses empty ones", function()
    assert.equal("app=web,tier!=db", check.selector("x", "app=web,tier!=db"))
    assert.equal("app=web", check.selector("x", { app = "web" }))
    assert.equal("app=web", check.selector("x", { matchLabels = { app = "web" } }))
    assert.equal("tier in (a,b)", check.selector("x",
      { matchExpressions = { { key = "tier", operator = "In", values = { "a", "b" } } } }))
    for _, empty in ipairs({ "", {}, { matchLabels = {} } }) do
      assert.truthy(spec.message_of(check.selector, "x", empty):find("^x: .*empty"))
    end
    assert.truthy(spec.message_of(check.selector, "x", "a in ("):find("^x: "))
    assert.truthy(spec.message_of(check.selector, "x", 5):find("^x: .*number"))
    assert.truthy(spec.message_of(check.fields, "x", "spec.nodeName"):find("^x: "))
    assert.equal("spec.nodeName=n1", check.fields("x", "spec.nodeName=n1"))
  end)

  it("takes paths", function()
    assert.equal('spec.containers[0]["a.b"]', check.path("x", 'spec.containers[0]["a.b"]'))
    assert.truthy(spec.message_of(check.path, "x", "spec..name"):find("^x: "))
  end)

  it("names the nearest option for an unknown one", function()
    local checkers = { namespace = check.string, labels = check.string }
    refuses('list: unknown option "label"; did you mean "labels"?', check.options, "list",
      { label = "a=b" }, checkers)
    refuses('list: unknown option "zzzzzz"; there are: labels, namespace', check.options, "list",
      { zzzzzz = 1 }, checkers)
    refuses("list: unknown option the number 1; there are: labels, namespace", check.options, "list",
      { "a" }, checkers)
    refuses("list: labels must be a string, not the boolean true", check.options, "list",
      { labels = true }, checkers)
  end)

  it("refuses options that are no table, null too", function()
    refuses("get: options must be a table, not perilune.null", check.options, "get", null, {})
    refuses('get: options must be a table, not the string "x"', check.options, "get", "x", {})
    assert.same({}, check.options("get", nil, {}))
  end)

  it("refuses extra arguments", function()
    check.no_more("f")
    refuses("f got more arguments than it takes", check.no_more, "f", nil)
  end)
end)

describe("the module", function()
  before_each(spec.reset)

  it("names the nearest for an unknown name", function()
    refuses('perilune has no "contoller"; did you mean "controller"?', function()
      return perilune.contoller
    end)
    refuses('perilune has no "requeue_after"; a reconcile returns {requeue_after = "10s"}', function()
      return perilune.requeue_after("1s")
    end)
    refuses('perilune has no "get"; write perilune.client:get(...)', function() return perilune.get end)
    refuses('perilune.predicate has no "label_selecter"; did you mean "label_selector"?', function()
      return perilune.predicate.label_selecter
    end)
    refuses('perilune.errors has no "is_notfound"; did you mean "is_not_found"?', function()
      return perilune.errors.is_notfound
    end)
    assert.truthy(spec.message_of(function() return perilune[1] end):find("perilune has no the number 1"))
  end)

  it("can't be changed", function()
    refuses("perilune.client can't be assigned: the module is shared by all scripts", function()
      perilune.client = {}
    end)
    refuses("perilune.predicate.all can't be assigned: the module is shared by all scripts", function()
      perilune.predicate.all = nil
    end)
    refuses("perilune.client.get can't be assigned: the module is shared by all scripts", function()
      perilune.client.get = print
    end)
    refuses("the log.info can't be assigned: the module is shared by all scripts", function()
      perilune.log.info = print
    end)
  end)

  it("tells version, generation and config", function()
    assert.equal("spec", perilune.version)
    assert.equal(1, perilune.generation)
    assert.same({}, perilune.config)
  end)
end)

describe("the log", function()
  local said
  before_each(function()
    spec.reset()
    said = {}
    spec.host.log = function(...)
      said[#said + 1] = { ... }
    end
  end)

  it("says a message with fields at its level", function()
    perilune.log:info("hello", { key = "value" })
    perilune.log:warn(5)
    assert.same({ { "info", "hello", { key = "value" } }, { "warn", "5" } }, said)
  end)

  it("refuses what would be lost", function()
    refuses('call it with a colon: log:info("...")', function() perilune.log.info("x") end)
    refuses('log:info takes fields as a table {key = value}, not the string "b"', function()
      perilune.log:info("a", "b")
    end)
    refuses("log:info got more arguments than it takes", function() perilune.log:info("a", {}, 1) end)
    refuses("log:info: the fields need names, as in {key = value}; the number 1 is not a name", function()
      perilune.log:info("a", { "b" })
    end)
    refuses('the log has no "wran"; did you mean "warn"?', function() perilune.log:wran("a") end)
    assert.same({}, said)
  end)
end)
