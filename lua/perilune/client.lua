-- perilune.client (cached reads), perilune.live (reads from the server), and clients made by `as`:
-- all share one table of methods. Arguments are checked here; the core reads, and its write gate
-- writes.

local host = require("perilune.host")
local check = require("perilune.check")
local errors = require("perilune.errors")
local query = require("perilune.query")
local ref = require("perilune.ref")

local format, fail = string.format, check.fail
local tests = errors.tests
local M = {}

-- ---- options ----

local function index_option(what, value)
  local out = check.options(what, value, {
    name = check.string,
    value = function(where, v)
      local kind = type(v)
      if kind ~= "string" and kind ~= "number" and kind ~= "boolean" then
        fail("%s must be a string, number or boolean, not %s", where, check.describe(v))
      end
      return tostring(v)
    end,
  })
  if not out.name or out.value == nil then
    fail("%s needs name and value", what)
  end
  return out
end

-- An object and its metadata after the checks.
local function object_option(what, value)
  check.table(what, value)
  ref.kind_of(what, value)
  local metadata = check.table(check.member_text(what, "metadata"), value.metadata)
  ref.parse(what, { metadata = metadata })
  return value, metadata
end

local get_options = { metadata_only = check.boolean }

local list_options = {
  namespace = check.namespace,
  labels = check.selector,
  fields = check.fields,
  owner = function(what, value)
    local uid = host.owner_uid(value)
    if uid then
      return uid
    end
    local _, metadata = object_option(what, value)
    return check.string(check.member_text(what, "metadata.uid"), metadata.uid)
  end,
  index = index_option,
  select = check.array_of(check.path),
  limit = check.integer(1),
  continue = check.string,
  metadata_only = check.boolean,
}

local write_options = {
  owner = object_option,
  adopt = check.boolean,
  force_write = check.boolean,
  dry_run = check.boolean,
  field_manager = check.string,
  field_validation = check.one_of("Strict", "Warn", "Ignore"),
}

local patch_options = check.with(write_options, {
  type = check.one_of("merge", "json", "strategic"),
})
local apply_options = check.with(write_options, { force = check.boolean })
local delete_options = check.with(write_options, {
  propagation = check.one_of("Background", "Foreground", "Orphan"),
  grace_period = check.integer(0),
  uid = check.string,
  resource_version = check.string,
})
local delete_all_options = {
  namespace = check.namespace,
  labels = check.selector,
  fields = check.fields,
  all = check.boolean,
  dry_run = check.boolean,
}

local function write_options_of(what, options, checkers)
  local o = check.options(what, options, checkers)
  if o.adopt and not o.owner then
    fail("%s: adopt needs owner, the object that takes this one", what)
  end
  return o
end

local subresource_get_options = { query = query.text }

-- ---- the methods ----

local methods = {}
-- client -> the destination of its requests: {live =, headers =, cluster =}. `reads`: the same as
-- options of a read without other options; nil for the cache of the host's own cluster.
local senders = setmetatable({}, { __mode = "k" })

local function require_self(self, method)
  if senders[self] == nil then
    fail("call it with a colon: client:%s(...)", method)
  end
end

-- An object that is about to be written: its kind, namespace and name.
local function target(what, object)
  local kind = ref.kind_of(what, object)
  check.table(what .. ": metadata", object.metadata)
  return kind, ref.parse(what, object)
end

-- An object that is about to be created. Some have no name yet. Reviews (SubjectAccessReview,
-- TokenReview and similar kinds) never have one, and need no metadata.
local function new_target(what, object)
  local kind = ref.kind_of(what, object)
  local is_review = kind:sub(-6) == "Review"
  local metadata = object.metadata
  if is_review and metadata == nil then
    return kind
  end
  check.table(what .. ": metadata", metadata)
  if metadata.name == nil and (is_review or type(metadata.generateName) == "string") then
    local ns = metadata.namespace
    return kind, ns ~= nil and check.namespace(what .. ": metadata.namespace", ns) or nil, nil
  end
  return kind, ref.parse(what, object)
end

