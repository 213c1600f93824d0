-- Metrics of scripts: series are removed explicitly, or with their object.

local e2e = require("spec.support.e2e")

local script = [[
local perilune = require("perilune")
local client = perilune.client
local size = perilune.metrics.gauge("map_size", "Keys of a ConfigMap.", {"namespace", "name"}, {per_object = true})
local runs = perilune.metrics.counter("map_runs_total", "Runs.", {"key", "result"}, {per_object = true})
local all = perilune.metrics.gauge("map_seen", "Seen.", {"name"})
local stranger = perilune.metrics.gauge("map_stranger", "Of others.", {"name"}, {per_object = true})
perilune.controller("maps")
  :For("v1/ConfigMap", {labels = "measure=yes", predicates = {perilune.predicate.funcs{delete = HEARS}}})
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    local count = 0
    for _ in pairs(map and map.data or {}) do count = count + 1 end
    size:set(count, {namespace = request.namespace, name = request.name})
    runs:inc({key = request.key, result = map and "there" or "gone"})
    all:set(1, {name = request.name})
    stranger:set(1, {name = "somebody"})
    if map and map.data and map.data.quiet then
      size:remove({namespace = request.namespace, name = request.name})
    end
  end)
]]

describe("series of a script's metrics", function()
  local server, namespace

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function path(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function create(name, data)
    server:create(path(), { apiVersion = "v1", kind = "ConfigMap", data = data,
      metadata = { name = name, labels = { measure = "yes" } } })
  end

  for _, case in ipairs({ { "that a run sees", "true" }, { "that a predicate hides", "false" } }) do
    it("go with their For object, by an end " .. case[1], function()
      local host = e2e.start_host(server, (script
        :gsub("HEARS", "function() return " .. case[2] .. " end")), { "--namespace", namespace })
      local function value(name, labels)
        return host:metrics():value(name, labels)
      end
      local labels = { namespace = namespace, name = "a" }
      create("a", { x = "1", y = "2" })
      create("b", { x = "1" })
      e2e.eventually("both are measured", function()
        return value("map_size", labels) == 2
          and value("map_size", { namespace = namespace, name = "b" }) == 1
      end)
      server:delete(path("a"))
      e2e.eventually("those of a are gone", function()
        return value("map_size", labels) == nil and
          value("map_runs_total", { key = namespace .. "/a", result = "there" }) == nil
      end)
      assert.is_nil(value("map_runs_total", { key = namespace .. "/a", result = "gone" }))
      assert.equal(1, value("map_seen", { name = "a" }))
      assert.equal(1, value("map_stranger", { name = "somebody" }))
      assert.equal(1, value("map_size", { namespace = namespace, name = "b" }))
      server:patch(path("b"), { data = { quiet = "yes" } })
      e2e.eventually("that of b is removed", function()
        return value("map_size", { namespace = namespace, name = "b" }) == nil
      end)
      host:stop(0)
    end)
  end
end)
