-- Names in documents exist: commands and flags in --help, metrics of the dashboard on /metrics.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")

local DOCUMENTS = { "README.md", "host/cli/README.md", "examples/README.md", "examples/coming-from.md",
  "host/cli/perilune.1" }

-- Flags of other programs (kubectl, cmake, scripts/), and flags that are documented as missing.
local OTHERS = { ["server-side"] = true, install = true, raw = true, kubeconfig = true, minutes = true,
  as = true, list = true, seed = true, kube = true, check = true, test = true, now = true, hard = true }

describe("the documents", function()
  local commands, flags, host = {}, { help = true, version = true }, nil

  setup(function()
    local _, help = e2e.run("--help")
    for name in help:gmatch("\n  (%l+) +%l") do
      commands[name] = true
      local _, of = e2e.run(name, "--help")
      for flag in of:gmatch("%-%-([%l%d][%l%d-]*)") do
        flags[flag] = true
        flags["no-" .. flag] = true
      end
    end
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  it("name no flag that no command has", function()
    local unknown = {}
    for _, path in ipairs(DOCUMENTS) do
      local text = e2e.read_file(path):gsub("\\%-", "-")
      for flag in text:gmatch("%f[%-%w]%-%-([%l][%l%d-]*)") do
        unknown[#unknown + 1] = not (flags[flag] or OTHERS[flag]) and path .. ": --" .. flag or nil
      end
    end
    assert.same({}, unknown)
  end)

  it("compare frameworks by a script that does what they say", function()
    local text = e2e.read_file("examples/coming-from.md"):match("```lua\n(.-)```")
    local server = e2e.server()
    local namespace = server:new_namespace()
    host = e2e.start_host(server, text)
    server:patch("/api/v1/namespaces/" .. namespace, { metadata = { labels = { ["example.com/tier"] = "small" } } })
    e2e.eventually("the quota is there", function()
      local quota = server:get("/api/v1/namespaces/" .. namespace .. "/resourcequotas/tier")
      return quota and quota.spec.hard.pods == "10" and quota.metadata.ownerReferences[1].kind == "Namespace"
    end)
    host:stop()
  end)

  it("name every command, and no other", function()
    local table_of = e2e.read_file("host/cli/README.md")
    local page = e2e.read_file("host/cli/perilune.1")
    for name in pairs(commands) do
      assert(table_of:find("perilune " .. name, 1, true) or table_of:find("`" .. name .. "`", 1, true), name)
      assert(page:find("\n.B " .. name .. "\n", 1, true), name)
    end
    for _, path in ipairs({ "README.md", "host/cli/README.md", "examples/README.md" }) do
      for name in e2e.read_file(path):gmatch("build/perilune (%l+)") do
        assert(commands[name], path .. ": perilune " .. name)
      end
    end
  end)

  it("show metrics in the dashboard that a host has", function()
    host = e2e.start_host(e2e.server(), [[
require("perilune").controller("c"):For("v1/Namespace"):Reconcile(function() end)
]])
    host:logged("^controller started$")
    local text
    e2e.eventually("a reconcile was counted", function()
      text = select(2, host:ask("metrics", "/metrics"))
      return text:find("controller_runtime_reconcile_total{", 1, true)
    end)
    local dashboard = cjson.decode(e2e.read_file("examples/grafana.json"))
    local count = 0
    for _, panel in ipairs(dashboard.panels) do
      for _, target in ipairs(panel.targets) do
        for name in target.expr:gmatch("%f[%w_]([%l]+_[%l_]+)%f[^%w_]") do
          if not name:find("^histogram_quantile$") then
            count = count + 1
            assert(text:find("# TYPE " .. name:gsub("_bucket$", "") .. " ", 1, true), name)
          end
        end
      end
    end
    assert.is_true(count >= 10)
    host:stop()
  end)
end)
