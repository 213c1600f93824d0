-- The kinds of a world's server, as its discovery tells them.

local host = require("perilune.host")
local world = require("perilune.world")
local check = require("perilune.check")

local fail = check.fail
local M = {}

local function group_path(group, version)
  return group == "" and "/api/" .. version or "/apis/" .. group .. "/" .. version
end

local function load_kinds(self, base)
  local status, text = world.request(self.handle, "GET", base, nil, nil)
  local list = status == 200 and host.json_decode(text) or { resources = {} }
  local found = {}
  for _, resource in ipairs(list.resources) do
    if not resource.name:find("/", 1, true) then
      found[resource.kind] = { path = base, plural = resource.name, kind = resource.kind,
        namespaced = resource.namespaced, verbs = resource.verbs }
    end
  end
  self.kinds[base] = found
  return found
end

local function text_at(base, kind)
  return base:gsub("^/apis?/", "") .. "/" .. kind
end

-- How the server serves the kind: {path =, plural =, kind =, namespaced =, verbs =}. It is an error
-- if it does not.
function M.resource_of(self, text)
  local kind = host.kind(text)
  local base = group_path(kind.group, kind.version)
  local known = self.kinds[base]
  local found = known and known[kind.kind]
  if found then
    return found
  end
  known = load_kinds(self, base)
  if known[kind.kind] then
    return known[kind.kind]
  end
  fail("the server does not serve %s%s", text, next(known) and "; "
    .. check.nearest(kind.kind, known) or "; is its CRD among the manifests?")
end

local function add_listed(out, known, base)
  local names = {}
  for kind, resource in pairs(known) do
    for _, verb in ipairs(resource.verbs or {}) do
      names[#names + 1] = verb == "list" and kind or nil
    end
  end
  table.sort(names)
  for _, kind in ipairs(names) do
    out[#out + 1] = text_at(base, kind)
  end
end

local function kind_of(known, plural)
  for kind, resource in pairs(known) do
    if resource.plural == plural then
      return kind
    end
  end
end

function M.install(World)
  -- The kind whose objects lie under a path of the server; nil: it is unknown.
  function World:kind_at(base, plural)
    local kind = kind_of(self.kinds[base] or {}, plural) or kind_of(load_kinds(self, base), plural)
    return kind and text_at(base, kind)
  end

  -- "apps/v1/deployments"
  function World:resource_name(kind)
    local resource = M.resource_of(self, kind)
    return text_at(resource.path, resource.plural)
  end

  -- All kinds that can be listed, each in its group's preferred version.
  function World:all_kinds()
    local out = {}
    add_listed(out, load_kinds(self, "/api/v1"), "/api/v1")
    local _, text = world.request(self.handle, "GET", "/apis", nil, nil)
    for _, group in ipairs(host.json_decode(text).groups) do
      local base = "/apis/" .. group.preferredVersion.groupVersion
      add_listed(out, load_kinds(self, base), base)
    end
    return out
  end
end

return M
