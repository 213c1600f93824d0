-- perilune.every(period, options, f) and perilune.run(name, options, f): work without an object.

local host = require("perilune.host")
local check = require("perilune.check")
local controller = require("perilune.controller")
local log = require("perilune.log")

local format = string.format
local fail = check.fail
local M = {}

local all_verbs = { "create", "update", "patch", "delete" }

-- {"v1/Service"}, or {["v1/Service"] = {"create", "patch"}}
local function writes(what, value)
  check.table(what, value)
  local out = {}
  if next(value) ~= nil and host.is_array(value) then
    for i, kind in ipairs(value) do
      out[i] = { kind = controller.writable(format("%s[%d]", what, i), kind), verbs = all_verbs }
    end
    return out
  end
  for kind, verbs in pairs(value) do
    controller.writable(what, kind)
    out[#out + 1] = { kind = kind, verbs = controller.verbs(format("%s[%q]", what, kind), verbs) }
  end
  table.sort(out, function(a, b)
    return a.kind < b.kind
  end)
  return out
end

local run_options = {
  leader_election = check.boolean,
  reads = check.array_of(check.kind),
  writes = writes,
}
local every_options = {
  name = check.string,
  immediate = check.boolean,
  leader_election = check.boolean,
  reads = run_options.reads,
  writes = writes,
}

-- Accepts no results. `nil` and an error raise the error.
local function check_result(f, what, first, second)
  check.blame(f)
  if first == nil and second ~= nil then
    error(second, 0)
  elseif first ~= nil then
    fail("%s returned %s; a task returns nothing", what, check.describe(first))
  end
  return "done"
end

-- f: the script's function, which errors name. reconcile: (context) -> results as perilune.result
-- takes them.
local function declare(what, name, task, options, f, reconcile)
  if host.leaving then
    return
  end
  local self = controller.begin_task(name)
  for i, kind in ipairs(options.reads or {}) do
    self.sources[i] = { role = "reads", kind = kind }
  end
  self.writes = options.writes
  local ok, message = pcall(host.controller, {
    name = name, file = self.file, line = self.line,
    sources = self.sources, writes = options.writes or {},
    leader_election = options.leader_election, on_reload = "none", task = task, blame = f,
    reconcile = function(_, context)
      return reconcile({ log = log, deadline = context.deadline, stopping = host.stopping })
    end,
  })
  if not ok then
    fail("%s: %s", what, tostring(message))
  end
end

-- Calls f, which must return nothing.
local function plain(what, f)
  return function(context)
    return check_result(f, what, f(context))
  end
end

local function check_call(what, options, f, ...)
  check.no_more(what, ...)
  if host.phase() ~= "load" then
    fail("%s can only be called while the script is loaded", what)
  elseif type(f) ~= "function" then
    fail("%s needs a function(context) as its last argument, not %s", what, check.describe(f))
  end
  return options
end

-- A default name: the number of the task in its file, which stays the same when lines move.
local counts = {}
local function default_name(beginning)
  local file = host.where() or "script"
  local stem = file:gsub("^.*/", ""):gsub("%.lua$", ""):lower():gsub("[^a-z0-9]+", "-")
  stem = stem:gsub("^%-+", ""):gsub("%-+$", ""):sub(1, 40)
  counts[file] = (counts[file] or 0) + 1
  return format("%s-%s%d", beginning, stem ~= "" and stem .. "-" or "", counts[file])
end

function M.every(period, options, f, ...)
  check_call("perilune.every", options, f, ...)
  local seconds = check.positive_duration("perilune.every: the period", period)
  local o = check.options("perilune.every", options, every_options)
  local name = o.name or default_name("every")
  local task = { form = "every", period = seconds, immediate = o.immediate }
  local what = format("task %q", name)
  declare(what, name, task, o, f, plain(what, f))
end

-- For perilune.cron.
M.declare, M.check_call, M.check_result = declare, check_call, check_result
M.default_name, M.run_options = default_name, run_options

function M.run(name, options, f, ...)
  check_call("perilune.run", options, f, ...)
  check.string("perilune.run: the name", name)
  local o = check.options(format("task %q", name), options, run_options)
  local what = format("task %q", name)
  declare(what, name, { form = "run" }, o, f, plain(what, f))
end

return M
