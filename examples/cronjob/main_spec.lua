-- Run by `perilune test examples/cronjob`, and explored with --explore.
local test = require("perilune.test")

local CRONJOB, JOB = "batch/v1/CronJob", "batch/v1/Job"

local function cronjob(spec)
  spec.jobTemplate = { spec = { template = { spec = { restartPolicy = "Never",
    containers = { { name = "work", image = "example.com/work" } } } } } }
  return { apiVersion = "batch/v1", kind = "CronJob", spec = spec,
    metadata = { name = "report", namespace = "default" } }
end

-- The day before Europe's clocks go forward.
local options = { scripts = ".", time = "2026-03-28T10:00:00Z" }

describe("cronjob", function()
  local world

  -- The times of the Jobs, in order.
  local function times()
    local out = {}
    for _, job in ipairs(world:list(JOB)) do
      out[#out + 1] =
        job.metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    end
    table.sort(out)
    return out
  end

  local function run(spec, complete)
    world = test.world(options)
    if complete then
      world:simulate("jobs", { delay = "1m" })
    end
    world:create(cronjob(spec))
    world:settle{ limit = "1s" }
  end

  it("runs at the times of its zone, also the one that an hour's change leaves out", function()
    run({ schedule = "30 2 * * *", timeZone = "Europe/Berlin" }, true)
    world:advance("48h")
    assert.same({ "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z" }, times())
    local status = world:get(CRONJOB, "default/report").status
    assert.equal("2026-03-30T00:30:00Z", status.lastScheduleTime)
    assert.is_nil(status.active)
  end)

  it("keeps as many Jobs as the limits say", function()
    run({ schedule = "*/10 * * * *", successfulJobsHistoryLimit = 2 }, true)
    world:advance("58m")
    assert.same({ "2026-03-28T10:40:00Z", "2026-03-28T10:50:00Z" }, times())
  end)

  it("waits for a Job that runs, or replaces it, or lets both run", function()
    for policy, count in pairs({ Forbid = 1, Replace = 1, Allow = 3 }) do
      run({ schedule = "*/10 * * * *", concurrencyPolicy = policy })
      world:advance("35m")
      assert.equal(count, #times(), policy)
      local first = policy == "Replace" and "2026-03-28T10:30:00Z" or "2026-03-28T10:10:00Z"
      assert.equal(first, times()[1], policy)
    end
  end)

  it("runs the last of the times that it has missed, unless that is too long ago", function()
    for deadline, expected in pairs({ [600] = 0, [3000] = 1 }) do
      run({ schedule = "0 * * * *", startingDeadlineSeconds = deadline })
      world:stop()
      world:advance("2h30m")
      world:start()
      world:settle{ limit = "1s" }
      assert.equal(expected, #times(), deadline)
    end
  end)

  it("makes no Job while it is suspended", function()
    run({ schedule = "*/10 * * * *", suspend = true })
    world:advance("1h")
    assert.same({}, times())
  end)
end)

-- Once a year, so that nothing happens after the end of the scenario.
test.explore("cronjob survives", options, function(world)
  world:simulate("jobs", { delay = "1m" })
  world:create(cronjob({ schedule = "0 20 28 3 *" }))
  world:settle{ limit = "1m" }
  world:advance("12h")
  world:settle()
  world:delete(CRONJOB, "default/report")
  world:settle()
end)
