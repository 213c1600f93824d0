-- Commands in the Pods of a world (client:exec): the spec answers them.

local host = require("perilune.host")
local world = require("perilune.world")
local check = require("perilune.check")
local faults = require("perilune.test_faults")
local query = require("perilune.query")

local fail, format = check.fail, string.format
local M = {}

local function exit_code(what, value)
  if check.integer(0)(what, value) > 255 then
    fail("%s must be at most 255, not %d", what, value)
  end
  return value
end

local answer_checks = { stdout = check.text, stderr = check.text, code = exit_code }

local function array_of(value)
  return type(value) == "table" and value or host.array{ value }
end

-- The answer as JSON, for the server.
local function run(rule, asked)
  local given = query.parse(asked.query)
  local what = format("exec: the answer to a command in %s/%s", asked.namespace, asked.pod)
  local answer = rule.f{ namespace = asked.namespace, pod = asked.pod, container = given.container,
    command = array_of(given.command), stdin = asked.stdin }
  if answer == nil then
    error(what .. ' must be a table such as {stdout = "", code = 0}, not nil', 0)
  end
  return host.json_encode(check.options(what, check.table(what, answer), answer_checks))
end

function M.begin(self)
  self.exec_rules = {}
end

function M.install(World)
  -- f(request) answers commands in Pods that match "namespace/name"; the last matching rule counts.
  function World:exec(pattern, f)
    check.string("exec: the pods", pattern)
    if not pattern:find("^[^/]+/[^/]+$") then
      fail('exec: the pods must be a text such as "default/db-*", not %s', check.describe(pattern))
    end
    self.exec_rules[#self.exec_rules + 1] = { pattern = faults.glob(pattern),
      f = check.func("exec: the answer", f) }
    world.on_exec(self.handle, function(asked)
      local rule = faults.rule_for(self.exec_rules, asked.namespace .. "/" .. asked.pod)
      if asked.query and rule then
        return run(rule, asked)
      end
      return rule ~= nil
    end)
    return self
  end
end

return M
