-- Explorations of a script that a spec gives as text, in a folder of their own. Specs of `perilune test` load
-- this with dofile:
--
--     local explorations = dofile("spec/support/explorations.lua").new()
--     before_each(explorations.begin)
--     after_each(explorations.remove)

local executor = require("perilune.explore.executor")
local worlds = require("perilune.explore.worlds")

local M = {}

function M.new()
  local explorations = {}

  -- Makes the folder.
  function explorations.begin()
    explorations.folder = os.tmpname()
    os.remove(explorations.folder)
    os.execute("mkdir " .. explorations.folder)
  end

  function explorations.remove()
    os.execute("rm -r " .. explorations.folder)
  end

  -- What a search needs for the scenario f(world). `more`: seed, replicas, executions, ignore.
  function explorations.options(script, f, more)
    more = more or {}
    local path = explorations.folder .. "/main.lua"
    local file = assert(io.open(path, "w"))
    file:write(script)
    file:close()
    local scenario = { name = "maps", folder = explorations.folder, f = f,
      options = { scripts = path, replicas = more.replicas } }
    return { seed = more.seed or 3, executions = more.executions or 60, clock = worlds.clock, ignore = more.ignore,
      execute = executor.new({ f = f, kind_of = worlds.kind_of, open = function(...)
        return worlds.open(scenario, ...)
      end }) }
  end

  return explorations
end

-- "CLASS KIND KEY FIELD: PLAN" of each finding.
function M.found(result)
  local out = {}
  for i, group in ipairs(result.groups) do
    local f = group.finding
    out[i] = ("%s %s %s %s: %s"):format(f.class, f.kind, f.key, f.field, group.plan)
  end
  return out
end

return M
