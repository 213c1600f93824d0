-- Custom objects that a conversion webhook (spec/support/hooks.py) has converted: answers to writes
-- show what is stored, and what a conversion may not change. This compares the embedded server with
-- kube-apiserver.

local e2e = require("spec.support.e2e")
local cjson = require("cjson")
local webhooks = require("spec.support.webhooks")

local CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

describe("a custom object in another version", function()
  local server, namespace, group, program

  local function path_of(version, name)
    return ("/apis/%s/%s/namespaces/%s/things%s"):format(group, version, namespace, name and "/" .. name or "")
  end

  -- returns: see hooks.py
  local function object_of(version, name, size, returns)
    return { apiVersion = group .. "/" .. version, kind = "Thing", spec = { size = size },
      metadata = { name = name, annotations = { returns = returns and cjson.encode(returns) } } }
  end

  local function definition(url, ca)
    local function version(name, stored, kind)
      return { name = name, served = true, storage = stored, subresources = { status = {} }, schema = {
        openAPIV3Schema = { type = "object", properties = {
          spec = { type = "object", properties = { size = { type = kind } } },
          status = { type = "object", ["x-kubernetes-preserve-unknown-fields"] = true } } } } }
    end
    return { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
      metadata = { name = "things." .. group }, spec = { group = group, scope = "Namespaced",
        names = { plural = "things", kind = "Thing" },
        versions = { version("v1", true, "integer"), version("v2", false, "string") },
        conversion = { strategy = "Webhook", webhook = { conversionReviewVersions = { "v1" },
          clientConfig = { url = url .. "/convert", caBundle = ca } } } } }
  end

  setup(function()
    server = e2e.server()
    namespace = server:new_namespace()
    group = namespace .. ".example.com"
    program = webhooks.program(namespace)
    server:create(CRDS, definition(program.url, program.ca))
    e2e.eventually("the kind is served", function()
      return server:request("GET", path_of("v2")) == 200
    end)
  end)
  teardown(function()
    server:delete(CRDS .. "/things." .. group)
    program.stop()
    e2e.finish()
  end)

  local function send(method, path, body, content_type)
    local status, answer = server:request(method, path, type(body) == "table" and cjson.encode(body):gsub("\\/", "/")
      or body, content_type)
    assert.is_true(status == 200 or status == 201, ("%s %s: %d %s"):format(method, path, status, cjson.encode(answer)))
    return answer
  end

  it("is answered as it is stored", function()
    local name = e2e.unique("t")
    local labelled = { metadata = { labels = { seen = "VERSION" } } }
    local function is(size, answer)
      assert.same({ size, "v2", group .. "/v2" }, { answer.spec.size, answer.metadata.labels.seen, answer.apiVersion })
      return answer
    end
    local merge = "application/merge-patch+json"
    is("7", send("POST", path_of("v2") .. "?dryRun=All", object_of("v2", name, "007", labelled)))
    is("7", send("POST", path_of("v2"), object_of("v2", name, "007", labelled)))
    is("7", send("GET", path_of("v2", name)))
    is("8", send("PATCH", path_of("v2", name), { spec = { size = "008" } }, merge))
    is("9", send("PATCH", path_of("v2", name) .. "?dryRun=All", { spec = { size = "009" } }, merge))
    local old = is("8", send("PATCH", path_of("v2", name) .. "/status", { status = { a = "b" } }, merge))
    local new = object_of("v2", name, "0010", labelled)
    new.metadata.resourceVersion = old.metadata.resourceVersion
    local answer = is("10", send("PUT", path_of("v2", name), new))
    assert.not_equal(old.metadata.resourceVersion, answer.metadata.resourceVersion)
    assert.equal(old.metadata.uid, answer.metadata.uid)
    is("10", send("PATCH", path_of("v2", name), { spec = { size = "10" } }, merge))
    is("11", send("PATCH", path_of("v2", name) .. "?fieldManager=spec&force=true",
      object_of("v2", name, "011", labelled), "application/apply-patch+yaml"))
    is("12", send("PATCH", path_of("v2", name), { metadata = { finalizers = { "a.b/c" } }, spec = { size = "012" } },
      merge))
    is("12", send("DELETE", path_of("v2", name)))
    send("PATCH", path_of("v2", name), { metadata = { finalizers = cjson.null } }, merge)
  end)

  it("keeps its metadata, but for labels and annotations", function()
    local name = e2e.unique("t")
    local object = object_of("v1", name, 1, { metadata = { finalizers = { "a.b/c" }, generation = 99,
      labels = { a = "VERSION" }, creationTimestamp = cjson.null } })
    local before = send("POST", path_of("v1"), object)
    local after = send("GET", path_of("v2", name))
    assert.same({ a = "v2" }, after.metadata.labels)
    before.metadata.managedFields, after.metadata.managedFields, after.metadata.labels = nil, nil, nil
    assert.same(before.metadata, after.metadata)
    assert.equal(after.metadata.uid, send("GET", path_of("v2")).items[1].metadata.uid)
    send("DELETE", path_of("v1", name))
  end)

  for what, case in pairs({
    ["an invalid label"] = { { metadata = { labels = { ["b b"] = "x" } } },
      'returned invalid metadata: metadata.labels: Invalid value: "b b": name part must consist of' },
    ["a label that is no text"] = { { metadata = { labels = { a = 5 } } },
      "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object" },
    ["labels that are no object"] = { { metadata = { labels = "x" } },
      "returned invalid metadata: invalid metadata.labels of type string in converted object" },
    ["an invalid annotation"] = { { metadata = { annotations = { ["b b"] = "x" } } },
      'returned invalid metadata: metadata.annotation: Invalid value: "b b": name part must consist of' },
    ["another name"] = { { metadata = { name = "x" } }, "returned invalid object: must have the same name: " },
    ["another namespace"] = { { metadata = { namespace = "x" } },
      "returned invalid object: must have the same namespace: " },
    ["another uid"] = { { metadata = { uid = "x" } }, "returned invalid object: must have the same UID: " },
    ["another kind"] = { { kind = "Foo" },
      "returned invalid object at index 0: invalid kind (expected Thing, received Foo)" },
    ["another version"] = { { apiVersion = "x/v7" },
      "returned invalid object at index 0: invalid groupVersion (expected " },
  }) do
    it("is refused with " .. what, function()
      local name = e2e.unique("t")
      -- kube-apiserver builds its watch cache anew when that meets such an object. Meanwhile it answers
      -- 429: to a list with what stopped the cache, which is this object or the one of the test before.
      local function fails(method, path, body)
        local lists = method == "GET" and path == path_of("v2") and e2e.is_kube
        local status, answer, is_told
        e2e.eventually("the answer names the fault", function()
          status, answer = server:request(method, path, body)
          is_told = answer.message and answer.message:find("conversion webhook for " .. group .. "/v", 1, true)
            and answer.message:find(case[2], 1, true)
          return status ~= 429 or lists and is_told, cjson.encode(answer)
        end)
        local said = ("%s %s: %d %s"):format(method, path, status, cjson.encode(answer))
        assert.equal(lists and status == 429 and 429 or 500, status, said)
        assert.truthy(is_told, said)
      end
      fails("POST", path_of("v2"), object_of("v2", name, "1", case[1]))
      assert.equal(404, (server:request("GET", path_of("v1", name))))
      send("POST", path_of("v1"), object_of("v1", name, 1, case[1]))
      fails("GET", path_of("v2", name))
      fails("GET", path_of("v2"))
      fails("DELETE", path_of("v2", name))
      send("DELETE", path_of("v1", name))
    end)
  end
end)
