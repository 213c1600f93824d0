-- The explorer: plans, states, the search, reports; on a toy cluster.
require("spec.support.host")
local allow = require("perilune.explore.allow")
local plans = require("perilune.explore.plan")
local report = require("perilune.explore.report")
local search = require("perilune.explore.search")
local host = require("perilune.host")
local flats = require("perilune.explore.flat")
local states = require("perilune.explore.state")
local toy = require("spec.support.toy_cluster")

describe("a plan", function()
  it("is read as it is printed", function()
    for _, text in ipairs({
      "", "crash after website default/blog create Service @1",
      "refuse 500 website default/blog patch Deployment default/other @2.3",
      "lose timeout w a get Pod @1, stale Pod 1.2 @3, lag Website @2, unobserved Pod @2",
      "early @3 after 1, restart @2, order website default/b @1.4, touch w default/a update Website/status @1",
      "reload after janitor - delete Pod default/x @1",
      "lose reset dns default/a http POST https://api.example.com/records?x=1%2C2 @1.2", "stale Pod 1.0 @1",
      "outage create Secret @2, finalizer Pod default/a @2, again website default/blog @3, clock behind @1",
      "late collection @2, late requeue @3, delay website default/blog create Service @1",
    }) do
      assert.equal(text, plans.print(assert(plans.parse(text))))
    end
  end)

  it("says what is wrong with its text", function()
    for text, part in pairs({
      ["crash website default/blog create Service @1"] = 'one of before, unanswered, after is expected, not "website"',
      ["crash after website create @1"] = "CONTROLLER KEY VERB KIND",
      ["crash after website default/blog create Service"] = "CONTROLLER KEY VERB KIND",
      ["crash after website default/blog create Service x @0"] = '"@0" should be @STEP',
      ["explode @1"] = "must begin with one of",
      ["outage Secret @1"] = 'it should be as "outage VERB KIND @STEP"',
      ["again website default/a"] = "should be @STEP",
      ["late party @1"] = 'late knows no "party"',
      ["stale Pod @1"] = "stale Pod 1.2 @3",
      ["early @2"] = "early @3 after 1",
      ["restart @1, lag Pod"] = '"lag Pod":',
    }) do
      local plan, message = plans.parse(text)
      assert.is_nil(plan)
      assert.truthy(message:find(part, 1, true), message)
    end
  end)
end)

describe("an error of a run", function()
  local mistake = require("perilune.explore.mistake")

  local function is(message, source, frame)
    local form = "main.lua:17:\n    %s\nstack traceback:\n\t%s"
    return mistake.is("main.lua:17: " .. message,
      form:format(source, frame or "main.lua:17: in function 'reconcile'"))
  end

  it("is a mistake when the language, a limit or a check of an argument says it", function()
    assert.is_true(is("attempt to index local 'x' (a nil value)", "x.y = 1"))
    assert.is_true(is("attempt to concatenate a nil value", 'error("no " .. x.y)'))
    assert.is_true(is('get: "x" is no kind', 'client:get("x")'))
    assert.is_true(is("script CPU limit exceeded (10 s without waiting)", "while true do end"))
    assert.is_true(mistake.is("bad argument #1 to 'format'", ""))
  end)

  it("is none when the script raises it, there or for whoever called", function()
    assert.is_false(is("not yet", 'if not x then error("not yet") end'))
    assert.is_false(is("attempt to be early", 'error("attempt to be early")'))
    assert.is_false(is("not 201", 'assert(ok, "not 201")'))
    assert.is_false(is("not yet", "need(x)", "main.lua:3: in function 'need'"))
    assert.is_false(mistake.is("not yet", ""))
  end)

  it("is none when the script returns it, unless it returns what no result is", function()
    local place = "main.lua:6:\n    :Reconcile(function(request)"
    assert.is_false(mistake.is("main.lua:6: the service answers 500", place))
    assert.is_true(mistake.is("main.lua:6: attempt to index a nil value", place))
    assert.is_true(mistake.is("main.lua:6: Reconcile returned more than two values; ...", place))
    assert.is_true(mistake.is('main.lua:6: index "text": the function returned a second result', ""))
    assert.is_true(mistake.is('main.lua:6: the result of Reconcile: unknown option "requeue_afer"', place))
  end)
end)

