-- Webhooks that are not as the scripts say: registrations that the API server refuses, and those that
-- an earlier process has left, and handlers that can't read what they declare,
-- and Secrets of others.

local e2e = require("spec.support.e2e")
local held_ports = require("spec.support.held_ports")

local CONFIGS = "/apis/admissionregistration.k8s.io/v1/"
local CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

local group = e2e.unique("g") .. ".example.com"
local crd = { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
  metadata = { name = "geese." .. group },
  spec = { group = group, scope = "Namespaced", names = { plural = "geese", kind = "Goose" },
    versions = { { name = "v1", served = true, storage = true, schema = {
      openAPIV3Schema = { type = "object" } } } } } }

describe("webhooks", function()
  local server, name, port, socket

  setup(function()
    server = e2e.server()
    server:create(CRDS, crd)
  end)
  before_each(function()
    name, port = e2e.unique("state"), held_ports.port()
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

  it("of kinds that are not there are told by status until they are", function()
    local script = ([[local perilune = require("perilune")
perilune.webhook.validate("GROUP/v1/Duck", function() end)
perilune.webhook.convert("GROUP/Duck", function(object) return object end)
]]):gsub("GROUP", group)
    local host = start(script)
    local function told()
      local _, out = e2e.ask(socket, "status")
      return out:match("\n +not registered: ([^\n]*)\n"), out
    end
    e2e.eventually("both are told", function()
      local line, out = told()
      return line and line:find("validate.duck." .. group .. ": the server does not serve", 1, true)
        and line:find("convert.duck." .. group .. ": there is no CRD of this kind", 1, true), out
    end)
    server:create(CRDS, { apiVersion = crd.apiVersion, kind = crd.kind, metadata = { name = "ducks." .. group },
      spec = { group = group, scope = "Namespaced", names = { plural = "ducks", kind = "Duck" },
        versions = crd.spec.versions } })
    e2e.eventually("both are registered, and nothing is told", function()
      local line, out = told()
      return line == nil and config("validating")
        and server:get(CRDS .. "/ducks." .. group).spec.conversion.strategy == "Webhook", out
    end)
    host:stop(0)
  end)

  it("that an earlier process left go when the scripts of the next one have none of them", function()
    local all = ([[local perilune = require("perilune")
perilune.webhook.validate("v1/ConfigMap", function() end, { object_selector = "never=NAME" })
perilune.webhook.mutate("v1/ConfigMap", function() end, { object_selector = "never=NAME" })
perilune.webhook.convert("GROUP/Goose", function(object) return object end)
]]):gsub("NAME", name):gsub("GROUP", group)
    local one = all:gsub("perilune%.webhook%.%w-ate%b()\n", "", 1):gsub("perilune%.webhook%.convert%b()\n", "")
    local none = 'local perilune = require("perilune")\nperilune.every("1h", { name = "idle" }, function() end)\n'
    local function strategy()
      return server:get(CRDS .. "/geese." .. group).spec.conversion.strategy
    end
    local function leave(script, validating, mutating, conversion)
      local host = start(script, "--webhook-keep")
      e2e.eventually("everything is as declared", function()
        host:must_run()
        return (config("validating") ~= nil) == validating and (config("mutating") ~= nil) == mutating
          and strategy() == conversion
      end)
      host:stop(0)
    end
    server:create(CONFIGS .. "validatingwebhookconfigurations", { metadata = { name = name .. "-foreign" },
      apiVersion = "admissionregistration.k8s.io/v1", kind = "ValidatingWebhookConfiguration" })
    leave(all, true, true, "Webhook")
    leave(one, false, true, "None")
    leave(all, true, true, "Webhook")
    leave(none, false, false, "None")
    assert.truthy(server:get(CONFIGS .. "validatingwebhookconfigurations/" .. name .. "-foreign"))
    server:delete(CONFIGS .. "validatingwebhookconfigurations/" .. name .. "-foreign")
  end)

  it("are not ready while a kind that one of them reads can't be listed", function()
    local script = ([[local perilune = require("perilune")
perilune.webhook.validate({"v1/ConfigMap", "v1/Secret"}, function() end, { reads = { "GROUP/v1/Swan" },
  object_selector = "never=NAME" })
perilune.webhook.validate("v1/Pod", function() end, { object_selector = "never=NAME" })
]]):gsub("GROUP", group):gsub("NAME", name)
    local host = start(script)
    local function readyz()
      return host:ask("health", "/readyz?verbose")
    end
    e2e.eventually("it is told", function()
      local status, body = readyz()
      local line = body:match("\n(%[%-%]webhook [^\n]*)\n") or ""
      return status == 500 and line:find("validate.configmap.core: source " .. group .. "/v1/Swan: the server does "
        .. "not serve", 1, true), body
    end)
    assert.equal(200, (host:ask("health", "/healthz")))
    local _, status = e2e.ask(socket, "status")
    local source = status:match("\n(" .. group:gsub("%-", "%%-") .. "/v1/Swan [^\n]*)\n") or status
    assert.matches("syncing", source)
    local swan = { apiVersion = crd.apiVersion, kind = crd.kind, metadata = { name = "swans." .. group },
      spec = { group = group, scope = "Namespaced", names = { plural = "swans", kind = "Swan" },
        versions = crd.spec.versions } }
    server:create(CRDS, swan)
    e2e.eventually("it is ready", function()
      local code, body = readyz()
      return code == 200 and body:find("[+]webhook ok", 1, true), body
    end)
    host:stop(0)
  end)

  it("keep the CA that is registered while their folder has one that is broken", function()
    local folder = e2e.folder() .. "/" .. name .. "-certs"
    local made = os.execute(("mkdir %s && cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
      .. "-nodes -days 2 -subj /CN=a -addext subjectAltName=IP:127.0.0.1 -keyout tls.key -out tls.crt 2>/dev/null "
      .. "&& cp tls.crt ca.crt"):format(folder, folder))
    assert(made == true or made == 0)
    local good = e2e.read_file(folder .. "/ca.crt")
    local script = ([[local perilune = require("perilune")
perilune.webhook.validate("v1/ConfigMap", function() end, { object_selector = "never=%s" })
]]):format(name)
    local host = start(script, "--webhook-cert-dir", folder)
    local bundle = e2e.eventually("it is registered", function()
      host:must_run()
      local found = config("validating")
      return found and found.webhooks[1].clientConfig.caBundle
    end)
    e2e.write_file(folder .. "/ca.crt", good:sub(1, 100))
    host:logged("can't be used")
    assert.equal(bundle, config("validating").webhooks[1].clientConfig.caBundle)
    e2e.write_file(folder .. "/ca.crt", good .. good)
    e2e.eventually("the CA that is in order is registered", function()
      return config("validating").webhooks[1].clientConfig.caBundle ~= bundle
    end)
    host:stop(0)
    e2e.write_file(folder .. "/ca.crt", "nonsense")
    host = start(script, "--webhook-cert-dir", folder)
    assert.equal(1, (host.child:wait(e2e.patience)))
    assert.matches("ca.crt", host:text())
  end)

  it("do not take a Secret of somebody else, and keep the other keys of their own", function()
    local secrets = "/api/v1/namespaces/" .. server:new_namespace() .. "/secrets"
    local namespace = secrets:match("namespaces/([^/]+)")
    server:create(secrets, { apiVersion = "v1", kind = "Secret", metadata = { name = "certs" },
      data = { password = "MQ==" } })
    local script = ('local perilune = require("perilune")\nperilune.webhook.validate("v1/ConfigMap", function() end, '
      .. '{ object_selector = "never=%s" })\n'):format(name)
    local host = start(script, "--webhook-secret", namespace .. "/certs")
    host:logged("belongs to somebody else and is not changed")
    local status, body = host:ask("health", "/readyz")
    assert.equal(500, status)
    assert.matches("belongs to somebody else", body)
    assert.is_nil(config("validating"))
    assert.same({ password = "MQ==" }, server:get(secrets .. "/certs").data)
    server:delete(secrets .. "/certs")
    e2e.eventually("it is made and used", function()
      return config("validating") and server:get(secrets .. "/certs").data["ca.key"]
    end)
    server:patch(secrets .. "/certs", { data = { ["tls.key"] = "bm9uc2Vuc2U=", password = "MQ==" } })
    e2e.eventually("it is made anew", function()
      return server:get(secrets .. "/certs").data["tls.key"] ~= "bm9uc2Vuc2U="
    end)
    assert.equal("MQ==", server:get(secrets .. "/certs").data.password)
    host:stop(0)
  end)
end)
