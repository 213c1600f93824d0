-- perilune.every and run, channels and memo: the part that is written in Lua.

local spec = require("spec.support.host")

local host = spec.host
local perilune

local function refuses(part, f, ...)
  local message = spec.message_of(f, ...)
  assert(message:find(part, 1, true), message)
end

local declared

local function begin()
  spec.reset()
  spec.forget()
  perilune = require("perilune")
  declared = {}
  host.set_phase("load")
  host.controller = function(description)
    declared[#declared + 1] = description
  end
end

local function finish()
  require("perilune.controller").finish()
end

describe("perilune.every", function()
  before_each(begin)

  it("declares a task with its period, reads and writes", function()
    perilune.every("5m", { name = "sweep", immediate = true, leader_election = false,
      reads = { "v1/Pod" }, writes = { ["v1/Secret"] = { "patch" } } }, function() end)
    local d = declared[1]
    assert.same({ form = "every", period = 300, immediate = true }, d.task)
    assert.same({ "sweep", false, "none" }, { d.name, d.leader_election, d.on_reload })
    assert.same({ { role = "reads", kind = "v1/Pod" } }, d.sources)
    assert.same({ { kind = "v1/Secret", verbs = { "patch" } } }, d.writes)
    assert.matches("task_spec.lua$", d.file)
    finish()
  end)

  it("has a name of its file and its number there when none is given", function()
    perilune.every(60, {}, function() end)
    perilune.every(60, nil, function() end)
    assert.equal("every-task-spec-1", declared[1].name)
    assert.equal("every-task-spec-2", declared[2].name)
  end)

  it("names what is wrong", function()
    local function every(...)
      perilune.every(...)
    end
    refuses("the period must be longer than zero", every, 0, {}, print)
    refuses("the period must be seconds or text", every, "often", {}, print)
    refuses("needs a function(context) as its last argument, not nil", every, "5m", print)
    refuses('unknown option "names"; did you mean "name"?', every, "5m", { names = "x" }, print)
    refuses("must be a DNS-1123 label", every, "5m", { name = "Not_A_Label" }, print)
    refuses("reads[1]", every, "5m", { reads = { "Pod" } }, print)
    refuses('writes["v1/Pod"][1] must be one of', every, "5m",
      { writes = { ["v1/Pod"] = { "write" } } }, print)
    refuses("more arguments", every, "5m", {}, print, 1)
    spec.assert_positioned("task_spec.lua", function()
      perilune.every(0, {}, print)
    end)
    host.set_phase("run")
    refuses("only be called while the script is loaded", every, "5m", {}, print)
  end)
end)

describe("perilune.cron", function()
  local now, kept, told, ran, real_now, real_last, real_log
  local begun_at = "2026-11-24T11:58:30Z"

  -- Like another generation.
  local function load_anew()
    begin()
    package.loaded["perilune.cron"], package.loaded["perilune"] = nil, nil
    perilune = require("perilune")
  end

  before_each(function()
    load_anew()
    now, kept, told, ran = perilune.time.parse(begun_at), {}, {}, {}
    real_now, real_last = host.now, host.last_time
    host.now = function() return now end
    host.last_time = function(name, value)
      if value then kept[name] = value end
      return kept[name]
    end
    real_log = host.log
    host.log = function(level, _, fields) told[#told + 1] = level == "warn" and fields.missed or nil end
  end)
  after_each(function()
    host.now, host.last_time, host.log = real_now, real_last, real_log
    package.loaded["perilune.cron"] = nil
  end)

  local function cron(f)
    perilune.cron("*/5 * * * *", { name = "five", zone = "Europe/Berlin" }, f or function(context)
      ran[#ran + 1] = perilune.time.format(context.scheduled):match("T(%d+:%d+)")
    end)
    return declared[#declared].reconcile
  end

  -- Runs the task at that time; returns when it wants to run again.
  local function wake(reconcile, at)
    now = perilune.time.parse("2026-11-24T" .. at .. "Z")
    local word, seconds = reconcile(nil, {})
    assert.equal("requeue_after", word)
    return math.floor(seconds + 0.5)
  end

  it("declares a task that is woken soon, and then at its times", function()
    local reconcile = cron()
    assert.same({ form = "every", period = 1, schedule = '"*/5 * * * *" Europe/Berlin' }, declared[1].task)
    assert.equal("five", declared[1].name)
    assert.equal(89, wake(reconcile, "11:58:31"))
    assert.equal(300, wake(reconcile, "12:00:00"))
    assert.equal(299, wake(reconcile, "12:00:01"))
    assert.equal(280, wake(reconcile, "12:05:20"))
    assert.same({ "12:00", "12:05" }, ran)
    assert.same({}, told)
    finish()
  end)

  it("tells of times that it missed, and does not repeat them", function()
    local reconcile = cron()
    wake(reconcile, "11:58:31")
    assert.equal(180, wake(reconcile, "12:17:00")) -- away for a while
    assert.same({ 4 }, told)
    assert.same({}, ran)
    wake(reconcile, "12:30:02")
    assert.same({ 4, 2 }, told)
    assert.same({ "12:30" }, ran)
  end)

  it("tells of times that came while it ran", function()
    local reconcile = cron(function() now = now + 700 end)
    wake(reconcile, "11:58:31")
    assert.equal(200, wake(reconcile, "12:00:00"))
    assert.same({ 2 }, told)
  end)

  it("does not run a time again in another lane or generation, or after a failure", function()
    local reconcile = cron()
    wake(reconcile, "12:00:00")
    load_anew()
    local other = cron(function() error("it failed") end)
    wake(other, "12:00:03")
    assert.same({ "12:00" }, ran)
    now = perilune.time.parse("2026-11-24T12:05:00Z")
    assert.is_false((pcall(other, nil, {})))
    wake(reconcile, "12:05:01")
    assert.same({ "12:00" }, ran)
  end)

  it("knows nothing of times before it began", function()
    kept.five = nil
    wake(cron(), "12:00:30")
    assert.same({ "12:00" }, ran)
    assert.same({}, told)
  end)

  it("looks at the clock once an hour", function()
    perilune.cron("0 0 1 1 *", { name = "yearly" }, print)
    assert.equal(3600, wake(declared[1].reconcile, "12:00:30"))
  end)

  it("names what is wrong", function()
    local function call(...)
      perilune.cron(...)
    end
    refuses("has 1 fields, not 5", call, "often", {}, print)
    refuses("never comes", call, "0 0 30 2 *", {}, print)
    refuses("the zone \"Nowhere\"", call, "* * * * *", { zone = "Nowhere" }, print)
    refuses('did you mean "zone"?', call, "* * * * *", { zones = "UTC" }, print)
    refuses("perilune.cron needs a function(context)", call, "* * * * *", {})
    perilune.cron("* * * * *", nil, print)
    assert.equal("cron-task-spec-1", declared[1].name)
  end)
end)

describe("perilune.run", function()
  before_each(begin)

  it("calls its function with log, deadline and stopping", function()
    local seen
    perilune.run("feed", {}, function(context, ...)
      seen = { context = context, n = select("#", ...) }
    end)
    assert.same({ form = "run" }, declared[1].task)
    host.set_phase("run")
    assert.equal("done", declared[1].reconcile({ key = "feed" }, { deadline = 7, causes = {} }))
    assert.equal(0, seen.n)
    assert.equal(perilune.log, seen.context.log)
    assert.equal(7, seen.context.deadline)
    assert.is_false(seen.context:stopping())
    assert.is_nil(seen.context.causes)
  end)

  it("raises what was returned as nil, e, and refuses other results", function()
    local results
    perilune.run("feed", {}, function()
      return unpack(results, 1, 2)
    end)
    host.set_phase("run")
    results = { nil, "went wrong" }
    refuses("went wrong", declared[1].reconcile, {}, {})
    results = { { requeue = true } }
    refuses('task "feed" returned a table; a task returns nothing', declared[1].reconcile, {}, {})
  end)

  it("shares its name with nobody", function()
    perilune.run("feed", {}, print)
    refuses('task name "feed" is used twice; first at ', perilune.run, "feed", {}, print)
    refuses('controller name "feed" is used twice', perilune.controller, "feed")
    perilune.controller("web")
    refuses('task name "web" is used twice', perilune.run, "web", {}, print)
    refuses("perilune.run: the name must be a string, not nil", perilune.run, nil, {}, print)
  end)

  it("brings caches that indexes may be of", function()
    host.index = function() end
    perilune.run("feed", { reads = { "v1/Pod" } }, print)
    perilune.index("v1/Pod", "node", "spec.nodeName")
    finish()
    perilune.index("v1/Node", "zone", "spec.zone")
    refuses("no controller caches v1/Node", finish)
  end)
end)

describe("perilune.channel", function()
  before_each(begin)

  it("sends requests to who watches it", function()
    local sent = {}
    host.send = function(...)
      sent[#sent + 1] = { ... }
    end
    local hooks = perilune.channel("hooks")
    perilune.controller("web"):WatchesChannel("hooks"):Reconcile(print)
    assert.same({ "hooks" }, declared[1].channels)
    finish()
    host.set_phase("run")
    hooks:send("d/a")
    hooks:send({ name = "n" })
    assert.same({ { "hooks", "d", "a" }, { "hooks", nil, "n" } }, sent)
    refuses("the request must be a key", hooks.send, hooks)
    refuses("call it with a colon", hooks.send, "d/a")
    refuses('channel "hooks" has no "close"; it has send', function()
      return hooks.close
    end)
    refuses('no controller watches the channel "hook"; did you mean "hooks"?', perilune.channel,
      "hook")
  end)

  it("must be watched when loading ends", function()
    perilune.channel("hooks")
    refuses('no controller watches the channel "hooks"; no controller has a', finish)
    perilune.controller("web"):WatchesChannel("hook"):Reconcile(print)
    refuses('did you mean "hook"?', finish)
  end)

  it("is watched once by a controller, under a good name", function()
    local web = perilune.controller("web"):WatchesChannel("hooks")
    refuses('WatchesChannel("hooks") is called twice', web.WatchesChannel, web, "hooks")
    refuses("is not a channel name", web.WatchesChannel, web, "Hooks!")
    refuses("is not a channel name", perilune.channel, "a b")
  end)
end)

describe("perilune.memo", function()
  before_each(begin)

  it("is asked of the core by namespace and name", function()
    local asked
    host.memo = function(...)
      asked = { ... }
      return "the table"
    end
    assert.equal("the table", perilune.memo({ namespace = "d", name = "a" }))
    assert.same({ "d", "a" }, asked)
    refuses("memo: the request must be a key", perilune.memo)
    refuses("more arguments", perilune.memo, "a", 1)
  end)
end)