describe("the lines of a script that have code", function()
  it("are those of all functions, without what only closes something", function()
    local lines = require("perilune.explore.code").of(table.concat({
      "local a = 1", "-- nothing",
      "local function f(x)", "  if x then", "    return {", "      1, x,", "    }", "  else",
      "    a = 2", "  end", "end", "return f" }, "\n"))
    local numbers = {}
    for line in pairs(lines) do
      numbers[#numbers + 1] = line
    end
    table.sort(numbers)
    assert.same({ 1, 4, 5, 6, 9, 12 }, numbers)
    assert.is_nil(require("perilune.explore.code").of("local x = = 1"))
  end)
end)

describe("a judge", function()
  it("does not compare identities with a point at which the caches had not caught up", function()
    local judge = require("perilune.explore.judge")
    local function settle(uid, over)
      return { step = 1, over = over, state = flats.of({ { apiVersion = "v1", kind = "Pod",
        metadata = { namespace = "default", name = "a", uid = uid } } }) }
    end
    local function found(over)
      return #judge.judge({ settles = { settle("1", true), settle("1", true) } },
        { settles = { settle("1", over), settle("2", true) } }, states.no_taint(), {})
    end
    assert.equal(1, found(true))
    assert.equal(0, found(false))
  end)

  it("lets an object go whose owner is gone, however late", function()
    local judge = require("perilune.explore.judge")
    local function settle(uid, owner)
      return { step = 1, over = true, state = flats.of({ { apiVersion = "v1", kind = "Pod",
        metadata = { namespace = "default", name = "a", uid = uid, ownerReferences = {
          { apiVersion = "v1", kind = "Pod", name = "b", uid = owner } } } },
        { apiVersion = "v1", kind = "Pod", metadata = { namespace = "default", name = "b", uid = "there" } } }) }
    end
    local function found(owner)
      return #judge.judge({ settles = { settle("1", owner), settle("1", owner) } },
        { settles = { settle("1", owner), settle("2", owner) } }, states.no_taint(), {})
    end
    assert.equal(1, found("there"))
    assert.equal(0, found("gone"))
  end)
end)

