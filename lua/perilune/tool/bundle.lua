-- Puts scripts and the files that they read, byte for byte, into ConfigMaps, and makes the items of
-- the volume that joins them. Each ConfigMap has at most 200 KiB as text of the document, so that
-- kubectl can keep it in its annotation.

local host = require("perilune.host")
local annotation = require("perilune.tool.annotation")
local crds = require("perilune.tool.crds")
local reads = require("perilune.tool.reads")
local scripts = require("perilune.tool.scripts")
local yaml = require("perilune.tool.yaml")

local format, concat = string.format, table.concat
local M = {}

local CONFIG_MAP = 200 * 1024
local ALL = 1024 * 1024

-- ---- which files ----

-- The folder in the container for each root. A single root is the mount itself.
local function roots_of(tool, paths)
  local out, by_folder, names = {}, {}, {}
  for _, path in ipairs(paths) do
    local folder = tool.kind(path, true) == "folder" and path:gsub("(.)/+$", "%1") or crds.folder_of(path)
    if not by_folder[folder] then
      by_folder[folder] = { folder = folder, name = folder:match("([^/]+)$") or "root" }
      out[#out + 1] = by_folder[folder]
    end
  end
  for _, root in ipairs(out) do
    local name, n = root.name:gsub("[^%w._-]", "-"), 2
    if name == "." or name:sub(1, 2) == ".." then
      name = "scripts"
    end
    while names[name] do
      name, n = root.name .. n, n + 1
    end
    names[name] = true
    root.inside = #out > 1 and name .. "/" or ""
  end
  return out, by_folder
end

-- Adds a file once, under the deepest root that holds it.
local function add(self, path)
  local best, inside
  for _, root in ipairs(self.roots) do
    local one = crds.within(root.folder, path)
    if one and (not best or #root.folder > #best.folder) then
      best, inside = root, one
    end
  end
  if not best or self.seen[path] or self.tool.kind(path, true) ~= "file" then
    return
  end
  self.seen[path] = true
  self.files[#self.files + 1] = { path = path, inside = best.inside .. inside }
end

-- The files below a root whose place there begins and ends with the texts.
local function matching(self, root, head, tail)
  local above = head:match("^(.*)/")
  local folder, out = above and crds.join(root.folder, above) or root.folder, {}
  if self.tool.kind(folder, true) ~= "folder" then
    return out
  end
  local function is_shown(name)
    return name:sub(1, 1) ~= "."
  end
  for _, file in ipairs(crds.files(self.tool, folder, is_shown, true)) do
    local inside = crds.within(root.folder, file)
    if #inside >= #head + #tail and inside:sub(1, #head) == head and (tail == "" or inside:sub(-#tail) == tail) then
      out[#out + 1] = file
    end
  end
  return out
end

local COMPUTED = "the name of the template is computed: "
local UNKNOWN = COMPUTED .. "documents in the scripts' folder are taken along, those in its sub-folders only "
  .. "where the scripts name them"

local function add_beside(self, mentioned)
  for _, root in ipairs(self.roots) do
    for _, file in ipairs(crds.files(self.tool, root.folder, crds.is_manifest)) do
      add(self, file)
    end
    for _, name in ipairs(mentioned) do
      if crds.is_manifest(name:match("[^/]*$")) then
        add(self, crds.join(root.folder, name))
      end
    end
  end
end

local function warn_once(self, at, text)
  local line = format("%s:%d: %s", at.script, at.line, text)
  if at.sure and not self.seen[line] then
    self.seen[line] = true
    self.tool.warn("%s", line)
  end
end

-- Whether the texts of the name say enough. A document's ending alone does not: most are no templates.
local function is_known(one)
  return one.head ~= "" or one.tail ~= "" and not crds.is_manifest("x" .. one.tail)
end

-- Adds what a name that is known in part may stand for.
local function add_computed(self, one, mentioned)
  if not is_known(one) then
    add_beside(self, mentioned)
    return warn_once(self, one, UNKNOWN)
  end
  local count = 0
  for _, root in ipairs(self.roots) do
    for _, file in ipairs(matching(self, root, one.head, one.tail)) do
      add(self, file)
      count = count + 1
    end
  end
  if count == 0 then
    warn_once(self, one, format("%sno file is named %s...%s", COMPUTED, one.head, one.tail))
  end
end

local function add_templates(self, input)
  local templates = reads.of(scripts.trees(self.tool, input.files))
  for _, one in ipairs(templates) do
    for _, root in ipairs(self.roots) do -- names are relative to the scripts' folder
      add(self, crds.join(root.folder, one.name))
    end
  end
  for _, one in ipairs(templates.computed) do
    add_computed(self, one, templates.mentioned)
  end
end

-- The files, sorted by their place in the mount, and the arguments that name the scripts there.
local function collect(tool, input, mount)
  local self = { tool = tool, files = {}, seen = {} }
  local by_folder
  self.roots, by_folder = roots_of(tool, input.paths)
  local config = input.flags.config
  for _, path in ipairs(input.files) do
    if path ~= config then
      add(self, path)
    end
  end
  add_templates(self, input)
  local arguments = {}
  for _, path in ipairs(input.paths) do
    local folder = tool.kind(path, true) == "folder"
    local root = by_folder[folder and path:gsub("(.)/+$", "%1") or crds.folder_of(path)]
    arguments[#arguments + 1] = (mount .. "/" .. root.inside
      .. (folder and "" or path:match("([^/]+)$"))):gsub("/$", "")
  end
  if config then
    local name = config:match("([^/]+)$")
    self.files[#self.files + 1] = { path = config, inside = "_config/" .. name }
    arguments[#arguments + 1] = "--config=" .. mount .. "/_config/" .. name
  end
  table.sort(self.files, function(a, b) return a.inside < b.inside end)
  return self.files, arguments
end

-- ---- as YAML ----

local function is_plain(text)
  return text ~= "" and not text:find("[%z\1-\8\11-\31\127]") and not text:find("\194[\128-\159]")
    and not text:find("\226\128[\168\169]") and not text:find("\239\187\191") and not text:find("\n[ \t]+$")
    and not text:find("^[ \t\n]*$")
end

-- A literal block with exactly this text, indented by four spaces.
local function block(text)
  local tail = text:match("\n*$")
  local chomp = #tail == 0 and "-" or #tail == 1 and "" or "+"
  local lines = {}
  for line in (#tail > 0 and text or text .. "\n"):gmatch("([^\n]*)\n") do
    lines[#lines + 1] = line == "" and "" or "    " .. line
  end
  return "|2" .. chomp .. "\n" .. concat(lines, "\n")
end

-- The member of data or binaryData. The latter for what is no text: U+FFFE and U+FFFF are no characters.
local function entry(file)
  local text = file.text
  if not yaml.is_utf8(text) or host.json_decode(host.json_encode(text)) ~= text or text:find("\239\191[\190\191]") then
    file.binary = true
    return format("  %s: %s", yaml.scalar(file.key), yaml.scalar(host.base64_encode(text)))
  end
  return format("  %s: %s", yaml.scalar(file.key), is_plain(text) and block(text) or yaml.quoted(text))
end

local function give_keys(files)
  local taken = {}
  for _, file in ipairs(files) do
    local key, n = file.inside:gsub("[^%w._-]", "-"):sub(1, 240), 2
    local base = key
    while taken[key] or key == "." or key == ".." do
      key, n = base .. "-" .. n, n + 1
    end
    taken[key] = true
    file.key = key
  end
end

local function document(map, namespace, labels)
  local out = { format("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: %s%s",
    yaml.scalar(map.name), yaml.scalar(namespace), labels) }
  for _, member in ipairs({ "data", "binaryData" }) do
    local head = false
    for _, file in ipairs(map.files) do
      if (file.binary or false) == (member == "binaryData") then
        out[#out + 1] = not head and member .. ":" or nil
        head = true
        out[#out + 1] = file.entry
      end
    end
  end
  return concat(out, "\n")
end

-- ---- packing ----

local function read_all(tool, files)
  local total, largest = 0, nil
  for _, file in ipairs(files) do
    file.text = crds.read(tool, file.path)
    total = total + #file.text
    if not largest or #file.text > #largest.text then
      largest = file
    end
  end
  if total > ALL then
    tool.fail("the scripts and what they read are %d bytes, more than the 1 MiB that ConfigMaps hold; the largest "
      .. "is %s with %d bytes", total, largest.path, #largest.text)
  end
end

-- Kubernetes refuses such a place in a volume.
local function check_places(tool, files)
  for _, file in ipairs(files) do
    if file.inside:sub(1, 2) == ".." or ("/" .. file.inside .. "/"):find("/../", 1, true) then
      tool.fail("%s: a volume holds no file whose path in it begins with '..' or goes through '..'", file.path)
    elseif not yaml.is_utf8(file.inside) then
      tool.fail("%s: a volume holds no file whose name is not UTF-8", yaml.comment(file.path))
    end
  end
end

-- What a file takes: bytes of the document, and of the JSON that kubectl keeps.
local function measure(file)
  file.entry = entry(file)
  file.size = #file.entry + 1
  file.json = annotation.json_length(file.key) + 2
    + (file.binary and #host.base64_encode(file.text) + 2 or annotation.json_length(file.text))
end

local function warn_of_large(tool, file, room)
  local what = file.size > room.size and format("%d bytes in its ConfigMap", file.size)
    or file.json > room.json and format("%d bytes as JSON", file.json)
  if what then
    tool.warn("%s takes %s, more than kubectl apply keeps in an annotation: use kubectl apply --server-side", file.path,
      what)
  end
end

-- ConfigMap documents, the volume's sources, and the arguments of `run`.
function M.make(tool, input, o)
  local files, arguments = collect(tool, input, o.mount)
  check_places(tool, files)
  read_all(tool, files)
  give_keys(files)
  local empty = document({ name = o.name .. "-scripts-999", files = {} }, o.namespace, o.labels)
  local object = host.yaml_decode(empty)[1]
  object.data, object.binaryData = {}, {}
  local room = { size = CONFIG_MAP - #empty - 24, json = annotation.LIMIT - annotation.length(object) }
  local maps, size, json = {}, nil, nil
  for _, file in ipairs(files) do
    measure(file)
    if not size or size + file.size > room.size or json + file.json > room.json then
      maps[#maps + 1] = { name = o.name .. "-scripts" .. (#maps > 0 and "-" .. #maps + 1 or ""), files = {} }
      size, json = 0, 0
    end
    warn_of_large(tool, file, room)
    local map = maps[#maps]
    map.files[#map.files + 1] = file
    size, json = size + file.size, json + file.json
  end
  local documents = {}
  for _, map in ipairs(maps) do
    documents[#documents + 1] = document(map, o.namespace, o.labels)
  end
  return documents, maps, arguments
end

return M
