-- `--write-spec FILE`: writes findings as a spec. Plain `perilune test` then runs the plans again,
-- and fails as long as the findings are there.

local report = require("perilune.explore.report")

local format = string.format
local M = {}

local HEAD = [[
-- Findings of `perilune test --explore`, to keep: each runs its plan again, and fails as long as
-- something is wrong afterwards.
local test = require("perilune.test")

]]

local function quoted(text)
  return format("%q", text):gsub("\\\n", "\\n")
end

-- writer(group, context): appends a finding to the file, which is created with the first one.
function M.writer(path, scenario)
  return function(group)
    local had = io.open(path, "rb")
    if had then
      had:close()
    end
    local file, message = io.open(path, "ab")
    if not file then
      error("--write-spec: " .. message, 0)
    end
    if not had then
      file:write(HEAD)
    end
    local f = group.finding
    file:write(format("-- %s\ntest.keep(%s, %s, %s)\n\n", report.headline(f),
      quoted(scenario.file or ""), quoted(scenario.name), quoted(group.plan)))
    file:close()
  end
end

return M
