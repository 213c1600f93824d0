-- `perilune test`: finds the specs, runs them with busted, and closes the worlds that each test
-- opened. Returns a function of the command's input as JSON: {paths=, flags={filter=, output=,
-- seed=}}; its result is the exit code.

local host = require("perilune.host")

local NO_BUSTED = "perilune test: busted is not installed; install it with `apt install lua-busted`"
  .. " (Debian, Ubuntu) or `luarocks install busted`\n"

local function say(message, ...)
  io.stderr:write("perilune test: ", message:format(...), "\n")
end

local function load_busted()
  local ok, core = pcall(require, "busted.core")
  if ok then
    return core
  end
  io.stderr:write(NO_BUSTED)
  if not tostring(core):find("module 'busted.core' not found", 1, true) then
    io.stderr:write(tostring(core), "\n")
  end
  return nil
end

-- ---- which files ----

local function add_files(out, path, lfs)
  local mode = lfs.attributes(path, "mode")
  if mode ~= "directory" then
    out[#out + 1] = path
    return
  end
  local names = {}
  for name in lfs.dir(path) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local inside = path == "." and name or path .. "/" .. name
    local hidden = name:sub(1, 1) == "." -- also "." and ".."
    if not hidden and lfs.attributes(inside, "mode") == "directory" then
      if lfs.attributes(inside .. "/.busted", "mode") then
        say("%s is left out: its .busted says that busted itself runs its specs", inside)
      else
        add_files(out, inside, lfs)
      end
    elseif not hidden and name:find("_spec%.lua$") then
      out[#out + 1] = inside
    end
  end
end

-- The spec files; nil after a message.
local function find_files(paths)
  local lfs = require("lfs")
  local out = {}
  for _, path in ipairs(paths) do
    path = #path > 1 and path:gsub("/+$", "") or path
    local mode, message = lfs.attributes(path, "mode")
    if not mode then
      say("%s:%s", path, message:match("[^:]*$"))
      return nil
    end
    local before = #out
    add_files(out, path, lfs)
    if #out == before then
      say("%s: no *_spec.lua is there", path)
      return nil
    end
  end
  return out
end

-- ---- running them ----

local ERRORS = 5 -- logged errors that the message of a failed test contains
local OUTPUTS = { text = "plainTerminal", tap = "TAP", json = "json", junit = "junit" }

local function subscribe(busted, counts, quiet)
  local function count(element, _, message)
    local what = element and element.descriptor == "it" and "failures" or "errors"
    counts[what] = counts[what] + 1
    if quiet then
      say("%s", tostring(type(message) == "table" and message.message or message))
    end
    return nil, true
  end
  busted.subscribe({ "test", "start" }, function()
    counts.tests = counts.tests + 1
    return nil, true
  end)
  busted.subscribe({ "error" }, count)
  busted.subscribe({ "failure" }, count)
end

-- The number of open worlds at the beginning of a part of the run, by its name.
local open_before = {}

local function mark(name)
  return function()
    local state = package.loaded["perilune.test_state"]
    open_before[name] = state and #state.worlds or 0
    require("perilune.world").renew()
    return nil, true
  end
end

-- Closes the worlds that the part has opened.
local function close(name)
  return function()
    local state = package.loaded["perilune.test_state"]
    if state then
      state.close_worlds(open_before[name] or 0)
    end
    return nil, true
  end
end

-- Closes the worlds of before_each after the functions of after_each. busted publishes no event
-- there: a test begins after before_each and ends before after_each.
local function follow_each_test()
  local make = require("busted.block")
  package.loaded["busted.block"] = function(busted)
    local block = make(busted)
    local set_up, leave = block.lazySetup, block.dexecAll
    function block.lazySetup(...)
      local ok = set_up(...)
      mark("each")()
      return ok
    end
    function block.dexecAll(name, ...)
      local ok = leave(name, ...)
      if name == "after_each" then
        close("each")()
      end
      return ok
    end
    return block
  end
end

-- Closes worlds at the end of the test that opened them, others at the end of their file.
local function follow_worlds(busted)
  busted.subscribe({ "test", "start" }, mark("test"))
  busted.subscribe({ "test", "end" }, close("test"))
  busted.subscribe({ "file", "start" }, mark("file"))
  busted.subscribe({ "file", "end" }, close("file"))
end

-- busted's handler for JSON writes nothing at all if a result has a function, as a pending test has.
local function tolerant(dkjson)
  return setmetatable({ encode = function(value)
    return dkjson.encode(value, { exception = dkjson.encodeexception })
  end }, { __index = dkjson })
end

-- busted's handler for JUnit writes names and messages as they are.
local function valid(xml)
  return setmetatable({ tostring = function(...)
    return require("perilune.explore.formats").for_xml(xml.tostring(...))
  end }, { __index = xml })
end

-- The errors that the hosts of open worlds have logged, each once: what a test expected may be
-- missing because of them.
local function logged_errors()
  local lines, counts = {}, {}
  local state = package.loaded["perilune.test_state"]
  for _, world in ipairs(state and state.worlds or {}) do
    for _, entry in ipairs(world:logs("error")) do
      local why = tostring(entry.error or entry.unsynced or ""):match("^[^\n]*")
      local line = ("%s %s: %s%s"):format(entry.controller or "", entry.key or "", entry.msg,
        why ~= "" and ": " .. why or ""):gsub("^ +:? *", "")
      lines[#lines + 1] = not counts[line] and line or nil
      counts[line] = (counts[line] or 0) + 1
    end
  end
  for i, line in ipairs(lines) do
    lines[i] = counts[line] > 1 and ("%s (%d times)"):format(line, counts[line]) or line
  end
  return lines
end

-- Adds them to the message of a test that has not passed.
local function tell_logged_errors(busted)
  local rewrite = busted.rewriteMessage
  function busted.rewriteMessage(element, message, trace)
    local text = rewrite(element, message, trace)
    local ok, lines = pcall(logged_errors)
    if not ok or #lines == 0 then
      return text
    end
    local more = #lines > ERRORS and ("\n  and %d more"):format(#lines - ERRORS) or ""
    return ("%s\nErrors in the log:\n  %s%s"):format(text,
      table.concat(lines, "\n  ", 1, math.min(#lines, ERRORS)), more)
  end
end

-- Modules of busted's handlers that are other ones while a handler is loaded.
local CHANGED = { json = { "dkjson", tolerant }, junit = { "pl.xml", valid } }

local function load_output(busted, name)
  local name_of, change = unpack(CHANGED[name] or {})
  local ok, found = pcall(require, name_of)
  if ok then
    package.loaded[name_of] = change(found)
  end
  require("busted.modules.output_handler_loader")()(busted, OUTPUTS[name], {
    defaultOutput = "plainTerminal", verbose = false, suppressPending = false, language = "en",
    deferPrint = false, arguments = {} })
  if ok then
    package.loaded[name_of] = found
  end
end

-- False for the frame of a spec. The place of an error is the innermost such frame, not one of
-- Perilune's or of the tools'.
local function is_foreign(info)
  return info.what == "C" or info.source:find("^=perilune:") or info.short_src:find("luassert/")
    or info.short_src:find("busted/")
end

local function trace_of(level, message, declared)
  local info = debug.getinfo(level, "Sl")
  while info and is_foreign(info) do
    level = level + 1
    info = debug.getinfo(level, "Sl")
  end
  declared = declared or { short_src = "?", currentline = 0, source = "?" }
  info = info or { short_src = declared.short_src, currentline = declared.currentline,
    source = declared.source, what = "main" }
  local text = debug.traceback("", level)
  info.traceback = text:sub(1, text:find("\n%s*%[C]"))
  info.message = message
  return info
end

local function run(busted, files, flags)
  function busted.getTrace(element, level, message)
    -- a tail call, so that levels are the same as in busted
    return trace_of(level or 3, message, element and element.trace)
  end
  local counts = { failures = 0, errors = 0, tests = 0 }
  follow_each_test()
  require("busted")(busted)
  tell_logged_errors(busted)
  -- An exploration that prints its own document, or runs one plan: scenarios are only declared.
  local quiet = flags.explore and ((flags.output or "text") ~= "text" or flags.plan ~= nil)
  subscribe(busted, counts, quiet)
  follow_worlds(busted)
  busted.randomseed = flags.seed
  if not quiet then
    load_output(busted, flags.output)
  end
  require("busted.modules.filter_loader")()(busted, { tags = {}, excludeTags = {},
    filter = quiet and { "^%z$" } or flags.filter and { flags.filter } or {}, filterOut = {}, list = false,
    nokeepgoing = false, suppressPending = false })
  local load = require("busted.modules.test_file_loader")(busted, { "lua" })
  load(files, {}, { excludes = {}, verbose = false, recursive = true })
  require("busted.execute")(busted)(1, { seed = flags.seed })
  busted.publish({ "exit" })
  if flags.filter and not flags.explore and counts.tests + counts.errors == 0 then
    say("--filter: no test is called like %q", flags.filter)
    return 2
  end
  return counts.failures + counts.errors == 0 and 0 or 1
end

-- Explores the scenarios that the specs declared or, with -f, the built-in one.
local function explore(input)
  local scenarios = require("perilune.explore.declare").scenarios
  if #(input.flags.filename or {}) > 0 then
    local ok, sample = pcall(require("perilune.explore.sample").of, input)
    if not ok then
      say("%s", tostring(sample))
      return 2
    end
    scenarios = { sample }
  end
  if not input.flags["log-level"] then
    require("perilune.world").quiet()
  end
  return require("perilune.explore.run").run(scenarios, input, require("perilune.explore.worlds"))
end

-- Whether the filter is a pattern; says what is wrong with it.
local function is_pattern(filter)
  local ok, message = pcall(string.find, "", filter or "")
  if not ok then
    say('--filter: "%s": %s', filter, message)
  end
  return ok
end

return function(text)
  local input = host.json_decode(text)
  if not is_pattern(input.flags.filter) then
    return 2
  end
  local sampled = input.flags.explore and #(input.flags.filename or {}) > 0
  local core = load_busted()
  local files = core and (sampled or find_files(input.paths))
  if not files then
    return 2
  end
  require("perilune.test")
  package.loaded["perilune.test_state"].seed = input.flags.seed
  require("perilune.explore.declare") -- before busted isolates the files
  local code = sampled and 0 or run(core(), files, input.flags)
  local broken = code ~= 0 and #require("perilune.explore.declare").scenarios == 0
  if input.flags.explore and not broken then
    code = math.max(code, explore(input))
  end
  io.stdout:flush()
  return code
end
