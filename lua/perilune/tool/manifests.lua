-- perilune manifests PATH...: everything for `kubectl apply -f -`, as one stream of YAML documents.

local host = require("perilune.host")
local annotation = require("perilune.tool.annotation")
local bundle = require("perilune.tool.bundle")
local crds = require("perilune.tool.crds")
local rbac = require("perilune.tool.rbac")
local required = require("perilune.tool.required")
local rights = require("perilune.tool.rights")
local yaml = require("perilune.tool.yaml")

local format, concat = string.format, table.concat
local scalar, quoted = yaml.scalar, yaml.quoted

local MIB = 1024 * 1024
local MOUNT = "/scripts"
local MOST_MEMORY = 2 ^ 60 -- bytes; the field of a Deployment takes 2^63

-- MiB of the memory limit.
local function memory_of(s)
  return math.ceil(s.lanes * 1.25 * s.memory / MIB + 64)
end

local function settings(tool, input)
  local flags = input.flags
  local namespaces = flags.namespace or {}
  if not flags.image or not flags.image:match("^[%w._/:@%-%[%]]+$") then
    tool.usage(flags.image and format("--image: %q is not an image", flags.image)
      or "--image IMAGE is missing: a container image that contains perilune")
  elseif #namespaces ~= 1 then
    tool.usage("give one -n NS: the namespace in which the host will run")
  end
  local first = input.declared and rights.first(input.declared.controllers)
  local name = flags.name or first and first.name or "perilune"
  if not host.is_name(name, "dns-label") or #name > 50 then
    tool.usage("--name: %q cannot name all of the objects: it must be a DNS label of at most 50 characters", name)
  end
  local s = { name = name, namespace = namespaces[1], image = flags.image, replicas = flags.replicas or 1,
    elect = (flags.replicas or 1) > 1 or flags.shards ~= nil or flags["leader-elect"] == true,
    lease = flags["leader-elect-resource-name"] or not first and "perilune-" .. name or nil,
    webhooks = input.declared ~= nil and rights.has_webhooks(input.declared.controllers),
    secure = flags["metrics-secure"] == true,
    lanes = flags.lanes or 1, memory = tonumber(flags["lua-memory"]),
    shards = flags.shards, shard_by = flags["shard-by"], mount = MOUNT,
    labels = format("\n  labels:\n    app.kubernetes.io/name: %s\n    "
      .. "app.kubernetes.io/managed-by: perilune", scalar(name)) }
  if memory_of(s) * MIB > MOST_MEMORY then
    tool.usage("--lua-memory: the host would need %d MiB, more than a machine has", memory_of(s))
  end
  return s
end

local function namespace_document(s)
  return format("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s", scalar(s.namespace))
end

