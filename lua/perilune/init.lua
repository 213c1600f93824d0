-- The module that scripts see: local perilune = require("perilune").

local host = require("perilune.host")
local check = require("perilune.check")
local clients = require("perilune.client")
local controller = require("perilune.controller")
local errors = require("perilune.errors")
local predicate = require("perilune.predicate")
local ref = require("perilune.ref")

local fail, frozen, bounded = check.fail, check.frozen, check.bounded

local perilune = {
  controller = controller.new,
  client = clients.client,
  live = clients.live,
  predicate = frozen("perilune.predicate", predicate.api),
  log = require("perilune.log"),

  null = host.null,
  array = function(list, ...)
    check.no_more("array", ...)
    return host.array(list ~= nil and check.table("array", list) or nil)
  end,
  number = function(text, ...)
    check.no_more("number", ...)
    if type(text) ~= "string" and type(text) ~= "number" then
      fail("number needs a text of digits, not %s", check.describe(text))
    end
    return check.must("number", host.number(text))
  end,
  version = host.version,

  config = host.config,
  generation = host.generation,

  try = errors.try,
  terminal = errors.terminal,
  waiting = require("perilune.result").waiting,
  errors = frozen("perilune.errors", errors.tests),

  deepcopy = bounded("deepcopy", 1, host.deepcopy),
  equal = bounded("equal", 2, host.equal),
  -- A nil says nothing, as in patches; only perilune.null replaces everything.
  merge = bounded("merge", 2, function(value, patch)
    if patch == nil then
      return host.deepcopy(value)
    end
    return host.merge(value, patch)
  end),

  sleep = function(duration, ...)
    check.no_more("sleep", ...)
    return host.sleep(check.delay("sleep", duration))
  end,
  spawn = function(f, ...)
    return host.spawn(check.func("spawn", f), ...)
  end,
  join = function(task, ...)
    check.no_more("join", ...)
    if getmetatable(task) ~= "perilune.task" then
      fail("join needs a task that spawn returned, not %s", check.describe(task))
    end
    return host.join(task)
  end,

  channel = require("perilune.channel").channel,
  memo = function(request, ...)
    check.no_more("memo", ...)
    local ns, name = ref.parse("memo: the request", request)
    return host.memo(ns, name)
  end,
}

-- ---- documents ----

function perilune.key(object, ...)
  check.no_more("key", ...)
  return ref.key(ref.parse("key", object))
end

-- The value at the end of the path, or nil when a step is absent or null.
function perilune.dig(object, ...)
  for i = 1, select("#", ...) do
    if type(object) ~= "table" then
      return nil
    end
    object = object[(select(i, ...))]
  end
  if object == host.null then
    return nil
  end
  return object
end

-- ---- bytes ----

function perilune.random(count, ...)
  check.no_more("random", ...)
  return host.random(check.integer(0)("random", count))
end

-- ---- indexes and queues ----

function perilune.index(kind, name, values, ...)
  check.no_cluster("perilune.index", (...))
  check.no_more("perilune.index", ...)
  if host.phase() ~= "load" then
    fail("perilune.index can only be called while the script is loaded")
  end
  check.kind("perilune.index", kind)
  check.c_string("perilune.index: the name", name)
  if type(values) == "string" then
    check.path("perilune.index: the path", values)
  elseif type(values) ~= "function" then
    fail("perilune.index needs a path or a function(object), not %s", check.describe(values))
  end
  host.index(kind, name, values)
  controller.note_index(kind, name)
end

local enqueue_options = { after = check.delay, priority = check.integer(-1000000) }

function perilune.enqueue(name, request, options, ...)
  check.no_more("enqueue", ...)
  check.string("enqueue: the controller's name", name)
  local ns, object_name = ref.parse("enqueue: the request", request)
  local o = check.options("enqueue", options, enqueue_options)
  host.enqueue(name, ns, object_name, o.after or 0, o.priority or 0)
end

local elsewhere = {
  now = "write perilune.time.now()",
  requeue = "a reconcile returns {requeue = true}",
  requeue_after = 'a reconcile returns {requeue_after = "10s"}',
}
local methods = "get list create update update_status apply patch delete create_or_update exec logs"
for verb in methods:gmatch("%S+") do
  elsewhere[verb] = ("write perilune.client:%s(...)"):format(verb)
end

return frozen("perilune", perilune, {
  base64 = "perilune.encoding.base64",
  cluster = "perilune.cluster.new",
  conditions = "perilune.conditions",
  constant_time_equal = "perilune.bytes.constant_time_equal",
  controller_of = "perilune.owner.controller_of",
  cron = "perilune.cron.cron",
  duration = "perilune.units.duration",
  event = "perilune.event",
  every = "perilune.task.every",
  finalizer = "perilune.finalizer",
  hash = "perilune.bytes.hash",
  hmac = "perilune.bytes.hmac",
  http = "perilune.http",
  ip = "perilune.ip",
  is_controlled_by = "perilune.owner.is_controlled_by",
  json = "perilune.encoding.json",
  jsonpath = "perilune.jsonpath",
  kinds = "perilune.kinds.kinds",
  manifest = "perilune.manifest.manifest",
  manifests = "perilune.manifest.manifests",
  metrics = "perilune.metrics",
  pointer = "perilune.pointer",
  quantity = "perilune.units.quantity",
  regex = "perilune.regex",
  rolled_out = "perilune.rollout",
  run = "perilune.task.run",
  schedule = "perilune.schedule.schedule",
  selector = "perilune.selector.selector",
  selects = "perilune.selector.selects",
  set_controller_reference = "perilune.owner.set_controller_reference",
  set_owner_reference = "perilune.owner.set_owner_reference",
  shard = "perilune.shard",
  time = "perilune.units.time",
  url = "perilune.url",
  webhook = "perilune.webhook.api",
  x509 = "perilune.x509",
  yaml = "perilune.encoding.yaml",
}, elsewhere)
