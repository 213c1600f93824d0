-- Calls each function of perilune.host with every type in every place, and in every member of the
-- tables that it takes: whatever a script may come to hold, the answer is a result or a clear error.
-- Loaded with the whole of LuaJIT, as scripts get no other way to perilune.host.

-- 1: every value in every place; more: each so manyth, another one at each place. ThreadSanitizer's
-- build has no time for all.
local step = ...

local host
for _, value in pairs(debug.getregistry()) do
  if type(value) == "table" and rawget(value, "owner_uid") then
    host = value
  end
end

local up = 1
local function light_userdata()
  return debug.upvalueid(function()
    return up
  end, 1)
end

local boom = setmetatable({}, {
  __index = function() error("__index was called") end,
  __newindex = function() error("__newindex was called") end,
  __tostring = function() error("no text") end,
})
local cycle = {}
cycle.self = cycle
local object = host.json_decode('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","uid":"u",'
  .. '"labels":{"a":"b","c":"d","e":"f","g":"h","i":"j"}},"list":[1,{"a":null}]}')

-- Counted by hand, as some are nil.
local values = {
  n = 42, nil, true, false, 0, 1, -1, 0.5, 2 ^ 31, -2 ^ 31, 2 ^ 53, 2 ^ 63, -2 ^ 63, 1e300, -1e300,
  1 / 0, -1 / 0, 0 / 0, "", "x", "v1/Pod", "a\0b", "\255\254", ("x"):rep(70000), {}, { 1, 2 },
  { "a", [3] = "b" }, { a = { b = { 1 } } }, { { {} }, function() end }, { [1.5] = true }, cycle,
  boom, object, function() end, print, coroutine.create(function() end), io.stdout, host.null,
  light_userdata(), host.number("1.00000000000000000000000001"), host.number("9007199254740993"),
  host.metric("counter", "c", "help", {}), host.error_mt,
}

local pod = { name = "p", namespace = "d" }
local source = { role = "for", kind = "v1/Pod", namespaces = { "a" }, labels = "a=b",
  fields = "a=b", metadata_only = true, managed_fields = true, match_every_owner = false,
  writes = { "create" }, finalizers = { "a/b" },
  predicate = { type = "all", of = { { type = "script", f = print } } }, map = "self",
  blame = print }
local spec = { name = "c", file = "f", line = 1, max_concurrent_reconciles = 1,
  reconcile_timeout = 1, rate_limiter = { base = 1, max = 2, fast = 1, slow = 1,
    fast_attempts = 1, qps = 1, burst = 1, max_wait = 1 }, max_retries = 1, resync_period = 1,
  cache_sync_timeout = 1, leader_election = true, on_reload = "none", channels = { "a" },
  sources = { source }, writes = { { kind = "v1/Pod", verbs = { "create" } } }, reconcile = print,
  blame = print }
local list = { live = false, namespace = "d", labels = "a=b", fields = "a=b", owner_uid = "u",
  index = { name = "i", value = "v" }, select = { "metadata.name" }, limit = 1, continue = "t",
  metadata_only = false }
local write = { verb = "update", patch_type = "merge", kind = "v1/Pod", namespace = "d",
  name = "p", subresource = "status", body = object, object = object, owner = object, adopt = true,
  live = false, force_write = true, dry_run = true, force = true, field_manager = "m",
  field_validation = "Strict", propagation = "Orphan", grace_period = 1, uid = "u",
  resource_version = "1", labels = "a=b", fields = "a=b", exec = true, stdin = "s", most = 1,
  timeout = 1 }
local http = { url = "http://127.0.0.1:1/", method = "GET", headers = { a = "b" }, body = "b",
  timeout = 1, max_response = 1, tls = { ca = "c", cert = "c", key = "k", server_name = "s",
    insecure = true } }