describe("a value that is written twice", function()
  it("is no finding where it follows another one", function()
    local judge = require("perilune.explore.judge")
    local function version(kind, name, uid, value)
      return flats.of({ { apiVersion = "v1", kind = kind, metadata = { namespace = "default", name = name, uid = uid },
        data = { password = value } } })
    end
    local taint = states.no_taint()
    taint.random = { ["v1/ConfigMap default/source data.password"] = {},
      ["v1/ConfigMap default/copy data.password"] = {} }
    local function found(uid)
      local fields = {}
      for _, f in ipairs(judge.judge({ settles = {}, versions = {} }, { settles = {}, versions = {
        version("ConfigMap", "source", "1", "one"), version("ConfigMap", "copy", "2", "one"),
        version("ConfigMap", "source", uid, "two"), version("ConfigMap", "copy", "2", "two") } }, taint, {})) do
        fields[#fields + 1] = f.class .. " " .. f.key
      end
      return fields
    end
    assert.same({}, found("another"))
    assert.same({ "rewritten default/source" }, found("1"))
  end)
end)

describe("a request to others", function()
  it("is open to what a network does, and to a crash where it may change something", function()
    local options = require("perilune.explore.options")
    local function words(request)
      local out = {}
      for i, o in ipairs(options.of_request(request)) do
        out[i] = o[1] .. " " .. o[2]
      end
      return table.concat(out, ", ")
    end
    assert.equal("refuse 500, refuse connection, lose timeout", words{ verb = "http", reads = true })
    assert.equal("crash after, refuse 500, lose timeout, crash unanswered, refuse connection, lose reset, "
      .. "reload after", words{ verb = "http" })
  end)
end)

local function object(kind, name, more)
  local o = { apiVersion = "v1", kind = kind, metadata = { namespace = "default", name = name,
    uid = "uid of " .. name, resourceVersion = tostring(math.random(1000)), generation = 3,
    creationTimestamp = "2026-01-01T00:00:00Z" } }
  for key, value in pairs(more or {}) do
    o[key] = value
  end
  return o
end

local function differences(want, is, taint, rules)
  taint = taint or states.no_taint()
  rules = require("perilune.explore.ignore").parse(rules)
  local texts = {}
  for i, d in ipairs(states.differences(states.canon(flats.of(want), taint, rules),
    states.canon(flats.of(is), taint, rules))) do
    texts[i] = ("%s %s %s -> %s"):format(d.place, d.field, d.want, d.is)
  end
  return texts
end

describe("states", function()
  it("are alike but for uids, versions, times and generations", function()
    local a = { object("ConfigMap", "a", { data = { at = "2026-01-01T00:00:00Z" } }) }
    local b = { object("ConfigMap", "a", { data = { at = "2026-01-01T00:07:00.5Z" } }) }
    b[1].metadata.uid, b[1].metadata.generation = "another", 4
    assert.same({}, differences(a, b))
  end)

  it("differ in a field, an object that is gone, one that is too many", function()
    local a = { object("ConfigMap", "a", { data = { x = "1", y = "1" } }), object("Pod", "p") }
    local b = { object("ConfigMap", "a", { data = { x = "2" } }), object("Pod", "q") }
    assert.same({ "v1/ConfigMap default/a data.x 1 -> 2", "v1/ConfigMap default/a data.y 1 -> absent",
      "v1/Pod default/p  there -> gone", "v1/Pod default/q  gone -> there" }, differences(a, b))
  end)

  it("are alike whatever the server has allocated, but for Services without an address", function()
    local function service(ip)
      return { object("Service", "a", { spec = { clusterIP = ip, clusterIPs = { ip } } }) }
    end
    assert.same({}, differences(service("10.0.0.1"), service("10.0.0.2")))
    assert.equal(2, #differences(service("10.0.0.1"), service("None")))
  end)

  it("find items of a list by their names", function()
    local a = { object("Pod", "a", { spec = { containers = { { name = "x", image = "1" }, { name = "y" } } } }) }
    local b = { object("Pod", "a", { spec = { containers = { { name = "y" }, { name = "x", image = "2" } } } }) }
    assert.same({ "v1/Pod default/a spec.containers[x].image 1 -> 2" }, differences(a, b))
  end)

  it("number items of a list that have the same name", function()
    local function binding(...)
      local subjects = {}
      for i, name in ipairs({ ... }) do
        subjects[i] = { kind = "ServiceAccount", name = name }
      end
      return { object("RoleBinding", "a", { subjects = subjects }) }
    end
    assert.same({ "v1/RoleBinding default/a subjects[x#2].kind absent -> ServiceAccount",
      "v1/RoleBinding default/a subjects[x#2].name absent -> x" },
      differences(binding("x", "y"), binding("x", "x", "y")))
    assert.same({}, differences(binding("x", "x", "y"), binding("y", "x", "x")))
  end)

  it("leave out what rules say, and count objects of a rule without a path", function()
    local a = { object("Pod", "pool-1", { status = { x = "1" } }), object("ConfigMap", "a", { status = { x = "1" } }) }
    local b = { object("Pod", "pool-2", { status = { x = "2" } }), object("ConfigMap", "a", { status = { x = "2" } }) }
    assert.same({}, differences(a, b, nil, { "v1/Pod default/pool-*", "status.x" }))
    assert.same({ "v1/ConfigMap default/a status.x 1 -> 2" },
      differences(a, b, nil, { "v1/Pod default/pool-*", "v1/Secret * status" }))
    b[3] = object("Pod", "pool-3")
    assert.same({ "v1/Pod default/pool-* count 1 -> 2" }, differences(a, b, nil, { "v1/Pod default/pool-*", "status" }))
    assert.has_error(function() require("perilune.explore.ignore").parse({ "a b c d" }) end)
  end)
end)

describe("random values", function()
  local function run(password, suffix, used)
    return { object("Secret", "db", { data = { password = password } }),
      object("Pod", "pool-" .. suffix, { spec = { url = "postgres://user:" .. (used or password) .. "@db" } }) }
  end
  local function taint_of(later)
    local flat = function(list) return { flats.of(list) } end
    return states.learn(flat(run("abc", "x1")), flat(run("efg", "y2")), flat(later or run("abc", "x1")))
  end

  it("are symbols: places that must agree still do", function()
    local taint = taint_of()
    assert.same({}, differences(run("abc", "x1"), run("zzz", "w9"), taint))
    local found = differences(run("abc", "x1"), run("zzz", "w9", "other"), taint)
    assert.equal(1, #found)
    assert.truthy(found[1]:find("data.password", 1, true), found[1])
  end)

  it("of a Secret are compared as text with places that have them without base64", function()
    local function with(password, used)
      return run(host.base64_encode(password), "x1", used)
    end
    local flat = function(list) return { flats.of(list) } end
    local taint = states.learn(flat(with("abcd", "abcd")), flat(with("efgh", "efgh")), flat(with("abcd", "abcd")))
    assert.same({}, differences(with("abcd", "abcd"), with("wxyz", "wxyz"), taint))
    assert.equal(1, #differences(with("abcd", "abcd"), with("wxyz", "stuv"), taint))
    assert.equal("AAEC", flats.of({ object("Secret", "a", { data = { key = "AAEC" } }) })[1].flat["data.key"])
  end)

  it("may have another text around them later", function()
    local function with_url(host_name, password)
      return { object("ConfigMap", "a", { data = { url = "sql://" .. host_name .. "/" .. password } }) }
    end
    local function states_of(password)
      return { flats.of(with_url("one", password)), flats.of(with_url("two", password)) }
    end
    local taint = states.learn(states_of("abc"), states_of("efg"), states_of("abc"))
    for _, name in ipairs({ "one", "two" }) do
      assert.same({}, differences(with_url(name, "abc"), with_url(name, "xyz"), taint))
    end
    assert.equal(1, #differences(with_url("one", "abc"), with_url("two", "abc"), taint))
  end)

  it("that are hashes of others are compared as such", function()
    local function with_hash(password, used, shown)
      return { object("Secret", "db", { data = { password = host.base64_encode(password) } }),
        object("Pod", "a", { spec = { password = "x-" .. host.sha256(shown or used):sub(1, 12),
          checksum = host.sha256(host.json_encode({ password = host.base64_encode(used) })) } }) }
    end
    local flat = function(...) return { flats.of(with_hash(...)) } end
    local taint = states.learn(flat("abc", "abc"), flat("efg", "efg"), flat("abc", "abc"))
    assert.same({}, differences(with_hash("abc", "abc"), with_hash("xyz", "xyz"), taint))
    local of = 'hash of v1/Secret default/db data.password>"'
    assert.same({ ('v1/Pod default/a spec.checksum "<%s -> "<not the %s'):format(of, of),
      ('v1/Pod default/a spec.password "x-<%s -> "x-<not the %s'):format(of, of) },
      differences(with_hash("abc", "abc"), with_hash("xyz", "abc"), taint))
    taint = states.learn(flat("abc", "abc", "one"), flat("efg", "efg", "two"), flat("abc", "abc", "one"))
    assert.equal(1, #differences(with_hash("abc", "abc", "one"), with_hash("xyz", "abc", "two"), taint))
  end)

  it("that are copies of what the server has allocated are compared with it", function()
    local function with_copy(address, copy)
      return { object("Service", "db", { spec = { clusterIP = address } }),
        object("ConfigMap", "a", { data = { url = "sql://" .. copy .. ":80" } }) }
    end
    local flat = function(address) return { flats.of(with_copy(address, address)) } end
    local taint = states.learn(flat("10.0.1.0"), flat("10.0.7.9"), flat("10.0.1.0"))
    assert.same({}, differences(with_copy("10.0.1.0", "10.0.1.0"), with_copy("10.0.1.5", "10.0.1.5"), taint))
    local of = "value of v1/Service default/db spec.clusterIP>"
    local form = 'v1/ConfigMap default/a data.url "sql://10.0.<%s:80" -> "sql://10.0.<not the %s:80"'
    assert.same({ form:format(of, of) },
      differences(with_copy("10.0.1.0", "10.0.1.0"), with_copy("10.0.1.5", "10.0.1.0"), taint))
  end)

  it("end before the padding of base64, whose length may vary", function()
    local function flat(text)
      return flats.of({ object("Request", "a", { spec = { csr = "LS0t-" .. text } }) })
    end
    local taint = states.learn({ flat("abcdef==") }, { flat("ghijkl==") }, { flat("abcdef==") })
    assert.same({}, states.differences(states.canon(flat("abcdef=="), taint, {}),
      states.canon(flat("mnopqrst"), taint, {})))
  end)

  it("may name the entries of an external table: their content is compared", function()
    local function with(uids, sizes)
      local machines, servers = {}, {}
      for i, uid in ipairs(uids) do
        machines[i] = object("Machine", "m-" .. uid, { spec = { id = "cloud:///" .. uid } })
        machines[i].metadata.uid = uid
        servers[uid] = { id = uid, size = sizes[i] }
      end
      return flats.of(machines, { servers = servers })
    end
    local taint = states.learn({ with({ "a1", "a2" }, { 1, 2 }) }, { with({ "b1", "b2" }, { 2, 1 }) },
      { with({ "a1", "a2" }, { 1, 2 }) })
    local function found(uids, sizes)
      local texts = {}
      for i, d in ipairs(states.differences(states.canon(with({ "a1", "a2" }, { 1, 2 }), taint, {}),
        states.canon(with(uids, sizes), taint, {}))) do
        texts[i] = d.kind == "external" and ("%s %s -> %s"):format(d.field, d.want, d.is) or nil
      end
      return texts
    end
    assert.same({}, found({ "c1", "a1" }, { 2, 1 }))
    assert.same({ "#2.size 2 -> 3" }, found({ "a1", "a2" }, { 1, 3 }))
    local many = found({ "a1", "a2", "c3" }, { 1, 2, 2 })
    assert.equal("#3.size absent -> 2", many[#many])
  end)

  it("that follow the clock are masked", function()
    local taint = taint_of(run("abc", "x1", "17"))
    assert.same({}, differences(run("abc", "x1"), run("zzz", "w9", "other"), taint))
  end)
end)

-- ---- the search ----

local BROKER, SET, CLAIM = "example.com/v1/Broker", "apps/v1/StatefulSet", "v1/PersistentVolumeClaim"

-- The first write destroys the difference that asks for the second.
local function grows(world, key)
  local broker, set = world:get(BROKER, key), world:get(SET, key)
  if not broker then return end
  if not world:get(CLAIM, key) then
    world:write("create", CLAIM, key, { spec = { size = broker.spec.size } }, "main.lua:40")
  end
  if set and set.spec.size ~= broker.spec.size then
    world:write("delete", SET, key, nil, "main.lua:44")
    world:write("patch", CLAIM, key, { spec = { size = broker.spec.size } }, "main.lua:45")
    set = nil
  end
  if not set then
    world:write("create", SET, key, { spec = { size = broker.spec.size } }, "main.lua:47")
  end
end

local function grows_mended(world, key)
  local broker, set, claim = world:get(BROKER, key), world:get(SET, key), world:get(CLAIM, key)
  if not broker then return end
  if not claim then
    world:write("create", CLAIM, key, { spec = { size = broker.spec.size } }, "main.lua:40")
  elseif claim.spec.size ~= broker.spec.size then
    world:write("patch", CLAIM, key, { spec = { size = broker.spec.size } }, "main.lua:45")
  end
  if set and set.spec.size ~= broker.spec.size then
    world:write("delete", SET, key, nil, "main.lua:44")
    set = nil
  end
  if not set then
    world:write("create", SET, key, { spec = { size = broker.spec.size } }, "main.lua:47")
  end
end

local function scenario(world)
  world:apply(BROKER, "default/a", { spec = { size = 10 } })
  world:settle()
  world:apply(BROKER, "default/a", { spec = { size = 15 } })
  world:settle()
end

local function explore(controller, more)
  local o = { execute = toy.executor({ broker = controller }, scenario), seed = 1, executions = 3000,
    random = 50, clock = os.clock }
  for key, value in pairs(more or {}) do
    o[key] = value
  end
  return search.explore(o)
end

describe("the search", function()
  it("finds what a crash between two writes leaves behind, once", function()
    local result = explore(grows)
    assert.equal(1, #result.groups)
    local group = result.groups[1]
    assert.equal("crash after broker default/a delete StatefulSet @2", group.plan)
    assert.same({ "state", CLAIM, "default/a", "spec.size", "10", "15" }, { group.finding.class,
      group.finding.kind, group.finding.key, group.finding.field, group.finding.is, group.finding.want })
    assert.equal("main.lua:44", group.line)
    assert.is_true(group.others > 2)
    assert.is_nil(result.differing)
  end)

  it("finds nothing in the mended one, and says what it tried", function()
    local result = explore(grows_mended)
    assert.same({}, result.groups)
    assert.equal(result.singles.total, result.singles.done)
    assert.equal(result.pairs.total, result.pairs.done)
    assert.equal(50, result.random)
    assert.equal(result.effects, result.effects_crashed)
    assert.truthy(report.summary(result):find("explored %d+ of %d+ single disturbances, [%d,]+ of [%d,]+ pairs, "
      .. "50 random; 5 of 5 effects crashed at"))
  end)

  it("draws random plans of three different parts in their order, which share most of their beginnings", function()
    local run, drawn, beginnings = toy.executor({ broker = grows_mended }, scenario), {}, {}
    explore(grows_mended, { execute = function(plan, how)
      drawn[#drawn + 1] = #plan == 3 and plan or nil
      return run(plan, how)
    end })
    assert.equal(50, #drawn)
    local count = 0
    for _, plan in ipairs(drawn) do
      local texts = { plans.print_one(plan[1]), plans.print_one(plan[2]), plans.print_one(plan[3]) }
      assert.is_true(texts[1] ~= texts[2] and texts[2] ~= texts[3] and texts[1] ~= texts[3])
      assert.is_false(plans.begins_before(plan[2], plan[1]) or plans.begins_before(plan[3], plan[2]))
      local beginning = texts[1] .. ", " .. texts[2]
      count = count + (beginnings[beginning] and 0 or 1)
      beginnings[beginning] = true
    end
    assert.is_true(count < 30, count .. " beginnings of 50 plans")
  end)

  it("ends with its budget", function()
    local result = explore(grows_mended, { executions = 20 })
    assert.is_true(result.count <= 21)
    assert.is_true(result.singles.done < result.singles.total)
  end)

  it("lists only what the same plan leads to", function()
    local execute = toy.executor({ broker = grows_mended }, scenario)
    local leads_to = { crash = { "one" }, refuse = { "one", "two" }, lose = { "three" } }
    local function mistaken(plan, how)
      local execution = execute(plan, how)
      for _, name in ipairs(leads_to[plan[1] and plan[1].what] or {}) do
        table.insert(execution.errors, { controller = name, key = "default/a", message = "a mistake" })
      end
      return execution
    end
    local result = search.explore({ seed = 1, executions = 40, random = 0, clock = os.clock, execute = mistaken })
    local found = {}
    for i, group in ipairs(result.groups) do
      found[i] = { group.plan:match("^%S+"), group.finding.kind, #group.also, group.others > 0 }
    end
    assert.same({ { "crash", "one", 0, true }, { "lose", "three", 0, true } }, found)
  end)

  it("reports a finding once, also when a smaller plan leads to it and the whole one did not", function()
    local execute = toy.executor({ broker = grows_mended }, scenario)
    local function differs(plan, how)
      local execution, refused = execute(plan, how), false
      for _, d in ipairs(plan) do
        refused = refused or d.what == "refuse"
      end
      local settle = execution.settles[#execution.settles]
      settle.state[#settle.state + 1] = flats.of({ { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = "b", namespace = "default", uid = "b" },
        data = { size = refused and #plan == 1 and "1" or "2" },
        status = { phase = refused and "Failed" or "Ready" } } })[1]
      return execution
    end
    local result = search.explore({ seed = 1, executions = 3000, random = 50, clock = os.clock, execute = differs })
    assert.equal(50, result.random)
    assert.equal(1, #result.groups)
    assert.equal("data.size", result.groups[1].finding.field)
  end)

  it("tells parts that are findings from those that make a difference which does not last", function()
    local execute = toy.executor({ broker = grows_mended }, scenario)
    local function differs(plan, how)
      local execution = execute(plan, how)
      if plan[1] and plan[1].what == "crash" and not how.patient then
        execution.settles[1].state = flats.of({})
      end
      return execution
    end
    local result = search.explore({ seed = 1, executions = 60, random = 0, clock = os.clock, execute = differs })
    assert.same({}, result.groups)
    assert.is_nil(result.left_out["one part by itself is a finding"])
    assert.is_true(result.left_out["one part by itself makes a difference that is no finding"] > 0)
    assert.is_true(explore(grows, { random = 0 }).left_out["one part by itself is a finding"] > 0)
  end)

  it("shows a mistake of the script, also without a disturbance", function()
    local result = explore(function(_, key)
      error("main.lua:3: attempt to index a nil value of " .. key, 0)
    end)
    assert.equal("error", result.groups[1].finding.class)
    assert.equal("", result.groups[1].plan)
  end)

  it("shows a finding before it runs the plan a second time", function()
    local runs, shown = 0, nil
    local execute = toy.executor({ broker = grows }, scenario)
    local function counted(plan, how)
      runs = runs + (#plan > 0 and plans.print(plan) == shown and 1 or 0)
      return execute(plan, how)
    end
    search.explore({ seed = 1, executions = 40, random = 0, clock = os.clock, execute = counted,
      found = function(group) shown = shown or group.plan end })
    assert.equal(1, runs)
  end)

  it("watches lines until all have run", function()
    local execute, watched, unwatched = toy.executor({ broker = grows_mended }, scenario), 0, 0
    local function lines_of(last)
      local lines = {}
      for line = 1, last do
        lines[line] = true
      end
      return { ["main.lua"] = lines }
    end
    local function covered(plan, how)
      local execution = execute(plan, how)
      if how.lines == false then
        unwatched = unwatched + 1
      else
        watched = watched + (unwatched == 0 and 1 or 100)
        execution.lines = lines_of(plan[1] and plan[1].what == "lose" and 3 or 2)
      end
      return execution
    end
    local function code() return lines_of(3) end
    local result = search.explore({ seed = 1, executions = 60, random = 0, clock = os.clock, execute = covered,
      code = code })
    assert.same({}, report.unreached(result.code, result.lines))
    assert.is_true(watched > 5 and watched < 60)
    assert.is_true(unwatched > 5)
    watched, unwatched = 0, 0
    search.explore({ seed = 1, executions = 60, random = 0, clock = os.clock, execute = covered,
      code = function() return lines_of(4) end })
    assert.equal(0, unwatched)
  end)

  it("tells when the same plan gives two traces", function()
    local n = 0
    local result = explore(function(world, key)
      n = n + 1
      world:write("create", "v1/ConfigMap", key .. n, {}, "main.lua:1")
    end)
    assert.truthy(report.differing(result.differing):find("the first difference", 1, true))
  end)

  it("replays a plan, and says when it no longer applies", function()
    local o = { execute = toy.executor({ broker = grows }, scenario), seed = 1, clock = os.clock }
    local result = search.replay(o, assert(plans.parse("refuse 500 broker default/a patch PersistentVolumeClaim @2")))
    assert.equal("spec.size", result.groups[1].finding.field)
    result = search.replay(o, assert(plans.parse("crash after broker default/a delete PersistentVolume @2")))
    assert.same({}, result.groups)
    assert.same({ '"crash after broker default/a delete PersistentVolume @2" did not happen; the nearest that '
      .. 'happened is "broker default/a delete StatefulSet @2"' }, result.unmet)
  end)
end)

describe("a report", function()
  it("says what is wrong, what happened, and how to see it again", function()
    local result = explore(grows)
    assert.equal([[
state  PersistentVolumeClaim default/a spec.size is 10, undisturbed 15
  step 2                   apply example.com/v1/Broker default/a
  run 1, broker default/a  main.lua:44 delete apps/v1/StatefulSet default/a  done
                           ** crash **                                       ]] ..
      [[(never: main.lua:45 patch v1/PersistentVolumeClaim default/a)
  run 2 after the restart  main.lua:47 create apps/v1/StatefulSet default/a  done
  again: perilune test . --explore --plan 'crash after broker default/a delete StatefulSet @2'       ]] ..
      ("(the same from %s other plans)"):format(report.thousands(result.groups[1].others)),
      report.finding(result.groups[1], { command = "perilune test .", reference = result.reference }))
  end)

  it("shows what happened in its order", function()
    local function effect(run, line)
      return { what = "effect", step = 1, run = run, controller = "broker", key = "default/a", verb = "update",
        api = "v1/Pod", object = "default/a", writes = true, line = line, outcome = "done", after_restart = true }
    end
    local trace = { { what = "step", step = 1, text = "apply" }, { what = "fault", step = 1, text = "first" },
      effect(1, "main.lua:1"), { what = "fault", step = 1, text = "second" }, effect(2, "main.lua:2") }
    local text = report.finding({ finding = { class = "state", kind = "v1/Pod", key = "default/a", field = "" },
      plan = "x", also = {}, others = 0, execution = { trace = trace, plan = {} } },
      { command = "perilune test .", reference = { trace = {} } })
    assert.truthy(text:find("first.*main%.lua:1.*second.*main%.lua:2"), text)
  end)

  it("shows the writes that the undisturbed run has not, until the step of the finding", function()
    local function effect(step, verb, name, line)
      return { what = "effect", step = step, run = 1, controller = "broker", key = "default/a", verb = verb,
        api = "v1/Pod", object = "default/" .. name, writes = verb ~= "get", line = line, outcome = "done" }
    end
    local step = { what = "step", step = 1, text = "apply" }
    local next_step = { what = "step", step = 2, text = "patch" }
    local trace = { step, effect(1, "create", "a-x1", "main.lua:2"), { what = "fault", step = 1, text = "a restart" },
      effect(1, "get", "a", "main.lua:1"), effect(1, "patch", "b", "main.lua:3"),
      effect(1, "create", "a-x2", "main.lua:2"), next_step, effect(2, "delete", "a-x2", "main.lua:4") }
    local text = report.finding({ finding = { class = "state", kind = "v1/Pod", key = "default/a-x2", field = "",
      step = 1, count = 2, wanted = 1, of = "a" }, plan = "x", also = {}, others = 0,
      execution = { trace = trace, plan = {} } },
      { command = "perilune test .", reference = { trace = { step, trace[2], trace[5], next_step } } })
    assert.truthy(text:find("a restart.*main%.lua:1 get.*main%.lua:2 create v1/Pod default/a%-x2"), text)
    assert.falsy(text:find("main.lua:3", 1, true), text)
    assert.falsy(text:find("main.lua:4", 1, true), text)
  end)

  it("names a plan without disturbances, too", function()
    local finding = { class = "state", kind = "v1/Pod", key = "default/a", field = "", is = "gone", want = "there" }
    local group = { finding = finding,
      plan = "", also = {}, others = 0, execution = { trace = {}, plan = {} } }
    local text = report.finding(group, { command = "perilune test .", reference = { trace = {} } })
    assert.truthy(text:find("\n  without any disturbance\n  again: perilune test . --explore --plan ''", 1, true), text)
  end)

  it("has lines that no execution reached", function()
    assert.same({ "a.lua:2", "b.lua:1" }, report.unreached({ ["a.lua"] = { true, true, true }, ["b.lua"] = { true } },
      { ["a.lua"] = { [1] = true, [3] = true } }))
  end)
end)

describe("accepted findings", function()
  local finding = { class = "state", kind = "v1/Secret", key = "default/db", field = "data.password" }

  it("are told by class, kind, key and field", function()
    local rules = assert(allow.parse("# a comment\n\nstate Secret default/* data.*: rotated by hand\n", "allow"))
    assert.equal("rotated by hand", allow.of(rules, finding).reason)
    assert.is_nil(allow.of(rules, { class = "leak", kind = "v1/Secret", key = "default/db", field = "" }))
  end)

  it("need a reason", function()
    local rules, message = allow.parse("state Secret default/*\n", "allow")
    assert.is_nil(rules)
    assert.truthy(message:find("allow:1: a line is", 1, true))
  end)

  it("are of a class that there is", function()
    local rules, message = allow.parse("# nothing\nstat Secret default/*: rotated\n", "allow")
    assert.is_nil(rules)
    assert.equal('allow:2: there is no class of findings "stat"; did you mean "state"?', message)
    rules, message = allow.parse("everything Secret default/*: rotated\n", "allow")
    assert.is_nil(rules)
    assert.equal('allow:1: there is no class of findings "everything"; there are: error, invariant, leak, replaced, '
      .. "restart, rewritten, state, unsettled", message)
    assert.equal(1, #assert(allow.parse("* Secret default/*: rotated\n", "allow")))
  end)
end)
