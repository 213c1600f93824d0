-- perilune.x509: keys, requests and certificates as PEM texts.

local host = require("perilune.host")
local check = require("perilune.check")

local fail, floor = check.fail, math.floor
local M = {}

local DAY = 86400
local MOST_NAMES = 2048

-- ---- parts of a certificate ----

local subject_names = { CN = true, O = true, OU = true, C = true, ST = true, L = true,
  serialNumber = true }

local texts = check.one_or_more(check.string)

-- A subject; "web" means {CN = "web"}.
local function subject(what, value)
  if type(value) == "string" then
    value = { CN = value }
  end
  local out = {}
  for name, one in pairs(check.table(what, value)) do
    if not subject_names[name] then
      fail("%s: unknown name %s; %s", what, check.describe(name),
        check.nearest(name, subject_names))
    end
    out[name] = texts(what .. ": " .. name, one)
  end
  return out
end

local usages = check.array_of(check.one_of("server", "client"))

local name_checks = { subject = subject, dns = texts, ips = texts, uris = texts, emails = texts }

local certificate_checks = check.with(name_checks, {
  not_before = check.number(),
  duration = check.positive_duration,
  ca = check.boolean,
  usages = function(what, value)
    return usages(what, type(value) == "string" and { value } or value)
  end,
})

local function add_all(fields, name, values)
  for _, value in ipairs(values or {}) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
end

-- The order in a subject, from the country down to the name.
local subject_order = { "C", "ST", "L", "O", "OU", "CN", "serialNumber" }

local function name_fields(what, o)
  local fields = {}
  for _, name in ipairs(subject_order) do
    add_all(fields, "subject." .. name, o.subject and o.subject[name])
  end
  add_all(fields, "dns", o.dns)
  add_all(fields, "ip", o.ips)
  add_all(fields, "uri", o.uris)
  add_all(fields, "email", o.emails)
  if #fields > 2 * MOST_NAMES then
    fail("%s: there are more than %d names", what, MOST_NAMES)
  end
  return fields
end

local function certificate_fields(what, o)
  local fields = name_fields(what, o)
  local from = floor(o.not_before or host.now() - 300) -- clocks differ between machines
  local long = o.duration or 90 * DAY
  add_all(fields, "not_before", { string.format("%.0f", from) })
  add_all(fields, "not_after", { string.format("%.0f",
    floor((o.not_before or host.now()) + long)) })
  add_all(fields, "now", { string.format("%.0f", host.now()) })
  add_all(fields, "ca", o.ca and { "true" })
  add_all(fields, "usage", o.usages or (not o.ca and { "server" }))
  return fields
end

local function must(what, value, message)
  return check.must("x509." .. what, value, message)
end

local function pem(what, name, value)
  return check.string(("x509.%s: %s"):format(what, name), value)
end

-- ---- making ----

function M.key(kind, ...)
  check.no_more("x509.key", ...)
  if kind == nil then
    kind = "ecdsa-p256"
  end
  check.one_of("ecdsa-p256", "ecdsa-p384", "ed25519", "rsa-2048", "rsa-3072", "rsa-4096")(
    "x509.key: the kind", kind)
  return must("key", host.x509_key(kind))
end

function M.public_key(text, ...)
  check.no_more("x509.public_key", ...)
  return must("public_key", host.x509_public(pem("public_key", "the key", text)))
end

function M.request(key, options, ...)
  check.no_more("x509.request", ...)
  local o = check.options("x509.request", options, name_checks)
  return must("request", host.x509_request(pem("request", "the key", key),
    name_fields("x509.request", o)))
end

function M.self_signed(key, options, ...)
  check.no_more("x509.self_signed", ...)
  local o = check.options("x509.self_signed", options, certificate_checks)
  return must("self_signed", host.x509_sign(pem("self_signed", "the key", key), "", "",
    certificate_fields("x509.self_signed", o)))
end

local sign_checks = check.with(certificate_checks, {
  ca_cert = check.string,
  ca_key = check.string,
})

