-- Values that a script writes into a Secret are cut out of its logs and errors. Run by `perilune test`.
local test = require("perilune.test")

-- Each way of writing, the value that it writes, and what the script logs next.
local WAYS = {
  { "create with stringData", 'client:create(secret("made", { stringData = { password = value } }))' },
  { "create with data", 'client:create(secret("made", { data = { password = perilune.base64.encode(value) } }))' },
  { "apply", 'client:apply(secret("made", { stringData = { password = value } }))' },
  { "merge patch", 'client:patch("v1/Secret", "default/a", { stringData = { password = value } })' },
  { "JSON patch", 'client:patch("v1/Secret", "default/a", { { op = "add", path = "/data", '
    .. 'value = { password = perilune.base64.encode(value) } } }, { type = "json" })' },
  { "JSON patch of one value", 'client:patch("v1/Secret", "default/a", { '
    .. '{ op = "add", path = "/stringData", value = {} }, '
    .. '{ op = "add", path = "/stringData/password", value = value } }, { type = "json" })' },
  { "update", 'local s = live:get("v1/Secret", "default/a"); s.stringData = { password = value }; client:update(s)' },
  { "create_or_update", 'client:create_or_update(secret("made", {}), function(s) '
    .. 's.stringData = { password = value } end)' },
}

local SCRIPT = [[
local live = perilune.live
local value = table.concat({ "kept", "to", "itself" }, "-") -- errors show lines of the script
local function secret(name, content)
  content.apiVersion, content.kind, content.metadata = "v1", "Secret", { namespace = "default", name = name }
  return content
end
perilune.controller("writes"):For("v1/ConfigMap"):Writes("v1/Secret", { "create", "patch", "update", "get" })
  :Reconcile(function()
    %s
    perilune.log:info("the password is " .. value)
    error(value .. " is wrong")
  end)
]]

describe("a value that is written into a Secret by", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()
  after_each(files.remove)

  for _, way in ipairs(WAYS) do
    it(way[1] .. " is in no log and no error", function()
      local world = test.world{ scripts = files.script(SCRIPT:format(way[2])) }
      world:create{ apiVersion = "v1", kind = "Secret", metadata = { namespace = "default", name = "a" } }
      world:create{ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "default", name = "a" } }
      world:advance("1s")
      local seen = 0
      for _, entry in ipairs(world:logs()) do
        for _, text in pairs(entry) do
          text = tostring(text)
          assert.is_nil(text:find("kept-to-itself", 1, true), text)
          seen = seen + (text:find("<14 bytes>", 1, true) and 1 or 0)
        end
      end
      assert.truthy(seen >= 2, "the log and the error are there")
    end)
  end
end)
