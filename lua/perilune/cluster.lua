-- perilune.cluster(name, {kubeconfig =, context =, secret =}): a cluster besides the host's own,
-- for sources ({cluster = name}) and for clients. The core reads its address and credentials later,
-- so a script also loads while such a cluster is unreachable.

local host = require("perilune.host")
local check = require("perilune.check")
local controller = require("perilune.controller")

local fail = check.fail
local M = {}

local MOST = 64
local by_name, count = {}, 0

local short = check.short(4096) -- the limit of paths

local function one_line(what, value)
  short(what, value)
  if value:find("[%z\1-\31]") then
    fail("%s must be a text of one line, not %s", what, check.describe(value))
  end
  return value
end

local function secret(what, value)
  if type(value) == "string" then
    short(what, value)
    local ns, name = value:match("^([^/]+)/([^/]+)$")
    value = { namespace = ns, name = name }
    if not ns then
      fail('%s must be "NAMESPACE/NAME" or {namespace =, name =, key =}', what)
    end
  end
  local o = check.options(what, value, { namespace = check.string, name = check.string,
    key = check.string })
  if not o.namespace or not host.is_name(o.namespace, "dns-label") then
    fail("%s: namespace must be the name of a namespace", what)
  elseif not o.name or not host.is_name(o.name, "dns-subdomain") then
    fail("%s: name must be the name of a Secret", what)
  end
  o.key = o.key or "kubeconfig"
  if #o.key > 253 or not o.key:match("^[%w._-]+$") then
    fail("%s: key must be the name of a key in a Secret", what)
  end
  return o
end

local options_of = { kubeconfig = one_line, context = one_line, secret = secret }

-- Checks the name of a cluster in options.
function M.check(what, value)
  check.string(what, value)
  if not by_name[value] then
    local names = {}
    for name in pairs(by_name) do
      names[name] = true
    end
    fail("%s: there is no cluster %q%s; declare it above with perilune.cluster(%q, {...})", what,
      value, next(names) and "; " .. check.nearest(value, names) or "", value)
  end
  return value
end

-- The client of a cluster; the name was checked.
function M.client(name)
  return by_name[name]
end

function M.new(name, options, ...)
  check.no_more("perilune.cluster", ...)
  if host.phase() ~= "load" then
    fail("perilune.cluster can only be called while the script is loaded")
  end
  check.string("perilune.cluster: the name", name)
  if not host.is_name(name, "dns-label") then
    fail("perilune.cluster: the name %q must be a DNS-1123 label", name)
  elseif by_name[name] then
    fail("perilune.cluster: the name %q is used twice", name)
  elseif count == MOST then
    fail("perilune.cluster: at most %d clusters can be named", MOST)
  end
  local what = "perilune.cluster(\"" .. name .. "\")"
  local o = check.options(what, options, options_of)
  if o.secret and o.kubeconfig then
    fail("%s takes kubeconfig or secret, not both", what)
  elseif not o.secret and not o.kubeconfig and not o.context then
    fail("%s needs kubeconfig, context or secret: without them it is the host's own cluster", what)
  end
  local s = o.secret or {}
  host.cluster({ name = name, kubeconfig = o.kubeconfig, context = o.context,
    secret_namespace = s.namespace, secret_name = s.name, secret_key = s.key })
  local file, line = host.where()
  controller.note_cluster({ name = name, secret = o.secret and { namespace = s.namespace,
    name = s.name } or nil, at = { file = file or "?", line = line or 0 } })
  local clients = require("perilune.client")
  local client = clients.new(what .. ".client", false, nil, name)
  by_name[name], count = client, count + 1
  return check.frozen("perilune.cluster", {
    name = name,
    client = client,
    live = clients.new(what .. ".live", true, nil, name),
  })
end

return M
