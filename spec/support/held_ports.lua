-- Ports for servers whose address is told before they listen, or that stop and come back. A port that
-- is merely free may be another program's when the server wants it; these are held (hold_ports.py).

local e2e = require("spec.support.e2e")

local M = {}

local AT_ONCE = 16
local ports, given = {}, 0 -- of this process; texts

local function hold_more()
  local out = e2e.folder() .. "/" .. e2e.unique("ports")
  e2e.process.start({ "python3", "spec/support/hold_ports.py", tostring(AT_ONCE) },
    { stdout = out, stderr = out .. ".err" })
  local text = e2e.eventually("ports are held", function()
    return e2e.read_file(out):match("^%d.*\n$"), e2e.read_file(out .. ".err")
  end)
  for port in text:gmatch("%d+") do
    ports[#ports + 1] = port
  end
end

-- A port of 127.0.0.1 (a text) that nobody else gets until this process ends.
function M.port()
  if given == #ports then
    hold_more()
  end
  given = given + 1
  return ports[given]
end

-- The same, as "127.0.0.1:PORT".
function M.address()
  return "127.0.0.1:" .. M.port()
end

return M
