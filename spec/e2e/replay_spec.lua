-- perilune run --record and perilune replay: the recorded work of a host runs again, without a
-- cluster.

local e2e = require("spec.support.e2e")
local record_file = require("spec.support.record_file")

local script = [[
local perilune = require("perilune")
local client = perilune.client
local runs, started = 0, perilune.time.now()
perilune.controller("copies", {max_concurrent_reconciles = 3})
  :For("v1/ConfigMap", {labels = "copy=yes"})
  :Owns("v1/Secret")
  :Reconcile(function(request, context)
    runs = runs + 1
    local map = client:get("v1/ConfigMap", request)
    if not map then return end
    perilune.sleep("5ms")
    local token = perilune.random(4):byte(1) .. "-" .. math.random(1, 1e9)
    local secret = client:create_or_update({apiVersion = "v1", kind = "Secret",
      metadata = {name = map.metadata.name, namespace = map.metadata.namespace}},
      function(secret)
        secret.stringData = {password = "the-password-of-" .. map.metadata.name}
      end, {owner = map})
    local others = client:list("v1/Secret", {namespace = request.namespace})
    local note = {}
    for _, other in ipairs(others) do
      note[#note + 1] = other.metadata.name .. "=" .. tostring(other.data and other.data.password)
    end
    table.sort(note)
    for name in pairs({one = 1, two = 2, three = 3, four = 4, five = 5}) do
      note[#note + 1] = name -- in the order of this process
    end
    client:create_or_update({apiVersion = "v1", kind = "ConfigMap",
      metadata = {name = map.metadata.name .. "-note", namespace = map.metadata.namespace}},
      function(copy)
        copy.data = {runs = tostring(runs), token = tostring(token), started = tostring(started),
          at = tostring(os.time()), ends = tostring(context.deadline), note = table.concat(note, ",")}
      end)
    if map.data.fail then error("it must not be so") end
  end)
perilune.every("1h", {name = "hourly"}, function()
  for _, map in ipairs(client:list("v1/ConfigMap")) do print(map.metadata.name) end
end)
]]

local secret_crd = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: secrets.safe.example.com
spec:
  group: safe.example.com
  names: {plural: secrets, kind: Secret}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            data: {type: object, additionalProperties: {type: string}}
]]

