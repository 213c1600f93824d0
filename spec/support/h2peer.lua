-- The HTTP/2 server of spec/support/h2peer.py, controlled by specs. It stands between a host and an
-- API server and misbehaves on request.

local e2e = require("spec.support.e2e")

local M = {}

local Peer = {}
Peer.__index = Peer

-- A key and a self-signed certificate for 127.0.0.1.
local function certificate(base)
  local code = os.execute(([[openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
    -keyout %s.key -out %s.crt -days 2 -subj /CN=peer -addext subjectAltName=IP:127.0.0.1 \
    -addext basicConstraints=critical,CA:true 2>%s.openssl]]):format(base, base, base))
  assert(code == 0, e2e.read_file(base .. ".openssl"))
end

local kubeconfig = [[
apiVersion: v1
kind: Config
current-context: spec
contexts:
- {name: spec, context: {cluster: spec, user: spec}}
clusters:
- {name: spec, cluster: {server: "https://127.0.0.1:%s", certificate-authority: "%s.crt"}}
users:
- {name: spec, user: {token: "%s"}}
]]

function M.start(server)
  local base = e2e.folder() .. "/" .. e2e.unique("h2peer")
  certificate(base)
  local text = e2e.read_file(server.kubeconfig)
  local argv = { "python3", "spec/support/h2peer.py", server.url, base .. ".crt", base .. ".key",
    base .. ".mode", "--ca", text:match('certificate%-authority: "([^"]+)"') }
  local child = e2e.process.start(argv, { stdout = base .. ".out", stderr = base .. ".err" })
  local port = e2e.eventually("the peer listens", function()
    assert(child:is_running(), "the peer ended: " .. e2e.read_file(base .. ".err"))
    return e2e.read_file(base .. ".out"):match("^(%d+)\n")
  end)
  return setmetatable({ child = child, base = base,
    kubeconfig = e2e.write_file(base .. ".kubeconfig",
      kubeconfig:format(port, base, text:match('token: "([^"]+)"'))) }, Peer)
end

-- Sets the misbehaviour from now on; nil: none.
function Peer:do_wrong(mode)
  local path = self.base .. ".mode"
  assert(os.rename(e2e.write_file(path .. ".new", mode or ""), path))
end

-- How often it has done so, or the number of "connections" or "requests".
function Peer:count(what)
  return tonumber(("\n" .. e2e.read_file(self.base .. ".mode.count")):match("\n" .. what .. " (%d+)")) or 0
end

function Peer:stop()
  self.child:signal("KILL")
  self.child:wait(10)
end

return M
