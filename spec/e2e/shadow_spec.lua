-- perilune reload --shadow: a candidate beside the running scripts, whose writes are recorded and
-- not sent. A proxy records what leaves the host, and the embedded server's audit log what arrives.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")
local proxies = require("spec.support.proxy")

local OBJECTS = 200

local function base64(text)
  local pipe = assert(io.popen("printf %s '" .. text .. "' | base64 -w0"))
  local encoded = pipe:read("*a")
  pipe:close()
  return encoded
end

-- Copies a ConfigMap into a Secret and writes the length of the text into the ConfigMap.
local running = [[
local perilune = require("perilune")
local client = perilune.client
INDEX
perilune.controller("copies", {max_concurrent_reconciles = 8})
  :For("v1/ConfigMap", {namespaces = {NAMESPACE}, labels = "copy=yes", writes = {"patch"}})
  :Owns("v1/Secret", {namespaces = {NAMESPACE}})
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if not map then return end
    BEFORE
    client:create_or_update(
      {apiVersion = "v1", kind = "Secret", metadata = {name = map.metadata.name}},
      function(secret)
        secret.data = secret.data or {}
        secret.data.copy = perilune.base64.encode(map.data.text)
        CHANGE
      end, {owner = map})
    client:patch(map, {metadata = {annotations = {length = tostring(#map.data.text)}}})
    perilune.log:info("copied", {name = map.metadata.name})
    AFTER
  end)
]]

describe("a shadow", function()
  local server, proxy, namespace, host, socket, file
  local child, logged -- the shadow that `begin` started, and the length of the host's log then

  local function script(parts)
    parts = parts or {}
    return (running:gsub("NAMESPACE", string.format("%q", namespace)):gsub("INDEX", parts.index or "")
      :gsub("BEFORE", parts.before or ""):gsub("CHANGE", parts.change or "")
      :gsub("AFTER", parts.after or ""))
  end

  local function candidate(parts)
    return e2e.write_file(e2e.folder() .. "/" .. e2e.unique("candidate") .. ".lua", script(parts))
  end

  local function maps(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function secrets(name)
    return e2e.core_path(namespace, "secrets", name)
  end

  local function map(name, text)
    return { apiVersion = "v1", kind = "ConfigMap", data = { text = text },
      metadata = { name = name, labels = { copy = "yes" } } }
  end

  local function settled()
    e2e.eventually("every object is copied and nothing is under way", function()
      local list = server:get(secrets())
      local lengths = 0
      for _, one in ipairs(server:get(maps()).items) do
        lengths = lengths + ((one.metadata.annotations or {}).length and 1 or 0)
      end
      local _, out = e2e.run("queue", "list", "--admin-socket", socket, "-o", "json")
      return #list.items == lengths and lengths >= OBJECTS and not out:find('"key"', 1, true),
        #list.items .. " secrets, " .. lengths .. " lengths, " .. out
    end, 120)
  end

  -- Runs a shadow to its end. Returns the exit code, the lines by type, and its messages.
  local function shadow(path, ...)
    local code, out, err = e2e.run("reload", "--shadow", path, "--admin-socket", socket,
      "-o", "json", ...)
    local lines = { key = {} }
    for line in out:gmatch("[^\n]+") do
      local decoded = cjson.decode(line)
      if decoded.type == "key" then
        lines.key[decoded.key] = decoded
      else
        lines[decoded.type] = decoded
      end
    end
    return code, lines, err
  end

  -- Starts a shadow in the background; `finish` interrupts it and returns the same as `shadow`.
  local function begin(path, ...)
    local base = e2e.folder() .. "/" .. e2e.unique("shadow")
    logged = #host:text()
    child = e2e.process.start({ e2e.binary, "reload", "--shadow", path, "--admin-socket", socket,
      "-o", "json", ... }, { stdout = base, stderr = base .. ".err" })
    e2e.eventually("the shadow runs", function()
      return e2e.read_file(base):find('"begun"', 1, true), e2e.read_file(base .. ".err")
    end)
    return function()
      child:signal("INT")
      local code = child:wait(e2e.patience)
      local lines = { key = {} }
      for line in e2e.read_file(base):gmatch("[^\n]+") do
        local decoded = cjson.decode(line)
        if decoded.type == "key" then
          lines.key[decoded.key] = decoded
        else
          lines[decoded.type] = decoded
        end
      end
      return code, lines, e2e.read_file(base .. ".err")
    end
  end

  -- Waits until the shadow has run that many keys, or that key. A run is compared right after its
  -- end.
  local function has_run(wanted)
    e2e.eventually("the shadow has run " .. wanted, function()
      local names, count = {}, 0
      for line in host:text():sub(logged + 1):gmatch('[^\n]*"msg":"copied"[^\n]*') do
        local name = line:find('"shadow":true', 1, true) and line:match('"name":"([^"]+)"')
        if name and not names[name] then
          names[name] = true
          count = count + 1
        end
      end
      return names[wanted] or (tonumber(wanted) and count >= wanted), count
    end)
    e2e.process.pause(1)
  end

  -- All writes of the host that have reached the embedded server.
  local function audited()
    local out = {}
    for _, write in ipairs(e2e.is_kube and {} or server:get("/debug/audit")) do
      if write.userAgent:find("^perilune/") then
        out[#out + 1] = write.method .. " " .. write.path .. " " .. write.code
      end
    end
    assert.is_true(e2e.is_kube or #out >= 2 * OBJECTS, "it is no log of this host")
    return out
  end

  local function now()
    return { proxied = proxy:mark(), audited = #audited() }
  end

  local function writes_since(mark)
    local out = {}
    for _, request in ipairs(proxy:requests(nil, mark.proxied)) do
      if request.method ~= "GET" then
        out[#out + 1] = request.method .. " " .. request.path
      end
    end
    local log = audited()
    for i = mark.audited + 1, #log do
      out[#out + 1] = "audited: " .. log[i]
    end
    return out
  end

  local function paths_of(difference)
    local out = {}
    for _, change in ipairs(difference.changes) do
      out[change.path] = change
    end
    return out
  end

  setup(function()
    server = e2e.server()
    proxy = proxies.start(server)
    namespace = server:new_namespace()
    local requests = {}
    for i = 1, OBJECTS do
      requests[i] = { "POST", maps(), map("m" .. i, string.rep("x", i % 50 + 1)) }
    end
    server:bulk(requests)
    socket = e2e.folder() .. "/admin.sock"
    file = e2e.write_file(e2e.folder() .. "/running.lua", script())
    host = e2e.start_host(proxy, file, { "--admin-socket", socket, "--no-reload" })
    settled()
  end)
  before_each(settled)
  after_each(function()
    if child and child:is_running() then
      child:signal("KILL")
      child:wait(10)
    end
    host:must_run()
  end)
  teardown(function()
    host:stop()
    proxy:stop()
    e2e.finish()
  end)

  it("finds no difference between equal scripts, and sends nothing", function()
    local mark = now()
    local code, lines, err = shadow(candidate(), "--keys", tostring(OBJECTS), "--exit-code")
    assert.same({ 0, "" }, { code, err })
    assert.same({}, lines.key)
    assert.equal(OBJECTS, lines.summary.keys)
    assert.equal(0, lines.summary.different)
    assert.same({ "copies" }, lines.begun.controllers)
    assert.same({}, writes_since(mark))
    assert.equal(0, host:count_logged("failed"))
  end)

  it("finds what a changed script would write, and nothing else", function()
    local mark = now()
    local path = candidate({
      before = [[
        if map.metadata.name == "m1" then client:delete("v1/Secret", request) return end
        if map.metadata.name == "m2" then
          local known = client:get("v1/Secret", request)
          local made = client:create({apiVersion = "v1", kind = "ConfigMap",
            metadata = {name = "m2-more", namespace = request.namespace},
            data = {a = "b", of = "it is " .. known.data.copy}})
          assert(made.metadata.uid:find("^shadow%-"))
          assert(client:get("v1/ConfigMap", {namespace = request.namespace, name = "m2-more"}, {live = true}) == nil
            or true)
        end]],
      change = 'if map.metadata.name == "m3" then secret.data.copy = perilune.base64.encode("another") end',
      after = [[
        if map.metadata.name == "m4" then
          client:patch(map, {metadata = {annotations = {length = "many"}}})
          local seen = client:get("v1/ConfigMap", request)
          assert(seen.metadata.annotations.length == "many")
        end
        if map.metadata.name == "m5" then error("it fails here") end]],
    })
    local code, lines, err = shadow(path, "--keys", tostring(OBJECTS), "--exit-code")
    assert.same({ 1, "" }, { code, err })
    assert.same({}, writes_since(mark))
    local keys = {}
    for key in pairs(lines.key) do
      keys[#keys + 1] = key:match("/(.*)")
    end
    table.sort(keys)
    assert.same({ "m1", "m2", "m3", "m4", "m5" }, keys)
    assert.equal(5, lines.summary.different)
    local function only(name)
      local line = lines.key[namespace .. "/" .. name]
      assert.equal(1, #line.differences)
      return line.differences[1]
    end
    local deleted, created, updated, patched = only("m1"), only("m2"), only("m3"), only("m4")
    assert.same({ "delete", "", "v1/Secret " .. namespace .. "/m1" },
      { deleted.candidate, deleted.running, deleted.what })
    assert.same({ "create", "v1/ConfigMap " .. namespace .. "/m2-more" },
      { created.candidate, created.what })
    assert.equal('{"a":"b","of":"it is <4 bytes>"}', paths_of(created)["data"].new)
    assert.same({ "update", "v1/Secret " .. namespace .. "/m3" }, { updated.candidate, updated.what })
    assert.same({ path = "data.copy", old = "<8 bytes>", new = "<12 bytes>" }, updated.changes[1])
    assert.equal(1, #updated.changes)
    assert.equal("patch", patched.candidate)
    assert.same({ { path = "metadata.annotations.length", old = '"5"', new = '"many"' } }, patched.changes)
    local failed = lines.key[namespace .. "/m5"]
    assert.same({}, failed.differences)
    assert(failed.error:find("it fails here", 1, true), failed.error)
    assert(server:get(secrets("m1")))
    assert.is_nil(server:get(maps("m2-more")))
  end)

  it("prints them for people", function()
    local code, out = e2e.run("reload", "--shadow", candidate({
      index = 'perilune.index("v1/Secret", "kept", function() return "yes" end)',
      before = [[
        local function labelled()
          return #client:list("v1/Secret", {namespace = request.namespace, labels = "new=yes",
            index = {name = "kept", value = "yes"}})
        end
        if map.metadata.name == "m3" then assert(labelled() + labelled() == 0) end]],
      change = 'if map.metadata.name == "m3" then secret.metadata.labels = {new = "yes"} end',
      after = 'if map.metadata.name == "m3" then assert(labelled() == 1) end',
    }), "--keys", tostring(OBJECTS), "--admin-socket", socket)
    assert.equal(0, code)
    assert(out:find("controller copies, key " .. namespace .. "/m3\n  + update v1/Secret "
      .. namespace .. "/m3\n      metadata.labels: (none) -> {\"new\":\"yes\"}\n", 1, true), out)
    assert(out:find("\n1 of 200 keys differ (", 1, true), out)
    assert.is_nil(out:find("assertion failed", 1, true))
  end)

  it("follows what the running scripts write meanwhile, and leaves it alone", function()
    local finish = begin(candidate())
    local requests = {}
    for i = 1, 60 do
      requests[i] = { "PATCH", maps("m" .. i), { data = { text = "meanwhile " .. i } },
        "application/merge-patch+json" }
    end
    for i = 1, 20 do
      requests[#requests + 1] = { "POST", maps(), map("extra" .. i, "extra") }
    end
    server:bulk(requests)
    settled()
    for i = 1, 60 do
      e2e.eventually("it is copied", function()
        local secret = server:get(secrets("m" .. i))
        return secret.data.copy == base64("meanwhile " .. i)
      end)
    end
    e2e.eventually("the shadow has followed", function()
      local _, out = e2e.run("queue", "list", "--admin-socket", socket, "-o", "json")
      return not out:find('"key"', 1, true)
    end)
    has_run(OBJECTS + 20)
    local code, lines, err = finish()
    assert.same({ 0, "" }, { code, err })
    assert.same({}, lines.key)
    assert(lines.summary.runs >= 280, lines.summary.runs)
    assert.equal("asked to", lines.summary.ended)
  end)

  it("tells what only one of the two writes meanwhile", function()
    local path = candidate({ change = 'secret.data.copy = perilune.base64.encode("CANDIDATE")',
      after = "if true then return end" })
    local finish = begin(path)
    server:create(maps(), map("late", "running"))
    local key = namespace .. "/late"
    e2e.eventually("the running scripts have made it", function()
      return server:get(secrets("late"))
    end)
    has_run("late")
    local _, lines = finish()
    local line = lines.key[key]
    assert(line, cjson.encode(lines.summary))
    local difference = line.differences[1]
    assert.same({ "create", "create" }, { difference.candidate, difference.running })
    assert.same({ path = "data.copy", old = "<12 bytes>", new = "<12 bytes>" }, difference.changes[1])
    assert.equal(base64("running"), server:get(secrets("late")).data.copy)
    server:delete(maps("late"))
    server:delete(secrets("late"))
  end)

  it("keeps requests to others, Events and queued keys to itself", function()
    local mark = now()
    local path = candidate({ after = string.format([[
      local answer = perilune.http.request{url = %q .. "/version?of=shadow", method = "POST", body = "x"}
      assert(answer.status == 204)
      perilune.event(map, "Normal", "Shadowed", "nobody reads this")
      perilune.enqueue("copies", request)
      perilune.memo(request).seen = "by the shadow"
      perilune.channel("shadows"):send(request)
      client:patch(map, {metadata = {annotations = {seen = "yes"}}})]], server.url) })
    e2e.write_file(path, (e2e.read_file(path):gsub(":Owns", ':WatchesChannel("shadows"):Owns')))
    local finish = begin(path)
    server:patch(maps("m9"), { data = { text = "now" } })
    e2e.eventually("the running scripts are done", function()
      return server:get(maps("m9")).metadata.annotations.length == "3"
    end)
    has_run(OBJECTS)
    assert(child:is_running())
    local _, lines = finish()
    local whats = {}
    for _, difference in ipairs(lines.key[namespace .. "/m9"].differences) do
      whats[difference.what] = difference
    end
    assert(whats["http POST " .. server.url .. "/version?..."])
    assert(whats["event Normal Shadowed on v1/ConfigMap " .. namespace .. "/m9"])
    assert(whats["enqueue copies " .. namespace .. "/m9"])
    assert(whats["send shadows " .. namespace .. "/m9"])
    assert.equal('"by the shadow"', paths_of(whats.memo).seen.new)
    assert(lines.summary.different >= OBJECTS, lines.summary.different)
    local events = server:get("/apis/events.k8s.io/v1/namespaces/" .. namespace .. "/events")
    for _, event in ipairs(events.items) do
      assert.not_equal("Shadowed", event.reason)
    end
    for _, write in ipairs(writes_since(mark)) do -- of the running scripts
      assert(write:find("/m9", 1, true), write)
    end
  end)

  it("refuses a candidate that does not load, and a second shadow", function()
    local path = e2e.write_file(e2e.folder() .. "/broken.lua", "local x = (\n")
    local code, _, err = shadow(path)
    assert.equal(1, code)
    assert(err:find("broken.lua:", 1, true), err)
    code, _, err = shadow("/nowhere/at/all.lua")
    assert.equal(1, code)
    assert(err:find("/nowhere/at/all.lua", 1, true), err)
    local finish = begin(candidate())
    code, _, err = shadow(candidate())
    assert.equal(1, code)
    assert(err:find("one at a time", 1, true), err)
    assert.equal(0, (finish()))
    assert.equal(2, (e2e.run("reload", "--shadow", "--admin-socket", socket)))
  end)

  it("starts what only the candidate watches, and stops it afterwards", function()
    local mark = now()
    local path = e2e.write_file(e2e.folder() .. "/more.lua", script() .. string.format([[
perilune.controller("accounts"):For("v1/ServiceAccount", {namespaces = {%q}}):Reconcile(function(request)
  local account = client:get("v1/ServiceAccount", request)
  if account then client:patch(account, {metadata = {labels = {seen = "yes"}}}) end
end)
]], namespace))
    server:create("/api/v1/namespaces/" .. namespace .. "/serviceaccounts",
      { apiVersion = "v1", kind = "ServiceAccount", metadata = { name = "robot" } })
    local finish = begin(path)
    local base = "/api/v1/namespaces/" .. namespace
    e2e.eventually("it is watched", function()
      local watches = 0
      for _, request in ipairs(proxy:requests(base .. "/serviceaccounts", mark.proxied)) do
        watches = watches + ((request.verb == "watch" or request.verb == "stream") and 1 or 0)
      end
      return watches > 0
    end)
    e2e.process.pause(1)
    local _, lines = finish()
    assert.same({ "accounts" }, lines.begun.added)
    assert.equal("patch", lines.key[namespace .. "/robot"].differences[1].candidate)
    for _, request in ipairs(proxy:requests(nil, mark.proxied)) do -- sources that both watch are shared
      assert(request.path == base .. "/serviceaccounts" or not request.path:find(base, 1, true)
        or request.verb ~= "list", request.path)
    end
    assert.same({}, writes_since(mark))
    e2e.eventually("its informer is gone", function()
      local _, out = e2e.run("status", "--admin-socket", socket, "-o", "json")
      return not out:find("ServiceAccount", 1, true)
    end)
  end)

  it("ends with its client, and with a reload", function()
    begin(candidate())
    child:signal("KILL")
    child:wait(e2e.patience)
    e2e.eventually("another may begin", function()
      return (shadow(candidate(), "--keys", "1")) == 0
    end)
    local finish = begin(candidate())
    e2e.write_file(file, script() .. "-- another\n")
    assert.equal(0, (e2e.run("reload", "--admin-socket", socket)))
    local code, _, err = finish()
    assert.equal(1, code)
    assert(err:find("reloaded meanwhile", 1, true), err)
    e2e.eventually("a shadow of the new scripts", function()
      return (shadow(candidate(), "--keys", "10")) == 0
    end)
  end)

  -- Its answers contain values that are unknown before: defaults, times, changes of others.
  local busy = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("apps", {max_concurrent_reconciles = 4})
  :For("v1/ConfigMap", {namespaces = {NAMESPACE}, labels = "app=yes", finalizers = {"spec.dev/apps"},
    writes = {"patch", "update"}})
  :Owns("APP", {namespaces = {NAMESPACE}})
  :Owns("v1/Secret", {namespaces = {NAMESPACE}})
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if not map then return end
    return perilune.finalizer.handle(map, "spec.dev/apps", {
      apply = function(map)
        local n, name = map.data.n, map.metadata.name
        client:apply({apiVersion = ("APP"):match("^(.*)/"), kind = ("APP"):match("[^/]+$"),
          metadata = {name = name, namespace = request.namespace},
          spec = {replicas = tonumber(n), selector = {matchLabels = {a = name}}, template = {
            metadata = {labels = {a = name}}, spec = {containers = {{name = "c", image = "i:" .. n}}}}}},
          {owner = map})
        client:create_or_update({apiVersion = "v1", kind = "Secret", metadata = {name = name}},
          function(secret) secret.data = {n = perilune.base64.encode(n)} end, {owner = map})
        local app = client:get("APP", request)
        if (app.metadata.annotations or {}).seen ~= n then
          app.status = app.status or {}
          app.status.conditions = {{type = "Available", status = "True", reason = "R", message = n,
            lastTransitionTime = perilune.time.format(perilune.time.now())}}
          client:update_status(app)
        end
        client:patch("APP", request, {metadata = {annotations = {seen = n}}})
        local owned = client:list("v1/Secret", {namespace = request.namespace, owner = map})
        client:patch(map, {metadata = {annotations = {owned = tostring(#owned)}}})
        perilune.event(map, "Normal", "Applied", "n is " .. n)
        perilune.memo(request).last = n
      end,
      cleanup = function() client:delete("v1/Secret", request) end})
  end)
]]

  -- Controllers of the cluster write to Deployments too, so the spec uses its own kind.
  local own_kind = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: shadowapps.shadow.spec.dev
spec:
  group: shadow.spec.dev
  scope: Namespaced
  names:
    plural: shadowapps
    singular: shadowapp
    kind: ShadowApp
    listKind: ShadowAppList
  versions:
    - name: v1
      served: true
      storage: true
      subresources:
        status: {}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              x-kubernetes-preserve-unknown-fields: true
              properties:
                replicas:
                  type: integer
                minReadySeconds:
                  type: integer
                  default: 5
                strategy:
                  type: object
                  default: {type: RollingUpdate}
                  properties:
                    type:
                      type: string
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
]]

  it("finds no difference between equal scripts that have much to do", function()
    local app = "apps/v1/Deployment"
    if e2e.is_kube then
      app = "shadow.spec.dev/v1/ShadowApp"
      server:apply_crd(own_kind)
    end
    local other_socket, other_namespace = e2e.folder() .. "/busy.sock", server:new_namespace()
    local base = "/api/v1/namespaces/" .. other_namespace .. "/configmaps"
    local text = busy:gsub("NAMESPACE", string.format("%q", other_namespace)):gsub("APP", app)
    local requests, count = {}, 150
    for i = 1, count do
      requests[i] = { "POST", base, { apiVersion = "v1", kind = "ConfigMap", data = { n = tostring(i % 7) },
        metadata = { name = "m" .. i, labels = { app = "yes" } } } }
    end
    server:bulk(requests)
    local other = e2e.start_host(server, text, { "--admin-socket", other_socket, "--lanes", "2" })
    other:logged("^started$")
    local out = e2e.folder() .. "/busy.out"
    child = e2e.process.start({ e2e.binary, "reload", "--shadow",
      e2e.write_file(e2e.folder() .. "/busy.lua", text), "--admin-socket", other_socket },
      { stdout = out, stderr = out .. ".err" })
    other:logged("^shadow began$") -- while the host handles its first objects
    for round = 1, 4 do
      requests = {}
      for i = 1, count do
        requests[i] = { "PATCH", base .. "/m" .. i, { data = { n = tostring(10 + i * round % 9) } },
          "application/merge-patch+json" }
      end
      requests[#requests + 1] = { "DELETE", base .. "/m" .. round }
      server:bulk(requests)
    end
    e2e.eventually("all is done", function()
      local _, queued = e2e.run("queue", "list", "--admin-socket", other_socket, "-o", "json")
      local done = 0
      for _, one in ipairs(server:get(base).items) do
        done = done + ((one.metadata.annotations or {}).owned == "1" and 1 or 0)
      end
      return done == count - 4 and not queued:find('"key"', 1, true), done
    end, 120)
    e2e.process.pause(2)
    child:signal("INT")
    child:wait(e2e.patience)
    -- From outside of a run it is not always known which of two changes it saw.
    local said = e2e.read_file(out)
    local different = tonumber(said:match("(%d+) of 150 keys differ"))
    assert(different and different <= 3, said .. e2e.read_file(out .. ".err"))
    other:stop()
  end)

  it("does not keep the host from stopping", function()
    local other_socket = e2e.folder() .. "/other.sock"
    local other = e2e.start_host(server, script(), { "--admin-socket", other_socket })
    e2e.eventually("it runs", function() return other:count_logged("^controller started$") == 1 end)
    local out = e2e.folder() .. "/other.out"
    child = e2e.process.start({ e2e.binary, "reload", "--shadow",
      candidate({ before = 'perilune.sleep("20s")' }), "--admin-socket", other_socket },
      { stdout = out, stderr = out .. ".err" })
    e2e.eventually("it began", function() return other:count_logged("^shadow began$") == 1 end)
    e2e.process.pause(0.3)
    other:stop()
    assert.equal(1, child:wait(e2e.patience))
    assert(e2e.read_file(out .. ".err"):find("the host", 1, true), e2e.read_file(out .. ".err"))
  end)
end)
