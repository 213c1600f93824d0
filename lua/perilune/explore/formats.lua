-- Explorations as TAP or as JUnit's XML: each scenario is a test. Its findings are the text of a test that
-- has failed. A result is {name, code, lines, seconds}: the exit code of the scenario, and what it printed.

local format = string.format
local M = {}

local FAILURES = { [1] = "there are findings, or it cannot be explored, or the plan does not apply",
  [3] = "the same plan and seed gave different traces" }

function M.tap(results)
  local out = {}
  for i, result in ipairs(results) do
    out[#out + 1] = format("%s %d - %s", result.code == 0 and "ok" or "not ok", i, result.name)
    for _, line in ipairs(result.lines) do
      out[#out + 1] = ("# " .. line:gsub("\n", "\n# "))
    end
  end
  out[#out + 1] = format("1..%d", #results)
  return table.concat(out, "\n")
end

local NAMES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

-- XML has no way to write most control characters.
local function escaped(text)
  return (text:gsub('[&<>"]', NAMES):gsub("[%z\1-\8\11\12\14-\31]", "?"))
end

local function test_case(result)
  local element = result.code == 0 and "system-out" or "failure"
  local message = result.code == 0 and "" or format(' message="%s"', FAILURES[result.code])
  return format('    <testcase classname="perilune test --explore" name="%s" time="%.2f">\n'
    .. "      <%s%s>%s</%s>\n    </testcase>", escaped(result.name), result.seconds, element, message,
    escaped(table.concat(result.lines, "\n")), element)
end

function M.junit(results)
  local cases, failed, seconds = {}, 0, 0
  for i, result in ipairs(results) do
    cases[i] = test_case(result)
    failed = failed + (result.code == 0 and 0 or 1)
    seconds = seconds + result.seconds
  end
  local counts = format('tests="%d" failures="%d" errors="0" time="%.2f"', #results, failed, seconds)
  return format('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites %s>\n  <testsuite name="explorations" %s>\n'
    .. "%s\n  </testsuite>\n</testsuites>", counts, counts, table.concat(cases, "\n"))
end

return M
