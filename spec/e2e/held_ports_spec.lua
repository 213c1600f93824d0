-- What specs rely on: a held port is there for its server alone, and a failure tells of a host that
-- has ended.

local e2e = require("spec.support.e2e")
local held_ports = require("spec.support.held_ports")

describe("a held port", function()
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function bind(port)
    return os.execute("python3 -c 'import socket; socket.socket().bind((\"127.0.0.1\", " .. port
      .. "))' 2>/dev/null") == 0
  end

  it("is another each time", function()
    local seen = {}
    for _ = 1, 40 do
      local port = held_ports.port()
      assert.is_nil(seen[port])
      seen[port] = true
    end
  end)

  it("is nobody else's, before, between and after its servers", function()
    local address = held_ports.address()
    local port = address:match("%d+$")
    assert.is_true(bind(0)) -- any port
    assert.is_false(bind(port))
    for _ = 1, 2 do
      local server = e2e.start_embedded({ "--listen", address })
      assert.equal("https://" .. address, server.url)
      server:stop()
      assert.is_false(bind(port))
    end
  end)

  it("that a server has already ends a host, and the failure tells of it", function()
    local address = held_ports.address()
    local server = e2e.start_embedded({ "--listen", address })
    local host = e2e.start_host(server, "examples/hello", { "--metrics-bind-address", address })
    host.child:wait(e2e.patience)
    local ok, message = pcall(e2e.eventually, "nothing", function() end, 0)
    assert.is_false(ok)
    assert.truthy(message:find("nothing; the host ended with code 1 ", 1, true), message)
    assert.truthy(message:find("cannot listen on " .. address .. ": address already in use", 1, true), message)
    server:stop()
  end)
end)
