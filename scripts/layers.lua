-- The layer rule: an include of host/ goes down the list of layers, never up, and never sideways
-- between store and net; and each third-party header belongs to one folder.
--
--   luajit scripts/layers.lua < list-of-files

local may_include = {
  base = {},
  value = { "base" },
  object = { "base", "value" },
  cel = { "base", "value", "object" },
  schema = { "base", "value", "object", "cel" },
  shard = { "base" },
  store = { "base", "value", "object" },
  net = { "base" },
  kube = { "base", "value", "object", "net" },
  event = { "base", "value", "object", "shard", "store" },
  sync = { "base", "value", "object", "shard", "store", "kube", "event" },
  write = { "base", "value", "object", "shard", "store", "kube", "event", "sync", "net" },
  lead = { "base", "value", "object", "shard", "net", "kube", "sync" },
  control = { "base", "value", "object", "shard", "store", "net", "kube", "event", "sync", "write",
    "lead" },
  webhook = { "base", "value", "object", "shard", "store", "net", "kube", "event", "sync", "write",
    "lead", "control" },
  lua = { "base", "value", "object", "net", "kube" },
  lane = { "base", "value", "object", "shard", "store", "net", "kube", "event", "sync", "write",
    "lead", "control", "lua" },
  bind = { "base", "value", "object", "shard", "store", "net", "kube", "event", "sync", "write",
    "lead", "control", "lua", "lane" },
  tool = { "base", "value", "object", "shard", "store", "net", "kube", "event", "sync", "write",
    "lead", "control", "lua", "lane", "bind" },
  apiserver = { "base", "shard", "value", "object", "cel", "schema", "store", "net" },
  serve = { "base", "value", "object", "shard", "store", "net", "kube", "event", "sync", "write",
    "lead", "control", "webhook", "lua", "lane", "bind" },
  reload = { "base", "value", "object", "shard", "store", "net", "kube", "event", "sync", "write",
    "lead", "control", "webhook", "lua", "lane", "bind", "serve" },
  admin = { "base", "value", "object", "shard", "store", "net", "kube", "event", "sync", "write",
    "lead", "control", "webhook", "lua", "lane", "bind", "serve", "reload" },
  cli = { "base", "value", "object", "shard", "store", "net", "kube", "event", "sync", "write",
    "lead", "control", "webhook", "lua", "lane", "bind", "tool", "schema", "apiserver", "serve",
    "reload", "admin" },
}

-- Third-party headers by pattern, and the folders or files that own them.
local owned = {
  { "^lua%.h$", "lua/", "lane/", "bind/" }, { "^lauxlib%.h$", "lua/", "lane/", "bind/" },
  { "^lualib%.h$", "lua/" }, { "^luajit%.h$", "lua/" }, { "^uv%.h$", "net/" }, { "^curl/", "net/" },
  { "^openssl/", "net/" }, { "^llhttp", "net/" }, { "^yaml%.h$", "object/yaml.c" },
  { "^pcre2", "object/regex.c" }, { "^sqlite3", "apiserver/sqlite.h" },
}

local broken = 0

local function complain(file, line, text)
  broken = broken + 1
  io.stderr:write(("%s:%d: %s\n"):format(file, line, text))
end

local function is_allowed(layer, target)
  if layer == target then
    return true
  end
  for _, one in ipairs(may_include[layer]) do
    if one == target then
      return true
    end
  end
  return false
end

local function check_ours(file, line, layer, include)
  local target = include:match("^([%w_]+)/")
  if not target or not may_include[target] then
    complain(file, line, ('"%s" is no path from host/'):format(include))
  elseif not is_allowed(layer, target) then
    complain(file, line, ("%s must not include %s (%s)"):format(layer, target, include))
  end
end

local function is_owner(rule, inside)
  for i = 2, #rule do
    if inside:sub(1, #rule[i]) == rule[i] then
      return true
    end
  end
  return false
end

local function check_third_party(file, line, include)
  local inside = file:match("^host/(.+)")
  for _, rule in ipairs(owned) do
    if include:match(rule[1]) and not is_owner(rule, inside) then
      complain(file, line, ("<%s> belongs to host/%s"):format(include, rule[2]))
    end
  end
end

for file in io.lines() do
  local layer = file:match("^host/([%w_]+)/")
  local number = 0
  for text in io.lines(file) do
    number = number + 1
    local mark, include = text:match('^%s*#%s*include%s*([<"])([^>"]+)[>"]')
    if layer and mark == '"' then
      check_ours(file, number, layer, include)
    elseif layer and mark == "<" then
      check_third_party(file, number, include)
    end
  end
end

os.exit(broken == 0 and 0 or 1)
