-- Predicates as descriptions for the core.
local spec = require("spec.support.host")
local perilune = require("perilune")
local predicate = require("perilune.predicate")

local p = perilune.predicate

local function refuses(expected, f, ...)
  local message = spec.message_of(f, ...)
  assert.truthy(message:find(expected, 1, true), message)
end

describe("perilune.predicate", function()
  it("describes what the core evaluates itself", function()
    for _, name in ipairs({ "generation_changed", "resource_version_changed", "label_changed",
      "annotation_changed", "finalizers_changed" }) do
      assert.equal(name, p[name].type)
      assert.equal(p[name], predicate.of("x", p[name]))
    end
  end)

  it("takes a selector in every form", function()
    assert.equal("app=web", p.label_selector("app=web").selector)
    assert.equal("app=web", p.label_selector({ app = "web" }).selector)
    refuses("label_selector: an empty selector", p.label_selector, "")
    refuses("label_selector: ", p.label_selector, "a in (")
    refuses("more arguments", p.label_selector, "a=b", "c=d")
  end)

  it("takes paths whose values must change", function()
    local changed = p.fields_changed("spec", "metadata.labels.tier")
    assert.same({ "spec", "metadata.labels.tier" }, changed.paths)
    refuses("at least one path", p.fields_changed)
    refuses("fields_changed[2]", p.fields_changed, "spec", "a..b")
    refuses("fields_changed[1] must be a string", p.fields_changed, 5)
  end)

  it("combines", function()
    local f = function() end
    local all = p.all(p.generation_changed, f)
    assert.equal("all", all.type)
    assert.equal("generation_changed", all.of[1].type)
    assert.same({ "script", f }, { all.of[2].type, all.of[2].f })
    assert.equal("any", p.any(f).type)
    assert.equal("script", p.none(f).of.type)
    refuses("all needs at least one predicate", p.all)
    refuses("any: argument 2 must be a predicate", p.any, f, 5)
    refuses("all: argument 1 must be a predicate", p.all, nil)
    refuses("none got more arguments", p.none, f, f)
    refuses("none must be a predicate", p.none)
  end)

  it("takes functions by the type of event", function()
    local f = function() end
    local funcs = p.funcs({ update = f })
    assert.same({ "funcs", f }, { funcs.type, funcs.update })
    assert.is_nil(funcs.create)
    refuses('did you mean "update"?', p.funcs, { updat = f })
    refuses("funcs: delete must be a function", p.funcs, { delete = true })
  end)

  it("takes a plain function", function()
    local f = function() end
    local own = predicate.of("x", f)
    assert.same({ "script", f }, { own.type, own.f })
  end)

  it("refuses what is none", function()
    refuses("x must be a predicate (perilune.predicate.*) or a function(event), not nil",
      predicate.of, "x", nil)
    refuses("x must be a predicate", predicate.of, "x", { type = "all" })
    refuses("x must be a predicate", predicate.of, "x", "spec")
  end)

  it("refuses a function of its own that was not called", function()
    refuses("x: label_selector must be called, as in perilune.predicate.label_selector(...)",
      predicate.of, "x", p.label_selector)
  end)

  it("makes one of several, and none of none", function()
    assert.is_nil(predicate.all_of({}))
    assert.equal(p.label_changed, predicate.all_of({ p.label_changed }))
    assert.equal("all", predicate.all_of({ p.label_changed, p.annotation_changed }).type)
  end)
end)
