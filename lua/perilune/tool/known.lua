-- Checks names of kinds. A kind is reported only when it certainly does not exist.

local host = require("perilune.host")
local keys = require("perilune.keys")
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
  local best = host.nearest(word, keys.sorted(names))
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

-- Whether the words differ in one place, by two letters at most, or three against one.
local function is_slip(a, b)
  local first, last = 1, 0
  while first <= #a and first <= #b and a:byte(first) == b:byte(first) do
    first = first + 1
  end
  while last < #a - first + 1 and last < #b - first + 1 and a:byte(#a - last) == b:byte(#b - last) do
    last = last + 1
  end
  local left, right = #a - last - first + 1, #b - last - first + 1
  return left <= 2 and right <= 2 or math.min(left, right) <= 1 and math.max(left, right) <= 3
end

-- A group with a dot may be anybody's. It is a slip only if it is near to a group of Kubernetes that
-- has this very kind.
local function judge_near(group, kind, text)
  local _, best = nearest(group, groups_of_builtins())
  if best and best:find(".", 1, true) and is_slip(group, best) and builtin.find(best, kind) then
    return format("there is no kind %s: no group %q; did you mean %q?", text, group, best)
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
  elseif not next(there) and not builtin.by_group[group] then
    return judge_near(group, kind, text)
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
