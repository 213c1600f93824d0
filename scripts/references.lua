-- Checks that every reference resolves for someone who has only this repository:
--
-- - rules that a comment or a test's name cites ("rule 61", "rules 61-71, 73", rule_114_...) are in
--   host/RULES.md, and faults (F20) are in the table of spec/README.md;
-- - a page (*.md) or a path that a comment names exists, as does a name of C (pl_...);
-- - each rule of host/RULES.md is cited somewhere, has a source, and names tests that exist;
-- - in Markdown, links lead to files, and paths, C files and names of C in backticks exist;
-- - the README of each folder of host/ names each C file of the folder, or a pattern as gate_*, and
--   has the four headings.
--
--   git ls-files -co --exclude-standard | luajit scripts/references.lua [FOLDER]
--
-- A fault is printed as FILE:LINE: TEXT, and the exit status is 1. The test is
-- spec/lua/references_spec.lua.

local RULES, FAULTS = "host/RULES.md", "spec/README.md"
local root = (arg[1] or ".") .. "/"

local complaints = 0

local function complain(file, line, text, ...)
  complaints = complaints + 1
  io.stderr:write(("%s:%d: %s\n"):format(file, line, text:format(...)))
end

-- ---- what there is ----

local in_order, files, folders, by_name = {}, {}, {}, {}

local function remember(file)
  files[file] = true
  local name = file:match("[^/]+$")
  by_name[name] = by_name[name] or {}
  table.insert(by_name[name], file)
  local folder = file:match("^(.*)/[^/]+$")
  while folder do
    folders[folder] = true
    folder = folder:match("^(.*)/[^/]+$")
  end
end

local function read(file)
  local handle = io.open(root .. file, "rb")
  local text = handle and handle:read("*a")
  if handle then
    handle:close()
  end
  return text
end

-- "a/./b/../c" -> "a/c"; nil where it leads out of the repository.
local function normal(path)
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." then
      if #parts == 0 then
        return nil
      end
      table.remove(parts)
    elseif part ~= "." then
      table.insert(parts, part)
    end
  end
  return table.concat(parts, "/")
end

-- "a/b/c" -> "a/b"
local function folder_of(file)
  return file:match("^(.*)/[^/]+$") or ""
end

-- Whether some key of `names` matches a pattern such as "gate_*.c".
local function fits(names, stars)
  local pattern = "^" .. stars:gsub("[%-%.%+]", "%%%0"):gsub("%*", "[^/]*")
  for name in pairs(names) do
    if name:find(pattern) then
      return true
    end
  end
  return false
end

local function is_there(path)
  if not path then
    return false
  end
  if path:find("*", 1, true) then
    return fits(files, path)
  end
  return files[path] or folders[path] or files[path .. ".c"] or files[path .. ".h"]
    or files[path .. ".lua"]
end

-- The folders in which a path of a comment may begin.
local STARTS = { "", "host/", "spec/", "spec/unit/", "lua/", "lua/perilune/", "scripts/" }

local function resolves(path, from)
  if is_there(normal(folder_of(from) .. "/" .. path)) then
    return true
  end
  for _, start in ipairs(STARTS) do
    if is_there(normal(start .. path)) then
      return true
    end
  end
  return false
end

-- ---- comments: each function calls see(line, text) for each line of a comment ----

local function spaces(text)
  return (text:gsub("[^\n]", " "))
end

-- The text with everything except its comments replaced by spaces. opens: patterns that begin an
-- item, tried at each position, and what the item is: { pattern, function(text, from, to) -> end,
-- is a comment }.
local function comments_of(text, opens, first)
  local out, at = {}, 1
  while at <= #text do
    local next_at = text:find(first, at)
    if not next_at then
      break
    end
    table.insert(out, spaces(text:sub(at, next_at - 1)))
    at = next_at
    local stop, is_comment = at, false
    for _, open in ipairs(opens) do
      local from, to = text:find("^" .. open[1], at)
      if from then
        stop, is_comment = open[2](text, from, to), open[3]
        break
      end
    end
    local piece = text:sub(at, stop)
    table.insert(out, is_comment and piece or spaces(piece))
    at = stop + 1
  end
  return table.concat(out)
