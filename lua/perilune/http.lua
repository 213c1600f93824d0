-- perilune.http: requests to servers that are not the API server.

local host = require("perilune.host")
local check = require("perilune.check")
local query = require("perilune.query")

local fail = check.fail

-- A copy, as text -> text, with names in the case that the script used.
local function http_headers(what, value)
  local out, seen = {}, {}
  for name, one in pairs(check.table(what, value)) do
    check.string(what .. ": a name", name)
    if type(one) ~= "string" and type(one) ~= "number" then
      fail("%s: %s must be a string, not %s", what, name, check.describe(one))
    end
    if seen[name:lower()] then
      fail("%s: %s is given twice: upper and lower case make no difference", what, name)
    end
    seen[name:lower()] = true
    out[name] = tostring(one)
  end
  return out
end

local function has_header(headers, wanted)
  for name in pairs(headers) do
    if name:lower() == wanted then
      return true
    end
  end
  return false
end

-- The host frames the request. A Content-Length with the right value is dropped. A wrong one is
-- refused, and so is Transfer-Encoding.
local function leave_framing(headers, body)
  for name, value in pairs(headers) do
    if name:lower() == "content-length" then
      if tonumber(value) ~= #body then
        fail("http.request: headers: %s is %s, but the body has %d bytes", name, value, #body)
      end
      headers[name] = nil
    elseif name:lower() == "transfer-encoding" then
      fail("http.request: headers: %s cannot be set: the host knows the body's length", name)
    end
  end
end

local URL_MAX, PEM_MAX = 65536, 4194304 -- bytes

-- A URL that is one word, since a space would end it on the wire.
local function http_url(what, value)
  check.short(URL_MAX)(what, value)
  local at = value:find("[%z\1-\32\127]")
  if at then
    fail("%s: byte %d must be escaped: perilune.url.escape", what, at)
  end
  return value
end

local http_options = {
  url = http_url,
  query = query.text,
  method = check.short(64),
  headers = http_headers,
  body = check.text,
  json = function(_, value)
    return value
  end,
  timeout = check.positive_duration,
  max_response = check.integer(1),
  tls = function(what, value)
    local pem = check.short(PEM_MAX)
    return check.options(what, value, { ca = pem, cert = pem, key = pem,
      server_name = check.short(255), insecure = check.boolean })
  end,
}

-- Sends a request to any server, and waits for its answer.
local function http_request(request, ...)
  check.no_more("http.request", ...)
  local o = check.options("http.request", check.table("http.request", request), http_options)
  check.string("http.request: url", o.url)
  if o.query then
    o.url, o.query = check.short(URL_MAX)("http.request: url", query.add(o.url, o.query)), nil
  end
  o.headers = o.headers or {}
  if o.json ~= nil then
    if o.body then
      fail("http.request takes body or json, not both")
    end
    o.body, o.json = host.json_encode(o.json), nil
    if not has_header(o.headers, "content-type") then
      o.headers["content-type"] = "application/json"
    end
  end
  leave_framing(o.headers, o.body or "")
  o.method = o.method and o.method:upper() or o.body and "POST" or "GET"
  local answer = host.http(o)
  answer.ok = answer.status >= 200 and answer.status < 300
  local content_type = answer.headers["content-type"] or ""
  if content_type:find("json", 1, true) then
    answer.json = host.json_decode(answer.body)
  end
  return answer
end

return { request = http_request }
