-- perilune.live:raw: requests to any path of the API server, for which there is no other call. An
-- ambiguous path is refused, so that the host's checks (is it a proxy? a Secret?) see the path as
-- the server does. Headers for authentication and framing belong to the host.

local host = require("perilune.host")
local check = require("perilune.check")
local queries = require("perilune.query")

local format, fail = string.format, check.fail
local M = {}

local VERBS = { GET = "get", POST = "create", PUT = "update", PATCH = "patch", DELETE = "delete" }

-- ---- paths ----

local PATH_MAX = 32768 -- bytes, with the query; servers and proxies limit the head of a request

local PLAIN = "^[%w%-._~!$&'()*+,;=:@/%%]+$"

function M.path(what, path)
  check.string(what, path)
  if #path > PATH_MAX then
    fail("%s has %d bytes; with the query it may have %d", what, #path, PATH_MAX)
  elseif path:sub(1, 1) ~= "/" then
    fail('%s must begin with "/", as in "/apis/apps/v1", not %s', what, check.describe(path))
  elseif path:find("?", 1, true) then
    fail("%s: parameters go into the option query, not into %s", what, check.describe(path))
  elseif not path:find(PLAIN) then
    fail("%s: %s has a character that must be escaped", what, check.describe(path))
  elseif path:find("//", 1, true) then
    fail("%s: %s has an empty segment", what, check.describe(path))
  end
  for segment in path:gmatch("[^/]+") do
    if segment == "." or segment == ".." then
      fail("%s: %s has a segment of dots", what, check.describe(path))
    end
  end
  for escaped in path:gmatch("%%(.?.?)") do
    local code = escaped:match("^%x%x$") and tonumber(escaped, 16)
    if not code or code == 0 or string.char(code):find("[%w%-._~/]") then
      fail("%s: %s escapes a character that must not be escaped: %%%s", what,
        check.describe(path), escaped)
    end
  end
  return path
end

-- ---- headers ----

local OWN = { authorization = true, ["content-length"] = true, ["transfer-encoding"] = true,
  connection = true, upgrade = true, host = true, ["keep-alive"] = true, te = true, trailer = true,
  ["user-agent"] = true, ["accept-encoding"] = true, ["proxy-authorization"] = true }

local HEADERS_MAX = 16384 -- bytes of all names and values

-- The headers as "name\0value\0...", with names in lower case and sorted.
function M.headers(what, value)
  local list, by_name, bytes = {}, {}, 0
  for name, one in pairs(check.table(what, value)) do
    bytes = bytes + #tostring(name) + (type(one) == "string" and #one or 0)
    if bytes > HEADERS_MAX then
      fail("%s: more than %d bytes of names and values", what, HEADERS_MAX)
    elseif type(name) ~= "string" or not name:find("^[%w%-_.!#$&'*+^`|~]+$") then
      fail("%s: %s is not the name of a header", what, check.describe(name))
    end
    local lower = name:lower()
    if OWN[lower] or lower:find("^impersonate%-") then
      fail("%s: %s is the host's%s", what, name,
        lower:find("^impersonate")
          and "; client:as{user = ...} sends requests as another user" or "")
    elseif by_name[lower] then
      fail("%s: %s is given twice: upper and lower case make no difference", what, name)
    elseif type(one) ~= "string" or one:find("[%z\1-\31\127]") then
      fail("%s: %s must be a text of one line, not %s", what, name, check.describe(one))
    elseif #list == 50 then
      fail("%s: more than 50 of them", what)
    end
    by_name[lower] = one
    list[#list + 1] = lower
  end
  table.sort(list)
  for i, name in ipairs(list) do
    list[i] = name .. "\0" .. by_name[name] .. "\0"
  end
  return table.concat(list)
end

-- ---- the call ----

local options_of = { query = queries.text, body = check.table, headers = M.headers,
  dry_run = check.boolean }

-- by: {headers=, cluster=} of the client. Returns the answer: a table, or a text if it is not JSON.
function M.call(by, method, path, options)
  if type(method) ~= "string" or not VERBS[method:upper()] then
    fail("raw: the method must be GET, POST, PUT, PATCH or DELETE, not %s", check.describe(method))
  end
  method = method:upper()
  M.path("raw: the path", path)
  local what = format("raw %s %s", method, #path <= 200 and path or path:sub(1, 197) .. "...")
  local o = check.options(what, options, options_of)
  if method == "GET" and o.body then
    fail("%s: GET takes no body", what)
  elseif (method == "PUT" or method == "PATCH") and not o.body then
    fail("%s needs a body", what)
  end
  local query = o.query and o.query ~= "" and "?" .. o.query or ""
  if #path + #query > PATH_MAX then
    fail("raw %s: path and query have %d bytes; they may have %d", method, #path + #query, PATH_MAX)
  end
  local all = (o.headers or "") .. (by.headers or "")
  return (host.write({ verb = VERBS[method], raw_path = path .. query, body = o.body,
    dry_run = o.dry_run, headers = all ~= "" and all or nil, cluster = by.cluster,
    live = true }))
end

return M
