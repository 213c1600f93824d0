-- perilune rbac PATH...: prints, as YAML, the smallest Role and ClusterRole for the declarations of
-- the scripts.

local host = require("perilune.host")
local crds = require("perilune.tool.crds")
local kinds_module = require("perilune.tool.kinds")
local required = require("perilune.tool.required")
local rights = require("perilune.tool.rights")
local scripts = require("perilune.tool.scripts")

local format = string.format

-- ---- calls that scripts have made and not declared ----

local SUBRESOURCES = { update_status = "status", patch_status = "status", apply_status = "status" }
local VERBS = { apply = { "patch", "create" }, get = { "get" }, list = { "list" }, create = { "create" },
  update = { "update" }, patch = { "patch" }, delete = { "delete" }, deletecollection = { "deletecollection" },
  update_status = { "update" }, patch_status = { "patch" }, apply_status = { "patch" } }

-- Parses "website update v1/ConfigMap [status]", as a host reports a call.
local function parse_call(text)
  local controller, verb, kind, sub = text:match("^(%S+) (%S+) (%S+) ?(%S*)$")
  if not controller or not kind:find("/", 1, true) or not VERBS[verb] then
    return nil
  end
  return { who = "controller " .. controller, verbs = VERBS[verb], kind = kind,
    sub = sub ~= "" and sub or SUBRESOURCES[verb] }
end

-- An event of an audit log names the resource itself.
local function parse_audit(event)
  local ref = type(event.objectRef) == "table" and event.objectRef
  if not ref or type(ref.resource) ~= "string" or type(event.verb) ~= "string" then
    return nil
  end
  local user = type(event.user) == "table" and event.user.username or "?"
  return { who = tostring(user), verbs = { event.verb }, group = ref.apiGroup or "", resource = ref.resource,
    sub = ref.subresource, namespace = ref.namespace }
end

local function calls_of_text(tool, path, text)
  local out = {}
  local whole = host.json_decode(text)
  if type(whole) == "table" and type(whole.calls) == "table" then
    for _, call in ipairs(whole.calls) do
      out[#out + 1] = type(call) == "string" and parse_call(call) or nil
    end
    return out
  end
  for line in text:gmatch("[^\n]+") do
    local event = host.json_decode(line)
    if type(event) ~= "table" then
      tool.fail("%s: neither the calls of a host ({\"calls\": [...]}) nor an audit log with one event per line", path)
    end
    out[#out + 1] = parse_audit(event)
  end
  return out
end

local function recorded_calls(tool, flags)
  if flags.from then
    return calls_of_text(tool, flags.from, crds.read(tool, flags.from))
  end
  local out = {}
  for _, call in ipairs(tool.must_call("calls").calls) do
    out[#out + 1] = parse_call(call)
  end
  return out
end

local function is_covered(all, group, resource, verb)
  for _, rule in ipairs(all.rules) do
    if rule.group == group and rule.resource == resource and rule.verbs[verb] then
      return true
    end
  end
  return false
end

local function scopes_for(job, namespaced, namespace)
  if not namespaced then
    return { rights.CLUSTER }
  elseif #job.namespaces == 0 then
    return { rights.CLUSTER }
  end
  return namespace and { namespace } or job.namespaces
end

local function add_recorded(tool, job, all, flags)
  local wanted = {}
  for _, call in ipairs(recorded_calls(tool, flags)) do
    local kind = call.kind and job.kinds:find(call.kind)
    local group = kind and kind.group or call.group
    local resource = (kind and kind.plural or call.resource) .. (call.sub and "/" .. call.sub or "")
    for _, verb in ipairs(call.verbs) do
      if not is_covered(all, group, resource, verb) then
        wanted[#wanted + 1] = { group, resource, verb, call, kind }
      end
    end
  end
  for _, one in ipairs(wanted) do
    local call, kind = one[4], one[5]
    local namespaced = kind and kind.namespaced or not kind and call.namespace ~= nil
    for _, scope in ipairs(scopes_for(job, namespaced, call.namespace)) do
      all:add(scope, one[1], one[2], { one[3] },
        format("RECORDED, not declared: %s: %s", call.who, one[3]))
    end
  end
end

-- ---- the command ----

local M = {}

-- The entries for one cluster; nil is the host's own.
local function of_cluster(list, cluster)
  local out = {}
  for _, one in ipairs(list) do
    if one.cluster == cluster then
      out[#out + 1] = one
    end
  end
  return out
end

local function in_cluster(controllers, cluster)
  local out = {}
  for i, controller in ipairs(controllers) do
    local copy = {}
    for name, value in pairs(controller) do
      copy[name] = value
    end
    copy.sources = of_cluster(controller.sources, cluster)
    copy.writes = of_cluster(controller.writes, cluster)
    copy.hook = cluster == nil and controller.hook or nil
    out[i] = copy
  end
  return out
end

local function check_cluster(tool, clusters, name)
  for _, cluster in ipairs(clusters) do
    if cluster.name == name then
      return name
    end
  end
  if name then
    tool.usage("--for-cluster: the scripts name no cluster %q", name)
  end
end

-- The argument of rights.of, made from the command's input.
function M.job(tool, input)
  local flags = input.flags
  local declared = input.declared or { controllers = {} }
  local cluster = check_cluster(tool, declared.clusters or {}, flags["for-cluster"])
  local lease
  if cluster then
    lease = nil -- the Lease is in the host's own cluster
  elseif flags["leader-elect"] or flags.shards then
    if not flags["leader-elect-resource-namespace"] then
      tool.usage("--%s needs --leader-elect-resource-namespace here: where is the Lease?",
        flags.shards and "shards" or "leader-elect")
    end
    lease = { namespace = flags["leader-elect-resource-namespace"], name = flags["leader-elect-resource-name"] }
  end
  return {
    kinds = kinds_module.read(tool, input),
    controllers = in_cluster(declared.controllers, cluster),
    clusters = cluster == nil and declared.clusters or {},
    other = cluster,
    scripts = scripts.look(scripts.trees(tool, input.files or {})),
    namespaces = flags.namespace or {},
    minimal = flags.minimal,
    reviews = cluster == nil and flags["metrics-secure"],
    lease = lease,
    shards = flags.shards,
    host_namespace = flags["leader-elect-resource-namespace"],
  }
end

function M.check_name(tool, name)
  if not host.is_name(name, "dns-subdomain") then
    tool.usage("--name: %q is not the name of an object: only lower-case letters, digits, '-' and '.'", name)
  end
  return name
end

return setmetatable(M, { __call = function(_, tool, input)
  required.add(tool, input)
  local job = M.job(tool, input)
  local first = rights.first(job.controllers)
  local name = M.check_name(tool, input.flags.name or first and first.name or "perilune")
  local all = rights.of(job)
  if input.flags.recorded or input.flags.from then
    add_recorded(tool, job, all, input.flags)
  end
  if rights.has_webhooks(job.controllers) and not job.host_namespace then
    tool.warn("the host keeps the webhook's certificate in a Secret of its namespace; "
      .. "--leader-elect-resource-namespace says which, and adds the Role")
  end
  tool.say((rights.write(all:sorted(), name)))
  return 0
end })
