-- perilune.cron on a running host. The smallest step of a schedule is a minute, so this test waits
-- for one.

local e2e = require("spec.support.e2e")

local script = [[
local perilune = require("perilune")
perilune.cron("* * * * *", { zone = "Asia/Kathmandu", name = "tick" }, function(context)
  context.log:info("tick of " .. perilune.time.format(context.scheduled))
end)
-- NOTE
]]

describe("perilune.cron", function()
  local server

  setup(function()
    server = e2e.server()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  it("runs at its time, once for all lanes and generations", function()
    local file = e2e.write_file(e2e.folder() .. "/cron.lua", script)
    local host = e2e.start_host(server, file, { "--lanes", "2" })
    local first = host:logged("^tick of %d+%-%d+%-%d+T%d+:%d+:00Z$", 90)
    e2e.write_file(file, (script:gsub("NOTE", "another generation")))
    host:logged("^reloaded$")
    local second = host:logged(function(line)
      return line.msg:find("^tick of ") and line.msg ~= first.msg
    end, 90)
    assert.is_true(second.msg > first.msg)
    assert.equal(2, host:count_logged("^tick of "))
    assert.equal(0, host:count_logged("^scheduled times have passed"))
    host:stop(0)
  end)
end)
