-- perilune.waiting: an unfinished reconcile or cleanup names what it waits for; events wake it.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")

local script = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("jobs")
  :For("v1/ConfigMap", {labels = "job=yes"})
  :Owns("v1/Secret")
  :Reconcile(function(request)
    local job = client:get("v1/ConfigMap", request)
    return perilune.finalizer.handle(job, "example.com/jobs", {
      apply = function(object)
        local secret = client:get("v1/Secret", object)
        if not secret then
          return perilune.waiting("there is no Secret " .. perilune.key(object))
        end
        print("ready")
      end,
      cleanup = function(object)
        if client:get("v1/Secret", object) then
          return perilune.waiting("the Secret is still there")
        end
        print("cleaned up")
      end,
    })
  end)
]]

describe("a key whose script waits", function()
  local server, namespace, host, socket

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
    socket = e2e.folder() .. "/" .. e2e.unique("waiting") .. ".sock"
    host = e2e.start_host(server, script, { "--namespace", namespace, "--admin-socket", socket })
    host:logged("^controller started$") -- the socket is there, too
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function path(plural, name)
    return e2e.core_path(namespace, plural, name)
  end

  local function ask(...)
    local code, out, err = e2e.ask(socket, ...)
    assert.equal(0, code, err)
    return out
  end

  local function until_it_waits(reason)
    return e2e.eventually("it waits: " .. reason, function()
      local key = cjson.decode(ask("why", "v1/ConfigMap", namespace .. "/a", "-o", "json")).keys[1]
      return key.waits_for and key.waits_for:find("^for an event, for [%d.]+ s: ")
        and key.waits_for:find(reason, 1, true) and key
    end)
  end

  it("is shown, keeps its finalizer, and goes on with an event", function()
    local job = server:create(path("configmaps"), { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "a", labels = { job = "yes" } } })
    local key = until_it_waits("there is no Secret " .. namespace .. "/a")
    assert.equal("ended", key.history[#key.history].what)
    assert(key.history[#key.history].detail:find("^waiting: there is no Secret"))
    local line = ask("status"):match("  (waiting of jobs [^\n]+)")
    assert(line:find(namespace .. "/a for ", 1, true) and line:find("s, there is no Secret ", 1, true), line)
    local status = cjson.decode(ask("status", "-o", "json")).controllers[1]
    assert.same({ 1, 0, 0 }, { status.waiting, status.delayed, status.failing })

    server:create(path("secrets"), { apiVersion = "v1", kind = "Secret", metadata = { name = "a",
      ownerReferences = { { apiVersion = "v1", kind = "ConfigMap", name = "a", controller = true,
        uid = job.metadata.uid } } } })
    host:logged("^ready")
    e2e.eventually("it waits no more", function()
      return cjson.decode(ask("status", "-o", "json")).controllers[1].waiting == 0
    end)

    server:delete(path("configmaps", "a"))
    until_it_waits("the Secret is still there")
    assert.same({ "example.com/jobs" }, server:get(path("configmaps", "a")).metadata.finalizers)
    server:delete(path("secrets", "a"))
    host:logged("^cleaned up")
    e2e.eventually("the object is gone", function()
      return server:get(path("configmaps", "a")) == nil
    end)
    host:stop(0)
  end)
end)
