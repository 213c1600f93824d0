-- Accepted findings: a file with one on each line, "CLASS KIND KEY [FIELD]: reason", where `*`
-- matches anything. An accepted finding is listed in every report and is not a failure.

local check = require("perilune.check")
local rank = require("perilune.explore.rank")

local format = string.format
local M = {}

-- A message if no finding has that class; nil otherwise.
local function wrong_class(word)
  if not word:find("*", 1, true) and not rank.classes[word] then
    return format('there is no class of findings "%s"; %s', word, check.nearest(word, rank.classes))
  end
end

local function pattern(word)
  return "^" .. word:gsub("[%^%$%(%)%%%.%[%]%+%-%?]", "%%%0"):gsub("%*", ".*") .. "$"
end

-- Parses the rules. Returns nil and "FILE:LINE: message" for a mistake.
function M.parse(text, file)
  local rules, n = {}, 0
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    n = n + 1
    if line:find("%S") and not line:find("^%s*#") then
      local what, reason = line:match("^(.-):%s+(%S.*)$")
      local words = {}
      for word in (what or ""):gmatch("%S+") do
        words[#words + 1] = pattern(word)
      end
      if #words < 3 or #words > 4 then
        return nil, format("%s:%d: a line is CLASS KIND KEY [FIELD]: REASON, * is anything", file, n)
      end
      local wrong = wrong_class(what:match("%S+"))
      if wrong then
        return nil, format("%s:%d: %s", file, n, wrong)
      end
      rules[#rules + 1] = { words = words, reason = reason, text = what }
    end
  end
  return rules
end

local function accepts(rule, f)
  local words = rule.words
  local kind = f.kind or ""
  return (f.class or ""):find(words[1])
    and (kind:find(words[2]) or (kind:match("[^/]+$") or kind):find(words[2]))
    and (f.key or ""):find(words[3])
    and (not words[4] or (f.field or ""):find(words[4])) and true
end

-- The rule that accepts the finding; nil: none does.
function M.of(rules, finding)
  for _, rule in ipairs(rules or {}) do
    if accepts(rule, finding) then
      return rule
    end
  end
end

return M
