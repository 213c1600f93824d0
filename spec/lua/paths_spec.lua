-- JSONPath and JSON pointers.
local spec = require("spec.support.host")
local perilune = require("perilune")

local pod = { metadata = { annotations = { ["a/b"] = "1", ["c~d"] = "2" } },
  spec = { containers = { { name = "web", image = "nginx" }, { name = "log", image = "fluent" } } },
  status = { conditions = { { type = "Ready", status = "True" } }, none = perilune.null } }

describe("perilune.jsonpath", function()
  it("finds all, or the first", function()
    local images = perilune.jsonpath("{.spec.containers[*].image}")
    assert.same({ "nginx", "fluent" }, images:all(pod))
    assert.equal("nginx", images:first(pod))
    assert.equal("True", perilune.jsonpath('.status.conditions[?(@.type=="Ready")].status'):first(pod))
    assert.same({ name = "log", image = "fluent" }, perilune.jsonpath(".spec.containers[-1]"):first(pod))
    assert.equal(perilune.null, perilune.jsonpath(".status.none"):first(pod))
  end)

  it("finds nothing where nothing is", function()
    assert.same({}, perilune.jsonpath(".spec.nope[0]"):all(pod))
    assert.is_nil(perilune.jsonpath(".spec.nope"):first(pod))
    assert.is_nil(perilune.jsonpath(".a"):first("text"))
  end)

  it("refuses what is no path, at once", function()
    local message = spec.message_of(perilune.jsonpath, ".spec[")
    assert.truthy(message:find("jsonpath: brackets must hold", 1, true), message)
    assert.truthy(spec.message_of(perilune.jsonpath, 5):find("must be a string"))
    assert.truthy(spec.message_of(perilune.jsonpath, ""):find("must not be empty"))
    assert.truthy(spec.message_of(perilune.jsonpath, ".a", 1):find("more arguments"))
    assert.truthy(spec.message_of(perilune.jsonpath(".a").first, pod):find("with a colon"))
    assert.truthy(spec.message_of(perilune.jsonpath(".a").all):find("with a colon"))
  end)

  it("says at which line a value cannot be looked in", function()
    local path, cycle = perilune.jsonpath(".a"), {}
    cycle.b = cycle
    for value, why in pairs({ [cycle] = "b: a table that contains itself", [{ a = print }] = "a: a function" }) do
      for _, method in ipairs({ "all", "first" }) do
        assert.truthy(spec.message_of(path[method], path, value):find("jsonpath: " .. why, 1, true))
        spec.assert_positioned("paths_spec", function()
          local found = path[method](path, value)
          return found
        end)
      end
    end
  end)

  it("wants a value, which may be nil", function()
    local path = perilune.jsonpath(".a")
    assert.truthy(spec.message_of(path.all, path):find("jsonpath:all needs a value to look in", 1, true))
    assert.truthy(spec.message_of(path.first, path):find("jsonpath:first needs a value to look in", 1, true))
    assert.truthy(spec.message_of(path.first, path, {}, 1):find("more arguments"))
    assert.same({}, path:all(nil))
    assert.is_nil(path:first(nil))
  end)

  it("is an error at its own line", function()
    spec.assert_positioned("paths_spec", function()
      local path = perilune.jsonpath("..")
      return path
    end)
  end)
end)

describe("perilune.pointer", function()
  it("finds a value; indices begin at 0", function()
    assert.equal("1", perilune.pointer.get(pod, "/metadata/annotations/a~1b"))
    assert.equal("2", perilune.pointer.get(pod, "/metadata/annotations/c~0d"))
    assert.equal("log", perilune.pointer.get(pod, "/spec/containers/1/name"))
    assert.equal(pod, perilune.pointer.get(pod, ""))
    for _, nowhere in ipairs({ "/spec/x", "/spec/containers/2", "/spec/containers/01",
      "/spec/containers/-", "/spec/containers/0/name/x" }) do
      assert.is_nil(perilune.pointer.get(pod, nowhere))
    end
  end)

  it("is parsed and built", function()
    local text = "/metadata/annotations/a~1b~0/0"
    assert.same({ "metadata", "annotations", "a/b~", "0" }, perilune.pointer.parse(text))
    assert.equal(text, perilune.pointer.build({ "metadata", "annotations", "a/b~", 0 }))
    assert.equal("", perilune.pointer.build({}))
  end)

  it("refuses what is none", function()
    assert.truthy(spec.message_of(perilune.pointer.get, pod, "a"):find("must begin with '/'", 1, true))
    assert.truthy(spec.message_of(perilune.pointer.parse, "/~2"):find("followed by 0", 1, true))
    assert.truthy(spec.message_of(perilune.pointer.build, { -1 }):find("index from 0 on", 1, true))
    assert.truthy(spec.message_of(perilune.pointer.parse, nil):find("must be a string"))
  end)
end)
