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

local function as_hex(byte)
  return format("\\x%02x", byte:byte())
end

-- What begins with a character in UTF-8.
local CHARACTERS = { "^[\194-\223][\128-\191]", "^\224[\160-\191][\128-\191]",
  "^[\225-\236\238\239][\128-\191][\128-\191]", "^\237[\128-\159][\128-\191]",
  "^\240[\144-\191][\128-\191][\128-\191]", "^[\241-\243][\128-\191][\128-\191][\128-\191]",
  "^\244[\128-\143][\128-\191][\128-\191]" }
local NO_CHARACTER = "^\239\191[\190\191]" -- U+FFFE and U+FFFF

-- Where the character ends that begins there; nil: none does.
local function end_of_character(text, at)
  for _, pattern in ipairs(text:find(NO_CHARACTER, at) and {} or CHARACTERS) do
    local _, last = text:find(pattern, at)
    if last then
      return last
    end
  end
end

local function of_high_bytes(text)
  local out, at = {}, 1
  while at <= #text do
    local last = end_of_character(text, at)
    out[#out + 1] = last and text:sub(at, last) or as_hex(text:sub(at, at))
    at = (last or at) + 1
  end
  return table.concat(out)
end

-- XML has no way to write most control characters, nor bytes that are not UTF-8: "\x1b" is in their place.
function M.for_xml(text)
  return (text:gsub("[%z\1-\8\11\12\14-\31]", as_hex):gsub("[\128-\255]+", of_high_bytes))
end

local function escaped(text)
  return (M.for_xml(text):gsub('[&<>"]', NAMES))
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
