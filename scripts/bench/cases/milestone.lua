-- Shared by all cases: the settings that scripts/bench/run passes with --config, and lines of the
-- log that it reads.
local perilune = require("perilune")

local milestone = { config = perilune.config }

milestone.kinds = {
  pods = "v1/Pod",
  websites = "example.com/v1/Website",
}

-- The digits that the load server changes, as text for pods and as a number for websites.
milestone.sentinel = 1999999999

function milestone.say(log, name, fields)
  fields = fields or {}
  fields.milestone = name
  log:info("bench", fields)
end

-- Calls `done` when it has been called `count` times; says "synced" the first time.
function milestone.counter(count, done)
  local seen = 0
  return function(log)
    seen = seen + 1
    if seen == 1 then
      milestone.say(log, "synced")
    end
    if seen == count then
      milestone.say(log, "all_reconciled", { reconciles = seen })
      if done then
        done(log)
      end
    end
    return seen
  end
end

return milestone
