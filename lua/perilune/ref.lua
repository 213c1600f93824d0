-- References to objects in all forms that scripts use: a key, a request, a table with a name, an
-- object. Each member is read once, because a metamethod could give another value the next time.

local check = require("perilune.check")

local fail, are_names = check.fail, require("perilune.host").are_names
local find, match = string.find, string.match -- a script may replace its strings' methods
local M = {}

local KEY_MAX = 1024 -- bytes; the API server allows 253 for a name and 63 for a namespace

-- "get v1/Pod" is a call, "get v1/Pod: owner" a value of it: a message says which value it means.
local function value_of(what, noun)
  return find(what, ": ", 1, true) and what or what .. ": the " .. noun
end

local function parse_key(what, key)
  if #key > KEY_MAX then
    fail("%s: a key of %d bytes; it may have %d", what, #key, KEY_MAX)
  end
  local ns, name = match(key, "^([^/%z]+)/([^/%z]+)$")
  if ns then
    return ns, name
  elseif key ~= "" and are_names(key) then
    return nil, key
  end
  fail('%s: %q is not a key; a key is "namespace/name", or "name" when cluster-scoped', what, key)
end

-- Returns namespace or nil, and name.
function M.parse(what, value)
  if type(value) == "string" then
    return parse_key(what, value)
  elseif type(value) ~= "table" then
    fail("%s must be a key, a request or an object, not %s", value_of(what, "reference"),
      check.describe(value))
  end
  local holder, metadata = value, value.metadata
  if metadata ~= nil then
    holder = check.table(check.member_text(what, "metadata"), metadata)
  end
  local ns, name = holder.namespace, holder.name
  if type(name) ~= "string" or name == "" then
    fail("%s has no name", value_of(what, "reference"))
  elseif not are_names(name, ns) then
    if not are_names(name) then
      fail("%s: %s cannot be a name", what, check.quote(name))
    end
    check.namespace(check.member_text(what, "namespace"), ns)
  end
  return ns ~= "" and ns or nil, name
end

-- The kind of an object: "apps/v1/Deployment".
function M.kind_of(what, object)
  if type(object) ~= "table" then
    fail("%s must be a table with apiVersion and kind, not %s", value_of(what, "object"),
      check.describe(object))
  end
  local version, kind = object.apiVersion, object.kind
  if type(version) ~= "string" or type(kind) ~= "string" then
    fail("%s must have apiVersion and kind", value_of(what, "object"))
  end
  return check.kind(what, version .. "/" .. kind)
end

function M.key(ns, name)
  return ns and ns .. "/" .. name or name
end

return M
