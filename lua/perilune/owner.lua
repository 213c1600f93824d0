-- Owner references, by the rules of controller-runtime's controllerutil.

local check = require("perilune.check")
local host = require("perilune.host")
local ref = require("perilune.ref")

local format, fail = string.format, check.fail
local M = {}

local function group_of(api_version)
  return tostring(api_version):match("^(.+)/") or ""
end

-- An owner reference. Checks first that `owner` may own `object`.
local function reference(what, owner, object, controller)
  ref.kind_of(what .. ": the owner", owner)
  ref.kind_of(what .. ": the object", object)
  check.table(what .. ": the owner's metadata", owner.metadata)
  local owner_ns, owner_name = ref.parse(what .. ": the owner", owner)
  local metadata = check.table(what .. ": the object's metadata", object.metadata)
  if type(owner.metadata.uid) ~= "string" then
    fail("%s: the owner has no metadata.uid; use an object that was read", what)
  elseif owner_ns and not metadata.namespace then
    fail("%s: the object has no metadata.namespace; %s/%s can only own objects of its namespace",
      what, owner_ns, owner_name)
  elseif owner_ns and owner_ns ~= metadata.namespace then
    fail("%s: an owner in namespace %s cannot own an object in %s", what, owner_ns,
      metadata.namespace)
  end
  return {
    apiVersion = owner.apiVersion,
    kind = owner.kind,
    name = owner_name,
    uid = owner.metadata.uid,
    controller = controller or nil,
    blockOwnerDeletion = controller or nil,
  }
end

local function references(what, object)
  if type(object.metadata) ~= "table" then
    return {}
  end
  local list = object.metadata.ownerReferences
  if list == nil or list == host.null then
    return host.array({})
  end
  local where = what .. ": metadata.ownerReferences"
  for i, one in ipairs(check.table(where, list)) do
    check.table(format("%s[%d]", where, i), one)
  end
  return list
end

local function same_owner(a, b)
  return a.name == b.name and a.kind == b.kind and group_of(a.apiVersion) == group_of(b.apiVersion)
end

-- Replaces the reference to the same owner, or adds the new one.
local function put(what, object, new)
  local list = references(what, object)
  for i, old in ipairs(list) do
    if same_owner(old, new) then
      if new.controller == nil then
        new.controller, new.blockOwnerDeletion = old.controller, old.blockOwnerDeletion
      end
      list[i] = new
      object.metadata.ownerReferences = list
      return
    end
  end
  list[#list + 1] = new
  object.metadata.ownerReferences = list
end

function M.set_controller_reference(owner, object, ...)
  local what = "set_controller_reference"
  check.no_more(what, ...)
  local new = reference(what, owner, object, true)
  for _, old in ipairs(references(what, object)) do
    if old.controller == true and not same_owner(old, new) then
      fail("%s: %s is already controlled by %s %s", what, object.metadata.name
        or object.metadata.generateName or "the object", old.kind, old.name)
    end
  end
  put(what, object, new)
end

function M.set_owner_reference(owner, object, ...)
  check.no_more("set_owner_reference", ...)
  local what = "set_owner_reference"
  put(what, object, reference(what, owner, object, false))
end

function M.is_controlled_by(object, owner, ...)
  check.no_more("is_controlled_by", ...)
  check.table("is_controlled_by: the object", object)
  check.table("is_controlled_by: the owner", owner)
  local uid = type(owner.metadata) == "table" and owner.metadata.uid or nil
  for _, one in ipairs(references("is_controlled_by", object)) do
    if one.controller == true then
      return uid ~= nil and one.uid == uid
    end
  end
  return false
end

-- Whether objects of the owner's kind have no namespace: by the kinds of Kubernetes, and by those
-- that controllers watch. A kind that neither has counts as namespaced.
local function is_cluster_scoped(owner)
  if type(owner.apiVersion) ~= "string" or type(owner.kind) ~= "string" then
    return false
  end
  local scoped = require("perilune.scope").is_cluster_scoped(group_of(owner.apiVersion), owner.kind)
  if scoped == nil then
    return host.is_cluster_scoped(owner.apiVersion, owner.kind)
  end
  return scoped
end

function M.controller_of(object, ...)
  check.no_more("controller_of", ...)
  check.table("controller_of", object)
  for _, one in ipairs(references("controller_of", object)) do
    if one.controller == true then
      local ns = object.metadata.namespace
      return {
        kind = format("%s/%s", one.apiVersion, one.kind),
        namespace = ns and not is_cluster_scoped(one) and ns or nil,
        name = one.name,
        uid = one.uid,
      }
    end
  end
  return nil
end

return M
