-- `perilune test --explore`: explores the scenarios that the specs declare and prints the findings.
-- Exit codes: 0 no findings; 1 findings, or a scenario that cannot be explored; 3 the same plan and
-- seed gave different traces.

local allow = require("perilune.explore.allow")
local codes = require("perilune.explore.code")
local executor = require("perilune.explore.executor")
local files = require("perilune.test_files")
local formats = require("perilune.explore.formats")
local keep = require("perilune.explore.keep")
local plans = require("perilune.explore.plan")
local report = require("perilune.explore.report")
local search = require("perilune.explore.search")

local format = string.format
local M = {}

local BUDGET = 30 -- seconds for a scenario
local ANEW = "\r\27[K" -- to a terminal: the line is written again

local function say(text)
  io.stdout:write(text, "\n")
  io.stdout:flush()
end

local function complain(message, ...)
  io.stderr:write("perilune test: ", message:format(...), "\n")
end

-- Says what is wrong with the scenario; `tell` prints its output, which a form such as TAP keeps.
local function complain_of(name, text, tell)
  complain("%s: %s", name, text)
  if tell ~= say then
    tell(text)
  end
end

local function quoted(word)
  return word:find("[^%w%-%._/:=@]") and "'" .. word:gsub("'", "'\\''") .. "'" or word
end

