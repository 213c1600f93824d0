-- Whether kinds have namespaces, and the names of those of a source. Loaded only where it is
-- needed: it has the table of all kinds of Kubernetes.

local builtin = require("perilune.tool.builtin")
local check = require("perilune.check")
local host = require("perilune.host")

local fail = check.fail
local M = {}

function M.namespaces(what, value)
  local out = check.array_of(check.string)(what, value)
  for _, name in ipairs(out) do
    if not host.is_name(name, "dns-label") then
      fail("%s: %q is not the name of a namespace", what, name)
    end
  end
  if #out == 0 then
    fail("%s is empty; leave it out to mean all namespaces", what)
  end
  return out
end

-- Whether a kind of Kubernetes itself is cluster-scoped; nil: it is not one of these.
function M.is_cluster_scoped(group, kind)
  local known = builtin.find(group, kind)
  return known and not known.namespaced
end

-- Raises an error if the kind is a cluster-scoped one of Kubernetes itself. For other kinds, the
-- API server is asked later.
function M.check(what, source)
  local kind = host.kind(source.kind)
  if M.is_cluster_scoped(kind.group, kind.kind) then
    fail("%s: %s is cluster-scoped: it takes no namespaces", what, source.kind)
  end
end

return M