-- Adds the names of a request where the options give none.
local function take_names(o, text)
  if o.subject or o.dns or o.ips or o.uris or o.emails then
    return
  end
  local parsed = M.parse(text)
  if parsed and parsed.kind == "request" then
    o.subject, o.dns, o.ips = subject("x509.sign: the request's subject", parsed.subject),
      parsed.dns, parsed.ips
    o.uris, o.emails = parsed.uris, parsed.emails
  end
end

-- Signs a request, or a private or public key.
function M.sign(text, options, ...)
  check.no_more("x509.sign", ...)
  pem("sign", "the request or key", text)
  local o = check.options("x509.sign", options, sign_checks)
  if not o.ca_cert or not o.ca_key then
    fail("x509.sign needs ca_cert and ca_key")
  end
  take_names(o, text)
  return must("sign", host.x509_sign(text, o.ca_cert, o.ca_key,
    certificate_fields("x509.sign", o)))
end

-- ---- reading ----

local lists = { dns = "dns", ip = "ips", uri = "uris", email = "emails", usage = "usages" }

local function add_field(out, name, value)
  local list = lists[name]
  local of, part = name:match("^(%l+)%.(.+)$")
  if list then
    out[list][#out[list] + 1] = value
  elseif of then
    local before = out[of][part]
    if type(before) == "table" then
      before[#before + 1] = value
    else
      out[of][part] = before and host.array({ before, value }) or value
    end
  elseif name == "not_before" or name == "not_after" then
    out[name] = tonumber(value)
  elseif name == "ca" or name == "self_signed" then
    out[name] = true
  else
    out[name] = value
  end
end

local function begin(kind)
  local out = { kind = kind, subject = {} }
  for _, list in pairs(lists) do
    out[list] = host.array({})
  end
  if kind == "certificate" then
    out.issuer, out.ca, out.self_signed = {}, false, false
  else
    out.usages = nil
  end
  return out
end

-- All certificates and requests of the text, or nil and a message.
function M.parse_all(text, ...)
  check.no_more("x509.parse_all", ...)
  local fields, message = host.x509_read(check.text("x509.parse_all: the text", text))
  if not fields then
    return nil, message
  end
  local out = host.array({})
  for name, value in fields:gmatch("([^%z]*)%z([^%z]*)%z") do
    if name == "kind" then
      out[#out + 1] = begin(value)
    else
      add_field(out[#out], name, value)
    end
  end
  return out
end

-- The first certificate or request of the text, or nil and a message.
function M.parse(text, ...)
  check.no_more("x509.parse", ...)
  local all, message = M.parse_all(check.text("x509.parse: the text", text))
  if not all then
    return nil, message
  end
  return all[1]
end

-- Seconds until the first certificate of the text expires; negative if it has expired. nil and a
-- message for an invalid text.
function M.expires_in(text, ...)
  check.no_more("x509.expires_in", ...)
  local parsed, message = M.parse(check.text("x509.expires_in: the text", text))
  if not parsed then
    return nil, message
  elseif not parsed.not_after then
    return nil, "a request does not expire"
  end
  return parsed.not_after - host.now()
end

-- ---- verifying ----

local verify_checks = {
  ca = check.string,
  intermediates = check.string,
  host = check.string,
  usage = check.one_of("server", "client"),
  time = check.number(),
}

-- Returns true, or false and the reason.
function M.verify(text, options, ...)
  check.no_more("x509.verify", ...)
  local o = check.options("x509.verify", options, verify_checks)
  if not o.ca then
    fail("x509.verify needs ca: the certificates to trust")
  end
  local good, message = host.x509_verify(pem("verify", "the certificate", text), o.ca,
    o.intermediates or "", o.host or "", o.usage or "", o.time or host.now())
  if good == nil then
    return false, message
  end
  return good, message
end

-- True if the key belongs to the certificate.
function M.is_pair(certificate, key, ...)
  check.no_more("x509.is_pair", ...)
  local good, message = host.x509_is_pair(pem("is_pair", "the certificate", certificate),
    pem("is_pair", "the key", key))
  if good == nil then
    return false, message
  end
  return good
end

return M
