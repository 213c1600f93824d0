-- Files that a spec names: scripts and manifests, relative to the folder of the spec. A world reads
-- them as `perilune run` and `perilune dev` do.

local host = require("perilune.host")
local check = require("perilune.check")
local lfs = require("lfs")

local fail = check.fail
local M = {}

-- A text or an array of texts.
function M.texts(what, value)
  if type(value) == "string" then
    return { value }
  end
  return check.array_of(check.text)(what, value)
end

-- A path, or an array of paths and objects.
function M.checker(what, value)
  if type(value) ~= "string" and type(value) ~= "table" then
    fail("%s must be a path or an array, not %s", what, check.describe(value))
  end
  return value
end

-- The folder of the innermost file on the call stack that belongs neither to Perilune nor to
-- busted.
function M.spec_folder()
  for level = 2, 100 do
    local info = debug.getinfo(level, "S")
    if not info then
      break
    end
    local file = info.source:match("^@(.*)$")
    if file and file:find("_spec%.lua$") then
      return file:match("^(.*)/[^/]*$") or "."
    end
  end
  return "."
end

-- A path as the process finds it; a relative one is relative to `folder`.
function M.locate(path, folder)
  if path:sub(1, 1) == "/" or folder == "." then
    return path
  end
  return folder .. "/" .. path
end

local function list_of(value)
  if type(value) == "string" or (type(value) == "table" and value.kind ~= nil) then
    return { value }
  end
  return value
end

function M.paths(what, value, folder)
  if value == nil then
    fail("%s is needed: where the controller is", what)
  end
  local out = {}
  for i, path in ipairs(M.texts(what, value)) do
    out[i] = M.locate(path, folder)
  end
  return out
end

-- The whole file; nil and a message.
function M.read(path)
  local file, message = io.open(path, "rb")
  if not file then
    return nil, message
  end
  local text = file:read("*a")
  file:close()
  return text, path .. " cannot be read"
end

local function read_text(path)
  local text, message = M.read(path)
  return text or fail("%s", message)
end

-- Object -> where it is: the file, in it the document and the item of a list.
local places = setmetatable({}, { __mode = "k" })

-- Where an object of a file or of YAML text is; nil for others.
function M.place(object)
  return places[object]
end

-- What only servers set is left out: `kubectl get -o yaml` writes it, too.
local servers_fields = { "uid", "resourceVersion", "generation", "creationTimestamp",
  "managedFields" }

local function add_object(out, where, object, of_text)
  if of_text and (type(object.apiVersion) ~= "string" or type(object.kind) ~= "string") then
    fail("%s: the object must have apiVersion and kind", where)
  end
  places[object] = of_text and where or nil
  for _, name in ipairs(of_text and type(object.metadata) == "table" and servers_fields or {}) do
    object.metadata[name] = nil
  end
  out[#out + 1] = object
end

-- Adds an object, or the items of a list, which `kubectl get -o yaml` writes.
local function add_items(out, where, object, of_text)
  local kind, items = object.kind, object.items
  if type(kind) ~= "string" or not kind:find("List$") or (kind ~= "List" and items == nil) then
    add_object(out, where, object, of_text)
    return
  elseif type(items) ~= "table" or (next(items) ~= nil and not host.is_array(items)) then
    fail("%s: %s needs items, an array of objects, not %s", where, kind, check.describe(items))
  end
  for i, item in ipairs(items) do
    local place = ("%s: items[%d]"):format(where, i)
    if type(item) ~= "table" then
      fail("%s must be an object, not %s", place, check.describe(item))
    end
    add_items(out, place, item, of_text)
  end
end

-- The objects of a YAML stream. `name` says in messages where it is from.
local function decode(name, text)
  local objects, message = host.yaml_decode(text)
  if not objects then
    fail("%s: %s", name, message)
  end
  local out = {}
  for i, object in ipairs(objects) do
    local where = #objects > 1 and ("%s: document %d"):format(name, i) or name
    if type(object) == "table" and next(object) ~= nil then
      add_items(out, where, object, true)
    end
  end
  return out
end

local function is_text(value)
  return value:find("\n", 1, true) or value:find(": ", 1, true)
end

-- The objects of a file or of YAML text; an object is returned as it is.
function M.objects(what, value, folder)
  if type(value) == "table" then
    local out = {}
    for _, object in ipairs(value.kind == nil and #value > 0 and value or { value }) do
      add_items(out, what, check.table(what, object))
    end
    return out
  elseif type(value) ~= "string" or value == "" then
    fail("%s takes a file, an object or YAML text, not %s", what, check.describe(value))
  elseif is_text(value) then
    return decode("the YAML text", value)
  end
  local path = M.locate(value, folder)
  return decode(path, read_text(path))
end

local function names_in(path)
  local names = {}
  for name in lfs.dir(path) do
    if name:find("%.ya?ml$") or name:find("%.json$") then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

local function add_path(out, path)
  local mode = lfs.attributes(path, "mode")
  if mode == "directory" then
    for _, name in ipairs(names_in(path)) do
      add_path(out, path .. "/" .. name)
    end
    return
  end
  for _, object in ipairs(decode(path, read_text(path))) do
    out[#out + 1] = object
  end
end

local RANKS = { CustomResourceDefinition = 0, Namespace = 1 }

-- All objects: CRDs first, then namespaces, then the others in the order of the files.
function M.manifests(value, folder)
  local found = {}
  for _, one in ipairs(list_of(value) or {}) do
    if type(one) == "table" then
      add_items(found, "manifests", one)
    elseif is_text(one) then
      for _, object in ipairs(decode("the YAML text", one)) do
        found[#found + 1] = object
      end
    else
      add_path(found, M.locate(one, folder))
    end
  end
  local out = {}
  for rank = 0, 2 do
    for _, object in ipairs(found) do
      if (RANKS[object.kind] or 2) == rank then
        out[#out + 1] = object
      end
    end
  end
  return out
end

return M
