-- perilune run --record without --record-secrets: no value of a Secret is in the file, and the
-- same scripts still replay to the same end.

local e2e = require("spec.support.e2e")
local record_file = require("spec.support.record_file")

local applied = "kubectl.kubernetes.io/last-applied-configuration"

-- Scripts of one controller that runs for Secrets with the label copy=yes and says when it is done.
local function script(steps)
  return ([[
local perilune = require("perilune")
local client, live = perilune.client, perilune.live
perilune.controller("copies"):For("v1/Secret", {labels = "copy=yes"})
  :Writes("v1/Secret", {"create", "update", "patch"}):Writes("v1/ConfigMap", {"create", "patch", "update"})
  :Reconcile(function(request, context)
    local secret = client:get("v1/Secret", request)
    if not secret then return end
    local token = perilune.base64.decode(secret.data.token)
    local function copy(name, data)
      client:apply({apiVersion = "v1", kind = "ConfigMap", data = data,
        metadata = {name = name, namespace = request.namespace}})
    end
    local function write(name, data)
      client:apply({apiVersion = "v1", kind = "Secret", stringData = data,
        metadata = {name = name, namespace = request.namespace}})
      return {namespace = request.namespace, name = name}
    end
%s
    copy("done", {done = "yes"})
  end)
]]):format(steps)
end

describe("perilune replay of a record without values of Secrets", function()
  local server, namespace, record

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
    record = e2e.folder() .. "/" .. e2e.unique("record")
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  -- Runs the steps for a Secret with this token, and returns what the record holds.
  local function recorded(steps, token, annotations)
    local host = e2e.start_host(server, script(steps), { "--namespace", namespace, "--record", record })
    server:create(e2e.path("v1", namespace, "secrets"), { apiVersion = "v1", kind = "Secret",
      metadata = { name = "s", labels = { copy = "yes" }, annotations = annotations },
      stringData = { token = token } })
    e2e.eventually("the end of the steps", function()
      return server:get(e2e.path("v1", namespace, "configmaps", "done"))
    end)
    host:stop()
    return record_file.texts(record)
  end

  local function replays()
    local code, out, err = e2e.run("replay", record)
    assert.matches("everything happened as it was recorded", out .. err)
    assert.equal(0, code)
  end

  local function assert_hidden(text, words)
    for _, word in ipairs(words) do
      assert.is_nil(text:find(word, 1, true), word .. " is in the record")
    end
  end

  it("hides what kubectl apply has noted of a Secret", function()
    local text = recorded([[
    local note = secret.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]
    client:apply({apiVersion = "v1", kind = "Secret", stringData = {token = token}, metadata = {name = "again",
      namespace = request.namespace, annotations = {["kubectl.kubernetes.io/last-applied-configuration"] = note}}})
    copy("note", {note = note})
    live:list("v1/Secret", {namespace = request.namespace})
    live:raw("GET", "/api/v1/namespaces/" .. request.namespace .. "/secrets")
]], "line one\nline \"two\"", { [applied] = '{"kind":"Secret","data":{"removed":"b2xkLXBhc3N3b3Jk"},'
      .. '"stringData":{"token":"line one\\nline \\"two\\""}}' })
    assert_hidden(text, { "b2xkLXBhc3N3b3Jk", "line one", "two\\", "cmVtb3ZlZ" })
    replays()
  end)

  it("hides values in JSON patches, in issued tokens and in credentials of requests", function()
    server:create(e2e.path("v1", namespace, "serviceaccounts"),
      { apiVersion = "v1", kind = "ServiceAccount", metadata = { name = "sa" } })
    local text = recorded([[
    local other = write("other", {v = "at-first"})
    client:patch("v1/Secret", other, {{op = "add", path = "/data/n",
      value = perilune.base64.encode("pat" .. "ched-one")}}, {type = "json"})
    client:patch("v1/Secret", other, {{op = "add", path = "/data",
      value = {n = perilune.base64.encode("pat" .. "ched-two")}}}, {type = "json"})
    perilune.try(client.patch, client, "v1/Secret", other, {{op = "add", path = "/stringData/n",
      value = "pat" .. "ched-three"}}, {type = "json"})
    live:raw("PATCH", "/api/v1/namespaces/" .. request.namespace .. "/secrets/other",
      {body = {data = {r = perilune.base64.encode("pat" .. "ched-raw")}}})
    local issued = client:subresource("v1/ServiceAccount", {namespace = request.namespace, name = "sa"}, "token",
      "create", {apiVersion = "authentication.k8s.io/v1", kind = "TokenRequest", spec = {}})
    copy("issued", {issued = issued.status.token})
    perilune.try(perilune.http.request, {url = "http://127.0.0.1:1/", timeout = "1s", headers = {
      Authorization = "Basic " .. perilune.base64.encode("user:" .. token), ["x-vault-TOKEN"] = "va" .. "ult-one",
      Accept = "text/plain"}})
]], "the-token")
    local issued = server:get(e2e.path("v1", namespace, "configmaps", "issued")).data.issued
    assert.is_true(#issued > 20)
    assert_hidden(text, { "patched-", "cGF0Y2hlZC", issued, "dXNlcjp0", "vault-one", "the-token" })
    assert.is_truthy(text:find("text/plain", 1, true))
    replays()
  end)

  it("knows a value that was escaped for a URL or JSON, and one that looks like something else", function()
    local text = recorded([[
    copy("forms", {url = "http://x/?p=" .. perilune.url.escape(token), json = perilune.json.encode({p = token})})
    write("longer", {v = token .. " and" .. " more"})
    local number = write("number", {v = "54321"})
    client:get("v1/Secret", number)
    copy("number", {v = "is 54321 or not"})
    local line = live:get("v1/Secret", write("line", {v = "one-" .. "line\n"}))
    copy("line", {v = (perilune.base64.decode(line.data.v):gsub("%s+$", ""))})
    local weak = live:get("v1/Secret", write("weak", {password = "password"}))
    copy("weak", {known = tostring(weak.data.password ~= nil)})
]], 'a "b"\nis c')
    assert_hidden(text, { "is%20c", "is c", "and more", "one-line" })
    replays()
  end)
end)