-- Adds the destination of a client's requests to the options of a request.
local function send_by(self, options)
  local sender = senders[self]
  options.live, options.headers, options.cluster = sender.live, sender.headers, sender.cluster
  return options
end

local function write(self, options, fields)
  for name, value in pairs(options) do
    fields[name] = value
  end
  return host.write(send_by(self, fields))
end
if host.leaving then
  write = require("perilune.leaving").writing(write)
end

function methods.get(self, kind, object_ref, options, ...)
  require_self(self, "get")
  check.no_more("get", ...)
  local what = check.verb_text(check.kind("get", kind), "get")
  local ns, name = ref.parse(what, object_ref)
  if options == nil then
    return host.get(kind, ns, name, senders[self].reads)
  end
  return host.get(kind, ns, name, send_by(self, check.options(what, options, get_options)))
end

if host.leaving then
  methods.get = require("perilune.leaving").reading(methods.get)
end

local function list_arguments(self, method, kind, options)
  local what = check.verb_text(check.kind(method, kind), method)
  local o = check.options(what, options, list_options)
  if o.index and senders[self].live then
    fail("%s: index works on the cache; perilune.live has none", what)
  elseif o.index and senders[self].cluster then
    fail("%s: indexes are of the host's own cluster alone, not of %q", what,
      senders[self].cluster)
  end
  o.owner_uid, o.owner = o.owner, nil
  return kind, send_by(self, o)
end

function methods.list(self, kind, options, ...)
  require_self(self, "list")
  check.no_more("list", ...)
  return host.list(list_arguments(self, "list", kind, options))
end

function methods.each(self, kind, options, ...)
  require_self(self, "each")
  check.no_more("each", ...)
  return host.each(list_arguments(self, "each", kind, options))
end

function methods.create(self, object, options, ...)
  require_self(self, "create")
  check.no_more("create", ...)
  local kind, ns, name = new_target("create", object)
  local o = write_options_of("create " .. kind, options, write_options)
  return (write(self, o, { verb = "create", kind = kind, namespace = ns, name = name,
    body = object, object = object }))
end

local function update(self, what, subresource, object, options)
  local kind, ns, name = target(what, object)
  local o = write_options_of(what .. " " .. kind, options, write_options)
  return write(self, o, { verb = "update", called = what, kind = kind, namespace = ns,
    name = name, subresource = subresource, body = object, object = object })
end

function methods.update(self, object, options, ...)
  require_self(self, "update")
  check.no_more("update", ...)
  return (update(self, "update", nil, object, options))
end

function methods.update_status(self, object, options, ...)
  require_self(self, "update_status")
  check.no_more("update_status", ...)
  return (update(self, "update_status", "status", object, options))
end

-- Reads the arguments (kind, ref, rest...) or (object, rest...). Returns kind, namespace, name, the
-- object or nil, rest...
local function kind_ref_or_object(what, first, second, ...)
  if type(first) == "string" then
    check.kind(what, first)
    local ns, name = ref.parse(what .. " " .. first, second)
    return first, ns, name, type(second) == "table" and second.metadata and second or nil, ...
  end
  local kind, ns, name = target(what, first)
  return kind, ns, name, first, second, ...
end

local function patch_arguments(self, what, subresource, kind, ns, name, object, body, options, ...)
  check.no_more(what, ...)
  check.table(what .. " " .. kind .. ": the patch", body)
  if subresource == "status" then
    check.status_patch(what .. " " .. kind, body)
  end
  local o = write_options_of(what .. " " .. kind, options, patch_options)
  o.patch_type, o.type = o.type or "merge", nil
  return (write(self, o, { verb = "patch", called = what, kind = kind, namespace = ns,
    name = name, subresource = subresource, body = body, object = object }))
end

function methods.patch(self, ...)
  require_self(self, "patch")
  return patch_arguments(self, "patch", nil, kind_ref_or_object("patch", ...))
end

function methods.patch_status(self, ...)
  require_self(self, "patch_status")
  return patch_arguments(self, "patch_status", "status", kind_ref_or_object("patch_status", ...))
end

