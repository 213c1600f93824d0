-- Events that scripts create, as users see them on the server.

local e2e = require("spec.support.e2e")

describe("perilune.event", function()
  local server, namespace, host

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function start(script, flags)
    local all = { "--namespace", namespace }
    for _, flag in ipairs(flags or {}) do
      all[#all + 1] = flag
    end
    host = e2e.start_host(server, 'local perilune = require("perilune")\n' .. script, all)
  end

  local function config_map(name, data)
    return server:create("/api/v1/namespaces/" .. namespace .. "/configmaps",
      { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name }, data = data })
  end

  -- By reason.
  local function events()
    local list = server:get("/apis/events.k8s.io/v1/namespaces/" .. namespace .. "/events")
    local out, count = {}, 0
    for _, event in ipairs(list.items) do
      if event.reportingController == "reporter" then
        out[event.reason], count = event, count + 1
      end
    end
    return out, count
  end

  local script = [[
perilune.controller("reporter")
  :For("v1/ConfigMap")
  :Reconcile(function(request)
    local map = perilune.client:get("v1/ConfigMap", request)
    if not map or not map.data then
      return
    end
    for i = 1, tonumber(map.data.times) do
      perilune.event(map, "Warning", "Broken", "it is broken")
    end
    perilune.event(map, "Normal", "Seen", "data has changed: \"" .. map.data.times .. "\"")
  end)
]]

  it("writes Events that say what happened to the object", function()
    start(script)
    local map = config_map("a", { times = "1" })
    e2e.eventually("two Events", function()
      return select(2, events()) == 2
    end)
    local event = events().Broken
    assert.are.equal("Warning", event.type)
    assert.are.equal("it is broken", event.note)
    assert.are.equal("Reconcile", event.action)
    assert.are.equal(1, #event.reportingInstance:gsub("[^\n]+", "x"))
    assert.is_truthy(event.eventTime:match("^%d+%-%d+%-%d+T%d+:%d+:%d+%.%d+Z$"))
    assert.are.same({ apiVersion = "v1", kind = "ConfigMap", namespace = namespace, name = "a",
      uid = map.metadata.uid, resourceVersion = map.metadata.resourceVersion }, event.regarding)
    assert.are.equal('data has changed: "1"', events().Seen.note)
    assert.are.equal("Normal", events().Seen.type)
    -- The same through the core API, as kubectl describe asks.
    local core = server:get("/api/v1/namespaces/" .. namespace .. "/events/" ..
      event.metadata.name)
    assert.are.equal("it is broken", core.message)
    assert.are.equal("a", core.involvedObject.name)
    host:stop(0)
  end)

  it("counts the same in a series, at the latest when the host stops", function()
    start(script)
    config_map("a", { times = "10000" })
    e2e.eventually("the Events", function()
      return select(2, events()) == 2
    end)
    host:stop(0)
    local all, count = events()
    assert.are.equal(2, count)
    assert.are.equal(10000, all.Broken.series.count)
    assert.is_nil(all.Seen.series)
  end)

  it("drops what is too much for one object and reason, and says so", function()
    local socket = e2e.folder() .. "/" .. e2e.unique("events") .. ".sock"
    start([[
perilune.controller("reporter")
  :For("v1/ConfigMap", { labels = "loud=yes" })
  :Reconcile(function(request)
    local map = perilune.client:get("v1/ConfigMap", request)
    for i = 1, 30 do
      perilune.event(map, "Normal", "Progress", i .. " of 30")
    end
    perilune.event(map, "Normal", "Done", "30 of 30")
  end)
]], { "--admin-socket", socket })
    server:create("/api/v1/namespaces/" .. namespace .. "/configmaps",
      { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = "a", labels = { loud = "yes" } } })
    e2e.eventually("the last Event", function()
      return events().Done
    end)
    local code, out = e2e.run("status", "--admin-socket", socket)
    assert.are.equal(0, code)
    assert.is_truthy(out:find("20 dropped", 1, true), out)
    host:stop(0)
  end)

  it("reports about cluster-scoped objects in default", function()
    start([[
perilune.controller("reporter")
  :For("v1/Namespace", { fields = "metadata.name=]] .. namespace .. [[" })
  :Reconcile(function(request)
    local object = perilune.client:get("v1/Namespace", request)
    perilune.event(object, "Normal", "Greeted", "hello, " .. object.metadata.name)
  end)
]])
    e2e.eventually("the Event", function()
      local list = server:get("/apis/events.k8s.io/v1/namespaces/default/events")
      for _, event in ipairs(list.items) do
        if event.note == "hello, " .. namespace then
          return event.regarding.namespace == nil and event.regarding.name == namespace
        end
      end
    end)
    host:stop(0)
  end)

  it("says of its pod what keeps a source from syncing, once", function()
    host = e2e.start_host(server, [[
local perilune = require("perilune")
perilune.controller("lost"):For("example.com/v1/Missing"):Reconcile(function() end)
]], {}, { env = { KUBERNETES_SERVICE_HOST = "x", POD_NAMESPACE = namespace, POD_NAME = "me" } })
    local list
    e2e.eventually("the Event", function()
      list = server:get("/apis/events.k8s.io/v1/namespaces/" .. namespace .. "/events")
      return #list.items > 0
    end)
    local event = list.items[1]
    assert.are.equal("SourceNotSynced", event.reason)
    assert.are.equal("me", event.regarding.name)
    assert.is_truthy(event.note:find("cannot watch example.com/v1/Missing: ", 1, true), event.note)
    host:stop(0)
    list = server:get("/apis/events.k8s.io/v1/namespaces/" .. namespace .. "/events")
    assert.are.equal(1, #list.items)
    assert.is_nil(list.items[1].series)
  end)

  it("says of its pod what became of new scripts", function()
    local function source(text)
      return 'local perilune = require("perilune")\n' .. text
        .. 'perilune.controller("c"):For("v1/ConfigMap"):Reconcile(function() end)\n'
    end
    local file = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("said") .. ".lua", source(""))
    host = e2e.start_host(server, file, { "--namespace", namespace },
      { env = { KUBERNETES_SERVICE_HOST = "x", POD_NAMESPACE = namespace, POD_NAME = "me" } })
    host:logged("^controller started")
    e2e.write_file(file, source("this is no Lua\n"))
    host:logged("^reload refused")
    e2e.write_file(file, source("-- it is\n"))
    host:logged("^reloaded")
    local by_reason
    e2e.eventually("two Events", function()
      by_reason = {}
      local list = server:get("/apis/events.k8s.io/v1/namespaces/" .. namespace .. "/events")
      for _, event in ipairs(list.items) do
        by_reason[event.reason] = event
      end
      return by_reason.ReloadRefused and by_reason.Reloaded
    end)
    assert.are.equal("Warning", by_reason.ReloadRefused.type)
    assert.is_truthy(by_reason.ReloadRefused.note:find(":2:", 1, true),
      by_reason.ReloadRefused.note)
    assert.are.equal("the new scripts run: c", by_reason.Reloaded.note)
    host:stop(0)
  end)

  it("writes none in a dry run", function()
    start(script, { "--dry-run" })
    config_map("a", { times = "1" })
    host:logged(function(line)
      return line.msg == "dry run: Event" and line.reason == "Broken"
    end)
    host:stop(0)
    assert.are.equal(0, select(2, events()))
  end)
end)
