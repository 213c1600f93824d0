-- perilune.url: parses and builds URLs by RFC 3986.

local host = require("perilune.host")
local check = require("perilune.check")
local query = require("perilune.query")

local fail, concat = check.fail, table.concat
local M = {}

local function unescaped(text)
  return text and host.url_unescape(text, false)
end

-- The parts, or nil and a message. The path stays escaped: "%2F" is not a slash.
function M.parse(text, ...)
  check.no_more("url.parse", ...)
  local url, message = host.url(check.text("url.parse: the text", text))
  if not url then
    return nil, message
  end
  url.scheme = url.scheme:lower()
  url.user, url.password = unescaped(url.user), unescaped(url.password)
  url.host = url.host and unescaped(url.host):lower()
  url.query = url.query and query.parse(url.query)
  url.fragment = unescaped(url.fragment)
  return url
end

local PART_MAX = 65536 -- bytes; the limit of the whole URL, too

local function part(what, value)
  if #check.text(what, value) > PART_MAX then
    fail("%s has %d bytes; a URL may have %d", what, #value, PART_MAX)
  end
  return value
end

local part_checks = {
  scheme = check.short(PART_MAX),
  user = part,
  password = part,
  host = part,
  port = check.integer(1),
  path = part,
  query = query.text,
  fragment = part,
}

local function escape_others(allowed)
  return function(text)
    return (text:gsub("[^%w%-._~%%" .. allowed .. "]", query.escape))
  end
end

local escape_path = escape_others("/!$&'()*+,;=:@")

-- A name or an address. Any other character with a meaning in a URL would change the host.
local function check_host(what, text)
  local wrong = text:match("[%z\1-\32\127%%\"#/<>?@%[\\%]^`{|}]")
  if wrong then
    fail("%s must be a name or an address, not %s: it has %q in it", what, check.describe(text),
      wrong)
  end
  return text
end

local function authority(parts)
  local out = { "//" }
  if parts.user then
    out[#out + 1] = query.escape(parts.user)
    if parts.password then
      out[#out + 1] = ":" .. query.escape(parts.password)
    end
    out[#out + 1] = "@"
  end
  local v6 = parts.host:find(":", 1, true)
  out[#out + 1] = v6 and "[" .. parts.host .. "]" or query.escape(parts.host)
  if parts.port then
    out[#out + 1] = ":" .. parts.port
  end
  return concat(out)
end

-- The reverse of parse. Characters that a path cannot contain are escaped; "%41" stays as it is.
function M.build(parts, ...)
  check.no_more("url.build", ...)
  local o = check.options("url.build", check.table("url.build", parts), part_checks)
  check_host("url.build: host", o.host or "")
  if not o.scheme then
    fail("url.build needs a scheme such as \"https\"")
  elseif not o.host and (o.user or o.password or o.port) then
    fail("url.build needs a host where there is a user or a port")
  elseif o.password and not o.user then
    fail("url.build needs a user where there is a password")
  end
  local path = o.path or ""
  if o.host and path ~= "" and path:sub(1, 1) ~= "/" then
    path = "/" .. path
  end
  local text = o.scheme .. ":" .. (o.host and authority(o) or "") .. escape_path(path)
  if o.query and o.query ~= "" then
    text = text .. "?" .. o.query
  end
  if o.fragment then
    text = text .. "#" .. query.escape(o.fragment)
  end
  local good, message = host.url(text)
  if not good then
    fail("url.build: %s: %s", check.describe(text), message)
  end
  return text
end

function M.escape(text, ...)
  check.no_more("url.escape", ...)
  return host.url_escape(check.text("url.escape: the text", text))
end

-- "%" must be followed by two hexadecimal digits (RFC 3986, 2.1).
function M.unescape(text, ...)
  check.no_more("url.unescape", ...)
  return check.must("url.unescape", host.url_unescape(check.text("url.unescape: the text", text),
    false))
end

return M
