-- WatchesKinds: a controller follows kinds that come and go while it runs.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")

local function crd(plural, kind, group)
  return ([[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: PLURAL.GROUP
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: PLURAL, singular: SINGULAR, kind: KIND}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
]]):gsub("%u%u+", { PLURAL = plural, SINGULAR = kind:lower(), KIND = kind, GROUP = group })
end

describe("kinds that are followed", function()
  local server, namespace, host, group

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
    group = namespace .. ".example.com"
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local socket = e2e.folder() .. "/" .. e2e.unique("family") .. ".sock"
  local function ask(...)
    local code, out, err = e2e.ask(socket, ...)
    assert.equal(0, code, err)
    return out
  end

  -- A pattern that matches exactly the text.
  local function plain(text)
    return (text:gsub("%p", "%%%0"))
  end

  local function path(plural, name)
    return "/apis/" .. group .. "/v1/namespaces/" .. namespace .. "/" .. plural
      .. (name and "/" .. name or "")
  end

  local function make(plural, kind, name)
    e2e.eventually(kind .. " is served", function()
      return (server:request("POST", path(plural), { apiVersion = group .. "/v1", kind = kind,
        metadata = { name = name } })) == 201
    end)
  end

  local function script(prefix)
    return ([[
local perilune = require("perilune")
perilune.controller("all", {}):WatchesKinds(function(kind)
  return kind.namespaced and kind.name ~= "Secretive"
end, function(object, event)
  perilune.log:info("PREFIX " .. event.type .. " " .. object.kind .. " " .. object.metadata.name)
  return { namespace = object.metadata.namespace, name = object.metadata.name }
end, { group = "GROUP", every = "300ms", metadata_only = true })
  :Reconcile(function(request, context)
    context.log:info("PREFIX ran " .. request.key .. " for " .. tostring(context.causes[1].kind))
  end)
]]):gsub("PREFIX", prefix):gsub("GROUP", group)
  end

  it("come with their CRDs, go with them, and come back", function()
    server:apply_crd(crd("relics", "Relic", group))
    make("relics", "Relic", "old")
    host = e2e.start_host(server, (script("saw")), { "--admin-socket", socket })
    host:logged("saw ADDED Relic old")
    host:logged("saw ran " .. plain(namespace .. "/old for " .. group .. "/v1/Relic"))
    server:apply_crd(crd("bills", "Bill", group))
    server:apply_crd(crd("secretives", "Secretive", group))
    make("secretives", "Secretive", "hidden")
    make("bills", "Bill", "new")
    host:logged("saw ADDED Bill new")
    assert.is_nil(host:text():find("saw ADDED Secretive", 1, true))
    local status = cjson.decode((ask("status", "-o", "json")))
    local kinds = {}
    for _, controller in ipairs(status.controllers) do
      for _, source in ipairs(controller.name == "all" and controller.sources or {}) do
        kinds[source.kind] = source.role
      end
    end
    assert.same({ ["*"] = "watches", [group .. "/v1/Relic"] = "watches",
      [group .. "/v1/Bill"] = "watches" }, kinds)
    server:request("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bills." .. group)
    host:logged("saw DELETED Bill new")
    host:logged(function(line)
      return line.msg == "a kind is no longer followed" and line.kind == group .. "/v1/Bill"
    end)
    e2e.eventually("the CRD is gone", function()
      return server:get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bills." .. group) == nil
    end)
    server:apply_crd(crd("bills", "Bill", group))
    make("bills", "Bill", "again")
    host:logged("saw ADDED Bill again")
    assert.equal(1, select(2, host:text():gsub("saw ADDED Relic old", "")))
    host:stop()
  end)

  it("stay across a reload, without another list", function()
    server:apply_crd(crd("relics", "Relic", group))
    make("relics", "Relic", "old")
    local folder = e2e.folder()
    local file = e2e.write_file(folder .. "/main.lua", (script("first")))
    host = e2e.start_host(server, file)
    host:logged("first ran " .. plain(namespace .. "/old"))
    e2e.write_file(file, (script("second")))
    host:logged("reloaded")
    host:logged("second ADDED Relic old") -- its code has changed, so it gets all objects again
    make("relics", "Relic", "young")
    host:logged("second ADDED Relic young")
    assert.equal(1, host:count_logged("^a kind is followed$"))
    host:stop()
  end)

  it("are asked of a function whose mistake is told, and everything stays as it was", function()
    server:apply_crd(crd("relics", "Relic", group))
    make("relics", "Relic", "old")
    host = e2e.start_host(server, ([[
local perilune = require("perilune")
local calls = 0
perilune.controller("all", {}):WatchesKinds(function(kind)
  calls = calls + 1
  if calls > 1 then error("no more of " .. kind.plural) end
  return true
end, "self", { group = "]] .. group .. [[", every = "200ms" }):Reconcile(function(request, context)
  context.log:info("ran " .. request.key)
end)
]]))
    host:logged(function(line)
      return line.msg == "task failed" and line.error:find("no more of relics", 1, true)
    end)
    make("relics", "Relic", "young")
    host:logged("ran " .. plain(namespace .. "/young"))
    host:stop()
  end)
end)
