-- The smallest rights for the declarations of scripts, each with the places that need it. A rule
-- concerns one resource in one scope. Rules, verbs and places are sorted, so the same scripts give
-- the same text on every machine.

local keys = require("perilune.keys")
local kinds_module = require("perilune.tool.kinds")
local yaml = require("perilune.tool.yaml")

local format, concat = string.format, table.concat
local M = {}

local VERBS = { "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection" }
local ORDER = {}
for i, verb in ipairs(VERBS) do
  ORDER[verb] = i
end
local READS = { "get", "list", "watch" }
local CLUSTER = "" -- the scope of a ClusterRole; else a namespace's name

local Rights = {}
Rights.__index = Rights

function M.new()
  return setmetatable({ rules = {}, by_key = {} }, Rights)
end

-- why: a text; at: {file=, line=} or nil
function Rights:add(scope, group, resource, verbs, why, at, names)
  local key = concat({ scope, group, resource, concat(names or {}, ",") }, "\0")
  local rule = self.by_key[key]
  if not rule then
    rule = { scope = scope, group = group, resource = resource, verbs = {}, why = {}, said = {},
      marks = {}, names = names }
    self.by_key[key] = rule
    self.rules[#self.rules + 1] = rule
  end
  for _, verb in ipairs(verbs) do
    for _, one in ipairs(verb == "*" and VERBS or { verb }) do
      rule.verbs[one] = true
    end
  end
  local line = (at and format("%s:%d: ", at.file, at.line) or "") .. why
  if not rule.said[line] then
    rule.said[line] = true
    rule.why[#rule.why + 1] = { file = at and at.file or "", line = at and at.line or 0, text = line }
  end
  return rule
end

local function mark(rule, text)
  rule.marks[text] = true
end

-- ---- declarations ----

-- The scopes of a source's objects: namespaces, or the whole cluster.
local function scopes_of(job, kind, own)
  if not kind.namespaced then
    return { CLUSTER }
  end
  local asked = job.namespaces
  if own and #asked > 0 then
    local both = {}
    for _, one in ipairs(own) do
      for _, other in ipairs(asked) do
        both[#both + 1] = one == other and one or nil
      end
    end
    return #both > 0 and both or asked
  end
  return own or #asked > 0 and asked or { CLUSTER }
end

local function add_all(job, kind, own, resource, verbs, why, at)
  for _, scope in ipairs(scopes_of(job, kind, own)) do
    local rule = job.rights:add(scope, kind.group, resource, verbs, why, at)
    if kind.guessed then
      mark(rule, format("the plural of %s is guessed: no CRD beside the scripts names it; --schema FILE "
        .. "and --cluster do", kind.kind))
    end
  end
end

local NAMES = { ["for"] = "For", owns = "Owns", watches = "Watches", reads = "Reads" }

local function without(verbs, left_out)
  local out = {}
  for _, verb in ipairs(verbs) do
    if verb ~= left_out then
      out[#out + 1] = verb
    end
  end
  return out
end

local function add_writes(job, source, kind, what)
  if source.writes then
    add_all(job, kind, source.namespaces, kind.plural, source.writes, what .. ", writes", source.at)
  elseif source.role == "owns" then
    add_all(job, kind, source.namespaces, kind.plural,
      without({ "create", "update", "patch", "delete" }), what, source.at)
  end
end

local function add_for(job, source, kind, what)
  if source.finalizers then
    add_all(job, kind, source.namespaces, kind.plural, { "update", "patch" },
      what .. ", finalizers " .. concat(source.finalizers, ", "), source.at)
  end
  -- The status of a built-in kind belongs to its own controller, unless a script writes it
  -- explicitly.
  if kind.status and not (kind.builtin and #job.scripts.status == 0) then
    add_all(job, kind, source.namespaces, kind.plural .. "/status", { "update", "patch" },
      what .. ", its status", source.at)
  end
end

-- A source that follows kinds may read everything in its groups, because future kinds are unknown.
local function add_family(job, source)
  for _, group in ipairs(source.groups or { "*" }) do
    for _, scope in ipairs(source.namespaces or #job.namespaces > 0 and job.namespaces or { CLUSTER }) do
      local rule = job.rights:add(scope, group, "*", READS, "WatchesKinds", source.at)
      if source.writes then
        job.rights:add(scope, group, "*", source.writes, "WatchesKinds, writes", source.at)
      end
      mark(rule, "it reads every kind of the group, Secrets too where they are in it: name groups, or "
        .. "take single kinds away by hand")
    end
  end
end

local function add_source(job, source)
  if source.kind == "*" then
    return add_family(job, source)
  end
  local kind = job.kinds:find(source.kind)
  local what = format("%s %s", NAMES[source.role] or source.role, source.kind)
  add_all(job, kind, source.namespaces, kind.plural, READS, what, source.at)
  add_writes(job, source, kind, what)
  if source.role == "for" then
    add_for(job, source, kind, what)
  end
end

-- For scripts that set owners: references may block the owner's deletion, which needs a right.
local function add_owner(job, controller, places)
  local text = "the admission plugin OwnerReferencesPermissionEnforcement asks for it"
  for _, source in ipairs(controller.sources) do
    if source.role == "for" then
      local kind = job.kinds:find(source.kind)
      for _, at in ipairs(places) do
        add_all(job, kind, source.namespaces, kind.plural .. "/finalizers", { "update" },
          format("%s owns what it makes; %s", source.kind, text), at)
      end
    end
  end
end

local function owner_places(job, controller)
  local places = {}
  for _, source in ipairs(controller.sources) do
    if source.role == "owns" then
      places[#places + 1] = source.at
    end
  end
  for _, at in ipairs(#places == 0 and job.scripts.owners or {}) do
    places[#places + 1] = at
  end
  return places
end

local function is_cached(controller, text)
  local group, _, kind = kinds_module.split(text)
  for _, source in ipairs(controller.sources) do
    local other, _, same = kinds_module.split(source.kind)
    if group == other and kind == same then
      return true
    end
  end
  return false
end

local function changes(verbs)
  for _, verb in ipairs(verbs) do
    if verb == "update" or verb == "patch" or verb == "*" then
      return true
    end
  end
  return false
end

-- Nothing declares the status of a kind that is only written. A script that writes statuses may mean it.
local function add_status_write(job, write, kind)
  if kind.status and not kind.builtin and changes(write.verbs) then
    for _, at in ipairs(job.scripts.status) do
      add_all(job, kind, nil, kind.plural .. "/status", { "update", "patch" },
        format("it writes a status, perhaps that of %s", write.kind), at)
    end
  end
end

-- A write that sets an owner, or changes the stored object, reads the object first.
local function add_write(job, controller, write)
  if write.kind == "*" then
    for _, scope in ipairs(#job.namespaces > 0 and job.namespaces or { CLUSTER }) do
      job.rights:add(scope, "*", "*", write.verbs, "Writes *", write.at)
    end
    return
  end
  local kind = job.kinds:find(write.kind)
  local what = format("Writes %s", write.kind)
  add_all(job, kind, nil, kind.plural, write.verbs, what, write.at)
  add_status_write(job, write, kind)
  local places = #job.scripts.read_first > 0 and job.scripts.read_first or job.scripts.owners
  local deletes = #write.verbs == 1 and (write.verbs[1] == "delete" or write.verbs[1] == "deletecollection")
  if #places > 0 and not deletes and not is_cached(controller, write.kind) then
    add_all(job, kind, nil, kind.plural, { "get" }, format("looks at %s before it writes", write.kind),
      places[1])
  end
end

local function add_controller(job, controller)
  for _, source in ipairs(controller.sources) do
    add_source(job, source)
  end
  for _, write in ipairs(controller.writes) do
    add_write(job, controller, write)
  end
  if not job.minimal then
    add_owner(job, controller, owner_places(job, controller))
  end
end

local SUBRESOURCE_VERBS = { get = "get", update = "update", patch = "patch", create = "create" }

local function add_subresources(job)
  for _, one in ipairs(job.scripts.subresources) do
    if one.kind:find("/", 1, true) and SUBRESOURCE_VERBS[one.verb] then
      local kind = job.kinds:find(one.kind)
      add_all(job, kind, nil, kind.plural .. "/" .. one.name, { SUBRESOURCE_VERBS[one.verb] },
        format("subresource %s of %s", one.name, one.kind), one.at)
    end
  end
end

-- Events about objects without a namespace are in "default".
local function add_events(job)
  local everywhere = #job.namespaces == 0
  for _, controller in ipairs(job.controllers) do
    for _, source in ipairs(controller.sources) do
      everywhere = everywhere or source.role == "for" and not job.kinds:find(source.kind).namespaced
    end
  end
  for _, at in ipairs(job.scripts.events) do
    for _, scope in ipairs(everywhere and { CLUSTER } or job.namespaces) do
      job.rights:add(scope, "events.k8s.io", "events", { "create", "patch" }, "perilune.event", at)
    end
  end
end

-- ---- rights of the host itself ----

-- The first declaration that is not a webhook.
function M.first(controllers)
  for _, controller in ipairs(controllers) do
    if not controller.hook then
      return controller
    end
  end
end

function M.lease_name(job)
  local first = M.first(job.controllers)
  return job.lease.name or first and "perilune-" .. first.name or nil
end

local function add_lease(job)
  local namespace, name = job.lease.namespace, M.lease_name(job)
  local why = "--leader-elect"
  if job.shards then -- names of members are not known in advance
    job.rights:add(namespace, "coordination.k8s.io", "leases",
      { "get", "list", "watch", "create", "update", "delete" }, "--shards: the Leases of members and shards")
    return
  end
  job.rights:add(namespace, "coordination.k8s.io", "leases", { "create" }, why)
  job.rights:add(namespace, "coordination.k8s.io", "leases", { "get", "update", "watch" }, why, nil, { name })
  job.rights:add(namespace, "events.k8s.io", "events", { "create", "patch" },
    why .. ": an Event about the Lease names each new leader")
end

local CONFIGURATIONS = { "mutatingwebhookconfigurations", "validatingwebhookconfigurations" }

-- Rights to register webhooks: lists find configurations with another name; applies create and
-- update them.
local function add_registrations(job)
  local sorts, crds = {}, {}
  for _, controller in ipairs(job.controllers) do
    for _, kind in ipairs(controller.hook and controller.hook.kinds or {}) do
      sorts[controller.hook.sort] = controller.at
      if controller.hook.sort == "convert" then
        crds[#crds + 1] = job.kinds:find(kind.group .. "/v1/" .. kind.kind).plural .. "." .. kind.group
      end
    end
  end
  local at = sorts.validate or sorts.mutate
  for _, resource in ipairs(at and CONFIGURATIONS or {}) do
    job.rights:add(CLUSTER, "admissionregistration.k8s.io", resource,
      { "get", "list", "watch", "create", "patch", "delete" }, "webhooks are registered", at)
  end
  if #crds > 0 then
    table.sort(crds)
    job.rights:add(CLUSTER, "apiextensions.k8s.io", "customresourcedefinitions", { "list" },
      "the CRD whose conversion is registered", sorts.convert)
    job.rights:add(CLUSTER, "apiextensions.k8s.io", "customresourcedefinitions", { "get", "watch", "patch" },
      "its spec.conversion", sorts.convert, crds)
  end
  return at or sorts.convert
end

local SECRET = "perilune-webhook"

local function add_webhooks(job)
  local at = add_registrations(job)
  if not at or not job.host_namespace then
    return
  end
  local why = "the webhook's certificate, which replicas share"
  job.rights:add(job.host_namespace, "", "secrets", { "create" }, why, at)
  job.rights:add(job.host_namespace, "", "secrets", { "get", "update", "watch" }, why, at, { SECRET })
end

function M.has_webhooks(controllers)
  for _, controller in ipairs(controllers) do
    if controller.hook then
      return true
    end
  end
  return false
end

-- ---- marks, order, text ----

local ROLES = { roles = true, rolebindings = true, clusterroles = true, clusterrolebindings = true }
local CHANGES = { "create", "update", "patch", "delete", "deletecollection" }

local function has_any(rule, verbs)
  for _, verb in ipairs(verbs) do
    if rule.verbs[verb] then
      return true
    end
  end
  return false
end

local function mark_powers(rule)
  if rule.scope == CLUSTER and rule.group == "*" then
    mark(rule, "CAREFUL: it is about every kind there is, in every namespace")
  elseif rule.scope == CLUSTER and rule.group == "" and rule.resource == "secrets" and has_any(rule, READS) then
    mark(rule, "CAREFUL: it reads the Secrets of every namespace")
  elseif rule.scope == CLUSTER and rule.group == "rbac.authorization.k8s.io" and ROLES[rule.resource]
    and has_any(rule, CHANGES) then
    mark(rule, "CAREFUL: it may write roles in every namespace; Kubernetes lets it grant no more than it "
      .. "has, unless it has the verbs escalate and bind")
  end
end

local function sort_rules(rules)
  table.sort(rules, function(a, b)
    if a.scope ~= b.scope then
      return a.scope < b.scope
    elseif a.group ~= b.group then
      return a.group < b.group
    elseif a.resource ~= b.resource then
      return a.resource < b.resource
    end
    return concat(a.names or {}, ",") < concat(b.names or {}, ",")
  end)
end

function M.verbs_of(rule)
  local out = {}
  for verb in pairs(rule.verbs) do
    out[#out + 1] = verb
  end
  table.sort(out, function(a, b) return (ORDER[a] or 99) < (ORDER[b] or 99) end)
  return out
end

-- job: {kinds, controllers, scripts, namespaces, minimal, lease = {namespace, name} | nil}. Returns
-- the sorted rules.
function M.of(job)
  job.rights = M.new()
  for _, controller in ipairs(job.controllers) do
    add_controller(job, controller)
  end
  if not job.other then
    add_subresources(job)
    add_events(job)
  end
  if job.reviews then
    local why = "--metrics-secure: the host asks who may see its metrics"
    job.rights:add(CLUSTER, "authentication.k8s.io", "tokenreviews", { "create" }, why)
    job.rights:add(CLUSTER, "authorization.k8s.io", "subjectaccessreviews", { "create" }, why)
  end
  for _, cluster in ipairs(job.clusters or {}) do
    if cluster.secret then
      job.rights:add(cluster.secret.namespace, "", "secrets", { "get" },
        format("the kubeconfig of cluster %s", cluster.name), cluster.at, { cluster.secret.name })
    end
  end
  if job.lease then
    add_lease(job)
  end
  add_webhooks(job)
  return job.rights
end

function Rights:sorted()
  for _, rule in ipairs(self.rules) do
    mark_powers(rule)
    table.sort(rule.why, function(a, b)
      if a.file ~= b.file then
        return a.file < b.file
      elseif a.line ~= b.line then
        return a.line < b.line
      end
      return a.text < b.text
    end)
  end
  sort_rules(self.rules)
  return self.rules
end

-- One line of a comment; a path may contain anything.
local function comment(text)
  return "  # " .. yaml.comment(text)
end

local function add_rule(out, rule)
  for _, text in ipairs(keys.sorted(rule.marks)) do
    out[#out + 1] = comment(text)
  end
  for _, why in ipairs(rule.why) do
    out[#out + 1] = comment(why.text)
  end
  out[#out + 1] = format("  - apiGroups: %s", yaml.list({ rule.group }))
  out[#out + 1] = format("    resources: %s", yaml.list({ rule.resource }))
  if rule.names then
    out[#out + 1] = format("    resourceNames: %s", yaml.list(rule.names))
  end
  out[#out + 1] = format("    verbs: %s", yaml.list(M.verbs_of(rule)))
end

local function in_namespace(namespace)
  return namespace and "\n  namespace: " .. yaml.scalar(namespace) or ""
end

-- Returns YAML documents, and a list of the roles: {{kind=, name=, namespace=}...}. name: of all
-- roles, or name_of(scope).
function M.write(rules, name, labels, name_of)
  local out, roles, scope = {}, {}, nil
  for _, rule in ipairs(rules) do
    if rule.scope ~= scope then
      scope = rule.scope
      local kind = scope == CLUSTER and "ClusterRole" or "Role"
      name = name_of and name_of(scope) or name
      roles[#roles + 1] = { kind = kind, name = name, namespace = scope ~= CLUSTER and scope or nil }
      if #out > 0 then
        out[#out + 1] = "---"
      end
      out[#out + 1] = format("apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata:\n  name: %s%s%s\nrules:",
        kind, yaml.scalar(name), in_namespace(scope ~= CLUSTER and scope), labels or "")
    end
    add_rule(out, rule)
  end
  return concat(out, "\n"), roles
end

-- The YAML document that gives a role of M.write to the service account {name=, namespace=}.
function M.binding(role, account, labels)
  return format("apiVersion: rbac.authorization.k8s.io/v1\nkind: %sBinding\nmetadata:\n  name: %s%s%s\n"
    .. "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: %s\n  name: %s\n"
    .. "subjects:\n  - kind: ServiceAccount\n    name: %s\n    namespace: %s",
    role.kind, yaml.scalar(role.name), in_namespace(role.namespace), labels or "", role.kind,
    yaml.scalar(role.name), yaml.scalar(account.name), yaml.scalar(account.namespace))
end

M.CLUSTER = CLUSTER
return M
