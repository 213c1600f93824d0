-- Objects as an API server reads them after a mutating webhook has patched them: values of another
-- type, unknown fields, another kind or place. The webhooks are a separate program
-- (spec/support/hooks.py), so this compares the embedded server with kube-apiserver.

local e2e = require("spec.support.e2e")
local cjson = require("cjson")
local webhooks = require("spec.support.webhooks")

local CONFIGS = "/apis/admissionregistration.k8s.io/v1/"
local CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

describe("an object that a webhook has patched", function()
  local server, namespace, program, url, ca, folder, group
  local made = {}

  local function add(path, value)
    return { op = "add", path = path, value = value }
  end

  local function remove(path)
    return { op = "remove", path = path }
  end

  local function hex(value)
    return (cjson.encode(value):gsub(".", function(c)
      return ("%02x"):format(c:byte())
    end))
  end

  -- A configuration with one webhook, for objects with the label hooks=NAME. The webhook's path is
  -- words of hooks.py.
  local function configure(name, path, sort, changes)
    local webhook = { name = name .. ".example.com", sideEffects = "None", admissionReviewVersions = { "v1" },
      clientConfig = { url = url .. path, caBundle = ca },
      namespaceSelector = { matchLabels = { ["kubernetes.io/metadata.name"] = namespace } },
      objectSelector = { matchLabels = { hooks = name } },
      rules = { { apiGroups = { "", "apps", group }, apiVersions = { "*" }, operations = { "CREATE", "UPDATE" },
        resources = { "configmaps", "deployments", "things", "things/status" } } } }
    for field, value in pairs(changes or {}) do
      webhook[field] = value
    end
    local where = CONFIGS .. (sort or "mutating") .. "webhookconfigurations"
    server:create(where, { apiVersion = "admissionregistration.k8s.io/v1", metadata = { name = name },
      kind = sort == "validating" and "ValidatingWebhookConfiguration" or "MutatingWebhookConfiguration",
      webhooks = { webhook } })
    made[#made + 1] = where .. "/" .. name
  end

  local KINDS = {
    ConfigMap = { "/api/v1", "configmaps", "v1", { data = { a = "1" } } },
    Deployment = { "/apis/apps/v1", "deployments", "apps/v1", { spec = { replicas = 0,
      selector = { matchLabels = { a = "b" } }, template = { metadata = { labels = { a = "b" } },
        spec = { containers = { { name = "c", image = "i" } } } } } } },
  }

  local function path_of(kind, name)
    return ("%s/namespaces/%s/%s%s"):format(KINDS[kind][1], namespace, KINDS[kind][2], name and "/" .. name or "")
  end

  local function object_of(kind, name, label)
    local object = { apiVersion = KINDS[kind][3], kind = kind, metadata = { name = name, labels = { hooks = label } } }
    for field, value in pairs(KINDS[kind][4]) do
      object[field] = value
    end
    return object
  end

  setup(function()
    server = e2e.server()
    namespace = server:new_namespace()
    group = namespace .. ".example.com"
    KINDS.Thing = { "/apis/" .. group .. "/v1", "things", group .. "/v1", { spec = { size = 1 } } }
    local schema = { openAPIV3Schema = { type = "object", properties = {
      spec = { type = "object", properties = { size = { type = "integer" },
        more = { type = "integer", default = 3 } } },
      status = { type = "object", ["x-kubernetes-preserve-unknown-fields"] = true } } } }
    server:create(CRDS, { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
      metadata = { name = "things." .. group }, spec = { group = group, scope = "Namespaced",
        names = { plural = "things", kind = "Thing" }, versions = {
          { name = "v1", served = true, storage = true, schema = schema, subresources = { status = {} } },
          { name = "v2", served = true, storage = false, schema = schema } } } })
    e2e.eventually("the kind is served", function()
      return server:request("GET", path_of("Thing")) == 200
    end)
    program = webhooks.program(namespace)
    folder, url, ca = program.folder, program.url, program.ca
  end)
  after_each(function()
    for _, path in ipairs(made) do
      server:delete(path)
    end
    made = {}
  end)
  teardown(function()
    program.stop()
    server:delete(CRDS .. "/things." .. group)
    e2e.finish()
  end)

  local function was_called(name)
    return e2e.read_file(folder .. "/reviews"):find('"name": "' .. name .. '"', 1, true) ~= nil
  end

  -- Sends the request again and again until its object reaches the webhook, since kube-apiserver
  -- notices a configuration a moment later. Returns what the last one returned.
  local function reaching(send)
    local status, answer
    e2e.eventually("the webhook is called", function()
      local name = e2e.unique("o")
      status, answer = send(name)
      return was_called(name), cjson.encode(answer)
    end)
    return status, answer
  end

  local function create(kind, label)
    return reaching(function(name)
      return server:request("POST", path_of(kind), object_of(kind, name, label))
    end)
  end

  local function apply(kind, label)
    return reaching(function(name)
      local config = cjson.encode(object_of(kind, name, label)):gsub("\\/", "/") -- no escape of YAML
      return server:request("PATCH", path_of(kind, name) .. "?fieldManager=spec", config,
        "application/apply-patch+yaml")
    end)
  end

  -- An object that no webhook has seen gets the label by a merge patch.
  local function patch(kind, label)
    return reaching(function(name)
      server:create(path_of(kind), object_of(kind, name))
      return server:request("PATCH", path_of(kind, name), { metadata = { labels = { hooks = label } } },
        "application/merge-patch+json")
    end)
  end

  local function patched_by(operations, changes)
    local label = e2e.unique("p")
    configure(label, "/patch/" .. hex(operations), "mutating", changes)
    return label
  end

  local WRITES = { create = create, apply = apply, patch = patch }

  local function fails(kind, operations, code, text, writes)
    local label = patched_by(operations)
    for _, write in ipairs(writes or { "create", "patch" }) do
      local status, answer = WRITES[write](kind, label)
      local said = ("%s: %d %s"):format(write, status, cjson.encode(answer))
      assert.equal(code, status, said)
      assert.truthy(answer.message:find(text, 1, true), said)
      if answer.reason == "InternalError" then
        assert.equal("Internal error occurred: " .. answer.details.causes[1].message, answer.message)
      end
    end
  end

  for what, case in pairs({
    ["a text as a number"] = { "Deployment", add("/spec/replicas", "three"), "json: cannot unmarshal string into Go "
      .. "struct field DeploymentSpec.spec.replicas of type int32" },
    ["a fraction as an integer"] = { "Deployment", add("/spec/replicas", 1.5), "json: cannot unmarshal number 1.5 into "
      .. "Go struct field DeploymentSpec.spec.replicas of type int32" },
    ["an object as a list"] = { "Deployment", add("/spec/template/spec/containers", { a = 1 }), "json: cannot "
      .. "unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container" },
    ["a number as a label"] = { "Deployment", add("/metadata/labels/n", 5), "json: cannot unmarshal number into Go "
      .. "struct field ObjectMeta.metadata.labels of type string" },
    ["a number as data"] = { "ConfigMap", add("/data/n", 5), "json: cannot unmarshal number into Go struct field "
      .. "ConfigMap.data of type string" },
    ["no base64"] = { "ConfigMap", add("/binaryData", { b = "!!!" }), "illegal base64 data at input byte 0" },
    ["a number as its kind"] = { "ConfigMap", add("/kind", 5), "couldn't get version/kind; json parse error: json: "
      .. "cannot unmarshal number into Go struct field .kind of type string" },
    ["a kind that does not exist"] = { "Deployment", add("/kind", "Foo"), 'no kind "Foo" is registered for version '
      .. '"apps/v1" in scheme' },
    ["a version that does not exist"] = { "ConfigMap", add("/apiVersion", "v2"), 'no kind "ConfigMap" is registered '
      .. 'for version "v2" in scheme' },
    ["a version that is none"] = { "Thing", add("/apiVersion", "a/b/c"), "unexpected GroupVersion string: a/b/c" },
  }) do
    it("is refused with " .. what, function()
      fails(case[1], { case[2] }, 500, case[3], { "create", "apply", "patch" })
    end)
  end

  it("loses unknown fields without a warning", function()
    local unknown = add("/unknown", "x")
    local label = patched_by({ unknown, add("/spec/template/spec/containers/0/comand", { "x" }) })
    for _, write in pairs(WRITES) do
      local status, answer = write("Deployment", label)
      assert.is_true(status == 200 or status == 201)
      assert.is_nil(answer.unknown)
      assert.is_nil(answer.spec.template.spec.containers[1].comand)
    end
    label = patched_by({ unknown, add("/spec/unknown", "x"), add("/metadata/unknown", "x") })
    local name
    local status, answer = reaching(function(one)
      name = one
      return server:request("POST", path_of("Thing"), object_of("Thing", one, label))
    end)
    assert.equal(201, status)
    assert.is_nil(answer.unknown)
    assert.same({ size = 1, more = 3 }, answer.spec)
    local file = e2e.write_file(os.tmpname(), cjson.encode({ metadata = { annotations = { a = "b" } } }))
    local pipe = io.popen(("%s -i -X PATCH -H 'Content-Type: application/merge-patch+json' --data-binary @%s '%s'")
      :format(server.curl, file, server.url .. path_of("Thing", name)))
    local text = pipe:read("*a")
    pipe:close()
    os.remove(file)
    assert.truthy(text:find(" 200", 1, true), text)
    assert.is_nil(text:lower():find("\nwarning:", 1, true), text)
  end)

  for what, case in pairs({
    ["another kind"] = { "Deployment", add("/kind", "ReplicaSet"), 500,
      "converting (v1.ReplicaSet) to (apps.Deployment): unknown conversion" },
    ["another custom kind"] = { "Thing", add("/kind", "Foo"), 422, 'kind: Invalid value: "Foo": must be Thing' },
    ["no custom kind"] = { "Thing", remove("/kind"), 500, "Object 'Kind' is missing in '{\"apiVersion\":" },
    ["a foreign version"] = { "Thing", add("/apiVersion", "foo.com/v1"), 500,
      "foo.com/v1, Kind=Thing is unstructured and is not suitable for converting to " },
    ["an unknown version"] = { "Thing", function()
      return add("/apiVersion", group .. "/v7")
    end, 500, "request to convert CR from an invalid group/version: " },
    ["another namespace"] = { "ConfigMap", add("/metadata/namespace", "kube-system"), 400,
      "the namespace of the provided object does not match the namespace sent on the request" },
    ["a null that may not be one"] = { "Thing", add("/spec/size", cjson.null), 422,
      'spec.size in body must be of type integer: "null"' },
  }) do
    it("is refused with " .. what, function()
      fails(case[1], { type(case[2]) == "function" and case[2]() or case[2] }, case[3], case[4],
        { "create", "apply", "patch" })
    end)
  end

  it("may have another version of its kind, and none", function()
    for _, operation in ipairs({ add("/apiVersion", group .. "/v2"), add("/spec/more", 4) }) do
      local status, answer = create("Thing", patched_by({ operation }))
      assert.equal(201, status)
      assert.equal(group .. "/v1", answer.apiVersion)
    end
    for _, operation in ipairs({ remove("/apiVersion"), remove("/kind") }) do
      local status, answer = create("ConfigMap", patched_by({ operation }))
      assert.equal(201, status)
      assert.equal("v1 ConfigMap", answer.apiVersion .. " " .. answer.kind)
    end
  end)

  it("may not have a resourceVersion of its own", function()
    for _, kind in ipairs({ "ConfigMap", "Thing" }) do
      local set = { add("/metadata/resourceVersion", "5") }
      fails(kind, set, 500, "resourceVersion should not be set on objects to be created", { "create" })
      fails(kind, set, 409, "the object has been modified", { "patch" })
      local status, answer = apply(kind, patched_by(set))
      assert.equal(201, status)
      assert.not_equal("5", answer.metadata.resourceVersion)
      fails(kind, { add("/metadata/resourceVersion", "x") }, 500, 'parsing "x": invalid syntax', { "apply", "patch" })
      status = create(kind, patched_by({ add("/metadata/resourceVersion", "x") }))
      assert.equal(201, status)
    end
    local removes = { remove("/metadata/resourceVersion") }
    fails("Thing", removes, 422, "metadata.resourceVersion: Invalid value: 0: must be specified for an update",
      { "patch" })
    assert.equal(200, (patch("ConfigMap", patched_by(removes))))
  end)

  it("is not being deleted after an apply", function()
    local status, answer = apply("Thing", patched_by({ add("/metadata/deletionTimestamp", "2020-01-01T00:00:00Z"),
      add("/metadata/deletionGracePeriodSeconds", 5) }))
    assert.equal(201, status)
    assert.is_nil(answer.metadata.deletionTimestamp)
    assert.is_nil(answer.metadata.deletionGracePeriodSeconds)
  end)

  it("may get its resourceVersion from the webhook", function()
    local label = e2e.unique("p")
    local name = e2e.unique("o")
    local object = server:create(path_of("Thing"), object_of("Thing", name, label))
    local version = object.metadata.resourceVersion
    configure(label, "/patch/" .. hex({ add("/metadata/resourceVersion", version) }))
    local function put()
      return server:request("PUT", path_of("Thing", name), object_of("Thing", name, label))
    end
    e2e.eventually("the webhook is called", function()
      local status = put()
      return status == 200 and was_called(name)
    end)
  end)

  it("is compared with the stored version after the webhook was called", function()
    local label = e2e.unique("p")
    configure(label, "/deny/no")
    for _, version in ipairs({ "1", "" }) do
      local _, answer = reaching(function(name)
        server:create(path_of("Thing"), object_of("Thing", name))
        local object = object_of("Thing", name, label)
        object.metadata.resourceVersion = version
        return server:request("PUT", path_of("Thing", name), object)
      end)
      assert.truthy(answer.message:find("denied the request: no", 1, true), answer.message)
    end
  end)

  -- The members of the response and the error. With the policy Ignore it is none.
  for what, case in pairs({
    ["a text as its verdict"] = { { allowed = "yes" }, "failed to call webhook: json: cannot unmarshal string into Go "
      .. "struct field AdmissionResponse.response.allowed of type bool" },
    ["a text as its warnings"] = { { warnings = "x" }, "AdmissionResponse.response.warnings of type []string" },
    ["a number as its message"] = { { allowed = false, status = { message = 5 } },
      "Status.response.status.message of type string" },
    ["a patch that is no base64"] = { { patch = "!!", patchType = "JSONPatch" },
      "failed to call webhook: illegal base64 data at input byte 0" },
    ["a patch that is no JSON"] = { { patch = "aGVsbG8=", patchType = "JSONPatch" },
      "received undecodable patch in webhook response: invalid character 'h'" },
    ["a patch that is no list"] = { { patch = "e30=", patchType = "JSONPatch" },
      "cannot unmarshal object into Go value of type jsonpatch.Patch" },
    ["no patch for its type"] = { { patchType = "JSONPatch" },
      "webhook returned response.patchType but not response.patch" },
    ["a patch, though it validates"] = { { patch = "W10=", patchType = "JSONPatch" },
      "validating webhook may not return response.patch", "validating" },
  }) do
    it("is refused or kept when the webhook returns " .. what, function()
      for _, policy in ipairs({ "Fail", "Ignore" }) do
        local label = e2e.unique("r")
        configure(label, "/answer/" .. hex(case[1]), case[3], { failurePolicy = policy })
        local status, answer = create("ConfigMap", label)
        local said = policy .. ": " .. cjson.encode(answer)
        assert.equal(policy == "Fail" and 500 or 201, status, said)
        assert.truthy(policy == "Ignore" or answer.message:find(case[2], 1, true), said)
      end
    end)
  end

  -- The warnings of a creation that a webhook has answered with these.
  local function warned(texts)
    local label, found = e2e.unique("w"), {}
    configure(label, "/answer/" .. hex({ warnings = texts }), "validating")
    e2e.eventually("the webhook is called", function()
      local name = e2e.unique("o")
      local file = e2e.write_file(os.tmpname(), cjson.encode(object_of("ConfigMap", name, label)))
      local pipe = io.popen(("%s -D - -o /dev/null -H 'Content-Type: application/json' --data-binary @%s '%s'; rm %s")
        :format(server.curl, file, server.url .. path_of("ConfigMap"), file))
      local headers = pipe:read("*a")
      pipe:close()
      for text in headers:gmatch("\n[Ww]arning: 299 %- \"([^\r\n]*)\"") do
        found[#found + 1] = text
      end
      return was_called(name)
    end)
    return found
  end

  it("comes with the warnings that can be shown", function()
    assert.same({ "dup", "é", "ok" }, warned({ "a\nb", "", "dup", "dup", "é", "tab\there", "\127del", "ok" }))
    assert.same({ ("w"):rep(3000), ("x"):rep(1096) }, warned({ ("w"):rep(3000), ("x"):rep(1096) }))
    assert.same({ "short", ("é"):rep(256), ("x"):rep(256) }, warned({ "short", ("é"):rep(3000), ("x"):rep(1200) }))
    local many = {}
    for i = 1, 60 do
      many[i] = ("%02d"):format(i) .. ("x"):rep(100)
    end
    local found = warned(many) -- 40 have 4080 characters, and one more begins below 4096
    assert.equal(41, #found)
    assert.equal(many[41], found[41])
  end)

  it("gets defaults again", function()
    local label = patched_by({ remove("/spec/replicas"), add("/spec/template/spec/restartPolicy", ""),
      add("/spec/template/spec/containers/0/ports", { { containerPort = 80 } }) })
    for _, write in pairs(WRITES) do
      local _, answer = write("Deployment", label)
      assert.equal(1, answer.spec.replicas)
      assert.equal("Always", answer.spec.template.spec.restartPolicy)
      assert.equal("TCP", answer.spec.template.spec.containers[1].ports[1].protocol)
    end
  end)

  it("is seen by the next webhook with defaults and without unknown fields", function()
    local label = e2e.unique("next")
    configure(label, "/patch/" .. hex({ remove("/spec/replicas"), add("/spec/unknown", "x") }))
    local seen = e2e.unique("seen")
    configure("z" .. seen, "/warn/seen", "mutating", { objectSelector = { matchLabels = { hooks = label } } })
    local found
    e2e.eventually("both are called", function()
      local name = e2e.unique("o")
      server:request("POST", path_of("Deployment"), object_of("Deployment", name, label))
      for line in e2e.read_file(folder .. "/reviews"):gmatch("([^\n]+)\n") do
        local review = cjson.decode(line)
        local is = review.request.name == name and review.path == "/warn/seen"
        found = is and review.request.object or found
      end
      return found and found.spec.replicas == 1
    end)
    assert.is_nil(found.spec.unknown)
  end)
end)