local function crd_documents(tool, input)
  local out, seen = {}, {}
  for _, kind in ipairs(crds.beside(tool, input.paths)) do
    if not seen[kind.document] then
      seen[kind.document] = true
      out[#out + 1] = (host.yaml_encode(kind.document):gsub("\n$", ""))
    end
  end
  return out
end

local function account_document(s)
  return format("apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: %s\n  namespace: %s%s",
    scalar(s.name), scalar(s.namespace), s.labels)
end

-- The host's own rights are in its namespace; the rights of the scripts are where they need them.
local function role_documents(tool, input, s)
  local flags = {}
  for name, value in pairs(input.flags) do
    flags[name] = value
  end
  flags.namespace = nil
  flags["leader-elect"] = s.elect or nil
  flags["leader-elect-resource-name"] = s.lease
  flags["leader-elect-resource-namespace"] = s.namespace
  local job = rbac.job(tool, { flags = flags, paths = input.paths, files = input.files, declared = input.declared })
  local text, roles = rights.write(rights.of(job):sorted(), nil, s.labels, function(scope)
    return scope == rights.CLUSTER and s.namespace .. "-" .. s.name or s.name
  end)
  local out = { text }
  for _, role in ipairs(roles) do
    out[#out + 1] = rights.binding(role, s, s.labels)
  end
  return out
end

-- For --metrics-secure: subjects that are bound to it may read the metrics.
local function reader_document(s)
  return format("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n"
    .. "  name: %s%s\nrules:\n  - nonResourceURLs: [\"/metrics\"]\n    verbs: [\"get\"]",
    scalar(s.namespace .. "-" .. s.name .. "-metrics-reader"), s.labels)
end

local function service_document(s)
  return format("apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n  namespace: %s%s\nspec:\n"
    .. "  selector:\n    app.kubernetes.io/name: %s\n  ports:\n    - name: webhook\n      port: 443\n"
    .. "      targetPort: webhook", scalar(s.name .. "-webhook"), scalar(s.namespace), s.labels, scalar(s.name))
end

local function volume(maps)
  local out = {}
  for _, map in ipairs(maps) do
    out[#out + 1] = format("              - configMap:\n                  name: %s\n                  items:",
      scalar(map.name))
    for _, file in ipairs(map.files) do
      out[#out + 1] = format("                    - key: %s\n                      path: %s", scalar(file.key),
        quoted(file.inside))
    end
  end
  return concat(out, "\n")
end

local DEPLOYMENT = [[
apiVersion: apps/v1
kind: Deployment
metadata:
  name: @NAME@
  namespace: @NAMESPACE@@LABELS@
spec:
  replicas: @REPLICAS@
@STRATEGY@  selector:
    matchLabels:
      app.kubernetes.io/name: @NAME@
  template:
    metadata:
      labels:
        app.kubernetes.io/name: @NAME@
@SCRAPE@    spec:
      serviceAccountName: @NAME@
      terminationGracePeriodSeconds: 30
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: perilune
          image: @IMAGE@
          args:
@ARGS@
          env:
            - name: POD_NAMESPACE
              valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
            - name: POD_NAME
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
            - name: POD_UID
              valueFrom: {fieldRef: {fieldPath: metadata.uid}}
          ports:
            - name: @METRICS@
              containerPort: 8080
            - name: health
              containerPort: 8081
@PORT@          livenessProbe:
            httpGet: {path: /healthz, port: health}
            initialDelaySeconds: 15
            periodSeconds: 20
          readinessProbe:
            httpGet: {path: /readyz, port: health}
            initialDelaySeconds: 1
            periodSeconds: 10
          resources:
            requests:
              cpu: 10m
              memory: 16Mi
            limits:
              memory: @MEMORY@Mi
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: ["ALL"]
          volumeMounts:
            - name: scripts
              mountPath: /scripts
              readOnly: true
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: scripts
          projected:
            sources:
@SOURCES@
        - name: tmp
          emptyDir:
            sizeLimit: 16Mi]]

-- Prometheus uses plain HTTP by default.
local SCRAPE = [[
      annotations:
        prometheus.io/scrape: "true"
        prometheus.io/scheme: https
        prometheus.io/port: "8080"
]]

-- An argument for a switch; nil where nothing was said. "--no-" counts against a --config that turns it on.
local function switch(name, value)
  return value and "--" .. name or value == false and "--no-" .. name or nil
end

local function elect_arguments(out, s, flags)
  if s.shards then
    out[#out + 1] = "--shards=" .. s.shards
    out[#out + 1] = s.shard_by == "uid" and "--shard-by=uid" or nil
  else
    out[#out + 1] = switch("leader-elect", s.elect or flags["leader-elect"])
  end
  out[#out + 1] = s.lease and "--leader-elect-resource-name=" .. s.lease or nil
end

local function arguments_of(s, flags, paths)
  local out = { "run" }
  for _, path in ipairs(paths) do
    out[#out + 1] = path
  end
  elect_arguments(out, s, flags)
  out[#out + 1] = s.webhooks and format("--webhook-service=%s/%s-webhook:443", s.namespace, s.name) or nil
  for _, name in ipairs({ "metrics-secure", "jit", "unsafe-stdlib" }) do
    out[#out + 1] = switch(name, flags[name])
  end
  out[#out + 1] = (s.lanes ~= 1 or flags.config) and "--lanes=" .. s.lanes or nil
  out[#out + 1] = "--lua-memory=" .. math.ceil(s.memory / MIB) .. "MiB"
  local lines = {}
  for i, one in ipairs(out) do
    lines[i] = "            - " .. quoted(one)
  end
  return concat(lines, "\n")
end

local function deployment_document(s, flags, maps, paths)
  local values = {
    NAME = scalar(s.name), NAMESPACE = scalar(s.namespace), IMAGE = quoted(s.image), REPLICAS = tostring(s.replicas),
    LABELS = s.labels, ARGS = arguments_of(s, flags, paths), SOURCES = volume(maps),
    PORT = s.webhooks and "            - name: webhook\n              containerPort: 9443\n" or "",
    METRICS = s.secure and "https-metrics" or "metrics",
    SCRAPE = s.secure and SCRAPE or "",
    MEMORY = format("%d", memory_of(s)),
    -- Without an election, two replicas must never run at a time, not even during a rollout.
    STRATEGY = s.elect and "" or "  strategy:\n    type: Recreate\n",
  }
  return (DEPLOYMENT:gsub("@(%u+)@", values))
end

return function(tool, input)
  local s = settings(tool, input)
  required.add(tool, input)
  local documents = {}
  local function add(list)
    for _, one in ipairs(list) do
      documents[#documents + 1] = one
    end
  end
  local maps_documents, maps, paths = bundle.make(tool, input, s)
  add(input.flags["create-namespace"] and { namespace_document(s) } or {})
  add(input.flags.crds and crd_documents(tool, input) or {})
  add({ account_document(s) })
  add(role_documents(tool, input, s))
  add(s.secure and { reader_document(s) } or {})
  add(maps_documents)
  add(s.webhooks and { service_document(s) } or {})
  add({ deployment_document(s, input.flags, maps, paths) })
  local text = concat(documents, "\n---\n")
  annotation.warn_of_large(tool, text)
  tool.say(text)
  return 0
end
