-- Traces go to a collector of OpenTelemetry: a span for each run and each call.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")

describe("traces", function()
  local server, namespace, host, collector

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(function()
    e2e.clean_up()
    if collector then
      collector:signal("KILL")
      collector:wait(10)
      collector = nil
    end
  end)
  teardown(e2e.finish)

  local function start_collector()
    local base = e2e.folder() .. "/" .. e2e.unique("otlp")
    collector = e2e.process.start({ "python3", "spec/support/otlp.py", base .. ".spans" },
      { stdout = base .. ".out", stderr = base .. ".err" })
    return e2e.eventually("the collector listens", function()
      return e2e.read_file(base .. ".out"):match("%d+")
    end), base .. ".spans"
  end

  local function start(port)
    host = e2e.start_host(server, ([[
local perilune = require("perilune")
perilune.controller("traced"):For("v1/ConfigMap", { namespaces = { "%s" } })
  :Reconcile(function(request)
    local map = perilune.client:get("v1/ConfigMap", request)
    if map and map.data.fail then error("it must not be") end
    if map then perilune.client:patch(map, { data = { seen = "yes" } }) end
  end)
]]):format(namespace), nil, { env = { OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:" .. port .. "/",
      OTEL_EXPORTER_OTLP_HEADERS = "x-token=a%20b", OTEL_SERVICE_NAME = "my-operator" } })
    for name, data in pairs({ good = { a = "b" }, bad = { fail = "yes" } }) do
      server:create("/api/v1/namespaces/" .. namespace .. "/configmaps", { apiVersion = "v1",
        kind = "ConfigMap", metadata = { name = name }, data = data })
    end
  end

  it("have a span a run and a call", function()
    local port, spans = start_collector()
    start(port)
    local runs, calls = {}, {}
    e2e.eventually("the spans", function()
      for line in e2e.read_file(spans):gmatch("[^\n]+") do
        local path, body = line:match("^(%S+) a b (.*)$")
        assert.equal("/v1/traces", path)
        local resource = cjson.decode(body).resourceSpans[1]
        assert.equal("my-operator", resource.resource.attributes[1].value.stringValue)
        for _, span in ipairs(resource.scopeSpans[1].spans) do
          local of = span.parentSpanId and calls or runs
          of[span.spanId] = span
        end
      end
      local good, bad, patch
      for _, span in pairs(calls) do
        patch = span.name == "patch v1/ConfigMap " .. namespace .. "/good" and span or patch
      end
      for _, span in pairs(runs) do
        local key = span.attributes[2].value.stringValue
        good = key == namespace .. "/good" and patch and patch.parentSpanId == span.spanId and span or good
        bad = key == namespace .. "/bad" and span or bad
      end
      if not (good and bad and patch) then
        return false
      end
      assert.equal("traced", good.name)
      assert.equal(good.traceId, patch.traceId)
      assert.equal(32, #good.traceId)
      assert.is_nil(good.status.code)
      assert.equal(2, bad.status.code)
      assert.truthy(bad.status.message:find("it must not be", 1, true))
      assert.truthy(tonumber(patch.startTimeUnixNano) >= tonumber(good.startTimeUnixNano) - 1e9)
      return true
    end)
    host:stop()
  end)

  it("reach the collector before a host ends that runs once", function()
    local port, spans = start_collector()
    server:create("/api/v1/namespaces/" .. namespace .. "/configmaps", { apiVersion = "v1",
      kind = "ConfigMap", metadata = { name = "only" } })
    host = e2e.start_host(server, ([[
require("perilune").controller("traced"):For("v1/ConfigMap", { namespaces = { "%s" } }):Reconcile(function() end)
]]):format(namespace), { "--once" }, { env = { OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:" .. port,
      OTEL_RESOURCE_ATTRIBUTES = "k8s.pod.name=web-0" } })
    assert.equal(0, (host.child:wait(e2e.patience)))
    local text = e2e.read_file(spans)
    assert.truthy(text:find(namespace .. "/only", 1, true))
    assert.truthy(text:find('{"key":"k8s.pod.name","value":{"stringValue":"web-0"}}', 1, true))
  end)

  it("that no collector takes are dropped, counted and told once", function()
    start(1)
    host:logged("^traces are lost: the collector did not accept them$")
    e2e.eventually("they are counted", function()
      local metrics = select(2, host:ask("metrics", "/metrics"))
      return tonumber(metrics:match("perilune_trace_spans_dropped_total (%d+)") or 0) > 0
    end)
    assert.equal(1, host:count_logged("^traces are lost"))
    host:stop()
  end)
end)
