-- perilune.kinds{...}: the kinds that the API server serves, each in its group's preferred version.
-- Each call asks the server: with two requests, or with one more for each group if the server does
-- not support aggregated discovery. The result names the groups that could not be asked: a caller
-- that deletes objects of unknown kinds must not take such a group for empty.

local host = require("perilune.host")
local check = require("perilune.check")
local errors = require("perilune.errors")
local raw = require("perilune.raw")

local M = {}

local ACCEPT = raw.headers("kinds", { accept = "application/json;g=apidiscovery.k8s.io;v=v2;"
  .. "as=APIGroupDiscoveryList,application/json" })

local function fetch(path)
  local found = host.write({ verb = "get", raw_path = path, headers = ACCEPT, live = true })
  return type(found) == "table" and found or {}
end

local function text_of(group, version, kind)
  return (group == "" and "" or group .. "/") .. version .. "/" .. kind
end

local function list_of(value)
  return type(value) == "table" and value or {}
end

-- ---- aggregated ----

local function add_resource(out, group, version, resource)
  local kind = list_of(resource.responseKind).kind
  if type(kind) ~= "string" or kind == "" then
    return
  end
  local subresources = {}
  for i, sub in ipairs(list_of(resource.subresources)) do
    subresources[i] = sub.subresource
  end
  out[#out + 1] = { kind = text_of(group, version, kind), group = group, version = version,
    name = kind, plural = resource.resource, namespaced = resource.scope == "Namespaced",
    scope = resource.scope, verbs = list_of(resource.verbs), subresources = subresources }
end

local function add_groups(out, missing, list)
  for _, item in ipairs(list_of(list.items)) do
    local group = list_of(item.metadata).name or ""
    local version = list_of(item.versions)[1] -- the preferred version is the first
    if version then
      local before = #out
      for _, resource in ipairs(list_of(version.resources)) do
        add_resource(out, group, version.version, resource)
      end
      if version.freshness == "Stale" or #out == before and version.resources == nil then
        missing[#missing + 1] = (group == "" and "" or group .. "/") .. version.version
      end
    end
  end
end

-- ---- one group at a time ----

local function add_list(out, group, version, list)
  local by_plural = {}
  for _, resource in ipairs(list_of(list.resources)) do
    local plural, sub = resource.name:match("^([^/]+)/?(.*)$")
    local own = by_plural[plural]
    if sub == "" then
      by_plural[plural] = { kind = text_of(group, version, resource.kind), group = group,
        version = version, name = resource.kind, plural = plural, namespaced = resource.namespaced,
        scope = resource.namespaced and "Namespaced" or "Cluster", verbs = list_of(resource.verbs),
        subresources = {} }
      out[#out + 1] = by_plural[plural]
    elseif own then
      own.subresources[#own.subresources + 1] = sub
    end
  end
end

local function ask_group(out, missing, group, version)
  local path = group == "" and "/api/" .. version or "/apis/" .. group .. "/" .. version
  local found, e = errors.try(fetch, path)
  if found then
    add_list(out, group, version, found)
  elseif not errors.tests.is_not_found(e) then
    missing[#missing + 1] = (group == "" and "" or group .. "/") .. version
  end
end

-- All kinds, unsorted, and the group versions that could not be asked. Waits for the server.
function M.all()
  local out, missing = {}, {}
  local core, groups = fetch("/api"), fetch("/apis")
  if core.kind == "APIGroupDiscoveryList" then
    add_groups(out, missing, core)
  else
    ask_group(out, missing, "", list_of(core.versions)[1] or "v1")
  end
  if groups.kind == "APIGroupDiscoveryList" then
    add_groups(out, missing, groups)
  else
    for _, group in ipairs(list_of(groups.groups)) do
      local preferred = list_of(group.preferredVersion).version
      if preferred then
        ask_group(out, missing, group.name, preferred)
      end
    end
  end
  return out, missing
end

-- ---- selecting ----

local function group_name(what, value)
  if value ~= "" and not (type(value) == "string" and host.is_name(value, "dns-subdomain")) then
    check.fail('%s must be a group such as "apps", or "" for the core group, not %s', what,
      check.describe(value))
  end
  return value
end

M.options_of = { group = check.one_or_more(group_name), verb = check.one_or_more(check.verb),
  namespaced = check.boolean }

local function has(list, wanted)
  for _, one in ipairs(list) do
    if one == wanted then
      return true
    end
  end
  return false
end

function M.fits(kind, o)
  if o.group and not has(o.group, kind.group) then
    return false
  elseif o.namespaced ~= nil and o.namespaced ~= kind.namespaced then
    return false
  end
  for _, verb in ipairs(o.verb or {}) do
    if not has(kind.verbs, verb) then
      return false
    end
  end
  return true
end

function M.kinds(options, ...)
  check.no_more("perilune.kinds", ...)
  check.no_cluster("perilune.kinds", options)
  local o = check.options("perilune.kinds", options, M.options_of)
  local all, missing = M.all()
  local out = {}
  for _, kind in ipairs(all) do
    if M.fits(kind, o) then
      out[#out + 1] = kind
    end
  end
  table.sort(out, function(a, b)
    return a.kind < b.kind or a.kind == b.kind and a.plural < b.plural
  end)
  table.sort(missing)
  return out, missing
end

return M