local function apply(self, what, subresource, object, options)
  local kind, ns, name = target(what, object)
  local o = write_options_of(what .. " " .. kind, options, apply_options)
  if o.force == nil then
    o.force = true -- a controller takes ownership of the fields that it applies
  end
  return (write(self, o, { verb = "apply", called = what, kind = kind, namespace = ns,
    name = name, subresource = subresource, body = object, object = object }))
end

function methods.apply(self, object, options, ...)
  require_self(self, "apply")
  check.no_more("apply", ...)
  return apply(self, "apply", nil, object, options)
end

function methods.apply_status(self, object, options, ...)
  require_self(self, "apply_status")
  check.no_more("apply_status", ...)
  return apply(self, "apply_status", "status", object, options)
end

local function delete(self, kind, ns, name, object, options, ...)
  check.no_more("delete", ...)
  local o = write_options_of("delete " .. kind, options, delete_options)
  local _, info = write(self, o, { verb = "delete", kind = kind, namespace = ns, name = name,
    object = object })
  return not info.gone
end

function methods.delete(self, ...)
  require_self(self, "delete")
  return delete(self, kind_ref_or_object("delete", ...))
end

function methods.delete_all_of(self, kind, options, ...)
  require_self(self, "delete_all_of")
  check.no_more("delete_all_of", ...)
  check.kind("delete_all_of", kind)
  local o = check.options("delete_all_of " .. kind, options, delete_all_options)
  if not o.labels and not o.fields and not o.all then
    fail("delete_all_of %s needs labels, fields, or all = true", kind)
  end
  o.all = nil
  local _, info = write(self, o, { verb = "deletecollection", called = "delete_all_of",
    kind = kind })
  return info.count
end

local body_verbs = { update = true, patch = true, create = true }

function methods.subresource(self, kind, object_ref, name_of, verb, body, options, ...)
  require_self(self, "subresource")
  check.no_more("subresource", ...)
  check.kind("subresource", kind)
  local what = format("subresource %s of %s", check.string("subresource", name_of), kind)
  local ns, name = ref.parse(what, object_ref)
  check.one_of("get", "update", "patch", "create")(what .. ": verb", verb)
  if not body_verbs[verb] then
    if body ~= nil then
      fail("%s: get takes no body; options come after it: (..., nil, {query = ...})", what)
    end
    local o = check.options(what, options, subresource_get_options)
    return (write(self, o, { verb = verb, called = "subresource", kind = kind, namespace = ns,
      name = name, subresource = name_of }))
  end
  check.table(what .. ": body", body)
  local o = write_options_of(what, options, patch_options)
  o.patch_type, o.type = o.type or "merge", nil
  return (write(self, o, { verb = verb, called = "subresource", kind = kind, namespace = ns,
    name = name, subresource = name_of, body = body }))
end

-- ---- create_or_update ----

-- A call is a table: {client =, what =, kind =, namespace =, name =, change =, options =}. `what`
-- names it in messages; `change` is the script's function.

-- Calls the function, which changes the object in place. It must not change kind, name or
-- namespace.
local function mutate(call, object)
  local what = call.what
  local returned = call.change(object)
  if returned ~= nil and returned ~= object then
    fail("%s: the function must change its argument in place and return nothing", what)
  elseif ref.kind_of(what, object) ~= call.kind then
    fail("%s: the function changed the kind to %s", what, ref.kind_of(what, object))
  end
  local ns, name = ref.parse(what, object)
  if ns ~= call.namespace or name ~= call.name then
    fail("%s: the function changed the name to %s", what, ref.key(ns, name))
  end
end

local function send(call, verb, object)
  return write(call.client, call.options, { verb = verb, called = "create_or_update",
    kind = call.kind, namespace = call.namespace, name = call.name, body = object,
    object = object })
end

local function create_from(call, object)
  local fresh = host.deepcopy(object)
  mutate(call, fresh)
  return (send(call, "create", fresh)), "created"
end

