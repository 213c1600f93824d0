-- Rules of the option `ignore` of a scenario.

local format = string.format
local M = {}

-- Parses rules of `ignore`: "status.lastSeen", or "v1/Pod default/pool-* metadata.annotations".
function M.parse(texts)
  local rules = {}
  for i, text in ipairs(texts or {}) do
    local kind, name, path = text:match("^(%S+)%s+(%S+)%s*(%S*)$")
    if not (kind == "external" or kind and kind:find("/", 1, true)) then
      kind, name = nil, nil
      path = text:match("^%S+$")
      local _, opened = text:gsub("%[", "")
      local _, closed = text:gsub("%]", "")
      if not path or opened ~= closed then
        error(format('ignore: "%s" is neither a path nor "KIND NAME [PATH]"', text), 0)
      end
    end
    rules[i] = { kind = kind, path = path ~= "" and path or nil, text = text,
      name = name and "^" .. name:gsub("[%^%$%(%)%%%.%[%]%+%-%?]", "%%%0"):gsub("%*", ".*") .. "$" }
  end
  return rules
end

local function applies(rule, item)
  return (not rule.kind or rule.kind == item.kind)
    and (not rule.name or item.key:find(rule.name) or item.key:gsub("^.*/", ""):find(rule.name))
end

local function below(path, prefix)
  if path:sub(1, #prefix) ~= prefix then
    return false
  end
  local after = path:sub(#prefix + 1, #prefix + 1)
  return after == "" or after == "." or after == "["
end

-- Whether a rule leaves out the field.
function M.is_ignored(rules, item, path)
  for _, rule in ipairs(rules) do
    if rule.path and applies(rule, item) and below(path, rule.path) then
      return true
    end
  end
  return false
end

-- The rule by which only the number of such objects counts; nil: none.
function M.counted_by(rules, item)
  for _, rule in ipairs(rules) do
    if rule.kind and not rule.path and applies(rule, item) then
      return rule
    end
  end
end

return M
