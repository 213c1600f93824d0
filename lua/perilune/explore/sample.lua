-- The scenario of `perilune test PATH --explore -f FILE`, which needs only manifests and a sample.
-- Every operator must survive it: the sample is applied, a field of its spec is changed, it is
-- deleted and created again.

local actors = require("perilune.test_actors")
local errors = require("perilune.errors").tests
local files = require("perilune.test_files")
local keys = require("perilune.keys")
local lfs = require("lfs")

local M = {}

-- Another text of the same form: "2Gi" for "1Gi", "app:1.5" for "app:1.4".
local function another_text(text)
  local before, number, after = text:match("^(.-)(%d+)(%D*)$")
  if not number or #number > 9 then
    return text .. "x"
  end
  return string.format("%s%0" .. #number .. "d%s", before, tonumber(number) + 1, after)
end

-- Another value of the same type; nil if there is none near.
local function another(value)
  if type(value) == "number" then
    return value + 1
  elseif type(value) == "boolean" then
    return not value
  elseif type(value) == "string" then
    return another_text(value)
  end
end

-- Patches that each change one field, numbers first: {patch, text}.
function M.changes(spec)
  local numbers, rest = {}, {}
  local function visit(value, path)
    for _, name in ipairs(keys.sorted(value)) do
      local child = value[name]
      local at = { unpack(path) }
      at[#at + 1] = name
      if type(child) == "table" and #child == 0 and #at < 4 then
        visit(child, at)
      elseif another(child) ~= nil then
        local patch = another(child)
        for i = #at, 1, -1 do
          patch = { [at[i]] = patch }
        end
        local list = type(child) == "number" and numbers or rest
        list[#list + 1] = { patch = { spec = patch }, text = "spec." .. table.concat(at, ".") }
      end
    end
  end
  visit(type(spec) == "table" and spec or {}, {})
  for _, change in ipairs(rest) do
    numbers[#numbers + 1] = change
  end
  return numbers
end

-- For each object the first change that the server accepts, tried in a world without controllers.
local function fitting(world, objects)
  local out = {}
  for i, object in ipairs(objects) do
    world:apply(object)
    for _, change in ipairs(M.changes(object.spec)) do
      if not out[i] and pcall(world.patch, world, object, change.patch, nil) then
        out[i] = change.patch
      end
    end
  end
  return out
end

-- The folder manifests/ or crds/ beside the scripts.
local function manifests_beside(paths)
  local out = {}
  for _, path in ipairs(paths) do
    local folder = lfs.attributes(path, "mode") == "directory" and path or path:match("^(.*)/[^/]*$") or "."
    for _, name in ipairs({ "manifests", "crds" }) do
      if lfs.attributes(folder .. "/" .. name, "mode") == "directory" then
        out[#out + 1] = folder .. "/" .. name
      end
    end
  end
  return out
end

local function objects_of(samples)
  local objects = {}
  for _, file in ipairs(samples) do
    local before = #objects
    for _, object in ipairs(files.objects("-f", file, ".")) do
      objects[#objects + 1] = object
    end
    if #objects == before then
      error(file .. ": no object is in it", 0)
    end
  end
  return objects
end

-- The scenario of the command's input: paths are scripts, -f files are samples. Raises an error for a file
-- that cannot be read.
function M.of(input)
  for _, path in ipairs(input.paths) do
    local mode, message = lfs.attributes(path, "mode")
    if not mode then
      error(path .. ":" .. message:match("[^:]*$"), 0)
    end
  end
  local objects = objects_of(input.flags.filename)
  local scenario = { name = table.concat(input.flags.filename, ", "), folder = ".",
    sample = { scripts = input.paths, sample = input.flags.filename },
    options = { scripts = input.paths, manifests = manifests_beside(input.paths) } }
  scenario.f = M.scenario(objects, function()
    return require("perilune.explore.worlds").plain(scenario)
  end)
  return scenario
end

-- Changes an object of the sample, unless it is gone: a controller may delete objects that have expired.
local function if_there(change, world, ...)
  local ok, e = pcall(change, world, ...)
  if not ok and not errors.is_not_found(e) then
    error(e, 0)
  end
  world:settle()
end

-- Returns f(world) for the objects of a file. open() gives a world without controllers.
function M.scenario(objects, open)
  local probe = open()
  local changes = fitting(probe, objects)
  probe:close()
  return function(world)
    for _, name in ipairs(actors.names) do
      world:simulate(name, { delay = "1s" })
    end
    for _, object in ipairs(objects) do
      world:apply(object)
      world:settle()
    end
    for i, object in ipairs(objects) do
      if changes[i] then
        if_there(world.patch, world, object, changes[i])
      end
    end
    for i = #objects, 1, -1 do
      if_there(world.delete, world, objects[i])
    end
    for _, object in ipairs(objects) do
      world:apply(object)
      world:settle()
    end
  end
end

return M
