-- client:as{user =, groups =, uid =, extra =}: a client that acts as another user. The API server
-- checks whether the host may impersonate, so nothing is decided here. This module only makes sure
-- that exactly the given values are sent, each in one header.

local check = require("perilune.check")
local query = require("perilune.query")

local fail = check.fail
local M = {}

local short = check.short(4096)

local function line(what, value)
  short(what, value)
  if value:find("[%z\1-\31\127]") then
    fail("%s must be a text of one line, not %s", what, check.describe(value))
  end
  return value
end

local function lines(what, value)
  return check.array_of(line)(what, value)
end

local function extra(what, value)
  local out = {}
  for name, list in pairs(check.table(what, value)) do
    line(what .. ": a name", name)
    if name:lower() ~= name then
      fail("%s: %q must be in lower case: the API server accepts nothing else", what, name)
    end
    out[#out + 1] = { name = name, values = lines(check.member_text(what, name), list) }
  end
  table.sort(out, function(a, b)
    return a.name < b.name
  end)
  return out
end

local identity = { user = line, groups = lines, uid = line, extra = extra }

-- The headers as "name\0value\0...".
function M.headers(who)
  local o = check.options("client:as", check.table("client:as", who), identity)
  if not o.user then
    fail("client:as needs user = ...: groups need a user")
  end
  local out = { "impersonate-user\0", o.user, "\0" }
  local function add(name, value)
    out[#out + 1] = name .. "\0" .. value .. "\0"
  end
  if o.uid then
    add("impersonate-uid", o.uid)
  end
  for _, group in ipairs(o.groups or {}) do
    add("impersonate-group", group)
  end
  for _, one in ipairs(o.extra or {}) do
    for _, value in ipairs(one.values) do
      add("impersonate-extra-" .. query.escape(one.name), value)
    end
  end
  if #out > 40 then
    fail("client:as: more than 37 groups and values")
  end
  return table.concat(out)
end

return M