describe("perilune replay", function()
  local server, namespace, record

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
    record = e2e.folder() .. "/" .. e2e.unique("record")
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function path(plural, name)
    return e2e.path("v1", namespace, plural, name)
  end

  local function create(name, data)
    server:create(path("configmaps"), { apiVersion = "v1", kind = "ConfigMap", data = data,
      metadata = { name = name, labels = { copy = "yes" } } })
  end

  local function start(text, flags)
    local all = { "--namespace", namespace, "--record", record }
    for _, flag in ipairs(flags or {}) do
      all[#all + 1] = flag
    end
    return e2e.start_host(server, text, all)
  end

  local function wait_for_notes(least)
    for _, name in ipairs({ "a", "b", "c", "d" }) do
      e2e.eventually("the note of " .. name, function()
        local note = server:get(path("configmaps", name .. "-note"))
        return note and tonumber(note.data.runs) >= (least or 1)
      end)
    end
  end

  local function work(host)
    for _, name in ipairs({ "a", "b", "c", "d" }) do
      create(name, { text = name, fail = name == "d" and "yes" or nil })
    end
    wait_for_notes()
    server:patch(path("configmaps", "a"), { data = { text = "other" } })
    e2e.eventually("another run", function()
      return tonumber(server:get(path("configmaps", "a-note")).data.runs) > 1
    end)
    return host
  end

  local function replay(...)
    local code, out, err = e2e.run("replay", ...)
    return code, out .. err
  end

  local function unpacked()
    local text = record_file.texts(record)
    assert.matches("%-note", text)
    return text
  end

  it("runs the same scripts to the same end, with several lanes and runs at a time", function()
    work(start(script, { "--lanes", "2" })):stop()
    local code, out = replay(record)
    assert.matches("everything happened as it was recorded", out)
    assert.equal(0, code)
    assert.is_true(tonumber(out:match("replayed (%d+) runs")) >= 5)
  end)

  it("holds no value of a Secret, unless it is told to", function()
    work(start(script)):stop()
    assert.is_nil(unpacked():find("the-password-of-a", 1, true))
    assert.is_nil(unpacked():find("dGhlLXBhc3N3b3JkLW9mLW", 1, true)) -- the same in base64
    assert.equal(0, (replay(record)))
    namespace = server:new_namespace()
    work(start(script, { "--record-secrets" })):stop()
    assert.is_truthy(unpacked():find("the-password-of-a", 1, true))
    assert.equal(0, (replay(record)))
  end)

  it("knows a host that was killed, up to a second before", function()
    local host = work(start(script))
    e2e.process.pause(1.5) -- longer than entries wait to be written
    host.child:signal("KILL")
    host.child:wait(e2e.patience)
    local code, out = replay(record)
    assert.matches("everything happened as it was recorded", out)
    assert.equal(0, code)
    assert.is_true(tonumber(out:match("replayed (%d+) runs")) >= 5)
  end)

  it("stops with the place where something goes another way", function()
    local other = script:gsub("token = tostring%(token%)",
      "token = tostring({}):sub(8)")
    local host = start(other)
    create("a", { text = "a" })
    e2e.eventually("a note", function()
      return server:get(path("configmaps", "a-note"))
    end)
    host:stop()
    local code, out = replay(record)
    assert.equal(3, code)
    assert.matches("the replay differs at %d+%-%d+%-%d+T%d+:%d+:%d+%.%d+Z copies " .. namespace:gsub("%-", "%%-")
      .. "/a: %S+%.lua:%d+\n  now   calls write.*\n  then  called write", out)
  end)

  it("follows a reload, and prints the calls of a key until a time", function()
    local folder = e2e.folder() .. "/" .. e2e.unique("scripts")
    os.execute("mkdir -p " .. folder)
    e2e.write_file(folder .. "/main.lua", script)
    local host = work(start(folder, { "--reload" }))
    e2e.write_file(folder .. "/main.lua", (script:gsub("hourly", "sometimes")))
    host:logged(function(line) return line.msg == "task started" and line.task == "sometimes" end)
    create("e", { text = "e" })
    e2e.eventually("the note of e", function()
      return server:get(path("configmaps", "e-note"))
    end)
    host:stop()
    os.execute("rm -r " .. folder)
    local code, out = replay(record, "--key", "copies", namespace .. "/e")
    assert.matches("everything happened as it was recorded", out)
    assert.equal(0, code)
    assert.matches("copies %S+/e begins, attempt 0\n  get%(v1/ConfigMap, ", out)
    assert.is_nil(out:find("/a begins", 1, true))
    local all = tonumber(out:match("replayed (%d+) runs"))
    code, out = replay(record, "--key", "ConfigMap", namespace .. "/e") -- the kind of its For
    assert.equal(0, code)
    assert.matches("copies %S+/e begins, attempt 0\n  get%(v1/ConfigMap, ", out)
    assert.is_nil(out:find("/a begins", 1, true))
    assert.is_nil(out:find("no run of", 1, true))
    code, out = replay(record, "--key", "ConfigMap", namespace .. "/nobody")
    assert.equal(0, code)
    assert.matches("; no run of ConfigMap %S+/nobody is in it", out)
    code, out = replay(record, "--until", "2020-01-01T00:00:00Z")
    assert.equal(0, code)
    assert.is_true(tonumber(out:match("replayed (%d+) runs")) < all)
  end)

  it("runs other scripts on it, and prints what they would write otherwise", function()
    local steady = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("copies"):For("v1/ConfigMap", {labels = "copy=yes"}):Reconcile(function(request)
  local map = client:get("v1/ConfigMap", request)
  if not map then return end
  client:create_or_update({apiVersion = "v1", kind = "Secret",
    metadata = {name = map.metadata.name, namespace = map.metadata.namespace}},
    function(secret) secret.stringData = {password = "the-password-of-" .. map.metadata.name} end)
  client:apply({apiVersion = "v1", kind = "ConfigMap", data = {text = map.data.text},
    metadata = {name = map.metadata.name .. "-copy", namespace = map.metadata.namespace}})
end)
]]
    local host = start(steady)
    for _, name in ipairs({ "a", "b" }) do
      create(name, { text = name })
      e2e.eventually("the copy of " .. name, function()
        return server:get(path("configmaps", name .. "-copy"))
      end)
    end
    host:stop()
    local base = e2e.folder() .. "/" .. e2e.unique("other")
    local same = e2e.write_file(base .. "-same.lua", "-- moved\n" .. steady)
    local code, out = replay(record, same, "--exit-code")
    assert.matches("^0 of %d+ runs write something else; values of Secrets are pseudonyms in the record, "
      .. "so they were not compared\n$", out)
    assert.equal(0, code)
    local other = e2e.write_file(base .. ".lua", (steady
      :gsub("text = map.data.text}", "text = map.data.text, more = 'yes'}")
      :gsub('the%-password%-of%-', "another-password-of-")))
    code, out = replay(record, other, "--key", "copies", namespace .. "/a")
    assert.equal(0, code)
    assert.matches("copies " .. namespace:gsub("%-", "%%-") .. "/a\n  ~ apply v1/ConfigMap %S+/a%-copy\n"
      .. "      data.more: %(none%) %-> \"yes\"", out)
    assert.is_nil(out:find("b-copy", 1, true))
    assert.is_nil(out:find("password-of", 1, true))
    assert.equal(1, (replay(record, other, "--exit-code")))
    code, out = replay(record, e2e.write_file(base .. "-broken.lua", "local x ="))
    assert.equal(1, code)
    assert.matches("broken.lua:1", out)
    code, out = replay(record, "examples/hello")
    assert.equal(0, code)
    assert.matches("0 of 0 runs write something else; %d+ runs belong to controllers that these scripts "
      .. "do not have\n$", out)
  end)

  it("gives the same scripts the recorded answers to their writes, and finds what only one call changes", function()
    local writing = [[
local perilune = require("perilune")
local client, live = perilune.client, perilune.live
perilune.controller("copies"):For("v1/ConfigMap", {labels = "copy=yes", finalizers = {"example.com/note"}})
  :Reconcile(function(request)
    local map = live:get("v1/ConfigMap", request)
    return perilune.finalizer.handle(map, "example.com/note", {
      apply = function(held)
        local copy = client:apply({apiVersion = "v1", kind = "ConfigMap", data = {text = held.data.text},
          metadata = {name = request.name .. "-copy", namespace = request.namespace}})
        live:create_or_update({apiVersion = "v1", kind = "ConfigMap",
          metadata = {name = "notes", namespace = request.namespace}}, function(notes)
            notes.data = notes.data or {}
            notes.data[request.name] = copy.metadata.uid .. " at " .. copy.metadata.resourceVersion
          end)
      end,
      cleanup = function() end,
    })
  end)
]]
    local host = start(writing)
    for _, text in ipairs({ "one", "two", "three" }) do
      if text == "one" then
        create("a", { text = text })
      else
        server:patch(path("configmaps", "a"), { data = { text = text } })
      end
      e2e.eventually("the copy follows", function()
        local copy = server:get(path("configmaps", "a-copy"))
        return copy and copy.data.text == text and server:get(path("configmaps", "notes"))
      end)
    end
    server:delete(path("configmaps", "a"))
    e2e.eventually("it has gone", function()
      return not server:get(path("configmaps", "a"))
    end)
    host:stop()
    local same = e2e.write_file(record .. "-same.lua", "-- moved\n" .. writing)
    local code, out = replay(record, same, "--exit-code")
    assert.matches("^0 of %d+ runs write something else\n$", out)
    assert.equal(0, code)
    local _, other = replay(record, e2e.write_file(record .. "-other.lua", (writing:gsub('" at "', '" as of "'))))
    assert.matches('~ update v1/ConfigMap %S+/notes\n      data.a: "%S+ at %d+" %-> "%S+ as of %d+"\n', other)
    assert.is_nil(other:find("a-copy", 1, true))
    assert.is_nil(other:find("finalizers", 1, true))
  end)

  it("gives the same scripts the recorded keys and certificates, although the record has pseudonyms of them", function()
    local host = e2e.start_host(server, "examples/certificates", { "--namespace", namespace, "--record", record })
    server:create(path("secrets"), { apiVersion = "v1", kind = "Secret", metadata = { name = "web-tls",
      annotations = { ["example.com/certificate-for"] = "web.default.svc" } } })
    e2e.eventually("it has a certificate", function()
      return (server:get(path("secrets", "web-tls")).data or {})["tls.crt"]
    end)
    host:logged("^issued a certificate")
    host:stop()
    local code, out = replay(record, "examples/certificates", "--exit-code")
    out = out:gsub("^[^\n]*issued[^\n]*\n", "") -- the scripts' own log
    assert.matches("^0 of %d+ runs write something else; values of Secrets are pseudonyms", out)
    assert.equal(0, code)
  end)

  it("gives other scripts the times that the recorded run has read", function()
    local reading = [[
local perilune = require("perilune")
perilune.controller("times", {reconcile_timeout = "1m"}):For("v1/ConfigMap", {labels = "copy=yes"})
  :Reconcile(function(request, context)
  local left = context.deadline - perilune.time.now()
  local times = {first = ("at %d"):format(perilune.time.now()), task = "none", left = left > 0 and "some" or "none"}
  local task = perilune.spawn(function()
    perilune.sleep(2.2)
    times.task = ("at %d"):format(perilune.time.now())
  end)
  perilune.sleep(1.1)
  times.second = ("at %d"):format(perilune.time.now())
  perilune.join(task)
  times.last = ("at %d"):format(perilune.time.now())
  perilune.client:apply({apiVersion = "v1", kind = "ConfigMap", data = times,
    metadata = {name = request.name .. "-copy", namespace = request.namespace}})
end)
]]
    local host = start(reading)
    create("timely", { text = "one" })
    e2e.eventually("the times", function()
      return server:get(path("configmaps", "timely-copy"))
    end)
    host:stop()
    local code, out = replay(record, e2e.write_file(record .. "-times.lua", "-- moved\n" .. reading), "--exit-code")
    assert.matches("^0 of %d+ runs write something else\n$", out)
    assert.equal(0, code)
  end)

  it("compares values of Secrets only with --record-secrets, and says so only of runs that met some", function()
    local function use_secret(read)
      return ([[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("copies"):For("v1/ConfigMap", {labels = "copy=yes"}):Reads("v1/Secret"):Reconcile(function(request)
  local secret = %s
  client:apply({apiVersion = "v1", kind = "ConfigMap", data = {size = tostring(secret and #secret.data.password)},
    metadata = {name = request.name .. "-copy", namespace = request.namespace}})
end)
]]):format(read)
    end
    server:create(path("secrets"), { apiVersion = "v1", kind = "Secret", metadata = { name = "s" },
      stringData = { password = "the-password" } })
    for _, case in ipairs({ { 'client:get("v1/Secret", {namespace = request.namespace, name = "s"})' },
      { "nil" }, { 'client:get("v1/Secret", {namespace = request.namespace, name = "s"})', "--record-secrets" } }) do
      local scripts = use_secret(case[1])
      local host = start(scripts, { case[2] })
      create("a", { text = "a" })
      e2e.eventually("the copy", function() return server:get(path("configmaps", "a-copy")) end)
      host:stop()
      server:delete(path("configmaps", "a"))
      server:delete(path("configmaps", "a-copy"))
      local _, out = replay(record, e2e.write_file(record .. "-again.lua", scripts))
      assert.matches("runs write something else", out)
      assert.equal(case[1] ~= "nil" and not case[2], out:find("Secrets are pseudonyms", 1, true) ~= nil, out)
    end
  end)

  it("hides values of Secrets, not those of other kinds of that name", function()
    server:apply_crd(secret_crd)
    local writing = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("copies"):For("v1/ConfigMap", {labels = "copy=yes"}):Reconcile(function(request)
  local map = client:get("v1/ConfigMap", request)
  if not map then return end
  client:apply({apiVersion = "safe.example.com/v1", kind = "Secret", data = {place = "under " .. map.data.text},
    metadata = {name = map.metadata.name, namespace = map.metadata.namespace}})
end)
]]
    local host = start(writing)
    create("a", { text = "the mat" })
    e2e.eventually("the secret place", function()
      return server:get(e2e.path("safe.example.com/v1", namespace, "secrets", "a"))
    end)
    host:stop()
    local other = e2e.write_file(record .. "-other.lua", (writing:gsub("under ", "above ")))
    local _, out = replay(record, other)
    assert.matches('data%.place: "under the mat" %-> "above the mat"', out)
  end)

  it("stops at a line, where what is typed sees the run and changes nothing", function()
    local host = start(script)
    create("a", { text = "apple" })
    e2e.eventually("a note", function()
      return server:get(path("configmaps", "a-note"))
    end)
    host:stop()
    local line = 0
    for text in script:gmatch("([^\n]*)\n") do
      line = line + 1
      if text:find("perilune.sleep", 1, true) then break end
    end
    local input = e2e.write_file(record .. ".typed", table.concat({ "map.data", "runs", "request.name, 1 + 1", "locals",
      'client:get("v1/ConfigMap", request)', "map = nil", "x.y", "continue", "quit", "" }, "\n"))
    local function typed(...)
      local pipe = assert(io.popen(("%s replay '%s' --break %s %s <'%s' 2>&1"):format(e2e.binary, record, line,
        table.concat({ ... }, " "), input)))
      local text = pipe:read("*a")
      pipe:close()
      return text
    end
    local out = typed("--key ConfigMap " .. namespace .. "/a")
    assert.matches("stopped at %S+:" .. line .. ", copies " .. namespace:gsub("%-", "%%-") .. "/a; type", out)
    assert.matches("\ntext: apple\n1\n\"a\"\n2\n", out)
    assert.matches("\nmap = table\n", out)
    assert.matches("get: a replay cannot call it here", out)
    assert.matches("attempt to index global 'x'", out)
    local _, stops = out:gsub("stopped at", "")
    assert.equal(2, stops) -- the second time it quits
    local code, passed = replay(record, "--break", "main.lua:100000")
    assert.equal(0, code, passed)
    assert.matches("no run has come to the breakpoint at main.lua:100000\n", passed)
    local wrong
    code, wrong = replay(record, "--break", "main.lua")
    assert.equal(2, code)
    assert.matches("%-%-break takes LINE or FILE:LINE, such as main.lua:44", wrong)
  end)

  it("replays predicates, map and index functions, and what they keep in variables", function()
    local asking = [[
local perilune = require("perilune")
local client = perilune.client
local asked, mapped, indexed, seen = 0, 0, 0, nil
perilune.index("v1/ConfigMap", "text", function(map)
  indexed = indexed + 1
  return map.data and map.data.text
end)
perilune.controller("copies"):For("v1/ConfigMap", {labels = "copy=yes", predicates = {function(event)
    asked = asked + 1
    seen = event.object.metadata.name .. SALT
    return event.object.data.text ~= "no"
  end}})
  :Watches("v1/Secret", function(secret)
    mapped = mapped + 1
    local found = client:get("v1/ConfigMap", {namespace = secret.metadata.namespace, name = "a"})
    return {{namespace = secret.metadata.namespace, name = found and found.metadata.name or "none"}}
  end)
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if not map then return end
    client:apply({apiVersion = "v1", kind = "ConfigMap", metadata = {name = map.metadata.name .. "-note",
      namespace = map.metadata.namespace}, data = {seen = seen, asked = tostring(asked),
      mapped = tostring(mapped), indexed = tostring(indexed),
      same = tostring(#client:list("v1/ConfigMap", {index = {name = "text", value = map.data.text}}))}})
  end)
]]
    local function recorded(salt)
      local host = start((asking:gsub("SALT", salt)))
      create("a", { text = "a" })
      create("b", { text = "no" })
      e2e.eventually("a note", function()
        return server:get(path("configmaps", "a-note"))
      end)
      server:create(path("secrets"), { apiVersion = "v1", kind = "Secret", metadata = { name = "s" },
        stringData = { word = "the-password-of-a" } })
      e2e.eventually("the map function was called", function()
        local note = server:get(path("configmaps", "a-note"))
        return note.data.mapped ~= "0"
      end)
      host:stop()
      return replay(record)
    end
    local code, out = recorded('""')
    assert.equal(0, code, out)
    assert.matches("everything happened as it was recorded", out)
    assert.is_nil(unpacked():find("the-password-of-a", 1, true))
    for line, name in pairs({ [5] = "map", [9] = "event", [14] = "secret" }) do
      local input = e2e.write_file(record .. ".typed", "type(" .. name .. ")\nquit\n")
      local pipe = assert(io.popen(("%s replay '%s' --break %d <'%s' 2>&1"):format(e2e.binary, record, line, input)))
      out = pipe:read("*a")
      pipe:close()
      assert.matches("stopped at %S+:" .. line .. ", a function for events; type [^\n]*\n\"table\"\n", out)
      code, out = replay(record, "--key", "ConfigMap", namespace .. "/a", "--break", tostring(line))
      assert.equal(0, code, out)
      assert.is_nil(out:find("stopped at", 1, true))
    end
    namespace = server:new_namespace()
    code, out = recorded("tostring({})")
    assert.equal(3, code, out)
    assert.matches("the replay differs at %S+Z copies %S+/a: .*calls write", out)
    assert.is_nil(out:find("not in the record", 1, true))
  end)

  it("says what is wrong with a file or a flag", function()
    local code, out = replay("/nowhere")
    assert.equal(1, code)
    assert.matches("/nowhere", out)
    code, out = replay("README.md")
    assert.equal(1, code)
    assert.matches("README.md: it is not a record", out)
    code, out = replay()
    assert.equal(2, code)
    assert.matches("no FILE given", out)
    code, out = replay("README.md", "--key", "Website")
    assert.equal(2, code)
    assert.matches("KIND NS/NAME", out)
    code, out = replay("README.md", "--until", "noon")
    assert.equal(2, code)
    assert.matches("%-%-until takes a time", out)
    local refused, _, err = e2e.run("run", "examples/hello", "--record", "/nowhere/at/all")
    assert.equal(1, refused)
    assert.matches("/nowhere/at/all", err)
    refused, _, err = e2e.run("run", "examples/hello", "--record", "a,max=much")
    assert.equal(2, refused)
    assert.matches('%-%-record: "[^"]*": it must be FILE', err)
  end)
end)