-- The command of this run, for "again".
local function command_of(input)
  local words = { "perilune test" }
  for _, path in ipairs(input.paths) do
    words[#words + 1] = quoted(path)
  end
  if input.flags.filename then
    for _, file in ipairs(input.flags.filename) do
      words[#words + 1] = "-f " .. quoted(file)
    end
  end
  if input.flags.filter then
    words[#words + 1] = "--filter " .. quoted(input.flags.filter)
  end
  if (input.flags.seed or 1) ~= 1 then
    words[#words + 1] = format("--seed %d", input.flags.seed)
  end
  return table.concat(words, " ")
end

local function options_of(scenario, input, worlds)
  local flags = input.flags
  local jobs = flags.jobs or 0
  local execute, prepare = executor.new({ f = scenario.f, kind_of = worlds.kind_of,
    open = function(...) return worlds.open(scenario, ...) end })
  prepare = (scenario.options.replicas or 1) == 1 and prepare -- clocks of others are set before they start
  return { execute = execute, prepare = prepare, branch = worlds.branch,
    at_a_time = jobs > 0 and jobs or worlds.processors, seed = flags.seed or 1, budget = flags.budget or BUDGET,
    executions = (flags.executions or 0) > 0 and flags.executions or nil,
    clock = worlds.clock, code = codes.of_files, ignore = scenario.options.ignore, no_stale = flags["no-stale"] }
end

local function show_group(group, context)
  local rule = allow.of(context.allowed, group.finding)
  if rule then
    group.allowed = rule
    for _, f in ipairs({ group.finding, unpack(group.also) }) do
      f.allowed = rule.reason
    end
  end
  if context.json then
    context.say(report.json_findings(group, context))
  elseif rule then
    context.say(format("accepted: %s\n  because %s", report.headline(group.finding), rule.reason))
  else
    context.say(report.finding(group, context))
  end
  if context.keep and not rule then
    context.keep(group, context)
  end
end

-- Says how it ended. text_of(result): the last words where the output is no JSON; false: none.
local function finish(result, context, text_of)
  if result.differing then
    complain_of(context.scenario, report.differing(result.differing), context.say)
  end
  local text = context.json and report.json_summary(result, context) or text_of(result)
  if text then
    context.say(text)
  end
end

local function code_of(result)
  local code = result.differing and 3 or 0
  for _, group in ipairs(result.groups) do
    if not group.allowed and code == 0 then
      code = 1
    end
  end
  return code
end

local function replay(plan, o, context)
  local result = search.replay(o, plan)
  context.reference = result.reference
  for _, group in ipairs(result.groups) do
    show_group(group, context)
  end
  local unmet = result.unmet or {}
  for _, text in ipairs(unmet) do
    complain_of(context.scenario, text, context.say)
  end
  finish(result, context, function()
    return not result.differing and #result.groups + #unmet == 0
      and format("%s: nothing is found with this plan", context.scenario)
  end)
  return code_of(result), #unmet == 0
end

-- Shows on a terminal how far the search is, in a line that the next output replaces.
local function show_progress(o, context)
  local tell, is_shown = context.say, false
  o.progress = function(result)
    io.stderr:write(ANEW, report.progress(result))
    is_shown = true
  end
  context.say = function(text)
    if is_shown then
      io.stderr:write(ANEW)
      is_shown = false
    end
    tell(text)
  end
end

local function explore(o, context)
  if context.terminal then
    show_progress(o, context)
  end
  local waiting = not context.json and {} -- kept until it is known how many plans lead to each
  local function show(group)
    context.reference = group.reference
    show_group(group, context)
  end
  o.found = function(group)
    if waiting then
      waiting[#waiting + 1] = group
    else
      show(group)
    end
  end
  o.singles_done = function()
    for _, group in ipairs(waiting or {}) do
      show(group)
    end
    waiting = nil
  end
  local result = search.explore(o)
  o.singles_done()
  finish(result, context, report.summary)
  return code_of(result)
end

-- Parses the rules of --allow and the plan of --plan; nil after a message.
local function prepare(flags)
  local plan, allowed, message
  if flags.budget == 0 then
    complain("--budget: no time is no exploration; give a duration such as 30s")
    return nil
  end
  if flags.plan then
    plan, message = plans.parse(flags.plan)
    if not plan then
      complain("--plan: %s", message)
      return nil
    end
  end
  if flags.allow then
    local text
    text, message = files.read(flags.allow)
    if text then
      allowed, message = allow.parse(text, flags.allow)
    end
    if not allowed then
      complain("--allow: %s", message)
      return nil
    end
  end
  return { plan = plan, allowed = allowed }
end

local function one(scenario, input, worlds, prepared, tell)
  local o = options_of(scenario, input, worlds)
  local context = { scenario = scenario.name, command = command_of(input), seed = o.seed,
    say = tell, json = input.flags.output == "json", allowed = prepared.allowed,
    keep = input.flags["write-spec"] and keep.writer(input.flags["write-spec"], scenario, o.seed) }
  if tell == say and not context.json then
    tell(scenario.name)
    context.terminal = worlds.terminal
  end
  if prepared.plan then
    return replay(prepared.plan, o, context)
  end
  return explore(o, context), true
end

-- The scenarios whose name matches --filter.
local function chosen(scenarios, filter)
  local out = {}
  for _, scenario in ipairs(scenarios) do
    if not filter or scenario.name:find(filter) then
      out[#out + 1] = scenario
    end
  end
  return out
end

local function names_of(scenarios)
  local names = {}
  for i, scenario in ipairs(scenarios) do
    names[i] = '"' .. scenario.name .. '"'
  end
  return table.concat(names, ", ")
end

-- Explores one scenario; what stops it is printed. Returns the exit code, and whether the plan applies.
local function one_of_them(scenario, input, worlds, prepared, tell)
  local ok, code, applies = pcall(one, scenario, input, worlds, prepared, tell)
  if ok then
    return code, applies
  end
  complain_of(scenario.name, tostring(type(code) == "table" and code.message or code), tell)
  return 1, true
end

-- Explores the scenarios one after the other. Returns the highest exit code; it is not 0 if the plan applies to
-- none of them any more.
local function each(scenarios, input, worlds, prepared)
  local code, met, results = 0, false, {}
  local write = formats[input.flags.output]
  for i, scenario in ipairs(scenarios) do
    local lines, began = {}, worlds.clock()
    local of_one, applies = one_of_them(scenario, input, worlds, prepared, write and function(text)
      lines[#lines + 1] = text
    end or say)
    results[i] = { name = scenario.name, code = of_one, lines = lines, seconds = worlds.clock() - began }
    code = math.max(code, of_one)
    met = met or applies
  end
  if prepared.plan and not met then -- to none of them
    code = math.max(code, 1)
    for _, result in ipairs(results) do
      result.code = math.max(result.code, 1)
    end
  end
  if write then
    say(write(results))
  end
  return code
end

-- Explores each scenario. Returns the highest exit code.
function M.run(scenarios, input, worlds)
  local prepared = prepare(input.flags)
  if not prepared then
    return 2
  elseif #scenarios == 0 then
    complain("no test.explore is in these specs; --explore needs one, or -f SAMPLE")
    return 2
  end
  local of_these, jobs = chosen(scenarios, input.flags.filter), input.flags.jobs or 0
  if #of_these == 0 then
    complain("--filter: no scenario is called like %q; there are %s", input.flags.filter, names_of(scenarios))
    return 2
  elseif jobs > 1 and #of_these > 1 and not prepared.plan and not formats[input.flags.output] then
    return require("perilune.explore.jobs").run(of_these, input, jobs)
  end
  return each(of_these, input, worlds, prepared)
end

-- For specs that keep a finding: the headlines of the findings that a plan leads to.
function M.findings_of(scenario, text, worlds, seed)
  local plan, message = plans.parse(text)
  if not plan then
    error(format("the plan %s", message), 0)
  end
  local result = search.replay(options_of(scenario, { paths = {}, flags = { seed = seed } }, worlds), plan)
  local out = {}
  for _, group in ipairs(result.groups) do
    out[#out + 1] = report.headline(group.finding)
  end
  return out, result.unmet or {}
end

return M