end

local function to_end_of_line(text, _, to)
  return (text:find("\n", to, true) or #text + 1) - 1
end

local function to_quote(text, from)
  local quote, at = text:sub(from, from), from + 1
  while at <= #text do
    local char = text:sub(at, at)
    if char == "\\" then
      at = at + 1
    elseif char == quote or char == "\n" then
      return at
    end
    at = at + 1
  end
  return #text
end

local function to_long_bracket(text, from, to)
  local level = text:sub(from, to):match("%[(=*)%[")
  local _, stop = text:find("]" .. level .. "]", to, true)
  return stop or #text
end

local function to_star_slash(text, _, to)
  local _, stop = text:find("*/", to + 1, true)
  return stop or #text
end

local LANGUAGES = {
  c = {
    first = "[/\"']",
    { "/%*", to_star_slash, true },
    { "//", to_end_of_line, true },
    { "[\"']", to_quote, false },
  },
  lua = {
    first = "[%-\"'%[]",
    { "%-%-%[=*%[", to_long_bracket, true },
    { "%-%-", to_end_of_line, true },
    { "%[=*%[", to_long_bracket, false },
    { "[\"']", to_quote, false },
  },
  script = { first = "#", { "#", to_end_of_line, true } },
}

local BY_ENDING = { c = "c", h = "c", lua = "lua", py = "script", cmake = "script", sh = "script" }

local function language_of(file, text)
  local ending = file:match("%.(%w+)$")
  if file:find("CMakeLists%.txt$") or (not ending and text:sub(1, 2) == "#!") then
    return LANGUAGES.script
  end
  return LANGUAGES[BY_ENDING[ending]]
end

local function each_line(text, see)
  local number = 0
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    number = number + 1
    see(number, line)
  end
end

-- ---- rules and faults ----

local rules, faults = {}, {} -- number -> line of its row; "F20" -> true

local function each_number(list, see)
  for first, last in list:gmatch("(%d+)%-?(%d*)") do
    for number = tonumber(first), tonumber(last) or tonumber(first) do
      see(number)
    end
  end
end

local function trim(text)
  return (text:gsub("^%s+", ""):gsub("%s+$", ""))
end

local function cells_of(row)
  local cells = {}
  for cell in row:gmatch("|([^|]*)") do
    table.insert(cells, trim(cell))
  end
  return cells
end

local function check_tests(line, number, tests)
  for name in tests:gmatch("`([^`]+)`") do
    local found = false
    for _, file in ipairs(by_name[name:match("[^/]+$")] or {}) do
      found = found or (file:find("^spec/") and ("/" .. file):sub(-#name - 1) == "/" .. name)
    end
    if not found then
      complain(RULES, line, "rule %d names a test that is not there: %s", number, name)
    end
  end
end

local function read_rules()
  each_line(read(RULES) or "", function(line, row)
    local number = tonumber(row:match('^| <a id="rule%-(%d+)"></a>'))
    if not number then
      return
    end
    local cells = cells_of(row)
    if rules[number] then
      complain(RULES, line, "rule %d is there twice", number)
    end
    rules[number] = { line = line }
    if tonumber(cells[1]:match("</a>(%d+)$")) ~= number or #cells < 4 or cells[3] == "" then
      complain(RULES, line, "rule %d: want | number | what holds | source | tests |", number)
      return
    end
    check_tests(line, number, cells[4])
  end)
end

local function cite(file, line, number)
  if rules[number] then
    rules[number].cited = true
  else
    complain(file, line, "%s has no rule %d", RULES, number)
  end
end

local function read_faults()
  each_line(read(FAULTS) or "", function(line, row)
    local fault = row:match("^| (F%d+) |")
    if fault then
      faults[fault] = true
    end
    if fault or row:find("^| %- |") then
      each_number(cells_of(row)[3] or "", function(number)
        cite(FAULTS, line, number)
      end)
    end
  end)
end

-- ---- names of the code ----

-- Name -> how often it is in the code, outside of comments.
local identifiers = {}

local function count_identifiers(text, by)
  for name in text:gmatch("%f[%w_][pP][lL]_[%w_]+") do
    identifiers[name] = (identifiers[name] or 0) + by
  end
end

-- "pl_gate_" stands for all names that begin with it.
local function check_identifiers(file, line, text)
  for name in text:gmatch("%f[%w_][pP][lL]_[%w_]+") do
    if (identifiers[name] or 0) == 0 and name:sub(-1) ~= "_" then
      complain(file, line, "no code names %s", name)
    end
  end
end

-- ---- what a comment says ----

-- "rules 1-10, 12 and 14": whole is "1-10, 12 and 14".
local function each_citation(text, see)
  for at in text:gmatch("%f[%w][Rr]ules? ()%d") do
    local stop = text:match("^%d+%-?%d*()", at)
    while true do
      local more = text:match("^, %d+%-?%d*%f[%W]()", stop)
        or text:match("^,? and %d+%-?%d*%f[%W]()", stop)
        or text:match("^ or %d+%-?%d*%f[%W]()", stop)
      if not more then
        break
      end
      stop = more
    end
    see(text:sub(at, stop - 1))
  end
end

-- A number alone, in brackets or as the whole comment, was once the way to cite a rule.
local function check_bare(file, line, text)
  for list in text:gmatch("%f[%w%(]%((%d[%d, %-]*)%)") do
    if rules[tonumber(list:match("^%d+"))] then
      complain(file, line, "(%s): write rule %s, or say what it is", list, list)
    end
  end
  local alone = text:match("^%s*/%* (%d[%d, %-]*) %*/")
  if alone and rules[tonumber(alone:match("^%d+"))] then
    complain(file, line, "%s: write rule %s, or say what it is", alone, alone)
  end
end

local ENDINGS = {}
for ending in ("c h lua md py sh txt json cmake svg yaml"):gmatch("%w+") do
  ENDINGS[ending] = true
end

-- Headers of others, and files that are generated or given by users.
local FOREIGN = {}
for name in ("lua.h uv.h curl.h main.lua"):gmatch("%S+") do
  FOREIGN[name] = true
end

local TOP = { host = true, lua = true, spec = true, scripts = true, examples = true }

local function check_path(file, line, path)
  local ending = path:match("%.(%w+)$")
  local name, top = path:match("[^/]+$"), path:match("^(%w+)/")
  if not (ending and ENDINGS[ending]) and not (TOP[top] and name) then
    return
  end
  if path:find("^[/%.]") or path:find("NAME") or path:find("LAYER") or FOREIGN[name] then
    return
  end
  if not path:find("/") and ending ~= "md" then
    if (ending == "c" or ending == "h") and not (by_name[name] or fits(by_name, name)) then
      complain(file, line, "there is no %s", path)
    end
  elseif not resolves(path, file) then
    complain(file, line, "there is no %s", path)
  end
end

local function check_paths(file, line, text)
  text = text:gsub("%w+://%S+", " ")
  for before, path in (" " .. text):gmatch("([^%w_%.%-/$~])([%w_%.%-/%*]+)") do
    if before ~= "<" and before ~= "{" then
      check_path(file, line, (path:gsub("[%.%*%-/]+$", "")))
    end
  end
end

local function check_comment(file, line, text)
  each_citation(text, function(list)
    each_number(list, function(number)
      cite(file, line, number)
    end)
  end)
  for fault in text:gmatch("%f[%w](F%d+)%f[^%w]") do
    if not faults[fault] then
      complain(file, line, "%s has no fault %s", FAULTS, fault)
    end
  end
  if file:find("%.[ch]$") then
    check_bare(file, line, text)
    check_identifiers(file, line, text)
  end
  check_paths(file, line, text)
end

local function check_names(file, line, text)
  for number in text:gmatch("%f[%w_]rule_(%d+)_") do
    cite(file, line, tonumber(number))
  end
  for number in text:gmatch("_rule_(%d+)_") do
    cite(file, line, tonumber(number))
  end
  local fault = text:match("^TEST%([Ff](%d+)_")
  if fault and not faults["F" .. fault] then
    complain(file, line, "%s has no fault F%s", FAULTS, fault)
  end
end

-- ---- Markdown ----

local function check_link(file, line, link)
  local path = link:match("^[^#]*")
  if path == "" or path:find("^%a+:") then
    return
  end
  if not is_there(normal(folder_of(file) .. "/" .. path)) then
    complain(file, line, "the link to %s leads nowhere", link)
  end
end

local function check_path_of_page(file, line, path)
  local top = path:match("^(%w+)/")
  if top and (TOP[top] or (file:find("^host/") and folders["host/" .. top])) then
    if not resolves(path, file) then
      complain(file, line, "there is no %s", path)
    end
  elseif path:find("^[%w_%*]+%.[ch]$") and file ~= RULES then -- tests: see check_tests
    check_path(file, line, path)
  end
end

local function check_page(file, text)
  each_line(text, function(line, row)
    for link in row:gmatch("%]%(([^)%s]+)%)") do
      check_link(file, line, link)
    end
    for code in row:gmatch("`([^`]+)`") do
      check_identifiers(file, line, code)
      if code:find("^[%w_%./%-%*]+$") then
        check_path_of_page(file, line, code)
      end
    end
  end)
end

-- Whether the text has the name, or a pattern such as `gate_*` that matches it.
local function names(text, name)
  for stars in text:gmatch("`([%w_]*%*[%w_]*)") do
    if #stars > 1 and fits({ [name] = true }, stars) then
      return true
    end
  end
  return text:find("%f[%w_]" .. name .. "%f[^%w_]")
end

local HEADINGS = { "Data", "Files, in reading order", "Invariants", "Where to add a thing" }

-- A header that only one folder includes (NAME_impl.h) is named by its file, NAME.
local function check_folder(folder)
  local page = folder .. "/README.md"
  local text = read(page) or ""
  for file in pairs(files) do
    local name = folder_of(file) == folder and file:match("([%w_]+)%.[ch]$")
    if name and not names(text, (name:gsub("_impl$", ""))) then
      complain(page, 1, "the page does not name %s", file:match("[^/]+$"))
    end
  end
  local at = 1
  for _, heading in ipairs(HEADINGS) do
    local found = ("\n" .. text):find("\n##+ " .. heading .. "\n", at)
    if not found then
      complain(page, 1, "the page has no heading \"%s\" in its place", heading)
    end
    at = found or at
  end
end

-- ---- all of it ----

local function each_text(see)
  for _, file in ipairs(in_order) do
    if file:find("%.%w+$") or file:find("^scripts/") or file:find("^spec/") then
      see(file, read(file) or "")
    end
  end
end

local comments = {} -- file -> its text with everything but its comments blanked

local function read_source(file, text)
  local language = language_of(file, text)
  if language then
    comments[file] = comments_of(text, language, language.first)
    count_identifiers(text, 1)
    count_identifiers(comments[file], -1)
  end
end

local function check_source(file, text)
  each_line(comments[file] or "", function(line, comment)
    check_comment(file, line, comment)
  end)
  each_line(text, function(line, row)
    check_names(file, line, row)
  end)
end

for file in io.lines() do
  table.insert(in_order, file)
  remember(file)
end
read_rules()
read_faults()
each_text(read_source)
each_text(function(file, text)
  if file:find("%.md$") then
    check_page(file, text)
  elseif comments[file] then
    check_source(file, text)
  end
end)
for folder in pairs(folders) do
  if folder:find("^host/%w+$") then
    check_folder(folder)
  end
end
for number, rule in pairs(rules) do
  if not rule.cited then
    complain(RULES, rule.line, "nothing cites rule %d", number)
  end
end

os.exit(complaints == 0 and 0 or 1)
