-- Fields that are too many or too long for a line of the log. Run by `perilune test`.
local test = require("perilune.test")

describe("a line of the log", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()

  after_each(files.remove)

  local function logged(fields)
    local world = test.world{ scripts = files.script(([[
perilune.run("log", {}, function(context)
  local fields = {}
  %s
  context.log:info("LINE", fields)
end)]]):format(fields)) }
    world:settle()
    for _, line in ipairs(world:logs("info")) do
      if line.msg == "LINE" then
        return line
      end
    end
  end

  it("says how many fields it leaves out", function()
    local line, count = logged('for i = 1, 100 do fields["k" .. i] = i end'), 0
    for name in pairs(line) do
      count = count + (name:find("^k%d+$") and 1 or 0)
    end
    assert.is_true(count >= 50)
    assert.equal(100, count + line.fields_left_out)
    assert.is_nil(logged("fields.a = 1").fields_left_out)
  end)

  it("says that a text is cut, between two characters", function()
    local line = logged('fields.long, fields.whole = ("\195\164"):rep(5000) .. "x", "y" .. ("\195\164"):rep(4095)')
    assert.equal(("\195\164"):rep(4096) .. "... (10001 bytes)", line.long)
    assert.equal("y" .. ("\195\164"):rep(4095), line.whole)
    local odd = logged('fields.long = "x" .. ("\195\164"):rep(5000)').long
    assert.equal("x" .. ("\195\164"):rep(4095) .. "... (10001 bytes)", odd)
  end)
end)
