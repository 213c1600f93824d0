-- What a replay knows of the recording host besides the answers of the cluster: its environment, its
-- version, its configuration, and digests of values that are pseudonyms in the record.

local e2e = require("spec.support.e2e")
local record_file = require("spec.support.record_file")

-- Scripts of one controller that writes a copy of each ConfigMap with the label copy=yes.
local function script(data)
  return ([[
local perilune = require("perilune")
local client = perilune.client
local place = os.getenv("PL_SPEC_PLACE")
perilune.controller("copies"):For("v1/ConfigMap", {labels = "copy=yes"}):Reads("v1/Secret"):Reconcile(function(request)
  local map = client:get("v1/ConfigMap", request)
  if not map then return end
  local secret = client:get("v1/Secret", request)
  client:apply({apiVersion = "v1", kind = "ConfigMap", metadata = {name = request.name .. "-copy",
    namespace = request.namespace}, data = %s})
end)
]]):format(data)
end

describe("perilune replay", function()
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

  -- Records a run of the scripts. Returns the copy that it has written.
  local function recorded(text, flags, env)
    local all = { "--namespace", namespace, "--record", record }
    for _, flag in ipairs(flags or {}) do
      all[#all + 1] = flag
    end
    server:create(e2e.path("v1", namespace, "secrets"), { apiVersion = "v1", kind = "Secret",
      metadata = { name = "a" }, stringData = { password = "the-password", other = "the-other" } })
    server:create(e2e.path("v1", namespace, "configmaps"), { apiVersion = "v1", kind = "ConfigMap",
      data = {}, metadata = { name = "a", labels = { copy = "yes" } } })
    local host = e2e.start_host(server, text, all, { env = env })
    local copy = e2e.eventually("the copy", function()
      return server:get(e2e.path("v1", namespace, "configmaps", "a-copy"))
    end)
    host:stop()
    return copy
  end

  local function assert_exact(env)
    local code, out, err = e2e.run_with(env or {}, "replay", record)
    assert.matches("everything happened as it was recorded", out .. err)
    assert.equal(0, code)
  end

  -- The same scripts as other ones.
  local function assert_same_writes(text, env)
    local other = e2e.write_file(record .. "-other.lua", "-- moved\n" .. text)
    local _, out, err = e2e.run_with(env or {}, "replay", record, other)
    assert.matches("^0 of %d+ runs write something else", out .. err)
  end

  it("gives the scripts the environment and the version of the recording host", function()
    local text = script('{place = tostring(place), home = os.getenv("HOME"), version = perilune.version}')
    local copy = recorded(text)
    assert.equal("nil", copy.data.place)
    local env = { PL_SPEC_PLACE = "elsewhere", HOME = "/elsewhere" }
    assert_exact(env)
    assert_same_writes(text, env)
  end)

  it("hides variables of the environment that are secrets, and what the scripts write of them", function()
    local text = script('{token = os.getenv("PL_SPEC_TOKEN")}')
    local copy = recorded(text, nil, { PL_SPEC_TOKEN = "the-token-of-the-host" })
    assert.equal("the-token-of-the-host", copy.data.token)
    assert.is_nil(record_file.texts(record):find("the-token-of-the-host", 1, true))
    assert_exact()
    assert_same_writes(text)
  end)

  it("gives other scripts the recorded configuration", function()
    local config = e2e.write_file(record .. "-config.yaml", "color: blue\n")
    local text = script("{color = tostring(perilune.config.color)}")
    assert.equal("blue", recorded(text, { "--config", config }).data.color)
    os.remove(config)
    assert_exact()
    assert_same_writes(text)
  end)

  it("gives the scripts digests of values that are pseudonyms in the record", function()
    local text = script([[{one = perilune.hash(secret.data), two = perilune.hash("x" .. secret.data.password .. "y"),
      three = perilune.hash(secret, {algorithm = "sha512"}), four = perilune.hmac(secret.data.password, "text"),
      five = perilune.hmac("key", secret.data.other, {encoding = "base64"}), six = perilune.hash(map)}]])
    recorded(text)
    assert.is_nil(record_file.texts(record):find("dGhlLXBhc3N3b3Jk", 1, true))
    assert_exact()
    assert_same_writes(text)
  end)

  it("says that a difference can come from pseudonyms", function()
    recorded(script("{part = secret.data.password:sub(1, 3)}"))
    local code, out = e2e.run("replay", record)
    assert.equal(3, code)
    assert.matches("the replay differs at .*values of Secrets are pseudonyms in the record", out)
  end)
end)
