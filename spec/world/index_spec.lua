-- Indexes whose values a function of the script computes. Run by `perilune test`.
local test = require("perilune.test")

local files = dofile("spec/support/one_file_scripts.lua").new()

after_each(files.remove)

-- What the scripts have printed in lines that begin with INDEX.
local function printed(world)
  local out = {}
  for _, line in ipairs(world:logs("info")) do
    out[#out + 1] = line.msg:match("^INDEX (.*)")
  end
  return out
end

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
  return printed(world), world:logs("error")
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

  local function many(count)
    return "function() local out = {} for i = 1, " .. count .. " do out[i] = i end return out end"
  end

  local whole = {
    ["a number"] = { "function() return 5 end", 5 },
    ["a boolean"] = { "function() return false end", false },
    ["an array"] = { 'function() return { "x", 2.5, true } end', 2.5 },
    ["an array with holes"] = { 'function(o) return { nil, o.missing, "x", nil, "y" } end', "y" },
    ["an array of an object"] = { "function(o) return o.metadata.finalizers end", "example.com/a" },
    ["as many values as an object may have"] = { many(1024), 1024 },
  }
  for what, case in pairs(whole) do
    it("may return " .. what, function()
      local lines, errors = prints(case[1], ([[
local a = config("a")
a.metadata.finalizers = { "example.com/a" }
client:create(a)
print("INDEX " .. lookup(%s))]]):format(type(case[2]) == "string" and "'" .. case[2] .. "'" or tostring(case[2])))
      assert.same({ "a" }, lines)
      assert.same({}, errors)
    end)
  end

  local not_a_value = "a value that is not a string, number or boolean"
  local wrong = {
    ["a table with names"] = { 'function() return { a = "x" } end', "a table with names, not an array" },
    ["an array of arrays"] = { 'function() return { "x", { "y" } } end', not_a_value },
    ["a function"] = { "function() return print end", not_a_value },
    ["null"] = { "function() return perilune.null end", not_a_value },
    ["a second result"] = { 'function() return ("x"):gsub("y", "") end', "a second result; several values" },
    ["a NUL byte"] = { 'function() return "x\\0y" end', "a string with a NUL byte" },
    ["more values than an object may have"] = { many(1025), "more than 1024 values" },
  }
  for what, case in pairs(wrong) do
    it("may not return " .. what, function()
      local lines, errors = prints(case[1], 'client:create(config("a")) print("INDEX " .. lookup("x") .. lookup(1))')
      assert.same({ "" }, lines)
      assert.equal("an index function returned a wrong value; the object is left out", errors[1].msg)
      assert.truthy(errors[1].error:find(':3: index "group": the function returned ' .. case[2], 1, true),
        errors[1].error)
    end)
  end
end)

describe("an index of a cache of metadata", function()
  it("is read with metadata_only, and has no other fields", function()
    local world = test.world{ scripts = { files.script([[
perilune.index("v1/ConfigMap", "team", "metadata.labels.team")
perilune.index("v1/ConfigMap", "data", "data.a")
perilune.controller("c", { max_retries = 0 }):For("v1/ConfigMap", { metadata_only = true }):Reconcile(function()
  local index = { name = "team", value = "a" }
  print("INDEX " .. #client:list("v1/ConfigMap", { index = index, metadata_only = true }))
  print("INDEX " .. select(2, pcall(client.list, client, "v1/ConfigMap",
    { index = { name = "data", value = "a" }, metadata_only = true })))
  client:list("v1/ConfigMap", { index = index })
end)]]) } }
    world:create{ apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "a", namespace = "default", labels = { team = "a" } } }
    world:advance(0)
    local lines = printed(world)
    assert.equal("1", lines[1])
    assert.truthy(lines[2]:find('list: index "data": the cache of v1/ConfigMap has only metadata, without data.a', 1,
      true), lines[2])
    assert.truthy(world:logs("error")[1].error:find("or only metadata (metadata_only = true lists it)", 1, true))
  end)
end)
