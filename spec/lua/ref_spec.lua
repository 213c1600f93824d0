-- perilune.ref: keys, requests, tables with a name and objects; perilune.key.
local spec = require("spec.support.host")
local perilune = require("perilune")
local ref = require("perilune.ref")

local function parse(value)
  return { ref.parse("get v1/Pod", value) }
end

describe("a ref", function()
  it("is a key, a request, a table with a name or an object", function()
    for _, value in ipairs({ "default/blog", { namespace = "default", name = "blog" },
      { namespace = "default", name = "blog", key = "default/blog" },
      { kind = "apps/v1/Deployment", namespace = "default", name = "blog", uid = "1" },
      { apiVersion = "v1", kind = "Pod", metadata = { namespace = "default", name = "blog" } } }) do
      assert.same({ "default", "blog" }, parse(value))
    end
  end)

  it("has no namespace when it is cluster-scoped", function()
    for _, value in ipairs({ "n1", { name = "n1" }, { namespace = "", name = "n1" },
      { metadata = { name = "n1" } } }) do
      local ns, name = ref.parse("get", value)
      assert.is_nil(ns)
      assert.equal("n1", name)
    end
  end)

  local wrong = {
    { nil, "get v1/Pod: the reference must be a key, a request or an object, not nil" },
    { perilune.null, "get v1/Pod: the reference must be a key, a request or an object, not perilune.null" },
    { "a/b/c", 'get v1/Pod: "a/b/c" is not a key; a key is "namespace/name", or "name" when cluster-scoped' },
    { "", 'get v1/Pod: "" is not a key; a key is "namespace/name", or "name" when cluster-scoped' },
    { "/a", 'get v1/Pod: "/a" is not a key; a key is "namespace/name", or "name" when cluster-scoped' },
    { {}, "get v1/Pod: the reference has no name" },
    { { name = 5 }, "get v1/Pod: the reference has no name" },
    { { metadata = 5 }, "get v1/Pod: metadata must be a table, not the number 5" },
    { { name = "a", namespace = 5 }, "get v1/Pod: namespace must be a string, not the number 5" },
    { "default/a\0b", 'get v1/Pod: "default/a\\0b" is not a key; a key is "namespace/name", '
      .. 'or "name" when cluster-scoped' },
    { "n\0", 'get v1/Pod: "n\\0" is not a key; a key is "namespace/name", or "name" when cluster-scoped' },
    { { name = "a\0b" }, 'get v1/Pod: "a\\0b" cannot be a name' },
    { { name = "default/a" }, 'get v1/Pod: "default/a" cannot be a name' },
    { { name = "a", namespace = "d\0" }, 'get v1/Pod: namespace: "d\\0" cannot be a namespace' },
    { { name = "b", namespace = "d/a" }, 'get v1/Pod: namespace: "d/a" cannot be a namespace' },
  }
  for i = 1, 15 do
    it("is refused: " .. wrong[i][2], function()
      assert.equal(wrong[i][2], spec.message_of(ref.parse, "get v1/Pod", wrong[i][1]))
    end)
  end
end)

describe("perilune.key", function()
  it("is the object's key", function()
    assert.equal("default/a", perilune.key({ metadata = { namespace = "default", name = "a" } }))
    assert.equal("n1", perilune.key({ metadata = { name = "n1" } }))
    assert.equal("default/a", perilune.key("default/a"))
  end)
end)

describe("the kind of an object", function()
  it("is its apiVersion and kind", function()
    assert.equal("v1/Pod", ref.kind_of("x", { apiVersion = "v1", kind = "Pod" }))
    assert.equal("apps/v1/Deployment", ref.kind_of("x", { apiVersion = "apps/v1", kind = "Deployment" }))
  end)

  it("must be there", function()
    assert.equal("create: the object must be a table with apiVersion and kind, not nil",
      spec.message_of(ref.kind_of, "create", nil))
    assert.equal("create: the object must have apiVersion and kind", spec.message_of(ref.kind_of, "create", {}))
    assert.truthy(spec.message_of(ref.kind_of, "create", { apiVersion = "a/b/c", kind = "D" })
      :find("^create: "))
  end)
end)