local function update_from(call, current)
  mutate(call, current)
  local options = call.options
  if host.is_unchanged(current) and not options.owner and not options.force_write then
    return current, "unchanged"
  end
  local stored, info = send(call, "update", current)
  return stored, info.skipped and "unchanged" or "updated"
end

local attempts = 5

function methods.create_or_update(self, object, change, options, ...)
  require_self(self, "create_or_update")
  check.no_more("create_or_update", ...)
  local kind, ns, name = target("create_or_update", object)
  local what = "create_or_update " .. kind
  check.func(what .. ": the second argument", change)
  local o = write_options_of(what, options, write_options)
  if not ns and o.owner then
    ns = ref.parse(what .. ": owner", o.owner)
    object = host.deepcopy(object)
    object.metadata.namespace = ns
  end
  local call = { client = self, what = what, kind = kind, namespace = ns, name = name,
    change = change, options = o }
  local current = host.get(kind, ns, name, senders[self].reads, "create_or_update")
  for attempt = 1, attempts do
    local make = current and update_from or create_from
    local ok, stored, how = errors.protect(make, call, current or object)
    if ok then
      return stored, how
    end
    local lost_race = tests.is_conflict(stored) or tests.is_already_exists(stored)
      or (current and tests.is_not_found(stored))
    if not lost_race or attempt == attempts then
      error(stored, 0)
    end
    -- After a conflict the function runs again on the current object; old bytes are never sent
    -- again.
    local sender = senders[self]
    current = host.get(kind, ns, name, { live = true, headers = sender.headers,
      cluster = sender.cluster }, "create_or_update")
  end
end

-- ---- wait ----

function methods.wait(self, kind, object_ref, is_met, timeout, ...)
  require_self(self, "wait")
  check.no_more("wait", ...)
  check.kind("wait", kind)
  local what = "wait " .. kind
  local ns, name = ref.parse(what, object_ref)
  check.func(what .. ": the predicate", is_met)
  if timeout == nil then
    fail("%s needs a timeout as fourth argument", what)
  end
  local ends = host.now() + check.positive_duration(what .. ": timeout", timeout)
  while true do
    local object = host.get(kind, ns, name, senders[self].reads, "wait")
    if is_met(object) then
      return object
    end
    local left = ends - host.now()
    if left <= 0 or not host.key_changed(kind, ns, name, left, senders[self].cluster) then
      error(errors.new({ type = "timeout", verb = "wait", kind = kind, key = ref.key(ns, name),
        message = format("not met within %s", tostring(timeout)) }), 0)
    end
  end
end

-- ---- pods, paths, and other methods: loaded at their first use ----

function methods.logs(self, pod_ref, options, ...)
  require_self(self, "logs")
  check.no_more("logs", ...)
  return require("perilune.pod").logs(senders[self], pod_ref, options)
end

function methods.exec(self, pod_ref, options, ...)
  require_self(self, "exec")
  check.no_more("exec", ...)
  return require("perilune.pod").exec(senders[self], pod_ref, options)
end

function methods.evict(self, pod_ref, options, ...)
  require_self(self, "evict")
  check.no_more("evict", ...)
  return require("perilune.pod").evict(senders[self], pod_ref, options)
end

function methods.raw(self, method, path, options, ...)
  require_self(self, "raw")
  check.no_more("raw", ...)
  if not senders[self].live then
    fail("raw always asks the server: perilune.live:raw(...)")
  end
  return require("perilune.raw").call(senders[self], method, path, options)
end

-- ---- the clients ----

local function new(name, live, headers, cluster)
  local client = check.frozen(name, methods)
  local reads = { live = live, headers = headers, cluster = cluster }
  senders[client] = { live = live or false, headers = headers, cluster = cluster,
    reads = next(reads) and reads or nil }
  return client
end
M.new = new

function methods.as(self, who, ...)
  require_self(self, "as")
  check.no_more("as", ...)
  if senders[self].headers then
    fail("client:as: this client already sends requests as another user")
  end
  return new("the client of client:as", true, require("perilune.impersonate").headers(who),
    senders[self].cluster)
end

M.client = new("perilune.client")
M.live = new("perilune.live", true)

return M
