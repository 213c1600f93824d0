-- perilune.ip: addresses and networks, IPv4 and IPv6.

local host = require("perilune.host")
local check = require("perilune.check")

local M = {}

-- {version =, address =, and for a network prefix =, first =, last =}, or nil and a message.
function M.parse(text, ...)
  check.no_more("ip.parse", ...)
  return host.ip(check.text("ip.parse: the text", text))
end

-- True if the second lies completely in the first.
function M.contains(network, address, ...)
  check.no_more("ip.contains", ...)
  check.text("ip.contains: the network", network)
  check.text("ip.contains: the address", address)
  local inside, message, which = host.ip_contains(network, address)
  if inside == nil then
    check.fail("ip.contains: %s: %s", check.quote(which == 1 and network or address), message)
  end
  return inside
end

return M
