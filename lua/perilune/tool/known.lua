-- Checks names of kinds. A kind is reported only when it certainly does not exist.

local host = require("perilune.host")
local builtin = require("perilune.tool.builtin")
local kinds_module = require("perilune.tool.kinds")
local views = require("perilune.tool.views")

local format = string.format
local M = {}
local Known = {}
Known.__index = Known

-- Groups in which v1 is the only version. In other groups every version is accepted.
local ONLY_V1 = { [""] = true }
local VERSION = "^v%d+$"
local PRERELEASE = "^v%d+%l+%d+$"

function M.new(kinds)
  return setmetatable({ kinds = kinds, roots = {} }, Known)
end

local function nearest(word, names)
  local list = {}
  for name in pairs(names) do
    list[#list + 1] = name
  end
  table.sort(list)
  local best = host.nearest(word, list)
  return best and format("; did you mean %q?", best) or "", best
end
M.nearest = nearest

-- The known kinds of a group: name -> {version -> kind}
function Known:group(group)
  local out = {}
  for _, kind in ipairs(self.kinds.all) do
    if kind.group == group then
      out[kind.kind] = out[kind.kind] or {}
      out[kind.kind][kind.version] = kind
    end
  end
  return out
end

local function groups_of_builtins()
  local out = {}
  for group in pairs(builtin.by_group) do
    out[group] = true
  end
  return out
end

local function is_own(group)
  return not group:find(".", 1, true) or group:match("%.k8s%.io$") ~= nil and builtin.by_group[group] ~= nil
end

-- The mistake in a kind of one of Kubernetes' own groups; nil: there is none.
local function judge_builtin(group, version, kind, text)
  local own = builtin.by_group[group]
  if not own then
    local hint = nearest(group, groups_of_builtins())
    return format("there is no kind %s: no group %q%s", text, group, hint)
  elseif builtin.is_body(group, kind) then
    return nil
  elseif not own[kind] then
    return format("there is no kind %s%s", text, (nearest(kind, own)))
  elseif ONLY_V1[group] and version ~= "v1" then
    return format("there is no kind %s; did you mean %q?", text, "v1/" .. kind)
  elseif not version:match(VERSION) and not version:match(PRERELEASE) then
    return format("there is no kind %s: %q is not a version", text, version)
  end
end

-- The mistake in the name of a kind, or nil.
function Known:judge(text)
  local group, version, kind = kinds_module.split(text)
  if not kind then
    return nil -- loading has reported it
  end
  self.kinds:discover(group)
  local there = self:group(group)
  if there[kind] and there[kind][version] then
    return nil
  elseif is_own(group) and not (there[kind]) then
    return judge_builtin(group, version, kind, text)
  elseif there[kind] and (self.kinds.cluster or not builtin.find(group, kind)) then
    local versions = {}
    for one in pairs(there[kind]) do
      versions[#versions + 1] = one
    end
    table.sort(versions)
    return format("%s/%s has no version %s; it has %s", group, kind, version, table.concat(versions, ", "))
  elseif next(there) and not there[kind] then
    local hint, best = nearest(kind, there)
    if best or self.kinds.cluster then
      return format("there is no kind %s%s", text, hint)
    end
  end
end

-- The view of the kind's objects. Of a kind without a schema only metadata is known.
function Known:root(text)
  if self.roots[text] then
    return self.roots[text]
  end
  local group, version, kind = kinds_module.split(text)
  if not kind then
    return views.ANY
  end
  if self.kinds.cluster then
    self.kinds:load_schemas(group, version)
  end
  local found = self.kinds.by_version[group .. "/" .. version .. "/" .. kind]
  local root = found and found.schema and views.root(found, text) or views.bare(text)
  self.roots[text] = root
  return root
end

-- True if the kind certainly has no status subresource.
function Known:lacks_status(text)
  local group, version, kind = kinds_module.split(text)
  local found = kind and self.kinds.by_version[group .. "/" .. version .. "/" .. kind]
  if found and found.status ~= nil then
    return not found.status
  end
  local own = kind and builtin.find(group, kind)
  return own ~= nil and not own.status
end

return M
