-- See scripts/bench/hostile.

local e2e = require("spec.support.e2e")
local hostile = require("spec.support.hostile")

local ALLOWED = 0.25 -- s after the limit

local groups = { "endless", "memory", "deep", "values", "floods", "odd", "tampering", "misuse" }
groups = #arg > 0 and arg or groups
local server = e2e.start_embedded()
local scripts, late = 0, 0

for _, group in ipairs(groups) do
  local cases, times = hostile.cases(group), {}
  local host, problems = hostile.run(server, server:new_namespace(), cases, function() end)
  local page = host:metrics()
  for i, case in ipairs(cases) do
    -- Of all its runs; what is cut short by its reconcile_timeout has computed for less.
    local took = page:value("controller_runtime_reconcile_time_seconds_sum",
      { controller = "h-" .. i })
    times[i] = { case[1], (took or 0) - hostile.LIMIT, case.timeout }
  end
  table.sort(times, function(a, b) return a[2] > b[2] end)
  print(("%-10s %3d scripts, %5.0f MiB; latest: %s, %.0f ms after its limit"):format(group, #cases,
    host.child:rss() / 2 ^ 20, times[1][1], times[1][2] * 1000))
  for _, case in ipairs(times) do
    if case[2] > ALLOWED and not case[3] then
      late = late + 1
      print(("  late: %-50s %6.0f ms"):format(case[1], case[2] * 1000))
    end
  end
  if problems ~= "" then
    print(problems)
  end
  scripts = scripts + #cases
  host.child:signal("KILL")
  host.child:wait(e2e.patience)
end
print(("%d scripts; %d later than %.0f ms after the limit"):format(scripts, late, ALLOWED * 1000))
server:stop()
e2e.finish()
