-- The annotation perilune.dev/paused: the work that it stops, and the work that it does not stop.

local e2e = require("spec.support.e2e")

describe("a paused object", function()
  local server, namespace, host

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
    host = e2e.start_host(server, [[
local perilune = require("perilune")
perilune.controller("tidy")
  :For("v1/ConfigMap")
  :Reconcile(function(request)
    local map = perilune.client:get("v1/ConfigMap", request)
    if map and map.metadata.labels and map.metadata.labels.mine then
      return perilune.finalizer.handle(map, "example.com/tidy", {
        apply = function(object)
          print("applied " .. object.metadata.name .. " " .. object.data.n)
        end,
        cleanup = function(object)
          print("cleaned up " .. object.metadata.name)
        end,
      })
    end
  end)
]], { "--namespace", namespace })
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function path(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function create(name, annotations)
    server:create(path(), { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = name, labels = { mine = "yes" }, annotations = annotations },
      data = { n = "1" } })
  end

  local function patch(name, json)
    server:patch(path(name), json, "application/merge-patch+json")
  end

  it("is reconciled again when the annotation goes, with what it is by then", function()
    create("a", { ["perilune.dev/paused"] = "while I look" })
    host:logged("^paused: not reconciled")
    patch("a", '{"data":{"n":"2"}}')
    create("b")
    host:logged("^applied b 1")
    host.child:signal("USR1")
    local tidy = host:logged("^state: controller$")
    assert.are.equal(1, tidy.paused)
    host:logged(function(line)
      return line.msg == "state: wait" and line.wait == "paused"
        and line.of == "tidy " .. namespace .. "/a"
    end)
    assert.are.equal(0, host:count_logged("^applied a"))
    patch("a", '{"metadata":{"annotations":{"perilune.dev/paused":null}}}')
    host:logged("^applied a 2")
    host:stop(0)
  end)

  it("is cleaned up when it is deleted", function()
    create("a")
    host:logged("^applied a 1")
    patch("a", '{"metadata":{"annotations":{"perilune.dev/paused":""}},"data":{"n":"2"}}')
    host:logged("^paused: not reconciled")
    server:delete(path("a"))
    host:logged("^cleaned up a")
    e2e.eventually("the object is gone", function()
      return server:get(path("a")) == nil
    end)
    assert.are.equal(0, host:count_logged("^applied a 2"))
    host:stop(0)
  end)
end)
