-- Controllers that cause endless work, alone or with another writer, are reported.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")

describe("work without end", function()
  local server, namespace, host, socket

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
    socket = e2e.folder() .. "/" .. e2e.unique("loops") .. ".sock"
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function maps(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function start(script)
    host = e2e.start_host(server, ([[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("busy"):For("v1/ConfigMap", { namespaces = { "%s" }, labels = "mine=yes" })
  :Reconcile(function(request, context)
    local map = client:get("v1/ConfigMap", request)
    if not map then return end
%s
  end)
]]):format(namespace, script), { "--admin-socket", socket })
    server:create(maps(), { apiVersion = "v1", kind = "ConfigMap", data = { count = "0", owner = "me" },
      metadata = { name = "a", labels = { mine = "yes" } } })
  end

  local function loops()
    local code, out, err = e2e.run("status", "-o", "json", "--admin-socket", socket)
    assert.equal(0, code, err)
    return cjson.decode(out).controllers[1].loops
  end

  local function event(reason)
    return e2e.eventually("an Event " .. reason, function()
      local list = server:get("/apis/events.k8s.io/v1/namespaces/" .. namespace .. "/events")
      for _, one in ipairs(list.items) do
        if one.reason == reason then
          return one
        end
      end
    end)
  end

  it("that a key makes for itself is told once", function()
    start([[
    map.data.count = tostring(tonumber(map.data.count) + 1)
    client:update(map)
    perilune.sleep("5ms")]])
    local line = host:logged("^hot loop: a key is queued by its own writes")
    assert.same({ "busy", namespace .. "/a", "data.count" }, { line.controller, line.key, line.fields })
    local said = event("HotLoop")
    assert.equal("a", said.regarding.name)
    assert.truthy(said.note:find("data.count", 1, true), said.note)
    local now = loops()[1]
    assert.same({ "hot loop", "data.count" }, { now.what, now.fields })
    local metrics = select(2, host:ask("metrics", "/metrics"))
    assert.truthy(metrics:find('perilune_hot_loops_total{controller="busy"} 1', 1, true))
    local before = tonumber(server:get(maps("a")).data.count)
    e2e.eventually("it goes on", function()
      return tonumber(server:get(maps("a")).data.count) > before + 30
    end)
    assert.equal(1, host:count_logged("^hot loop"))
    host:stop()
  end)

  it("that a key makes for itself is told, though its runs ask to be repeated later", function()
    start([[
    map.data.count = tostring(tonumber(map.data.count) + 1)
    client:update(map)
    return { requeue_after = "30s" }]])
    local line = host:logged("^hot loop: a key is queued by its own writes")
    assert.same({ namespace .. "/a", "data.count" }, { line.key, line.fields })
    host:stop()
  end)

  it("between two who want a field is told once, with their names", function()
    start([[
    if map.data.owner ~= "me" then
      client:patch(map, { data = { owner = "me" } })
    end]])
    local function other()
      server:request("PATCH", maps("a") .. "?fieldManager=rival", { data = { owner = "rival" } },
        "application/merge-patch+json")
    end
    e2e.eventually("the fight is told", function()
      other()
      e2e.eventually("it is mine again", function()
        return server:get(maps("a")).data.owner == "me"
      end)
      return host:count_logged("^fight: two writers change a field in turns$") > 0
    end)
    local line = host:logged("^fight: two writers change a field in turns$")
    assert.same({ "data.owner", "v1/ConfigMap", namespace .. "/a" },
      { line.fields, line.kind, line.object })
    assert.truthy(line.managers:find("busy", 1, true), line.managers)
    event("FieldFight")
    assert.equal("fight", loops()[1].what)
    host:stop()
  end)
end)
