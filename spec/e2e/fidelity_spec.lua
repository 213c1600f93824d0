-- Documents keep their meaning when they are read, changed in one field and written.

local e2e = require("spec.support.e2e")

local crd = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.fidelity.example.com
spec:
  group: fidelity.example.com
  scope: Namespaced
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          x-kubernetes-preserve-unknown-fields: true
]]

local script = [[
local perilune = require("perilune")
perilune.controller("fidelity")
  :For("fidelity.example.com/v1/Thing")
  :Reconcile(function(request, context)
    local thing = perilune.client:get("fidelity.example.com/v1/Thing", request)
    if thing and not thing.touched then
      -- Reading on the way must change nothing either.
      local _ = thing.spec.affinity, thing.spec.list, thing.spec.deep.more[1], thing.spec.big
      thing.touched = true
      perilune.client:update(thing)
    end
  end)
]]

describe("a document that a script reads, changes and writes", function()
  local server, namespace, host

  setup(function()
    server = e2e.server()
    server:apply_crd(crd)
    namespace = server:new_namespace()
    host = e2e.start_host(server, script)
  end)
  teardown(function()
    host:stop()
    e2e.finish()
  end)

  local function round_trip(name, spec)
    local path = "/apis/fidelity.example.com/v1/namespaces/" .. namespace .. "/things"
    server:create(path, ('{"apiVersion":"fidelity.example.com/v1","kind":"Thing","metadata":{"name":"%s"},"spec":%s}')
      :format(name, spec))
    return e2e.eventually("the controller has written " .. name, function()
      local _, object, text = server:request("GET", path .. "/" .. name .. "?pretty=false")
      return type(object) == "table" and object.touched and text
    end)
  end

  local function assert_contains(text, part)
    assert(text:find(part, 1, true), ("%s is not in %s"):format(part, text))
  end

  it("keeps {}, [], null and integers beyond 2^53", function()
    local text = round_trip("plain", [[{"affinity":{},"list":[],"nothing":null,"big":9007199254740993,
      "low":-9223372036854775808,"deep":{"more":[{},[],null,9007199254740993,{"a":[]}]},
      "text":"\u00e9\n\"\\","n":1.5}]])
    assert_contains(text, '"affinity":{}')
    assert_contains(text, '"list":[]')
    assert_contains(text, '"nothing":null')
    assert_contains(text, '"big":9007199254740993')
    assert_contains(text, '"low":-9223372036854775808')
    assert_contains(text, '"more":[{},[],null,9007199254740993,{"a":[]}]')
    assert_contains(text, '"n":1.5')
  end)

  -- kube-apiserver itself rounds what neither int64 nor double holds.
  if not e2e.is_kube then
    it("keeps every digit of a 40-digit number", function()
      local digits = "1234567890123456789012345678901234567890"
      local text = round_trip("digits",
        ('{"deep":{"more":[1]},"long":%s,"fraction":0.%s}'):format(digits, digits))
      assert_contains(text, '"long":' .. digits)
      assert_contains(text, '"fraction":0.' .. digits)
    end)
  end
end)
