-- Checks names of static functions: a name that three files use does not identify a function in a
-- backtrace. So each name begins with a word of its file (history_find), or the functions are equal
-- and become one.
--
--   luajit scripts/names.lua < list-of-files
--
-- A fault is printed as FILE:LINE: TEXT, and the exit status is 1. Inline functions of headers do
-- not count.

local MOST = 2 -- files that may share a name

-- A definition begins in the first column, and its parameters are followed by a line "{".
local function each_static(text, visit)
  local at = 1
  while true do
    local from, to, head = text:find("\nstatic ([^;{}=]-)\n{", at)
    if not from then
      return
    end
    local name = head:match("([%a_][%w_]*)%(")
    if name and not head:find("^inline ") then
      local _, line = text:sub(1, from):gsub("\n", "")
      visit(name, line + 1)
    end
    at = to
  end
end

local places, names = {}, {}
for file in io.lines() do
  local handle = assert(io.open(file))
  local text = handle:read("*a")
  handle:close()
  local seen = {}
  each_static(text, function(name, line)
    if seen[name] then
      return
    end
    seen[name] = true
    if not places[name] then
      places[name] = {}
      names[#names + 1] = name
    end
    table.insert(places[name], file .. ":" .. line)
  end)
end

local bad = false
table.sort(names)
for _, name in ipairs(names) do
  if #places[name] > MOST then
    bad = true
    for _, place in ipairs(places[name]) do
      io.stderr:write(("%s: static %s is a name in %d files\n"):format(place, name, #places[name]))
    end
  end
end
os.exit(bad and 1 or 0)
