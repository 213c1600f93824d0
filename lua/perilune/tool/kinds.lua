-- Facts about kinds: from CRDs beside the scripts, from --schema, from --cluster, and about
-- Kubernetes' own kinds. An unknown kind gets guessed facts and is marked as guessed.

local builtin = require("perilune.tool.builtin")
local crds = require("perilune.tool.crds")
local openapi = require("perilune.tool.openapi")

local M = {}
local Kinds = {}
Kinds.__index = Kinds

-- "apps/v1/Deployment" -> "apps", "v1", "Deployment"; "v1/Pod" -> "", "v1", "Pod"
function M.split(text)
  local group, version, kind = text:match("^([^/]*)/([^/]*)/([^/]*)$")
  if not group then
    version, kind = text:match("^([^/]*)/([^/]*)$")
    group = ""
  end
  return group, version, kind
end

local function plural_of(kind)
  local word = kind:lower()
  if word:match("[^aeiou]y$") then
    return word:sub(1, -2) .. "ies"
  elseif word:match("s$") or word:match("x$") or word:match("ch$") or word:match("sh$") then
    return word .. "es"
  end
  return word .. "s"
end

function Kinds:add(list)
  for _, one in ipairs(list) do
    self.all[#self.all + 1] = one
    local key = one.group .. "/" .. one.kind
    self.by_kind[key] = self.by_kind[key] or one
    self.by_version[one.group .. "/" .. one.version .. "/" .. one.kind] = one
  end
end

-- The cluster's answer; nil: it has no such path. A refusal ends the tool.
local function ask(tool, path)
  local answer = tool.must_call("cluster", { path = path })
  if answer.status ~= 404 and not answer.object then
    tool.fail("the cluster does not answer %s: %s", path, answer.message or answer.status)
  end
  return answer.object
end

-- The kinds of a group's version that the cluster serves.
local function discover_version(tool, group, version)
  local answer = ask(tool, group == "" and "/api/" .. version or "/apis/" .. group .. "/" .. version)
  local out, status = {}, {}
  for _, resource in ipairs(answer and answer.resources or {}) do
    local plural, sub = resource.name:match("^([^/]+)/(.+)$")
    if sub == "status" then
      status[plural] = true
    end
  end
  for _, resource in ipairs(answer and answer.resources or {}) do
    if not resource.name:find("/", 1, true) then
      out[#out + 1] = { group = group, version = version, kind = resource.kind, plural = resource.name,
        namespaced = resource.namespaced, status = status[resource.name] or false }
    end
  end
  return out
end

-- A server that is no API server also answers 404, so 404 alone proves nothing.
local function check_is_kubernetes(tool)
  local answer = ask(tool, "/apis")
  if not answer or type(answer.groups) ~= "table" then
    tool.fail("the server of the cluster is not a Kubernetes API server: it lists no groups at /apis")
  end
end

-- With --cluster: loads the names of all kinds of the group, in every version, once.
function Kinds:discover(group)
  if not self.cluster or self.asked[group] then
    return
  end
  self.asked[group] = true
  local answer = group == "" and { versions = { { version = "v1" } } } or ask(self.tool, "/apis/" .. group)
  for _, one in ipairs(answer and answer.versions or {}) do
    self:add(discover_version(self.tool, group, one.version))
  end
  return true
end

-- {group, version, kind, plural, namespaced, status, guessed}
function Kinds:find(text)
  local group, version, kind = M.split(text)
  local found = self.by_version[group .. "/" .. version .. "/" .. kind] or self.by_kind[group .. "/" .. kind]
    or builtin.find(group, kind)
  if not found and self:discover(group) then
    return self:find(text)
  end
  return {
    group = group, version = version, kind = kind,
    plural = found and found.plural or plural_of(kind),
    namespaced = not found or found.namespaced,
    status = not found or found.status,
    guessed = not found,
    builtin = builtin.find(group, kind) ~= nil,
  }
end

-- With --cluster: loads the group's kinds with their schemas, once.
function Kinds:load_schemas(group, version)
  local key = group .. "/" .. version
  if self.loaded[key] then
    return
  end
  self.loaded[key] = true
  local path = group == "" and "/openapi/v3/api/" .. version or "/openapi/v3/apis/" .. key
  local answer = ask(self.tool, path)
  local out = {}
  if answer then
    openapi.add(out, answer, "the cluster")
  end
  self:add(out)
end

-- Reads the documents of --schema: CRDs and OpenAPI, in files or folders.
local function read_schemas(tool, paths)
  local out = {}
  for _, path in ipairs(paths) do
    local files = crds.files(tool, path, crds.is_manifest)
    if #files == 0 then
      tool.fail("%s: no .yaml or .json file in it", path)
    end
    for _, file in ipairs(files) do
      local before = #out
      for _, document in ipairs(crds.documents(tool, file)) do
        crds.add(out, document, file)
        openapi.add(out, document, file)
      end
      if #out == before and tool.kind(path, true) ~= "folder" then
        tool.fail("%s: this is neither a CustomResourceDefinition nor OpenAPI of an API server", file)
      end
    end
  end
  return out
end

-- input: the command's input, with its paths and the flags schema and cluster.
function M.read(tool, input)
  local self = setmetatable({ tool = tool, all = {}, by_kind = {}, by_version = {}, asked = {}, loaded = {},
    cluster = input.flags.cluster }, Kinds)
  self:add(read_schemas(tool, input.flags.schema or {}))
  self:add(crds.beside(tool, input.paths))
  if self.cluster then
    check_is_kubernetes(tool) -- always, so that a wrong --cluster is found even if no kind is looked up
  end
  return self
end

return M
