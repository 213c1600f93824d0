-- An endless loop in one controller is ended each time, and other controllers continue. When the
-- fixed script is saved, the controller works again.

local e2e = require("spec.support.e2e")
local hostile = require("spec.support.hostile")

local script = hostile.good .. [[
perilune.controller("bad", { rate_limiter = { base = "100ms", max = "100ms" } })
  :For("v1/ConfigMap", { labels = "is=bad" })
  :Reconcile(function(request, context)
    %s
    context.log:info("tamed", { name = request.name })
  end)
]]

describe("an endless loop in one controller", function()
  local server, namespace, host

  setup(function()
    server = e2e.server()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function path(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function create(name, is)
    server:create(path(), { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = name, labels = { is = is } }, data = { want = "0" } })
  end

  -- How long each of the other keys took, one after the other, in s.
  local function measure(count)
    local times = {}
    for i = 1, count do
      local name, want, began = "good-" .. i, e2e.unique("want"), e2e.now()
      server:patch(path(name), { data = { want = want } })
      e2e.eventually("the others' work goes on", function()
        host:must_run()
        return server:get(path(name)).data.seen == want
      end)
      times[i] = e2e.now() - began
    end
    table.sort(times)
    return times
  end

  local function ended(line)
    return line.controller == "bad" and tostring(line.error):find("script CPU limit exceeded", 1, true)
  end

  it("costs the others no more than their turn on its lane, and is healed by a save", function()
    namespace = server:new_namespace()
    host = e2e.start_host(server, script:format("while true do end"), { "--namespace", namespace,
      "--lanes", "2", "--reconcile-cpu-limit", "200ms" })
    for i = 1, 10 do
      create("good-" .. i, "good")
    end
    local before = measure(10)
    create("bad", "bad")
    local line = host:logged(ended)
    assert.matches("%.lua:13: script CPU limit exceeded", line.error)
    local beside = measure(10)
    assert.equal(0, host:metrics():value("perilune_lane_stuck"))
    assert.equal(200, (host:ask("health", "/healthz/lanes")))
    local saved = e2e.now()
    e2e.write_file(host.log_file:gsub("%.log$", ".lua"), script:format("local fixed = true"))
    host:logged(function(l) return l.msg == "tamed" and l.name == "bad" end)
    print(("# others before: median %.0f ms, latest %.0f; beside the loop: %.0f, %.0f; healed %.0f ms after the save")
      :format(before[5] * 1000, before[10] * 1000, beside[5] * 1000, beside[10] * 1000, (e2e.now() - saved) * 1000))
    measure(10)
    host:stop()
  end)

  it("that can't be ended keeps the objects that it has, and the host stops all the same", function()
    namespace = server:new_namespace()
    host = e2e.start_host(server, script:format([[local object = perilune.client:get("v1/ConfigMap", request)
    while object.data.want do ]] .. hostile.pattern_bomb .. " end"), { "--namespace", namespace,
      "--reconcile-cpu-limit", "200ms" })
    create("bad", "bad")
    host:logged("a script can't be interrupted; its lane is replaced")
    host:stop()
  end)
end)
