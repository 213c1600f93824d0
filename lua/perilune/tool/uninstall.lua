-- perilune uninstall PATH...: removes everything that a host has added to a cluster: registrations
-- of webhooks, the scripts' finalizers on their For objects, the webhook's Secret, spec.conversion,
-- the Leases. The order ensures that nothing calls a host that does not run any more. It deletes no
-- object of a user. It may run again: missing objects count as done.

local host = require("perilune.host")
local kinds_module = require("perilune.tool.kinds")

local format = string.format

local SECRET = "perilune-webhook"
local SECRET_KEYS = { "ca.crt", "ca.key", "tls.crt", "tls.key" }
local TRIES = 5

local LEASE = { group = "coordination.k8s.io", version = "v1", kind = "Lease", plural = "leases", namespaced = true }
local CONFIGURATIONS = {
  { group = "admissionregistration.k8s.io", version = "v1", kind = "ValidatingWebhookConfiguration",
    plural = "validatingwebhookconfigurations" },
  { group = "admissionregistration.k8s.io", version = "v1", kind = "MutatingWebhookConfiguration",
    plural = "mutatingwebhookconfigurations" },
}
local SECRETS = { group = "", version = "v1", kind = "Secret", plural = "secrets", namespaced = true }
local CRDS = { group = "apiextensions.k8s.io", version = "v1", kind = "CustomResourceDefinition",
  plural = "customresourcedefinitions" }

local Run = {}
Run.__index = Run

-- ---- asking ----

local function question(resource, verb, fields)
  local out = { verb = verb }
  for name, value in pairs(resource) do
    out[name] = value
  end
  for name, value in pairs(fields or {}) do
    out[name] = value
  end
  return out
end

-- Returns the answer; nil and the answer when the server has no such object, or answers with the status
-- `also`. Other refusals end the command.
function Run:ask(resource, verb, fields, also)
  local answer = self.tool.must_call("cluster", question(resource, verb, fields))
  if answer.status == 404 or answer.status == 409 or answer.status == also then
    return nil, answer
  elseif answer.status >= 400 then
    self.tool.fail("%s %s %s: %s", verb, resource.kind, fields and fields.name or "", answer.message)
  end
  return answer
end

function Run:get(resource, namespace, name)
  local answer = self:ask(resource, "get", { namespace = namespace, name = name })
  return answer and answer.object
end

