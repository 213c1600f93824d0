-- Values that a script writes into a Secret are cut out of its logs and errors. Run by `perilune test`.
local test = require("perilune.test")

-- Each way of writing, the value that it writes, and what the script logs next.
local WAYS = {
  { "create with stringData", 'client:create(secret("made", { stringData = { password = value } }))' },
  { "create with data", 'client:create(secret("made", { data = { password = perilune.base64.encode(value) } }))' },
  { "apply", 'client:apply(secret("made", { stringData = { password = value } }))' },
  { "merge patch", 'client:patch("v1/Secret", "default/a", { stringData = { password = value } })' },
  { "JSON patch", 'client:patch("v1/Secret", "default/a", { { op = "add", path = "/data", '
    .. 'value = { password = perilune.base64.encode(value) } } }, { type = "json" })' },
  { "JSON patch of one value", 'client:patch("v1/Secret", "default/a", { '
    .. '{ op = "add", path = "/stringData", value = {} }, '
    .. '{ op = "add", path = "/stringData/password", value = value } }, { type = "json" })' },
  { "update", 'local s = live:get("v1/Secret", "default/a"); s.stringData = { password = value }; client:update(s)' },
  { "a raw request", 'live:raw("POST", "/api/v1/namespaces/default/secrets", '
    .. '{ body = secret("made", { stringData = { password = value } }) })' },
  { "create_or_update", 'client:create_or_update(secret("made", {}), function(s) '
    .. 's.stringData = { password = value } end)' },
}

local SCRIPT = [[
local live = perilune.live
local value = table.concat({ "kept", "to", "itself" }, "-") -- errors show lines of the script
local function secret(name, content)
  content.apiVersion, content.kind, content.metadata = "v1", "Secret", { namespace = "default", name = name }
  return content
end
perilune.controller("writes"):For("v1/ConfigMap"):Writes("v1/Secret", { "create", "patch", "update", "get" })
  :Reconcile(function()
    %s
    perilune.log:info("the password is " .. value)
    error(value .. " is wrong")
  end)
]]

describe("a value that is written into a Secret by", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()
  after_each(files.remove)

  for _, way in ipairs(WAYS) do
    it(way[1] .. " is in no log and no error", function()
      local world = test.world{ scripts = files.script(SCRIPT:format(way[2])) }
      world:create{ apiVersion = "v1", kind = "Secret", metadata = { namespace = "default", name = "a" } }
      world:create{ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "default", name = "a" } }
      world:advance("1s")
      local seen = 0
      for _, entry in ipairs(world:logs()) do
        for _, text in pairs(entry) do
          text = tostring(text)
          assert.is_nil(text:find("kept-to-itself", 1, true), text)
          seen = seen + (text:find("<14 bytes>", 1, true) and 1 or 0)
        end
      end
      assert.truthy(seen >= 2, "the log and the error are there")
    end)
  end
end)

-- Each way of making a text of a Secret of which no value was read before.
local TEXTS = {
  { "json.encode of its data", "text = json.encode(s.data)" },
  { "json.encode of it", "text = json.encode(s)" },
  { "yaml.encode of it", "text = perilune.yaml.encode(s)" },
  { "yaml.encode of its data", "text = perilune.yaml.encode(s.data)" },
  { "json.encode after one key was read", "local _ = s.data.pin; text = json.encode(s)" },
  { "json.encode of its data after one key was read", "local _ = s.data.pin; text = json.encode(s.data)" },
  { "json.encode of it with a change", "s.metadata.name = 'b'; s.data.new = 'x'; text = json.encode(s)" },
  { "json.encode of a list", "text = json.encode((live:list('v1/Secret', { namespace = 'default' })))" },
  { "json.encode of a table with it", "text = json.encode({ deep = { { s } } })" },
  { "json.encode of a cached one", "text = json.encode(client:get('v1/Secret', 'default/a').data)" },
  { "json.encode of a raw answer", "text = json.encode(live:raw('GET', PATH .. '/a'))" },
  { "json.encode of a raw answer's data", "text = json.encode(live:raw('GET', PATH .. '/a').data)" },
  { "a value of a raw answer", "text = live:raw('GET', PATH .. '/a').data.password" },
  { "json.encode of a raw list", "text = json.encode(live:raw('GET', PATH))" },
  { "a value of a raw list", "text = live:raw('GET', PATH).items[1].data.password" },
  { "json.encode of a written one", "text = json.encode(client:patch('v1/Secret', 'default/a', "
    .. "{ metadata = { labels = { a = 'b' } } }).data)" },
  { "jsonpath", "text = perilune.jsonpath('{.data.password}'):first(s)" },
  { "cjson of it", "text = require('cjson').encode(s)" },
  { "json.encode of a copy", "text = json.encode(perilune.deepcopy(s))" },
  { "json.encode of what kubectl applied", "text = json.encode(s.metadata)" },
  { "json.encode of an annotation", "text = json.encode(s.metadata.annotations)" },
  { "json.encode of a list of annotations", "text = json.encode({ s.metadata.annotations[APPLIED] })" },
  { "a log of what kubectl applied", "text = 'text: <1 bytes>'; perilune.log:info('x', { s = s, "
    .. "m = s.metadata, a = s.metadata.annotations, l = { s } })" },
  { "cjson of what it says in another way", "text = cjson.encode({ a = perilune.base64.decode(s.data.lines) })" },
  { "json.encode of a value of several lines", "text = json.encode(perilune.base64.decode(s.data.lines))" },
  { "yaml.encode of a value of several lines", "text = perilune.yaml.encode({ a = { b = "
    .. "perilune.base64.decode(s.data.lines) } })" },
  { "an answer in another encoding", "local _, e = pcall(live.raw, live, 'GET', PATH .. '/a', "
    .. "{ headers = { Accept = 'application/yaml' } }); text = '<1 bytes> ' .. tostring(e)" },
  { "a message that quotes a part of it", "local long = s.data.long; "
    .. "text = select(2, pcall(perilune.quantity, long))" },
  { "decoding its JSON", "text = perilune.base64.decode(json.decode(json.encode(s.data)).password)" },
}

