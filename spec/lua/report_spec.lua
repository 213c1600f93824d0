-- Reports of the explorer: the lines that tell how a finding came about.
require("spec.support.host")
local flats = require("perilune.explore.flat")
local json = require("cjson")
local judge = require("perilune.explore.judge")
local ranks = require("perilune.explore.rank")
local report = require("perilune.explore.report")
local states = require("perilune.explore.state")

local function step(n)
  return { what = "step", step = n, text = "change " .. n }
end

local function fault(n, text)
  return { what = "fault", step = n, text = text }
end

local function effect(n, line, verb, api, object)
  return { what = "effect", step = n, run = 1, controller = "dns", key = "default/a", verb = verb, api = api,
    object = object, writes = verb ~= "get" and api ~= "GET", line = "main.lua:" .. line, outcome = "done" }
end

local function group(finding, trace)
  return { finding = finding, plan = "x", also = {}, others = 0, execution = { trace = trace, plan = {} } }
end

-- The words of a report that are steps, faults or lines, in their order. The undisturbed run has the same
-- writes.
local function shown(finding, trace)
  local text = report.finding(group(finding, trace), { command = "perilune test .", reference = { trace = trace } })
  local out = {}
  for line in text:gmatch("[^\n]+") do
    out[#out + 1] = line:match("^  step %d") or line:match("%*%* (.-) %*%*") or line:match("main%.lua:(%d+)")
  end
  return (table.concat(out, ", "):gsub("  step", "step"))
end

local URL = "https://dns.example.com/records/"

describe("the report of an external entry", function()
  local function entry(field, is)
    return { class = "leak", kind = "external", key = "records", field = field, is = is or "there", want = "absent" }
  end

  it("shows the last request that may have made it", function()
    local trace = { step(1), fault(1, "stale"), effect(1, 1, "get", "v1/Service", "default/a"),
      effect(1, 2, "http", "PUT", URL .. "one.example.com"), effect(1, 3, "http", "PUT", URL .. "two.example.com"),
      effect(1, 4, "http", "GET", URL .. "one.example.com"), effect(1, 5, "http", "DELETE", URL .. "one.example.com"),
      effect(1, 6, "update", "v1/Service", "default/a") }
    assert.equal("step 1, stale, 1, 2", shown(entry("one.example.com.target"), trace))
    assert.equal("step 1, stale, 1, 3", shown(entry("two.example.com.target"), trace))
    assert.equal("step 1, stale, 1, 3", shown(entry("#1.target"), trace))
    assert.equal("step 1, stale, 1, 5", shown(entry("one.example.com.target", "absent"), trace))
    assert.equal("main.lua:2", json.decode(report.json_findings(group(entry("one.example.com.target"), trace),
      { seed = 1 })).line)
  end)
end)

describe("the report of what happened", function()
  local pod = { class = "state", kind = "v1/Pod", key = "default/a", field = "", is = "gone", want = "there" }

  it("names the step of each line, and the steps between them", function()
    local trace = { step(1), effect(1, 1, "create", "v1/Pod", "default/a"), fault(1, "unobserved"), step(2),
      effect(2, 2, "create", "v1/Pod", "default/b"), step(3), step(4), fault(4, "crash"),
      effect(4, 3, "delete", "v1/Pod", "default/a"), step(5) }
    assert.equal("step 1, 1, unobserved, step 2, 2, step 3, step 4, crash, 3", shown(pod, trace))
  end)

  it("begins with the step of the first disturbance", function()
    local trace = { step(1), effect(1, 1, "create", "v1/Pod", "default/a"), step(2), fault(2, "lag"),
      effect(2, 2, "delete", "v1/Pod", "default/a") }
    assert.equal("step 2, lag, 2", shown(pod, trace))
  end)

  it("has the deletion of an object that was made again, and no other write that changed nothing", function()
    local before = { step(1), effect(1, 1, "patch", "v1/Service", "default/a"), fault(1, "stale") }
    local after = { effect(1, 1, "patch", "v1/Service", "default/a"), effect(1, 2, "patch", "v1/Secret", "default/a"),
      effect(1, 3, "delete", "v1/Pod", "default/b"), effect(1, 4, "delete", "v1/Secret", "default/b"),
      effect(1, 5, "delete", "v1/Pod", "default/a"), effect(1, 6, "create", "v1/Pod", "default/a") }
    after[1].unchanged, after[2].unchanged = true, true
    local trace = { unpack(before) }
    for _, e in ipairs(after) do
      trace[#trace + 1] = e
    end
    local text = report.finding(group({ class = "replaced", kind = "v1/Pod", key = "default/a", field = "metadata.uid",
      is = "another object", want = "the same object" }, trace), { command = "", reference = { trace = before } })
    local lines = {}
    for line in text:gmatch("main%.lua:(%d+)") do
      lines[#lines + 1] = line
    end
    assert.equal("1 1 3 4 5 6", table.concat(lines, " "))
  end)
end)

describe("the first finding of a plan", function()
  it("is the member of a list's element that says most", function()
    local function first(...)
      local findings = {}
      for i, field in ipairs({ ... }) do
        findings[i] = { class = "state", field = field }
      end
      return ranks.sort(findings)[1].field
    end
    assert.equal("metadata.ownerReferences[Cluster a].name", first("metadata.ownerReferences[Cluster a].apiVersion",
      "metadata.ownerReferences[Cluster a].kind", "metadata.ownerReferences[Cluster a].name"))
    assert.equal("status.conditions[Ready].status", first("status.conditions[Ready].lastTransitionTime",
      "status.conditions[Ready].reason", "status.conditions[Ready].status"))
    assert.equal("spec.size", first("status.conditions[Ready].status", "spec.size"))
  end)
end)

describe("the headline of a finding", function()
  it("names an invariant once", function()
    assert.equal('invariant  the scenario: always "a migration runs once": it has run 2 times',
      report.headline({ class = "invariant", kind = "invariant", key = "the scenario", field = "", want = "",
        is = 'always "a migration runs once": it has run 2 times' }))
  end)
end)

describe("the report of objects with random names", function()
  local function object(api, kind, name, owner)
    return { apiVersion = api, kind = kind, metadata = { namespace = "default", name = name, uid = "uid of " .. name,
      ownerReferences = owner and { { apiVersion = owner.apiVersion, kind = owner.kind, name = owner.metadata.name,
        uid = owner.metadata.uid } } } }
  end

  local nightly = object("example.com/v1", "Backup", "nightly")

  local function jobs(owner, ...)
    local list = { nightly }
    for _, suffix in ipairs({ ... }) do
      list[#list + 1] = object("batch/v1", "Job", "nightly-" .. suffix, owner)
    end
    return flats.of(list)
  end

  local function judged(owner, ...)
    local first = jobs(owner, "x1")
    local taint = states.learn({ first }, { jobs(owner, "y2") }, { first })
    local function run(state)
      return { settles = { { step = 1, over = true, state = state } } }
    end
    local findings = judge.judge(run(first), run(jobs(owner, ...)), taint, {})
    local also = { unpack(findings, 2) }
    local of = { finding = findings[1], plan = "x", also = also, others = 0, execution = { trace = {}, plan = {} } }
    return of, report.finding(of, { command = "perilune test .", reference = { trace = {} } })
  end

  local AGAIN = "\n  again: perilune test . --explore --plan 'x'"

  it("counts them, with their owner", function()
    local of, text = judged(nightly, "x1", "z3")
    assert.equal("state  2 Jobs of Backup default/nightly, undisturbed 1" .. AGAIN, text)
    assert.equal(2, #of.also)
    assert.same({ "default/nightly-x1", "", "gone", "there" },
      { of.finding.key, of.finding.field, of.finding.is, of.finding.want })
    assert.equal("state  no Job of Backup default/nightly, undisturbed 1" .. AGAIN, (select(2, judged(nightly))))
  end)

  it("counts those without an owner by the beginning of their names", function()
    assert.equal("state  2 Jobs default/nightly-*, undisturbed 1" .. AGAIN, (select(2, judged(nil, "x1", "z3"))))
  end)
end)

describe("the other findings of a report", function()
  local function finding(name)
    return { class = "state", kind = "v1/Pod", key = "default/" .. name, field = "", is = "gone", want = "there" }
  end

  it("are those of its plan, and those that other plans with it lead to", function()
    local of = group(finding("a"), { step(1), fault(1, "stale") })
    of.also = { finding("a"), finding("b") }
    of.beside = { finding("b"), finding("c"), finding("d"), finding("e"), finding("f"), finding("g") }
    local text = report.finding(of, { command = "perilune test .", reference = { trace = {} } })
    local out = {}
    for line in text:gmatch("\n  (a[^\n]*)") do
      out[#out + 1] = line:gsub("  again.*", "")
    end
    assert.same({ "also: state  Pod default/b is gone, undisturbed there",
      "also, with another plan: state  Pod default/c is gone, undisturbed there",
      "also, with another plan: state  Pod default/d is gone, undisturbed there",
      "also, with another plan: state  Pod default/e is gone, undisturbed there",
      "and 2 more that other plans lead to besides" }, { unpack(out, 1, 5) })
  end)
end)

describe("the headline of a key that is tried again for ever", function()
  it("names the key once", function()
    local f = { class = "unsettled", kind = "cluster", key = "default/a", field = "",
      is = "cluster default/a is tried again: boom", want = "settled" }
    assert.equal("unsettled  cluster default/a is tried again: boom", report.headline(f))
    f.is = "other default/b is tried again; cluster default/a is tried again"
    assert.equal("unsettled  cluster default/a: other default/b is tried again; cluster default/a is tried again",
      report.headline(f))
  end)
end)