-- refused: is called with the server's message, and nothing is returned, where such a list is forbidden.
function Run:list(resource, namespace, refused)
  local out, continue = {}, nil
  repeat
    local answer, no = self:ask(resource, "list", { namespace = namespace, continue = continue }, refused and 403)
    if no and no.status == 403 then
      refused(no.message)
    end
    for _, item in ipairs(answer and answer.items or {}) do
      out[#out + 1] = item
    end
    continue = answer and type(answer.object) == "table" and type(answer.object.metadata) == "table"
      and answer.object.metadata.continue or nil
  until not continue or continue == "" or continue == host.null
  return out
end

function Run:say(text, ...)
  self.done = self.done + 1
  self.tool.say((self.dry and "would " or "") .. format(text, ...))
end

-- ---- the Lease ----

local function is_held(lease)
  local spec = type(lease.spec) == "table" and lease.spec or {}
  if type(spec.holderIdentity) ~= "string" or spec.holderIdentity == "" then
    return nil
  end
  local renewed = type(spec.renewTime) == "string" and host.time_parse(spec.renewTime)
  if not renewed or renewed + (tonumber(spec.leaseDurationSeconds) or 15) < host.now() then
    return nil
  end
  return spec.holderIdentity
end

-- The Leases of the scripts: the leader's and, with shards, those of members and shards. In all namespaces, if
-- theirs is not given.
function Run:leases()
  local out = {}
  local prefix = self.lease .. "-"
  local all = self:list(LEASE, self.namespace, not self.namespace and function(why)
    self.tool.warn("whether a host still runs is unknown: --leader-elect-resource-namespace does not say where its "
      .. "Lease is, and not all namespaces can be looked at: %s", why)
  end)
  for _, lease in ipairs(all) do
    local name = lease.metadata.name
    local rest = name:sub(1, #prefix) == prefix and name:sub(#prefix + 1) or ""
    if name == self.lease or rest:match("^shard%-%d+$") or rest:match("^member%-") then
      out[#out + 1] = lease
    end
  end
  return out
end

function Run:refuse_held(leases)
  for _, lease in ipairs(leases) do
    local holder = is_held(lease)
    if holder then
      local text = format("the Lease %s/%s is held by %s: a host still runs", lease.metadata.namespace,
        lease.metadata.name, holder)
      if self.dry or self.force then
        self.tool.warn("%s", text)
      else
        self.tool.fail("%s; stop it first%s (--force continues all the same)", text, self.namespace and ""
          or ", or say with --leader-elect-resource-namespace where the Lease of these scripts is")
      end
      return
    end
  end
end

-- ---- removing ----

function Run:registrations()
  for _, resource in ipairs(CONFIGURATIONS) do
    local object = self:get(resource, nil, self.lease)
    if object then
      self:say("delete %s %s", resource.kind, self.lease)
      if not self.dry then
        self:ask(resource, "delete", { name = self.lease, uid = object.metadata.uid })
      end
    end
  end
end

local function without(list, names)
  local out = host.array({})
  for _, one in ipairs(list) do
    if not names[one] then
      out[#out + 1] = one
    end
  end
  return out
end

local function name_of(resource, metadata)
  return resource.kind .. " " .. (metadata.namespace and metadata.namespace .. "/" or "") .. metadata.name
end

-- Removes only the finalizers that the scripts declare. Finalizers that others add meanwhile stay.
function Run:take_finalizers(resource, object, names)
  local metadata = object.metadata
  for _ = 1, TRIES do
    local list = type(metadata.finalizers) == "table" and metadata.finalizers or {}
    local rest = without(list, names)
    if #rest == #list then
      return
    elseif self.dry then
      break
    end
    local answer, refused = self:ask(resource, "patch", { namespace = metadata.namespace, name = metadata.name,
      patch = "merge", body = { metadata = { finalizers = rest, resourceVersion = metadata.resourceVersion,
        uid = metadata.uid } } })
    if answer or refused.status == 404 then
      break
    end
    local again = self:get(resource, metadata.namespace, metadata.name)
    if not again or again.metadata.uid ~= metadata.uid then
      return
    end
    metadata = again.metadata
  end
  self:say("remove the finalizers of %s", name_of(resource, metadata))
end

-- With --cleanup, a finalizer is removed by its cleanup, in the host that runs between the two
-- parts of this command. If it is still there in the second part, the cleanup has failed or waits.
function Run:finalizers_of(resource, object, names)
  local list = type(object.metadata.finalizers) == "table" and object.metadata.finalizers or {}
  local has = #without(list, names) < #list
  if not self.cleanup then
    self:take_finalizers(resource, object, names)
  elseif has and self.part == "after cleanup" then
    self.failed = true
    self.tool.warn("%s keeps its finalizers: its cleanup has failed or waits; run uninstall again later",
      name_of(resource, object.metadata))
  elseif has then
    self:say("run the cleanup of %s", name_of(resource, object.metadata))
  end
end

function Run:finalizers(source)
  local names = {}
  for _, name in ipairs(source.finalizers or {}) do
    names[name] = true
  end
  if next(names) == nil then
    return
  end
  local found = self.kinds:find(source.kind)
  local resource = { group = found.group, version = found.version, kind = found.kind, plural = found.plural,
    namespaced = found.namespaced }
  local scopes = found.namespaced and (source.namespaces or #self.namespaces > 0 and self.namespaces) or { false }
  for _, scope in ipairs(scopes or { false }) do
    for _, object in ipairs(self:list(resource, scope or nil)) do
      self:finalizers_of(resource, object, names)
    end
  end
end

-- A Secret of the host has exactly these four keys.
local function is_own_secret(secret)
  local data, count = type(secret.data) == "table" and secret.data or {}, 0
  for _ in pairs(data) do
    count = count + 1
  end
  for _, key in ipairs(SECRET_KEYS) do
    if type(data[key]) ~= "string" then
      return false
    end
  end
  return count == #SECRET_KEYS
end

function Run:secret()
  local namespace, name = self.namespace, SECRET
  if self.secret_name then
    namespace, name = self.secret_name:match("^([^/]+)/([^/]+)$")
  end
  local secret = namespace and self:get(SECRETS, namespace, name)
  if not secret then
    return
  elseif not is_own_secret(secret) then
    self.tool.warn("the Secret %s/%s has keys other than the webhook's: it is kept", namespace, name)
    return
  end
  self:say("delete Secret %s/%s", namespace, name)
  if not self.dry then
    self:ask(SECRETS, "delete", { namespace = namespace, name = name, uid = secret.metadata.uid })
  end
end

function Run:conversion(hook)
  for _, kind in ipairs(hook.kinds) do
    local found = self.kinds:find(kind.group .. "/v1/" .. kind.kind)
    local name = found.plural .. "." .. kind.group
    local crd = self:get(CRDS, nil, name)
    local strategy = crd and type(crd.spec.conversion) == "table" and crd.spec.conversion.strategy
    local stored = crd and type(crd.status) == "table" and crd.status.storedVersions or {}
    if strategy == "Webhook" and #stored ~= 1 then
      self.failed = true
      self.tool.warn("%s: objects are stored in %d versions (%s), so its conversion is kept; store them in one "
        .. "version first", name, #stored, table.concat(stored, ", "))
    elseif strategy == "Webhook" then
      self:say("set spec.conversion of %s to None", name)
      if not self.dry then
        self:ask(CRDS, "patch", { name = name, patch = "merge",
          body = { spec = { conversion = { strategy = "None", webhook = host.null } } } })
      end
    end
  end
end

function Run:delete_leases(leases)
  for _, lease in ipairs(leases) do
    self:say("delete Lease %s/%s", self.namespace, lease.metadata.name)
    if not self.dry then
      self:ask(LEASE, "delete", { namespace = self.namespace, name = lease.metadata.name, uid = lease.metadata.uid })
    end
  end
end

-- ---- the command ----

local function first_name(controllers)
  for _, controller in ipairs(controllers) do
    if not controller.hook then
      return controller.name
    end
  end
end

return function(tool, input)
  local flags, controllers = input.flags, input.declared and input.declared.controllers or {}
  local first = first_name(controllers)
  local self = setmetatable({
    tool = tool, dry = flags["dry-run"], force = flags.force, done = 0, namespaces = flags.namespace or {},
    namespace = flags["leader-elect-resource-namespace"] or os.getenv("POD_NAMESPACE"),
    lease = flags["leader-elect-resource-name"] or "perilune-" .. (first or "webhook"),
    secret_name = flags["webhook-secret"], cleanup = flags.cleanup, part = input.part,
  }, Run)
  flags.cluster = true
  self.kinds = kinds_module.read(tool, input)
  local leases = self:leases()
  if self.part ~= "after cleanup" then
    self:refuse_held(leases)
    self:registrations()
  end
  for _, controller in ipairs(controllers) do
    for _, source in ipairs(controller.sources) do
      if source.role == "for" then
        self:finalizers(source)
      end
    end
  end
  if self.part == "before cleanup" then
    return 0
  end
  self:secret()
  for _, controller in ipairs(controllers) do
    if controller.hook and controller.hook.sort == "convert" then
      self:conversion(controller.hook)
    end
  end
  if not self.namespace then
    tool.warn("Leases are not removed: --leader-elect-resource-namespace must say where they are")
    return self.failed and 1 or 0
  end
  self:delete_leases(leases)
  if self.done == 0 and not self.failed then
    tool.say("nothing is left to remove")
  end
  return self.failed and 1 or 0
end
