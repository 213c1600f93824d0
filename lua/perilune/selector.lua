-- perilune.selector and perilune.selects: label selectors that users wrote.

local host = require("perilune.host")
local check = require("perilune.check")

local M = {}

-- Parses a selector that a user supplies: the selector, or nil and a message.
function M.selector(value, ...)
  check.no_more("selector", ...)
  return host.selector(value)
end

-- Whether a selector, as in an object's spec, selects the object. As in Kubernetes, none selects
-- nothing, and an empty one everything.
function M.selects(selector, object, ...)
  check.no_more("selects", ...)
  local metadata = check.table("selects: the object", object).metadata
  local labels = check.table("selects: the object's metadata", metadata or {}).labels
  if labels == nil or labels == host.null then
    labels = {}
  end
  check.table("selects: the object's labels", labels)
  if selector == nil or selector == host.null then
    return false
  end
  return check.must("selects: the selector", host.selects(selector, labels))
end

return M