local READER = [[
local client, live, json = perilune.client, perilune.live, perilune.json
local cjson = require("cjson")
local PATH = "/api/v1/namespaces/default/secrets"
local APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
perilune.controller("reads"):For("v1/ConfigMap"):Reads("v1/Secret"):Writes("v1/Secret", { "patch" })
  :Reconcile(function()
    local s, text = live:get("v1/Secret", "default/a")
    %s
    print("text: " .. tostring(text))
    error("error: " .. tostring(text))
  end)
]]

-- What functions for events see; the text is printed there.
local EVENTS = {
  { "a predicate", ':For("v1/Secret", { predicates = { function(event) return show(event.object.data) end } })' },
  { "a predicate's old object", ':For("v1/Secret", { predicates = { function(event) '
    .. 'return event.old == nil or show(event.old) end } })' },
  { "a map", ':For("v1/Node"):Watches("v1/Secret", function(secret) show(secret) end)' },
  { "a map's event", ':For("v1/Node"):Watches("v1/Secret", function(_, event) show(event.object) end)' },
}

local WATCHER = [[
local function show(value)
  print("text: " .. perilune.json.encode(value))
  return true
end
perilune.controller("sees")%s:Reconcile(function() end)
]]

local HOOK = [[
perilune.webhook.validate("v1/Secret", function(object, old)
  print("text: " .. perilune.json.encode(object))
  print("text: " .. perilune.yaml.encode(old or object))
end, { operations = { "CREATE", "UPDATE" } })
]]

-- base64 of "kept-to-itself", "left-in-peace", "123" and three lines
local DATA = { password = "a2VwdC10by1pdHNlbGY=", other = "bGVmdC1pbi1wZWFjZQ==", pin = "MTIz",
  lines = "Zmlyc3QvbGluZQpzZWNvbmQgImxpbmUiCnRoaXJkIGxpbmUK",
  long = ("bG9uZ2VyLXRoYW4tYS1saW5l"):rep(4) }
local APPLIED = [[{"apiVersion":"v1","kind":"Secret","stringData":{"password":"said-in-\"public\"/once"}}]]
local SHOWN = { "kept%-to%-itself", "left%-in%-peace", "a2VwdC10by1pdHNlbGY", "bGVmdC1pbi1wZWFjZQ", "said%-in",
  "second .?.?line", "bG9uZ2VyLXRoYW4", "Zmlyc3QvbGluZQpzZW" }

local function check_logs(world)
  local seen = 0
  for _, entry in ipairs(world:logs()) do
    for _, text in pairs(entry) do
      text = tostring(text)
      for _, value in ipairs(SHOWN) do
        assert.is_nil(text:find(value), text)
      end
      seen = seen + (text:find("text: .*<%d+ bytes>") and 1 or 0)
    end
  end
  assert.truthy(seen >= 1, "the text is in the log")
end

describe("a value of a Secret is in no log when a script makes a text by", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()
  after_each(files.remove)

  local function run(script)
    local world = test.world{ scripts = files.script(script) }
    world:create{ apiVersion = "v1", kind = "Secret", data = DATA,
      metadata = { namespace = "default", name = "a",
        annotations = { ["kubectl.kubernetes.io/last-applied-configuration"] = APPLIED } } }
    world:create{ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "default", name = "a" } }
    world:advance("1s")
    world:patch("v1/Secret", "default/a", { metadata = { labels = { a = "c" } } })
    world:advance("1s")
    check_logs(world)
  end

  for _, way in ipairs(TEXTS) do
    it(way[1], function() run(READER:format(way[2])) end)
  end

  for _, way in ipairs(EVENTS) do
    it("json.encode in " .. way[1], function() run(WATCHER:format(way[2])) end)
  end

  it("json.encode and yaml.encode in a webhook", function() run(HOOK) end)
end)
