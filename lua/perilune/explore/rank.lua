-- The order of findings: first those that say most about the cause. A group is reported with its first
-- finding, so what is specific comes before what follows from it, and statuses come last.

local M = {}

-- The rank of each class of findings.
M.classes = { error = 1, unsettled = 2, invariant = 3, replaced = 4, leak = 5, rewritten = 6,
  state = 7, restart = 8 }

-- Members of an element of a list that say less than the others: which element it is, stands in its name.
local MINOR = { lastTransitionTime = true, lastProbeTime = true, lastUpdateTime = true, reason = true, message = true,
  apiVersion = true, blockOwnerDeletion = true, controller = true, kind = true }

local function rank_of(f)
  local status = f.field and f.field:find("^status") and 100 or 0
  local minor = MINOR[f.field and f.field:match("%]%.(%a+)$")] and 0.5 or 0
  return status + (M.classes[f.class] or 9) + minor
end

-- Sorts findings in place; those of the same rank stay in their order.
function M.sort(findings)
  for i, f in ipairs(findings) do
    f.i = i
  end
  table.sort(findings, function(a, b)
    local x, y = rank_of(a), rank_of(b)
    if x ~= y then return x < y end
    return a.i < b.i
  end)
  return findings
end

return M
