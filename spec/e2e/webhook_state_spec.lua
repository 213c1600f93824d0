-- Webhooks that are not as the scripts say: registrations that the API server refuses.

local e2e = require("spec.support.e2e")

local CONFIGS = "/apis/admissionregistration.k8s.io/v1/"

local function free_port()
  local pipe = io.popen("python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); "
    .. "print(s.getsockname()[1])'")
  local port = tonumber(pipe:read("*a"))
  pipe:close()
  return port
end

describe("webhooks", function()
  local server, name, port, socket

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    name, port = e2e.unique("state"), free_port()
    socket = e2e.folder() .. "/" .. name .. ".sock"
  end)
  after_each(function()
    e2e.clean_up()
    for _, kind in ipairs({ "validatingwebhookconfigurations/", "mutatingwebhookconfigurations/" }) do
      server:delete(CONFIGS .. kind .. name)
    end
  end)
  teardown(e2e.finish)

  local function config(kind)
    return server:get(CONFIGS .. kind .. "webhookconfigurations/" .. name)
  end

  local function start(script, ...)
    return e2e.start_host(server, script, { "--webhook-bind-address", "127.0.0.1:" .. port, "--webhook-url",
      "https://127.0.0.1:" .. port, "--leader-elect-resource-name", name, "--admin-socket", socket, ... })
  end

  it("that the API server refuses are told by status, until it takes them", function()
    local file = e2e.folder() .. "/" .. name .. ".lua"
    local function write(expression)
      e2e.write_file(file, ([[local perilune = require("perilune")
perilune.webhook.validate("v1/ConfigMap", function() end, { object_selector = "never==%s",
  match_conditions = {{ name = "a", expression = "%s" }} })
]]):format(name, expression))
    end
    local function status()
      local _, out = e2e.ask(socket, "status")
      return out
    end
    write("object.")
    local host = start(file)
    e2e.eventually("it is told", function()
      host:must_run()
      local line = status():match("\n +not registered: ([^\n]*)\n") or ""
      return line:find("ValidatingWebhookConfiguration " .. name .. ": ", 1, true) == 1
        and line:find("compilation failed", 1, true), status()
    end)
    assert.is_nil(config("validating"))
    write("true")
    e2e.eventually("it is registered", function()
      host:must_run()
      return config("validating")
    end)
    e2e.eventually("it is not told any more", function()
      return not status():find("not registered", 1, true)
    end)
    host:stop(0)
  end)
end)
