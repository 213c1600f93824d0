-- perilune.webhook: which handlers can be registered, under which names, and what they may return.

local spec = require("spec.support.host")

local host = spec.host
local perilune, declared, answered, objects

local function begin()
  spec.reset()
  spec.forget()
  perilune = require("perilune")
  declared = {}
  host.set_phase("load")
  host.controller = function(description)
    declared[#declared + 1] = description
  end
  host.hook_answer = function(object, said)
    answered = { object = object, said = said }
  end
  host.hook_next = function()
    return table.remove(objects, 1)
  end
  host.hook_converted = function(object)
    answered[#answered + 1] = object
  end
end

local function finish()
  require("perilune.controller").finish()
  return declared
end

local function refuses(part, f, ...)
  local message = spec.message_of(f, ...)
  assert(message:find(part, 1, true), message)
end

local function nothing() end
local site = "example.com/v1/Website"

describe("registering a webhook", function()
  before_each(begin)

  it("tells the host its kinds, names and paths", function()
    perilune.webhook.validate(site, nothing)
    perilune.webhook.mutate({ "v1/Pod", "apps/v1/Deployment" }, nothing, { subresources = { "scale" },
      object_selector = { app = "x" }, failure_policy = "Ignore", timeout = "3s",
      reinvocation = "IfNeeded", max_concurrent = 7 })
    perilune.webhook.convert("example.com/Website", nothing)
    local all = finish()
    assert.equal(3, #all)
    local hook = all[1].hook
    assert.same({ { group = "example.com", version = "v1", kind = "Website", exact = false,
      name = "validate.website.example.com", path = "/validate-example-com-v1-website" } }, hook.kinds)
    assert.same({ "CREATE", "UPDATE" }, hook.operations)
    assert.equal(10, hook.timeout)
    assert.equal(50, all[1].max_concurrent_reconciles)
    assert.is_false(all[1].leader_election)
    assert.matches("webhook_spec.lua$", all[1].file)
    hook = all[2].hook
    assert.same({ "mutate.pod.core", "/mutate--v1-pod" }, { hook.kinds[1].name, hook.kinds[1].path })
    assert.same({ "mutate.deployment.apps", "/mutate-apps-v1-deployment" },
      { hook.kinds[2].name, hook.kinds[2].path })
    assert.same({ "app=x", true, true, 3 },
      { hook.object_selector, hook.ignore, hook.if_needed, hook.timeout })
    assert.equal(7, all[2].max_concurrent_reconciles)
    assert.same({ "/convert", "convert.website.example.com", 200 }, { all[3].hook.kinds[1].path,
      all[3].hook.kinds[1].name, all[3].max_concurrent_reconciles })
  end)

  it("tells two versions of a kind apart, which are then matched exactly", function()
    perilune.webhook.validate(site, nothing)
    perilune.webhook.validate("example.com/v2/Website", nothing, { match_policy = "Equivalent" })
    local all = finish()
    assert.same({ "validate.website.v1.example.com", true },
      { all[1].hook.kinds[1].name, all[1].hook.kinds[1].exact })
    assert.same({ "validate.website.v2.example.com", false },
      { all[2].hook.kinds[1].name, all[2].hook.kinds[1].exact })
  end)

  it("declares what handlers read and write", function()
    perilune.webhook.validate(site, nothing, { reads = { "v1/ConfigMap" },
      writes = { ["v1/Secret"] = { "patch" } }, side_effects = "NoneOnDryRun" })
    local one = finish()[1]
    assert.same({ { role = "reads", kind = "v1/ConfigMap" } }, one.sources)
    assert.same({ { kind = "v1/Secret", verbs = { "patch" } } }, one.writes)
    assert.is_true(one.hook.on_dry_run)
  end)

  it("names what is wrong, and where", function()
    local function validate(...)
      perilune.webhook.validate(...)
    end
    local function with(options)
      return function()
        perilune.webhook.validate(site, nothing, options)
      end
    end
    refuses('the kind must be a text such as', validate, 5, nothing)
    refuses("needs a function as its second argument", validate, site, {})
    refuses("got more arguments", validate, site, nothing, {}, 1)
    refuses('did you mean "operations"', with({ operation = { "CREATE" } }))
    refuses("operations[1] must be one of", with({ operations = { "create" } }))
    refuses("operations must not be empty", with({ operations = {} }))
    refuses("timeout must be whole seconds from 1 to 30", with({ timeout = "500ms" }))
    refuses("timeout must be whole seconds from 1 to 30", with({ timeout = 31 }))
    refuses('unknown option "reinvocation"', with({ reinvocation = "Never" }))
    refuses("must have at least three parts", with({ name = "website.com" }))
    refuses('need side_effects = "NoneOnDryRun"', with({ writes = { "v1/Secret" } }))
    refuses("side_effects must be one of", with({ side_effects = "Some" }))
    refuses("match_conditions[1]: expression must be a string", with({ match_conditions = { { name = "a" } } }))
    refuses("object_selector", with({ object_selector = "a in (" }))
    refuses('object_selector: "size>5": webhooks select by equality, set and existence', with({
      object_selector = "a=b,size>5,x in (y)" }))
    refuses('namespace_selector: "size<5": webhooks', with({ namespace_selector = "size<5" }))
    refuses('operations: "*" is all of them and stands alone', with({ operations = { "*", "CREATE" } }))
    refuses("match_conditions[1]: expression must not be empty", with({ match_conditions = { { name = "a",
      expression = " \n" } } }))
    refuses("name: a registration of several kinds", validate, { "v1/Pod", site }, nothing, { name = "a.b.c" })
    refuses("needs a group and kind without a version", perilune.webhook.convert, site, nothing)
    refuses("got more arguments", perilune.webhook.convert, "example.com/Website", nothing, {})
    spec.assert_positioned("webhook_spec.lua", with({ timeout = 0 }))
  end)

  it("takes one handler of a sort for a kind", function()
    perilune.webhook.validate(site, nothing)
    perilune.webhook.mutate(site, nothing)
    refuses("is called twice for one kind; first at ", function()
      perilune.webhook.validate({ "v1/Pod", site }, nothing)
    end)
  end)

  it("takes a path once", function()
    perilune.webhook.validate("a-b.com/v1/Website", nothing)
    perilune.webhook.mutate("a.b.com/v1/Website", nothing)
    refuses('perilune.webhook.validate("a.b.com/v1/Website"): its path /validate-a-b-com-v1-website is also '
      .. "that of a-b.com/v1/Website at ", perilune.webhook.validate, { "v1/Pod", "a.b.com/v1/Website" }, nothing)
    refuses("its path /validate--v1-foo is also that of v1/Foo at ", perilune.webhook.validate,
      { "v1/Foo", "v1/FOO" }, nothing)
    spec.assert_positioned("webhook_spec.lua", function()
      perilune.webhook.validate("a.b.com/v1/Website", nothing)
    end)
    perilune.webhook.convert("a-b.com/Website", nothing)
    perilune.webhook.convert("a.b.com/Website", nothing)
  end)

  it("takes a name once", function()
    perilune.webhook.validate(site, nothing, { name = "a.b.c" })
    perilune.webhook.mutate(site, nothing, { name = "a.b.c" })
    perilune.webhook.validate("v1/Pod", nothing, { name = "a.b.c" })
    refuses('two webhooks are called "a.b.c"', finish)
  end)

  it("is possible while the script is loaded alone", function()
    host.set_phase("run")
    refuses("can only be called while the script is loaded", perilune.webhook.validate, site, nothing)
  end)
end)

describe("a handler", function()
  before_each(begin)

  local function run(f, request, sort)
    perilune.webhook[sort or "validate"](site, f)
    local one = finish()[1]
    answered = nil
    host.set_phase("run")
    assert.equal("done", one.reconcile({ spec = {} }, nil, request or { audit_annotations = {} }))
    return answered.said, answered.object
  end

  local function returning(...)
    local n, values = select("#", ...), { ... }
    return function()
      return unpack(values, 1, n)
    end
  end

  it("is blamed under the name of the webhook that was asked", function()
    perilune.webhook.validate({ "v1/Pod", "v1/ConfigMap" }, returning(5))
    local one = finish()[1]
    host.set_phase("run")
    refuses('webhook "validate.configmap.core" returned the number 5', one.reconcile, {}, nil, {},
      "validate.configmap.core")
    refuses('webhook "validate.pod.core" returned the number 5', one.reconcile, {}, nil, {})
  end)

  it("allows by returning nothing, and denies by returning a text", function()
    assert.same({ allowed = true }, (run(nothing)))
    begin()
    assert.same({ allowed = false, message = "no" }, (run(returning("no"))))
  end)

  it("denies with causes", function()
    local said = run(function()
      return perilune.webhook.invalid({ { field = "a", message = "x" }, { field = "b", message = "y" } })
    end)
    assert.equal("a: x; b: y", said.message)
    assert.equal("b", said.causes[2].field)
    refuses("needs at least one", perilune.webhook.invalid, {})
    refuses('unknown option "path"', perilune.webhook.invalid, { { path = "a", message = "m" } })
  end)

  it("warns, on one line", function()
    assert.same({ "a b c" }, (run(returning(nil, { "a\nb\194\133c" }))).warnings)
  end)

  it("annotates the audit", function()
    local said = run(function(_, _, request)
      request.audit_annotations.why = "because"
    end)
    assert.same({ why = "because" }, said.audit)
  end)

  it("that mutates gives its object back when it allows", function()
    local said, object = run(function(o)
      o.spec.x = 1
    end, nil, "mutate")
    assert.same({ true, { spec = { x = 1 } } }, { said.allowed, object })
    begin()
    said, object = run(returning("no"), nil, "mutate")
    assert.same({ false }, { said.allowed, object })
  end)

  it("is told what it may return", function()
    local function wrong(part, ...)
      begin()
      local f = returning(...)
      refuses(part, run, f)
    end
    wrong("returned the boolean true; it may return nothing (allowed)", true)
    wrong("returned a table; it may return", { "a" })
    wrong("as its second value; it may return", nil, "a")
    wrong("warning 1 must be a string, not the number 1", nil, { 1 })
    wrong("returned more than two values", nil, nil, nil)
    begin()
    refuses("audit_annotations[a] must be a string", run, function(_, _, request)
      request.audit_annotations.a = 1
    end)
  end)

  it("converts each object", function()
    perilune.webhook.convert("example.com/Website", function(object, version)
      object.version = version
      return object
    end)
    local one = finish()[1]
    objects, answered = { { a = 1 }, { a = 2 } }, {}
    assert.equal("done", one.reconcile("v2"))
    assert.same({ { a = 1, version = "v2" }, { a = 2, version = "v2" } }, answered)
  end)

  it("must return what it converts", function()
    perilune.webhook.convert("example.com/Website", nothing)
    local one = finish()[1]
    objects, answered = { {} }, {}
    refuses("returned nil; it must return the object", one.reconcile, "v2")
  end)
end)
