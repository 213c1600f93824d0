-- Owner references.
local spec = require("spec.support.host")
local perilune = require("perilune")

local function website(name, uid)
  return { apiVersion = "example.com/v1", kind = "Website",
    metadata = { namespace = "default", name = name or "blog", uid = uid or "u1" } }
end

local function child()
  return { apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "default", name = "c" } }
end

describe("perilune.set_controller_reference", function()
  it("adds the reference of a controller", function()
    local object = child()
    perilune.set_controller_reference(website(), object)
    assert.same({ { apiVersion = "example.com/v1", kind = "Website", name = "blog", uid = "u1",
      controller = true, blockOwnerDeletion = true } }, object.metadata.ownerReferences)
    assert.equal("[", perilune.json.encode(object.metadata.ownerReferences):sub(1, 1))
    table.remove(object.metadata.ownerReferences)
    assert.equal("[]", perilune.json.encode(object.metadata.ownerReferences))
  end)

  it("replaces that of the same owner, also of another version or uid", function()
    local object = child()
    perilune.set_controller_reference(website(), object)
    local again = website("blog", "u2")
    again.apiVersion = "example.com/v2"
    perilune.set_controller_reference(again, object)
    assert.equal(1, #object.metadata.ownerReferences)
    assert.equal("u2", object.metadata.ownerReferences[1].uid)
    assert.equal("example.com/v2", object.metadata.ownerReferences[1].apiVersion)
  end)

  it("keeps other owners that do not control", function()
    local object = child()
    perilune.set_owner_reference(website("other", "u9"), object)
    perilune.set_controller_reference(website(), object)
    assert.equal(2, #object.metadata.ownerReferences)
  end)

  it("refuses an object that another one controls", function()
    local object = child()
    perilune.set_controller_reference(website("other", "u9"), object)
    assert.equal("set_controller_reference: c is already controlled by Website other",
      spec.message_of(perilune.set_controller_reference, website(), object))
  end)

  it("refuses scopes that do not fit", function()
    local elsewhere = child()
    elsewhere.metadata.namespace = "other"
    assert.equal("set_controller_reference: an owner in namespace default cannot own an object in other",
      spec.message_of(perilune.set_controller_reference, website(), elsewhere))
    local nowhere = child()
    nowhere.metadata.namespace = nil
    assert.truthy(spec.message_of(perilune.set_controller_reference, website(), nowhere)
      :find("the object has no metadata.namespace", 1, true))
  end)

  it("lets a cluster-scoped owner own anything", function()
    local owner, object = website(), child()
    owner.metadata.namespace = nil
    perilune.set_controller_reference(owner, object)
    assert.is_true(perilune.is_controlled_by(object, owner))
  end)

  it("refuses an owner that was not read", function()
    local owner = website()
    owner.metadata.uid = nil
    assert.equal("set_controller_reference: the owner has no metadata.uid; use an object that was read",
      spec.message_of(perilune.set_controller_reference, owner, child()))
    assert.equal("set_controller_reference: the owner's metadata must be a table, not nil",
      spec.message_of(perilune.set_controller_reference,
        { apiVersion = "v1", kind = "Pod", name = "a" }, child()))
    assert.equal("set_controller_reference: the object must be a table with apiVersion and kind, not nil",
      spec.message_of(perilune.set_controller_reference, website()))
  end)

  it("takes a list that is null for none", function()
    local object = child()
    object.metadata.ownerReferences = perilune.null
    perilune.set_controller_reference(website(), object)
    assert.equal(1, #object.metadata.ownerReferences)
  end)
end)

describe("perilune.set_owner_reference", function()
  it("adds one without control", function()
    local object = child()
    perilune.set_owner_reference(website(), object)
    assert.is_nil(object.metadata.ownerReferences[1].controller)
    assert.is_false(perilune.is_controlled_by(object, website()))
  end)

  it("takes no control away", function()
    local object = child()
    perilune.set_controller_reference(website(), object)
    perilune.set_owner_reference(website(), object)
    assert.is_true(object.metadata.ownerReferences[1].controller)
  end)
end)

describe("perilune.controller_of", function()
  it("is a ref of the controller", function()
    local object = child()
    perilune.set_owner_reference(website("other", "u9"), object)
    perilune.set_controller_reference(website(), object)
    assert.same({ kind = "example.com/v1/Website", namespace = "default", name = "blog", uid = "u1" },
      perilune.controller_of(object))
  end)

  it("has no namespace for a kind of Kubernetes that has none", function()
    local object = child()
    perilune.set_controller_reference({ apiVersion = "v1", kind = "Namespace",
      metadata = { name = "default", uid = "u2" } }, object)
    assert.same({ kind = "v1/Namespace", name = "default", uid = "u2" }, perilune.controller_of(object))
    object = child()
    perilune.set_controller_reference({ apiVersion = "apps/v1", kind = "ReplicaSet",
      metadata = { namespace = "default", name = "r", uid = "u3" } }, object)
    assert.equal("default", perilune.controller_of(object).namespace)
  end)

  it("is nil when there is none", function()
    assert.is_nil(perilune.controller_of(child()))
    assert.is_nil(perilune.controller_of({}))
  end)
end)

describe("owner references of another form", function()
  local function refuses(expected, f, ...)
    assert.equal(expected, spec.message_of(f, ...))
  end

  it("are named", function()
    local object = child()
    object.metadata.ownerReferences = "web"
    refuses('is_controlled_by: metadata.ownerReferences must be a table, not the string "web"',
      perilune.is_controlled_by, object, website())
    refuses('set_owner_reference: metadata.ownerReferences must be a table, not the string "web"',
      perilune.set_owner_reference, website(), object)
    object.metadata.ownerReferences = { 42 }
    refuses("controller_of: metadata.ownerReferences[1] must be a table, not the number 42",
      perilune.controller_of, object)
    refuses("set_controller_reference: metadata.ownerReferences[1] must be a table, not the number 42",
      perilune.set_controller_reference, website(), object)
  end)
end)

describe("perilune.is_controlled_by", function()
  it("compares uids", function()
    local object = child()
    perilune.set_controller_reference(website(), object)
    assert.is_true(perilune.is_controlled_by(object, website()))
    assert.is_false(perilune.is_controlled_by(object, website("blog", "u2")))
    assert.is_false(perilune.is_controlled_by(object, {}))
    assert.is_false(perilune.is_controlled_by({}, website()))
  end)
end)
