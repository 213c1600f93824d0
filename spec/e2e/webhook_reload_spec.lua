-- A reload replaces handlers between two requests: no request fails because of it, and refused code
-- never answers a request.

local e2e = require("spec.support.e2e")
local hooks = require("spec.support.webhooks")
local beds = require("spec.support.script_folder")

local VALIDATE = "/validate-example-com-v1-website"

local handler = [[
local perilune = require("perilune")
perilune.webhook.validate("example.com/v1/Website", function(object, old, request)
  request.audit_annotations.generation = "GENERATION"
  if object.spec.slow then perilune.sleep(0.05) end
  BODY
end)
]]

local function script(generation, body)
  return (handler:gsub("GENERATION", generation):gsub("BODY", body or ""))
end

describe("a reload of webhooks", function()
  local bed = beds.new()

  setup(bed.set_up)
  before_each(bed.begin)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function start(flags)
    local all = { hooks.flags[1], hooks.flags[2] }
    for _, flag in ipairs(flags or {}) do
      all[#all + 1] = flag
    end
    bed.host = e2e.start_host(bed.server, bed.folder .. "/main.lua", all)
    hooks.address(bed.host)
    return bed.host
  end

  local function reloads(result)
    return bed.host:metrics():value("perilune_reload_total", { result = result or "applied" }) or 0
  end

  local function save(text)
    local before = reloads()
    bed.write("main.lua", text)
    e2e.eventually("the save is taken", function()
      return reloads() > before
    end)
  end

  it("fails no request, a hundred times under 200 requests a second", function()
    bed.write("main.lua", script("g0"))
    start({ "--no-reload-guard" })
    local stop = hooks.load(bed.host, VALIDATE, hooks.review({ slow = true }), 200, 20)
    for i = 1, 100 do
      save(script("g" .. i))
    end
    local answered = hooks.answer(bed.host, VALIDATE, hooks.review({})).auditAnnotations.generation
    assert.equal("g100", answered)
    local got = stop()
    assert.equal(0, got.failed, got.first)
    assert.is_true(got.ok > 100)
    assert.is_nil(got.answers.none)
    bed.host:stop(0)
  end)

  it("that is refused changes nothing", function()
    bed.write("main.lua", script("good"))
    start()
    local stop = hooks.load(bed.host, VALIDATE, hooks.review({}), 100, 4)
    for i = 1, 3 do
      local before = reloads("rejected")
      bed.write("main.lua", script("refused") .. "error('not like this " .. i .. "')\n")
      e2e.eventually("it is refused", function()
        return reloads("rejected") > before
      end)
    end
    local got = stop()
    assert.equal(0, got.failed, got.first)
    assert.is_nil(got.answers.refused)
    assert.is_true(got.answers.good > 0)
    bed.host:stop(0)
  end)

  it("is undone when the new handlers fail, which denials do not count as", function()
    bed.write("main.lua", script("old"))
    start()
    save(script("denies", 'do return "no" end'))
    for _ = 1, 55 do -- its guard ends
      assert.is_false(hooks.answer(bed.host, VALIDATE, hooks.review({})).allowed)
    end
    assert.equal(0, reloads("rolled_back"))
    save(script("broken", 'error("broken")'))
    e2e.eventually("it is rolled back", function()
      hooks.post(bed.host, VALIDATE, hooks.review({}))
      return reloads("rolled_back") == 1
    end)
    assert.equal("denies", hooks.answer(bed.host, VALIDATE, hooks.review({})).auditAnnotations.generation)
    bed.host:stop(0)
  end)

  it("that adds the first handler opens the listener, and one that removes it leaves no path", function()
    bed.write("main.lua", [[
local perilune = require("perilune")
perilune.every("1h", { name = "idle" }, function() end)
]])
    bed.host = e2e.start_host(bed.server, bed.folder .. "/main.lua", hooks.flags)
    bed.host:logged("^started$")
    assert.equal(0, bed.host:count_logged("^serving webhooks$"))
    bed.write("main.lua", script("first"))
    assert.equal("first", hooks.answer(bed.host, VALIDATE, hooks.review({})).auditAnnotations.generation)
    save([[
local perilune = require("perilune")
perilune.webhook.validate("v1/Pod", function() end)
]])
    assert.equal(404, (hooks.post(bed.host, VALIDATE, hooks.review({}))))
    bed.host:stop(0)
  end)
end)
