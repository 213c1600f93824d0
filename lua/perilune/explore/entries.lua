-- External tables whose entries have random names, such as the ids that a server gives. Their entries
-- are compared by their content and their number.

local concat, format, sort = table.concat, string.format, table.sort
local M = {}

-- Calls see(item, other) for the items of two states whose members `by` ("id" or "place") are equal.
function M.each_pair(a, b, by, see)
  local others = {}
  for _, other in ipairs(b) do
    others[other[by]] = other
  end
  for _, item in ipairs(a) do
    local other = others[item[by]]
    if other then see(item, other) end
  end
end

-- Notes the tables whose entries have other names in the second state. taint.entries: ids of such.
function M.learn(a, b, taint)
  M.each_pair(a, b, "id", function(item, other)
    for name in pairs(other.entries and item.entries or {}) do
      if not other.entries[name] then
        taint.entries[item.id] = true
      end
    end
  end)
end

-- The content of an entry without its own name and the names of objects.
local function without_names(name, flat)
  local content, lines = {}, {}
  for path, value in pairs(flat) do
    if type(value) == "string" then
      value = value == name and "its name" or value:gsub("^uid of (%S+) .*", "uid of a %1")
    end
    content[path] = value
    lines[#lines + 1] = path .. "=" .. tostring(value)
  end
  sort(lines)
  return content, concat(lines, "\n")
end

-- Such entries are numbered, in the order of their content.
function M.number(state, taint)
  for _, item in ipairs(state) do
    if taint.entries[item.id] and item.entries then
      local list = {}
      for name, flat in pairs(item.entries) do
        local content, text = without_names(name, flat)
        list[#list + 1] = { name = name, content = content, text = text }
      end
      sort(list, function(a, b)
        if a.text ~= b.text then return a.text < b.text end
        return a.name < b.name
      end)
      item.numbered = {}
      for i, entry in ipairs(list) do
        for path, value in pairs(entry.content) do
          item.numbered[format("#%d%s%s", i, path == "" and "" or ".", path)] = value
        end
      end
    end
  end
end

-- The paths and scalars of an item.
function M.flat_of(item)
  return item.numbered or item.flat
end

return M
