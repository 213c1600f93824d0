-- Namespaces of a source: their names, and whether its kind has any.

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

-- Raises an error if the kind is a cluster-scoped one of Kubernetes itself. For other kinds, the
-- API server is asked later.
function M.check(what, source)
  local kind = host.kind(source.kind)
  local known = require("perilune.tool.builtin").find(kind.group, kind.kind)
  if known and not known.namespaced then
    fail("%s: %s is cluster-scoped: it takes no namespaces", what, source.kind)
  end
end

return M
