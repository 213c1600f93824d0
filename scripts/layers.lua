-- Checks the layer rule: a file of host/ includes only its own layer, the layers that it stands on,
-- and those below them. Each third-party header belongs to one folder. The table of host/README.md
-- has the same list of layers.
--
--   luajit scripts/layers.lua < list-of-files

-- The layers that each layer stands on.
local stands_on = {
  base = "",
  value = "base",
  format = "value",
  object = "format",
  cel = "object",
  gotype = "object",
  schema = "cel gotype",
  columns = "schema",
  valid = "schema",
  podsecurity = "valid",
  warnings = "valid",
  shard = "base",
  store = "object",
  crypto = "base",
  net = "crypto",
  kube = "object net",
  event = "store shard",
  sync = "kube event",
  write = "sync",
  lead = "sync",
  cluster = "write lead",
  control = "cluster",
  webhook = "control",
  lua = "kube",
  lane = "control lua",
  bind = "lane",
  record = "bind",
  tool = "bind",
  apistore = "schema",
  apicall = "apistore net shard columns valid",
  admission = "apicall podsecurity",
  apiinfo = "apicall",
  apiserver = "admission apiinfo warnings",
  serve = "bind webhook",
  reload = "serve",
  admin = "reload",
  page = "admin",
  world = "webhook tool apiserver",
  command = "format",
  operate = "command admin",
  cli = "operate page world record",
}

-- Layers below that a layer must not include nevertheless.
local barred = {
  sync = "net crypto",
  lead = "store event",
  apistore = "cel",
}

local function add_below(layer, into)
  for one in stands_on[layer]:gmatch("%S+") do
    into[one] = true
    add_below(one, into)
  end
  return into
end

local may_include = {}
for layer in pairs(stands_on) do
  may_include[layer] = add_below(layer, {})
  for one in (barred[layer] or ""):gmatch("%S+") do
    may_include[layer][one] = nil
  end
end

-- Third-party headers by pattern, and the folders or files that own them.
local owned = {
  { "^lua%.h$", "lua/", "lane/", "bind/", "world/", "record/" },
  { "^lauxlib%.h$", "lua/", "lane/", "bind/", "world/", "record/" },
  { "^lualib%.h$", "lua/", "world/specs.c" }, { "^luajit%.h$", "lua/", "world/specs.c" },
  { "^uv%.h$", "net/" }, { "^curl/", "net/" },
  { "^openssl/", "crypto/", "net/" }, { "^llhttp", "net/" }, { "^yaml%.h$", "format/yaml.c" },
  { "^pcre2", "format/regex.c" }, { "^sqlite3", "apistore/sqlite.h" },
  { "^zlib%.h$", "record/" },
}

local broken = 0

local function complain(file, line, text)
  broken = broken + 1
  io.stderr:write(("%s:%d: %s\n"):format(file, line, text))
end

local function is_allowed(layer, target)
  return layer == target or may_include[layer][target] ~= nil
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

-- The column "stands on" of host/README.md as it has to be: "`kube`, `event`; not `net`".
local function shown(layer)
  local text = stands_on[layer]:gsub("%S+", "`%0`"):gsub(" ", ", ")
  if barred[layer] then
    text = text .. "; not " .. barred[layer]:gsub("%S+", "`%0`"):gsub(" ", ", ")
  end
  return text == "" and "–" or text
end

local function check_readme(file)
  local number, seen = 0, {}
  for text in io.lines(file) do
    number = number + 1
    local layer, column = text:match("^| `([%w_]+)` | .- | ([^|]-) | [^|]- |$")
    if layer and stands_on[layer] then
      seen[layer] = true
      if column ~= shown(layer) then
        complain(file, number, ("%s stands on %s, not %s"):format(layer, shown(layer), column))
      end
    end
  end
  for layer in pairs(stands_on) do
    if not seen[layer] then
      complain(file, 1, ("the table of layers lacks %s"):format(layer))
    end
  end
end

check_readme("host/README.md")
os.exit(broken == 0 and 0 or 1)
