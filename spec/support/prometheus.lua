-- A strict reader of Prometheus' text format: a page that it accepts is accepted by every scraper.
-- Raises an error with the invalid line.
--
--   local page = prometheus.parse(text)
--   page:value("workqueue_depth", { name = "a", controller = "a" })  -> number, or nil
--   page.families["workqueue_depth"]  -> { type=, help=, samples = {{name=, labels=, value=}} }

local M = {}

local Page = {}
Page.__index = Page

local escapes = { ["\\"] = "\\", ["n"] = "\n", ['"'] = '"' }

local function unescape(text, allowed, where)
  local out = text:gsub("\\(.?)", function(c)
    if not allowed:find(c, 1, true) or c == "" then
      error(where .. ": a wrong escape: \\" .. c, 0)
    end
    return escapes[c]
  end)
  return out
end

-- {a="b",c="d"} at `at`: the labels, their canonical text, and the position after them.
local function parse_labels(line, at, where)
  local labels = {}
  while line:sub(at, at) ~= "}" do
    local name, after = line:match('^([%a_][%w_]*)="()', at)
    assert(name, where .. ": no label at column " .. at)
    assert(labels[name] == nil, where .. ": label " .. name .. " twice")
    local ends = after
    while line:sub(ends, ends) ~= '"' do
      assert(ends <= #line, where .. ": a label value does not end")
      ends = ends + (line:sub(ends, ends) == "\\" and 2 or 1)
    end
    labels[name] = unescape(line:sub(after, ends - 1), '\\n"', where)
    at = ends + 1
    if line:sub(at, at) == "," then
      at = at + 1
    else
      assert(line:sub(at, at) == "}", where .. ": a comma is missing at column " .. at)
    end
  end
  return labels, at + 1
end

local function identity(name, labels)
  local parts = {}
  for label, value in pairs(labels) do
    parts[#parts + 1] = string.format("%s=%q", label, value)
  end
  table.sort(parts)
  return name .. "{" .. table.concat(parts, ",") .. "}"
end

local function parse_value(text, where)
  local special = { ["+Inf"] = math.huge, ["-Inf"] = -math.huge, ["NaN"] = 0 / 0 }
  if special[text] then
    return special[text]
  end
  assert(text:match("^[+-]?%d+%.?%d*[eE]?[+-]?%d*$"), where .. ": no number: " .. text)
  return assert(tonumber(text), where .. ": no number: " .. text)
end

local function family_of(page, name)
  local family = page.families[name]
  if family and family.type ~= "histogram" then
    return family
  end
  for _, suffix in ipairs({ "_bucket", "_sum", "_count" }) do
    local base = name:match("^(.+)" .. suffix .. "$")
    if base and page.families[base] and page.families[base].type == "histogram" then
      return page.families[base]
    end
  end
end

local function parse_sample(page, line, where)
  local name, at = line:match("^([%a_:][%w_:]*)()")
  assert(name, where .. ": no sample")
  local labels = {}
  if line:sub(at, at) == "{" then
    labels, at = parse_labels(line, at + 1, where)
  end
  local value = line:match("^ (%S+)$", at)
  assert(value, where .. ": no value at column " .. at)
  local family = assert(family_of(page, name), where .. ": no HELP and TYPE before it")
  assert(family == page.last, where .. ": a family's samples are not together")
  local id = identity(name, labels)
  assert(page.series[id] == nil, where .. ": the series is there twice")
  value = parse_value(value, where)
  assert(family.type ~= "counter" or value >= 0, where .. ": a counter below zero")
  page.series[id] = value
  family.samples[#family.samples + 1] = { name = name, labels = labels, value = value }
end

local function parse_comment(page, line, where)
  local word, name, rest = line:match("^# (%u+) ([%a_:][%w_:]*) (.*)$")
  assert(word == "HELP" or word == "TYPE", where .. ": a comment that is neither HELP nor TYPE")
  if word == "HELP" then
    assert(not page.families[name], where .. ": the family is there twice")
    page.last = { help = unescape(rest, "\\n", where), samples = {}, name = name }
    page.families[name] = page.last
  else
    assert(page.last and page.last.name == name, where .. ": TYPE does not follow HELP")
    assert(not page.last.type, where .. ": TYPE twice")
    assert(rest == "counter" or rest == "gauge" or rest == "histogram", where .. ": type " .. rest)
    page.last.type = rest
  end
end

-- Buckets increase up to +Inf, which equals _count; there is a _sum.
local function check_histogram(page, family)
  local groups = {}
  for _, sample in ipairs(family.samples) do
    if sample.name == family.name .. "_bucket" then
      local le = parse_value(assert(sample.labels.le, family.name .. ": a bucket without le"), family.name)
      local labels = {}
      for label, value in pairs(sample.labels) do
        labels[label] = label ~= "le" and value or nil
      end
      local id = identity("", labels)
      local group = groups[id] or { le = -math.huge, value = 0, labels = labels }
      assert(le > group.le, family.name .. id .. ": buckets are not in order")
      assert(sample.value >= group.value, family.name .. id .. ": buckets are not cumulative")
      group.le, group.value = le, sample.value
      groups[id] = group
    end
  end
  for id, group in pairs(groups) do
    assert(group.le == math.huge, family.name .. id .. ": no bucket for +Inf")
    local count = page.series[identity(family.name .. "_count", group.labels)]
    assert(count == group.value, family.name .. id .. ": _count is not the last bucket")
    assert(page.series[identity(family.name .. "_sum", group.labels)], family.name .. id .. ": no _sum")
  end
  for _, sample in ipairs(family.samples) do
    if sample.name ~= family.name .. "_bucket" then
      assert(groups[identity("", sample.labels)], sample.name .. ": no buckets")
    end
  end
end

local function is_utf8(text)
  text = text:gsub("[%z\1-\127]+", ""):gsub("[\194-\223][\128-\191]", "")
    :gsub("[\224-\239][\128-\191][\128-\191]", ""):gsub("[\240-\244][\128-\191][\128-\191][\128-\191]", "")
  return text == ""
end

function M.parse(text)
  assert(text:sub(-1) == "\n", "the page does not end with a line break")
  assert(is_utf8(text), "the page is no UTF-8")
  local page = setmetatable({ families = {}, series = {} }, Page)
  local number = 0
  for line in text:gmatch("([^\n]*)\n") do
    number = number + 1
    local where = string.format("line %d (%s)", number, line)
    if line:sub(1, 1) == "#" then
      parse_comment(page, line, where)
    else
      parse_sample(page, line, where)
    end
  end
  for name, family in pairs(page.families) do
    assert(family.type, name .. " has no TYPE")
    assert(#family.help > 0, name .. " has no help")
    assert(#family.samples > 0, name .. " has no samples")
    if family.type == "histogram" then
      check_histogram(page, family)
    end
  end
  return page
end

function Page:value(name, labels)
  return self.series[identity(name, labels or {})]
end

-- The sum of all series with the name whose labels include these.
function Page:sum(name, labels)
  local sum = 0
  local family = assert(family_of(self, name), "no metric " .. name)
  for _, sample in ipairs(family.samples) do
    local wanted = sample.name == name
    for label, value in pairs(labels or {}) do
      wanted = wanted and sample.labels[label] == value
    end
    sum = sum + (wanted and sample.value or 0)
  end
  return sum
end

return M