-- What each takes. Who adds a function adds it here.
local examples = {
  array = { { 1 } }, is_array = { { 1 } }, equal = { 1, 2 }, deepcopy = { object },
  merge = { {}, {} }, is_unchanged = { object }, is_selected = { object },
  are_names = { "a", "b" }, owner_uid = { object },
  json_encode = { object, true }, json_decode = { "{}" }, yaml_encode = { object },
  yaml_decode = { "a: 1" }, hash = { "x" }, sha256 = { "x" }, base64_encode = { "x" }, base64_decode = { "eA==" },
  without_secrets = { "x" },
  random = { 4 }, quantity = { "1" }, duration = { "1s" }, time_parse = { "2026-01-01T00:00:00Z" },
  time_format = { 1 }, now = {}, selector = { "a=b" }, fields = { "a=b" },
  selects = { "a=b", { a = "b" } }, path = { "a.b" },
  kind = { "v1/Pod" }, nearest = { "word", { "ward" } }, is_name = { "a", "dns-label" },
  number = { "1" }, where = { 0 }, remember = { "e" }, phase = {}, controller_name = {},
  stopping = {}, controller = { spec },
  cluster = { { name = "edge", kubeconfig = "f", context = "c", secret_namespace = "n",
    secret_name = "s", secret_key = "k" } }, index = { "v1/Pod", "i", "spec.a" },
  read_file = { "nothing" }, log = { "info", "text", { a = 1, b = object } },
  event = { false, "v1", "Pod", "d", "p", "u", "1", "Reason", "note" }, memo = { "d", "p" },
  is_cluster_scoped = { "v1", "Pod" }, shards = {}, owns_shard = { "d", "p", "u" },
  metric = { "counter", "n", "help", { "label" } },
  metric_add = { host.metric("counter", "a", "help", { "l" }), 1, "v" },
  metric_set = { host.metric("gauge", "g", "help", { "l" }), 1, "v" },
  metric_observe = { host.metric("histogram", "h", "help", { "l" }), 1, "v" },
  metric_remove = { host.metric("counter", "r", "help", { "l" }), "v" },
  regex_compile = { "a+" }, regex_search = { (host.regex_compile("a+")), "aa", 1, false },
  jsonpath = { ".a", { a = 1 } }, pointer = { "/a" }, pointer_word = { "a" },
  digest = { "sha256", "x" }, hmac = { "sha256", "k", "x" }, bytes_equal = { "a", "b" },
  x509_key = { "ed25519" }, x509_public = { "pem" }, x509_request = { "pem", { "dns", "a" } },
  x509_sign = { "pem", "", "", { "ca", "true" } }, x509_read = { "pem" },
  x509_verify = { "pem", "pem", "", "", "", 1 }, x509_is_pair = { "pem", "pem" },
  ip = { "10.0.0.1" }, ip_contains = { "10.0.0.0/8", "10.0.0.1" }, url = { "http://a" },
  url_escape = { "a" }, url_unescape = { "a", true },
  zone_file = { "UTC" }, last_time = { "t", 1 },
  hook_answer = { {}, { allowed = true } }, hook_next = {}, hook_converted = { {} },
  compile = { "return 1", "name", {} }, get = { "v1/Pod", "d", "p", { live = false,
    metadata_only = true } }, list = { "v1/Pod", list }, each = { "v1/Pod", list },
  key_changed = { "v1/Pod", "d", "p", 1, "edge" }, write = { write }, sleep = { 0 },
  spawn = { print, pod }, join = { 1 }, http = { http }, enqueue = { "c", "d", "p", 0, 0 },
  send = { "c", "d", "p" }, say = { "text", false }, select_kinds = { "c", 0, "v1/Pod", "apps/v1" },
}

local calls, problems = 0, {}
-- Without lines, so that each problem is told once.
local function complain(name, message)
  problems[#problems + 1] = "host." .. name .. ": " .. message
end

local function call(name, args, count)
  local ok, e = pcall(host[name], unpack(args, 1, count))
  calls = calls + 1
  if ok then
    return
  end
  local text = type(e) == "table" and e.message or e
  if type(text) ~= "string" or text == "" or text:find("attempt to", 1, true)
    or text:find("was called", 1, true) then
    complain(name, tostring(text))
  end
end

local function copy(t)
  local out = {}
  for k, v in pairs(t) do
    out[k] = v
  end
  return out
end

-- Calls run(t) for the table with each of its members, and theirs, replaced by each value.
local members = 0
local function each_member(t, run, depth)
  for name, member in pairs(t) do
    members = members + 1
    for i = 1 + members % step, values.n, step do
      local other = copy(t)
      other[name] = values[i]
      run(other)
    end
    if type(member) == "table" and depth < 4 then
      each_member(member, function(changed)
        local other = copy(t)
        other[name] = changed
        run(other)
      end, depth + 1)
    end
  end
end

local function each_argument(name, example)
  local most = #example + 2
  for place = 1, most do
    for i = 1 + place % step, values.n, step do
      local args = copy(example)
      args[place] = values[i]
      call(name, args, math.max(place, #example))
      call(name, args, place) -- and none behind it
    end
    local member = example[place]
    if type(member) == "table" and member ~= object then
      each_member(member, function(changed)
        local args = copy(example)
        args[place] = changed
        call(name, args, #example)
      end, 1)
    end
  end
  for i = 1, values.n, step do
    local args = {}
    for place = 1, most do
      args[place] = values[i]
    end
    call(name, args, most)
  end
  call(name, {}, 0)
end

-- only: the one that is called; nil: all.
return function(only)
  calls, problems = 0, {}
  for name, f in pairs(host) do
    if type(f) == "function" and (only == nil or name == only) then
      if examples[name] then
        each_argument(name, examples[name])
      else
        complain(name, "is not among the examples")
      end
    end
  end
  for name in pairs(examples) do
    if type(host[name]) ~= "function" then
      complain(name, "is no function any more")
    end
  end
  error(#problems == 0 and (calls > 100 / step and "fine" or "too few calls")
    or table.concat(problems, "; ", 1, math.min(#problems, 20)), 0)
end
