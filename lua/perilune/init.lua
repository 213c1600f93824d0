-- The module that scripts see: local perilune = require("perilune").

local host = require("perilune.host")
local check = require("perilune.check")
local clients = require("perilune.client")
local controller = require("perilune.controller")
local errors = require("perilune.errors")
local metrics = require("perilune.metrics")
local predicate = require("perilune.predicate")
local query = require("perilune.query")
local ref = require("perilune.ref")
local tasks = require("perilune.task")

local fail, frozen = check.fail, check.frozen

-- f, which takes one to `most` arguments.
local function bounded(what, most, f)
  return function(...)
    local count = select("#", ...)
    if count > most then
      check.no_more(what, ...)
    elseif count == 0 then
      fail("%s needs a value", what)
    end
    return f(...)
  end
end

local perilune = {
  controller = controller.new,
  client = clients.client,
  live = clients.live,
  predicate = frozen("perilune.predicate", predicate.api),
  log = require("perilune.log"),
  metrics = frozen("perilune.metrics", metrics),

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
  merge = bounded("merge", 2, host.merge),

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

  every = tasks.every,
  run = tasks.run,
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

perilune.base64 = frozen("perilune.base64", {
  encode = function(text, ...)
    check.no_more("base64.encode", ...)
    if type(text) ~= "string" then
      fail("base64.encode needs a string, not %s", check.describe(text))
    end
    return host.base64_encode(text)
  end,
  decode = function(text, ...)
    check.no_more("base64.decode", ...)
    local decoded = type(text) == "string" and host.base64_decode(text)
    if not decoded then
      fail("base64.decode: this is not base64: %s", check.describe(text))
    end
    return decoded
  end,
})

-- ---- units ----

local function parser(what, parse, wanted)
  return function(text, ...)
    check.no_more(what, ...)
    local value = type(text) == "string" and parse(text)
    if not value then
      fail("%s: %s is not %s", what, check.describe(text), wanted)
    end
    return value
  end
end

local parse_quantity = parser("quantity", host.quantity, 'a quantity such as "500m" or "2Gi"')

function perilune.quantity(value, ...)
  check.no_more("quantity", ...)
  local number = type(value) ~= "string" and tonumber(value)
  if number and number - number == 0 then -- neither NaN nor infinite
    return number -- quantities such as cpu: 2 are numbers
  end
  return parse_quantity(value)
end

function perilune.duration(value, ...)
  check.no_more("duration", ...)
  return check.seconds("duration", value)
end

-- Digits after the point.
local fractions = { seconds = 0, milliseconds = 3, microseconds = 6 }
local time_unit = check.one_of("seconds", "milliseconds", "microseconds")

perilune.time = frozen("perilune.time", {
  parse = parser("time.parse", host.time_parse,
    'a time of RFC 3339 such as "2026-01-31T12:00:00Z"'),
  now = function(...)
    check.no_more("time.now", ...)
    return host.now()
  end,
  format = function(seconds, unit, ...)
    check.no_more("time.format", ...)
    check.number()("time.format: the seconds since 1970", seconds)
    local digits = unit ~= nil and fractions[time_unit("time.format", unit)] or nil
    return host.time_format(seconds, digits)
  end,
})

-- Parses a selector that a user supplies: the selector, or nil and a message.
function perilune.selector(value, ...)
  check.no_more("selector", ...)
  return host.selector(value)
end

-- Whether a selector, as in an object's spec, selects the object. As in Kubernetes, none selects
-- nothing, and an empty one everything.
function perilune.selects(selector, object, ...)
  check.no_more("selects", ...)
  local metadata = check.table("selects: the object", object).metadata
  local labels = check.table("selects: the object's metadata", metadata or {}).labels
  if labels == nil or labels == host.null then
    labels = {}
  end
  check.table("selects: the object's labels", labels)
  if selector == nil or selector == host.null then
    return false
  end
  return check.must("selects: the selector", host.selects(selector, labels))
end

-- ---- encodings ----

local function decoder(what, decode)
  return function(text, ...)
    check.no_more(what, ...)
    if type(text) ~= "string" then
      fail("%s needs a string, not %s", what, check.describe(text))
    end
    return check.must(what, decode(text))
  end
end

perilune.json = frozen("perilune.json", {
  decode = decoder("json.decode", host.json_decode),
  encode = bounded("json.encode", 1, host.json_encode),
})

local decode_documents = decoder("yaml.decode", host.yaml_decode)

perilune.yaml = frozen("perilune.yaml", {
  decode_all = decoder("yaml.decode_all", host.yaml_decode),
  decode = function(...)
    local documents = decode_documents(...)
    if #documents ~= 1 then
      fail("yaml.decode: the text has %d documents, not one; decode_all takes any number",
        #documents)
    end
    return documents[1]
  end,
  encode = bounded("yaml.encode", 1, host.yaml_encode),
})

-- ---- indexes and queues ----

function perilune.index(kind, name, values, ...)
  check.no_cluster("perilune.index", (...))
  check.no_more("perilune.index", ...)
  if host.phase() ~= "load" then
    fail("perilune.index can only be called while the script is loaded")
  end
  check.kind("perilune.index", kind)
  check.string("perilune.index: the name", name)
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

-- ---- external servers ----

-- A copy, as text -> text, with names in the case that the script used.
local function http_headers(what, value)
  local out, seen = {}, {}
  for name, one in pairs(check.table(what, value)) do
    check.string(what .. ": a name", name)
    if type(one) ~= "string" and type(one) ~= "number" then
      fail("%s: %s must be a string, not %s", what, name, check.describe(one))
    end
    if seen[name:lower()] then
      fail("%s: %s is given twice: upper and lower case make no difference", what, name)
    end
    seen[name:lower()] = true
    out[name] = tostring(one)
  end
  return out
end

local function has_header(headers, wanted)
  for name in pairs(headers) do
    if name:lower() == wanted then
      return true
    end
  end
  return false
end

-- The host frames the request. A Content-Length with the right value is dropped. A wrong one is
-- refused, and so is Transfer-Encoding.
local function leave_framing(headers, body)
  for name, value in pairs(headers) do
    if name:lower() == "content-length" then
      if tonumber(value) ~= #body then
        fail("http.request: headers: %s is %s, but the body has %d bytes", name, value, #body)
      end
      headers[name] = nil
    elseif name:lower() == "transfer-encoding" then
      fail("http.request: headers: %s cannot be set: the host knows the body's length", name)
    end
  end
end

local URL_MAX, PEM_MAX = 65536, 4194304 -- bytes

-- A URL that is one word, since a space would end it on the wire.
local function http_url(what, value)
  check.short(URL_MAX)(what, value)
  local at = value:find("[%z\1-\32\127]")
  if at then
    fail("%s: byte %d must be escaped: perilune.url.escape", what, at)
  end
  return value
end

local http_options = {
  url = http_url,
  query = query.text,
  method = check.short(64),
  headers = http_headers,
  body = check.text,
  json = function(_, value)
    return value
  end,
  timeout = check.positive_duration,
  max_response = check.integer(1),
  tls = function(what, value)
    local pem = check.short(PEM_MAX)
    return check.options(what, value, { ca = pem, cert = pem, key = pem,
      server_name = check.short(255), insecure = check.boolean })
  end,
}

local function http_request(request, ...)
  check.no_more("http.request", ...)
  local o = check.options("http.request", check.table("http.request", request), http_options)
  check.string("http.request: url", o.url)
  if o.query then
    o.url, o.query = check.short(URL_MAX)("http.request: url", query.add(o.url, o.query)), nil
  end
  o.headers = o.headers or {}
  if o.json ~= nil then
    if o.body then
      fail("http.request takes body or json, not both")
    end
    o.body, o.json = host.json_encode(o.json), nil
    if not has_header(o.headers, "content-type") then
      o.headers["content-type"] = "application/json"
    end
  end
  leave_framing(o.headers, o.body or "")
  o.method = o.method and o.method:upper() or o.body and "POST" or "GET"
  local answer = host.http(o)
  answer.ok = answer.status >= 200 and answer.status < 300
  local content_type = answer.headers["content-type"] or ""
  if content_type:find("json", 1, true) then
    answer.json = host.json_decode(answer.body)
  end
  return answer
end

perilune.http = frozen("perilune.http", { request = http_request })

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
  cluster = "perilune.cluster.new",
  conditions = "perilune.conditions",
  constant_time_equal = "perilune.bytes.constant_time_equal",
  controller_of = "perilune.owner.controller_of",
  cron = "perilune.cron.cron",
  event = "perilune.event",
  finalizer = "perilune.finalizer",
  hash = "perilune.bytes.hash",
  hmac = "perilune.bytes.hmac",
  ip = "perilune.ip",
  is_controlled_by = "perilune.owner.is_controlled_by",
  jsonpath = "perilune.jsonpath",
  kinds = "perilune.kinds.kinds",
  manifest = "perilune.manifest.manifest",
  manifests = "perilune.manifest.manifests",
  pointer = "perilune.pointer",
  regex = "perilune.regex",
  rolled_out = "perilune.rollout",
  schedule = "perilune.schedule.schedule",
  set_controller_reference = "perilune.owner.set_controller_reference",
  set_owner_reference = "perilune.owner.set_owner_reference",
  shard = "perilune.shard",
  url = "perilune.url",
  webhook = "perilune.webhook.api",
  x509 = "perilune.x509",
}, elsewhere)
