-- The files of `perilune new`, in the order in which they are listed. new.lua replaces @NAME@ and the
-- other placeholders.

return {
  { name = "main.lua", text = [==[
-- Keeps a ConfigMap for each @KIND@ and says in its status how that went.
local perilune = require("perilune")
local client = perilune.client

local KIND = "@GROUP@/v1/@KIND@"

-- What the object asks for. Owned, so that Kubernetes deletes it with the object.
local function apply_config_map(object)
  return client:apply({
    apiVersion = "v1",
    kind = "ConfigMap",
    metadata = { name = object.metadata.name, namespace = object.metadata.namespace },
    data = { message = object.spec.message },
  }, { owner = object })
end

local function report(object, config_map)
  object.status = object.status or {}
  object.status.configMap = config_map.metadata.name
  object.status.observedGeneration = object.metadata.generation
  perilune.conditions.set(object, {
    type = "Ready",
    status = true,
    reason = "Applied",
    message = "the ConfigMap is there",
  })
  client:update_status(object)
end

@WEBHOOK@-- Called with a key when the object or its ConfigMap has changed, however often, in any order. It
-- looks at what is there now and makes it what it should be.
perilune.controller("@NAME@", { max_concurrent_reconciles = 4 })
  :For(KIND)
  :Owns("v1/ConfigMap")
  :Reconcile(function(request, context)
    local object = client:get(KIND, request)
    if not object or object.metadata.deletionTimestamp then
      return
    end
    report(object, apply_config_map(object))
    context.log:info("applied", { message = object.spec.message })
  end)
]==] },
  { name = "manifests/crd.yaml", text = [==[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: @PLURAL@.@GROUP@
spec:
  group: @GROUP@
  scope: Namespaced
  names:
    kind: @KIND@
    listKind: @KIND@List
    plural: @PLURAL@
    singular: @SINGULAR@
  versions:
    - name: v1
      served: true
      storage: true
      subresources:
        status: {}
      additionalPrinterColumns:
        - name: Message
          type: string
          jsonPath: .spec.message
        - name: Ready
          type: string
          jsonPath: .status.conditions[?(@.type=="Ready")].status
        - name: Age
          type: date
          jsonPath: .metadata.creationTimestamp
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [message]
              properties:
                message:
                  description: What the ConfigMap says.
                  type: string
                  minLength: 1
                  maxLength: 1024
            status:
              type: object
              properties:
                configMap:
                  description: The name of the ConfigMap.
                  type: string
                observedGeneration:
                  description: The generation of the object that this is about.
                  type: integer
                  format: int64
                conditions:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [type]
                  items:
                    type: object
                    required: [type, status]
                    properties:
                      type:
                        type: string
                      status:
                        type: string
                        enum: ["True", "False", "Unknown"]
                      reason:
                        type: string
                      message:
                        type: string
                      lastTransitionTime:
                        type: string
                        format: date-time
                      observedGeneration:
                        type: integer
                        format: int64
]==] },
  { name = "sample.yaml", text = [==[
apiVersion: @GROUP@/v1
kind: @KIND@
metadata:
  name: sample
  namespace: default
spec:
  message: hello, world
]==] },
  { name = "main_spec.lua", text = [==[
-- Run by `perilune test .`, on a server and a clock of its own: no cluster is needed.
local test = require("perilune.test")

local KIND = "@GROUP@/v1/@KIND@"

describe("@NAME@", function()
  local world

  before_each(function()
    world = test.world{ scripts = ".", manifests = "manifests" }
    world:apply("sample.yaml")
    world:settle()
  end)

  it("keeps a ConfigMap and reports it", function()
    assert.equal("hello, world", world:get("v1/ConfigMap", "default/sample").data.message)
    local status = world:get(KIND, "default/sample").status
    assert.equal("sample", status.configMap)
    assert.equal("Ready", status.conditions[1].type)
    assert.equal("True", status.conditions[1].status)
  end)

  it("follows a change", function()
    world:patch(KIND, "default/sample", { spec = { message = "good evening" } })
    world:settle()
    assert.equal("good evening", world:get("v1/ConfigMap", "default/sample").data.message)
    assert.equal(2, world:get(KIND, "default/sample").status.observedGeneration)
  end)

  it("puts back what somebody changed or deleted", function()
    world:patch("v1/ConfigMap", "default/sample", { data = { message = "defaced" } })
    world:settle()
    assert.equal("hello, world", world:get("v1/ConfigMap", "default/sample").data.message)
    world:delete("v1/ConfigMap", "default/sample")
    world:settle()
    assert.equal("hello, world", world:get("v1/ConfigMap", "default/sample").data.message)
  end)

@WEBHOOKSPEC@  it("leaves nothing behind", function()
    world:delete(KIND, "default/sample")
    world:settle()
    assert.is_nil(world:get("v1/ConfigMap", "default/sample"))
  end)
end)
]==] },
  { name = "README.md", text = [==[
# @NAME@

A controller for `@KIND@` (`@GROUP@/v1`), run by Perilune. Each object has a ConfigMap with its message.

    perilune dev .                            # runs it on an embedded API server; no cluster
    perilune check .                          # what it declares, or its mistakes
    perilune test .                           # its specification; needs busted (apt install lua-busted)

`perilune dev` prints a kubeconfig. In another terminal, with it:

    kubectl --kubeconfig FILE apply -f sample.yaml
    kubectl --kubeconfig FILE get @PLURAL@
    perilune why @KIND@ default/sample        # what happened to an object, and why

Save `main.lua`: the running host takes the change at once.

## On a cluster

    kubectl apply -f manifests/
    perilune run .                            # from your machine, with your rights
    perilune rbac .                           # the least roles that it needs
    perilune manifests . --image IMAGE -n NAMESPACE | kubectl apply -f -

| file | what |
|---|---|
| `main.lua` | the controller |
| `manifests/crd.yaml` | the kind: its schema, its status, what `kubectl get` prints |
| `sample.yaml` | an object to try it with |
| `main_spec.lua` | the specification |
| `types/perilune.lua`, `.luarc.json` | completion and checks in editors with lua-language-server; `perilune types .` writes the former again |
]==] },
  { name = ".luarc.json", text = [==[
{
  "runtime.version": "LuaJIT",
  "workspace.library": ["types"],
  "diagnostics.globals": ["describe", "it", "before_each", "after_each", "setup", "teardown"]
}
]==] },
}
