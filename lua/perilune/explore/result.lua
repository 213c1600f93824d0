-- What an execution returns: see README.md. Adds its method to an executor's class.

local report = require("perilune.explore.report")

local format = string.format

-- The trace as text, and all values of the states at settled points.
local function digest_of(trace, settles)
  local lines = {}
  for i, e in ipairs(trace) do
    lines[i] = report.trace_line(e)
  end
  for i, settle in ipairs(settles) do
    lines[#lines + 1] = format("settled %d with %d objects", i, #settle.state)
    for _, item in ipairs(settle.state) do
      local values = {}
      for path, value in pairs(item.flat) do
        values[#values + 1] = format("settled %d: %s %s %s is %s", i, item.kind, item.key, path,
          tostring(value))
      end
      table.sort(values)
      for _, value in ipairs(values) do
        lines[#lines + 1] = value
      end
    end
  end
  return table.concat(lines, "\n")
end

-- Few executions are compared, so the digest is computed at its first use.
local lazy_digest = { __index = function(execution, name)
  if name ~= "digest" then return nil end
  local digest = digest_of(execution.trace, execution.settles)
  execution.digest = digest
  return digest
end }

return function(exec)

function exec:result()
  return setmetatable({ plan = self.plan, trace = self.trace,
    settles = self.settles, errors = self.errors, invariants = self.invariants,
    unsettled = self.unsettled, inconclusive = self.inconclusive, restarts = self.rewrites,
    points = self.choose.points, deletions = self.choose.deletions, keys = self.choose.keys,
    most_runs = self.choose:most_runs(), while_held = self.while_held,
    claims = self.false_claims, removed = self.removed,
    requeues = self.requeues, lists = self.lists, rollouts = self.rollouts, hosts = #self.world.hosts,
    kinds = self.choose.kinds, events = self.choose.events, restarted = self.restarts,
    steps = self.choose.step, longest = self.longest,
    last_point = self.choose.last_point, unmet = self.choose:unmet(),
    lines = self.lines, versions = self.versions }, lazy_digest)
end
end
