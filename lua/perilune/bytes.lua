-- perilune.hash, perilune.hmac and perilune.constant_time_equal: digests and their comparison.

local host = require("perilune.host")
local check = require("perilune.check")

local fail, format = check.fail, string.format
local M = {}

-- Algorithms by the names that scripts use. A broken algorithm has a name that says so.
local algorithms = { sha256 = "sha256", sha384 = "sha384", sha512 = "sha512", weak_sha1 = "sha1",
  weak_md5 = "md5" }

local function algorithm(what, value)
  local weak = type(value) == "string" and "weak_" .. value
  if weak and algorithms[weak] then
    fail("%s: %s is broken; if an old protocol needs it, use %q", what, value, weak)
  elseif not algorithms[value] then
    fail("%s must be the name of an algorithm, not %s; %s", what, check.describe(value),
      check.nearest(value, algorithms))
  end
  return algorithms[value]
end

local encodings = {
  hex = function(bytes)
    return (bytes:gsub(".", function(byte)
      return format("%02x", byte:byte())
    end))
  end,
  base64 = host.base64_encode,
  bytes = function(bytes)
    return bytes
  end,
}

local option_checks = { algorithm = algorithm, encoding = check.one_of("hex", "base64", "bytes") }

local function encoded(what, o, bytes)
  if not bytes then
    fail("%s: this machine's OpenSSL does not offer %s", what, o.algorithm)
  end
  return encodings[o.encoding or "hex"](bytes)
end

local function text_of(value)
  return type(value) == "string" and value or host.json_encode(value)
end

-- The digest of a string, or of the JSON with sorted keys of any other value.
function M.hash(value, options, ...)
  check.no_more("hash", ...)
  if value == nil then
    fail("hash needs a value; the digest of nothing is that of perilune.null or \"\"")
  elseif options == nil then
    return host.sha256(text_of(value))
  end
  local o = check.options("hash", options, option_checks)
  return encoded("hash", o, host.digest(o.algorithm or "sha256", text_of(value)))
end

function M.hmac(key, text, options, ...)
  check.no_more("hmac", ...)
  check.string("hmac: the key", key)
  check.text("hmac: the text", text)
  local o = check.options("hmac", options, option_checks)
  return encoded("hmac", o, host.hmac(o.algorithm or "sha256", key, text))
end

function M.constant_time_equal(a, b, ...)
  check.no_more("constant_time_equal", ...)
  check.text("constant_time_equal: the first text", a)
  check.text("constant_time_equal: the second text", b)
  return host.bytes_equal(a, b)
end

return M
