-- Indexes whose values a function of the script computes. Run by `perilune test`.
local test = require("perilune.test")

local files = dofile("spec/support/one_file_scripts.lua").new()

after_each(files.remove)

-- The lines that the script prints when the namespace `start` is reconciled, while no watch
-- delivers anything, and the log's errors. The script has `lookup`: the names of the objects with a
-- value, as text.
local function prints(values, body)
  local world = test.world{ scripts = { files.script(([[
perilune.index("v1/ConfigMap", "group", %s)
local function lookup(value)
  local names = {}
  local found = client:list("v1/ConfigMap", { index = { name = "group", value = value } })
  for i, object in ipairs(found) do names[i] = object.metadata.name end
  return table.concat(names, " ")
end
local function config(name, group)
  return { apiVersion = "v1", kind = "ConfigMap",
    metadata = { name = name, namespace = "default" }, data = { group = group } }
end
perilune.controller("index"):For("v1/Namespace"):Reads("v1/ConfigMap"):Reconcile(function(request)
  if request.name == "start" then %s end
end)]]):format(values, body)) } }
  world:settle()
  world:pause_watch("v1/ConfigMap")
  world:create{ apiVersion = "v1", kind = "Namespace", metadata = { name = "start" } }
  world:settle()
  local out = {}
  for _, line in ipairs(world:logs("info")) do
    out[#out + 1] = line.msg:match("^INDEX (.*)")
  end
  return out, world:logs("error")
end

describe("an index function", function()
  it("has been asked about an object when the write of it returns", function()
    assert.same({ "a", "", "a", "a b", "a c" }, (prints("function(o) return o.data and o.data.group end", [[
client:create(config("a", "x"))
print("INDEX " .. lookup("x"))
client:patch("v1/ConfigMap", "default/a", { data = { group = "y" } })
print("INDEX " .. lookup("x"))
print("INDEX " .. lookup("y"))
client:apply(config("b", "y"))
print("INDEX " .. lookup("y"))
client:delete("v1/ConfigMap", "default/b")
local c = config(nil, "y")
c.metadata.generateName = "c"
local made = client:create(c)
print("INDEX " .. lookup("y"):gsub(made.metadata.name, "c"))]])))
  end)
end)
