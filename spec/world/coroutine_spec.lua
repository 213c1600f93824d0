-- Coroutines that scripts make, and calls that wait in them. Run by `perilune test`.
local test = require("perilune.test")

describe("a coroutine that waits in one task", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()

  after_each(files.remove)

  -- The lines that a reconcile with this body prints. `co` waits for a second in a spawned task
  -- while the rest of the body runs.
  local function prints(body)
    local world = test.world{ scripts = files.script(([[
perilune.controller("co"):For("v1/ConfigMap"):Reconcile(function()
  local function job()
    perilune.sleep("1s")
    coroutine.yield("slept")
    return "done"
  end
  local began = perilune.time.now()
  local function say(...)
    print("CO " .. perilune.time.now() - began .. " " .. table.concat({ ... }, " "))
  end
  %s
end)]]):format(body)) }
    world:create{ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a", namespace = "default" } }
    world:settle()
    local out = {}
    for _, line in ipairs(world:logs("info")) do
      out[#out + 1] = line.msg:match("^CO (.*)")
    end
    return out
  end

  local refusal = "a coroutine that waits in another task can't be resumed"

  it("is not resumed by another", function()
    assert.same({ "0.5 normal " .. refusal, "1 slept suspended", "1 done dead" }, prints([[
  local co = coroutine.create(job)
  local task = perilune.spawn(function() return select(2, coroutine.resume(co)) end)
  perilune.sleep("500ms")
  say(coroutine.status(co), select(2, coroutine.resume(co)))
  say(perilune.join(task), coroutine.status(co))
  say(select(2, coroutine.resume(co)), coroutine.status(co))]]))
  end)

  it("is not called by another when it is wrapped", function()
    assert.same({ "0.5 true", "1 slept", "1 done" }, prints(([[
  local next_job = coroutine.wrap(job)
  local task = perilune.spawn(next_job)
  perilune.sleep("500ms")
  say(tostring(select(2, pcall(next_job)):find("%s", 1, true) ~= nil))
  say(perilune.join(task))
  say(next_job())]]):format(refusal)))
  end)
end)
