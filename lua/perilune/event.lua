-- perilune.event(object, "Normal" | "Warning", reason, message): creates an Event, which kubectl
-- describe shows. It never waits. It raises errors only for wrong arguments, and in a webhook
-- after its deadline.

local host = require("perilune.host")
local check = require("perilune.check")
local ref = require("perilune.ref")

local fail = check.fail
local REASON_MAX = 128

local types = { Normal = true, Warning = true }

local function text_or_nil(what, value)
  if value == nil or value == host.null then
    return nil
  end
  return check.text(what, value)
end

local function check_reason(reason)
  check.string("event: the reason", reason)
  if #reason > REASON_MAX or reason:find("[%s%c]") then
    fail('event: the reason is one word of at most %d bytes such as "Scaled", not %s; sentences '
      .. "go into the message", REASON_MAX, check.describe(reason))
  end
  return reason
end

return function(object, kind, reason, message, ...)
  check.no_cluster("event", (...))
  check.no_more("event", ...)
  local object_kind = ref.kind_of("event: the object", object)
  local metadata = object.metadata -- read once: the checked value is the one that is sent
  if metadata == nil then
    fail("event: the object has no metadata")
  end
  local ns, name = ref.parse("event: the object", { metadata = metadata })
  if types[kind] == nil then
    fail('event: the type must be "Normal" or "Warning", not %s; %s', check.describe(kind),
      check.nearest(kind, types))
  end
  check_reason(reason)
  check.text("event: the message", message)
  if host.phase() == "load" then
    fail("event can't be called while the script is loaded, only in reconciles and tasks")
  end
  local api_version, kind_name = object_kind:match("^(.+)/([^/]+)$")
  host.event(kind == "Warning", api_version, kind_name, ns, name,
    text_or_nil("event: metadata.uid", metadata.uid),
    text_or_nil("event: metadata.resourceVersion", metadata.resourceVersion), reason, message)
end
