-- Run by `perilune test examples/dns-record`. The DNS service is a table that survives crashes of
-- the host.
local test = require("perilune.test")

local RECORD = "example.com/v1/DnsRecord"
local options = { scripts = ".", manifests = "manifests", config = { api = "http://dns.test" } }

-- Answers like the service, from the table.
local function serve(world)
  local zone = world:external("zone")
  world:http("http://dns.test/records/*", function(request)
    local name = request.url:match("[^/]+$")
    if request.method == "PUT" then
      zone[name] = { address = request.json.address, ttl = request.json.ttl }
    elseif not zone[name] then
      return { status = 404 }
    elseif request.method == "DELETE" then
      zone[name] = nil
      return { status = 204 }
    end
    return { status = 200, json = zone[name] }
  end)
  return zone
end

describe("dns-record", function()
  local world, zone

  before_each(function()
    world = test.world(options)
    zone = serve(world)
    world:apply("sample.yaml")
    world:settle{ limit = "1m" }
  end)

  it("publishes a record, and says so", function()
    assert.same({ address = "192.0.2.7", ttl = 300 }, zone["blog.example.com"])
    assert.equal("True", world:get(RECORD, "default/blog").status.conditions[1].status)
  end)

  it("puts back what somebody changes there", function()
    zone["blog.example.com"].address = "198.51.100.1"
    world:advance("11m")
    assert.equal("192.0.2.7", zone["blog.example.com"].address)
  end)

  it("deletes the old name of a record that gets another one", function()
    world:patch(RECORD, "default/blog", { spec = { host = "www.example.com" } })
    world:settle{ limit = "1m" }
    assert.is_nil(zone["blog.example.com"])
    assert.is_table(zone["www.example.com"])
  end)

  it("keeps the object until the record is gone there", function()
    world:http("http://dns.test/records/*", function()
      return { status = 503 }
    end)
    world:delete(RECORD, "default/blog")
    world:advance("1m")
    assert.is_table(world:get(RECORD, "default/blog"))
    serve(world)
    world:advance("20m")
    assert.is_nil(world:get(RECORD, "default/blog"))
    assert.is_nil(zone["blog.example.com"])
  end)
end)

test.explore("dns-record", options, function(world)
  serve(world)
  world:apply("sample.yaml")
  world:settle{ limit = "1m" }
  world:patch(RECORD, "default/blog", { spec = { host = "www.example.com" } })
  world:settle{ limit = "1m" }
  world:delete(RECORD, "default/blog")
  world:settle{ limit = "1m" }
end)
