-- The definitions for editors: they contain every name of the API and no other, and names in a CRD
-- cannot break out of their lines.
local spec = require("spec.support.host")
local perilune = require("perilune")
local host = require("perilune.host")
local api = require("perilune.tool.api")
local crds = require("perilune.tool.crds")
local typing = require("perilune.tool.typing")

-- The content of a frozen module, or of a table as it is.
local function members(module)
  local meta = debug.getmetatable(module)
  for i = 1, meta and type(meta.__index) == "function" and 10 or 0 do
    local name, value = debug.getupvalue(meta.__index, i)
    if name == "content" then
      return value
    end
  end
  return module
end

-- The lines of a class.
local function class(name)
  return api:match("%-%-%-@class " .. name:gsub("%.", "%%.") .. "\n(.-)\n%-%-%-@class")
    or api:match("%-%-%-@class " .. name:gsub("%.", "%%.") .. "\n(.*)")
end

local function has(lines, short, name)
  return lines:find("function " .. short .. "." .. name .. "(", 1, true)
    or lines:find("---@field " .. name .. " ", 1, true)
end

describe("the types", function()
  before_each(spec.reset)

  it("have every name that scripts see", function()
    assert(perilune.x509 and perilune.url and perilune.ip and perilune.jsonpath
      and perilune.pointer) -- loaded at their first use
    local own = { client = true, live = true, log = true, config = true }
    for name, value in pairs(members(perilune)) do
      assert(has(class("perilune"), "perilune", name), "perilune." .. name)
      if type(value) == "table" and not own[name] then
        for member in pairs(members(value)) do
          assert(has(class("perilune." .. name), name, member), name .. "." .. member)
        end
      end
    end
  end)

  it("are Lua, also for a CRD whose texts are hostile", function()
    local kinds = {}
    crds.add(kinds, {
      kind = "CustomResourceDefinition",
      spec = { group = "example.com", names = { kind = "A" }, versions = { { name = "v1", schema = {
        openAPIV3Schema = { type = "object", properties = { spec = { type = "object", required = { "a" },
          properties = {
            a = { type = "string", description = "first\nerror('out')" },
            ["b-c\nerror('out')"] = { type = "string", enum = { 'x"\n' } },
            d = { type = "array", items = { type = "object", properties = { e = { type = "integer" } } } },
            f = { ["x-kubernetes-int-or-string"] = true },
            g = { type = "object", additionalProperties = { type = "boolean" } },
          } } } } } } } },
    }, "crd.yaml")
    local text = typing.write(kinds)
    assert(loadstring(text))
    assert(text:find("---@field a string first error('out')\n", 1, true), text)
    assert(text:find("---@field d? example.com.v1.A.spec.d.item[]\n", 1, true), text)
    assert(text:find("---@field f? integer|string\n", 1, true), text)
    assert(text:find("---@field g? table<string, boolean>\n", 1, true), text)
    assert(text:find('kind: "example.com/v1/A", ref: perilune.Ref', 1, true), text)
    assert.is_nil(text:find("\nerror", 1, true))
  end)

  it("are the same with or without kinds, but for those", function()
    assert.is_nil(typing.write({}):find("@%u+@"))
    assert(host.json_encode({}))
  end)
end)
