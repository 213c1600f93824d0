-- `test.explore(name, options, f)`: an ordinary test in plain `perilune test`, and a scenario to
-- explore with `--explore`. This module keeps the scenarios of all spec files in the order of their
-- declarations.

local host = require("perilune.host")
local check = require("perilune.check")
local files = require("perilune.test_files")
local ignore = require("perilune.explore.ignore")

local M = { scenarios = {} }

local texts = check.array_of(check.text)

local function check_ignore(what, value)
  local ok, message = pcall(ignore.parse, texts(what, value))
  if not ok then
    check.fail("test.explore: %s", message)
  end
end

-- Options that test.world does not have.
local own = { ignore = check_ignore, replicas = check.integer(1) }

function M.world_options(options)
  local out = {}
  for key, value in pairs(options) do
    out[key] = value
  end
  for key in pairs(own) do
    out[key] = nil
  end
  return out
end

local function check_options(options)
  local checks = {}
  for _, of in ipairs({ package.loaded["perilune.test_state"].world_options, own }) do
    for name, checker in pairs(of) do
      checks[name] = checker
    end
  end
  check.options("test.explore", options, checks)
end

-- The spec file that is being loaded.
local function spec_file()
  for level = 3, 100 do
    local info = debug.getinfo(level, "S")
    local file = info and info.source:match("^@(.*_spec%.lua)$")
    if file or not info then
      return file
    end
  end
end

-- busted's `it`, which only the functions of a spec file have. A scenario may come from another file.
local function declarer(what)
  for level = 3, 100 do
    local info = debug.getinfo(level, "f")
    local it = info and getfenv(info.func).it
    if it then
      return it
    elseif not info then
      break
    end
  end
  check.fail("%s: it declares a test, so it is called by a spec file", what)
end

-- Declares a test of a spec. busted refuses one inside another test, with a place in this module.
local function declare_test(what, it, name, f)
  if not pcall(it, name, f) then
    check.fail("%s: it declares a test, so it stands in a file or in describe, not inside a test", what)
  end
end

-- Opens a world for a scenario. No line of the spec runs meanwhile, so an error has the line where the
-- scenario begins.
function M.open(f, options, more)
  check.blame(f)
  local ok, world = pcall(package.loaded["perilune.test_state"].open, "test.explore", options, more)
  check.blame(nil)
  return ok and world or error(world, 0)
end

-- test.keep and --filter find a scenario by its name.
local function check_name(name, file)
  check.string("test.explore: the name", name)
  for _, scenario in ipairs(M.scenarios) do
    if scenario.name == name and scenario.file == file then
      check.fail('test.explore: this file has a scenario "%s" already', name)
    end
  end
end

function M.declare(name, options, f)
  local file = spec_file()
  check_name(name, file)
  check.table("test.explore: the options", options)
  check_options(options)
  if type(f) ~= "function" then
    check.fail("test.explore: a function of the world is needed, not %s", check.describe(f))
  end
  local folder = files.spec_folder()
  declare_test("test.explore", declarer("test.explore"), name, function()
    f(M.open(f, M.world_options(options), { folder = folder }))
  end)
  M.scenarios[#M.scenarios + 1] = { name = name, options = options, f = f, folder = folder,
    file = file }
end

-- The scenario of that name in another spec file, whose tests are not run.
local function scenario_of_spec(file, name)
  local chunk, message = loadfile(file)
  if not chunk then
    error("test.keep: " .. message, 0)
  end
  local env = setmetatable({ it = function() end, describe = function(_, body) body() end }, { __index = _G })
  local count, found = #M.scenarios, nil
  setfenv(chunk, env)()
  for i = #M.scenarios, count + 1, -1 do
    found = M.scenarios[i].name == name and M.scenarios[i] or found
    M.scenarios[i] = nil
  end
  return found or error(('test.keep: %s has no test.explore that is called "%s"'):format(file, name), 0)
end

local function all_in(folder, paths)
  local out = {}
  for i, path in ipairs(paths) do
    out[i] = files.locate(path, folder)
  end
  return out
end

-- where: the spec file of the scenario, or {scripts =, sample =}; paths are relative to `folder`.
local function scenario_of(where, name, folder)
  if type(where) == "string" then
    return scenario_of_spec(files.locate(where, folder), name)
  end
  return require("perilune.explore.sample").of({ paths = all_in(folder, where.scripts),
    flags = { filename = all_in(folder, where.sample) } })
end

local function run_kept(where, name, plan, seed, folder)
  local findings, unmet = require("perilune.explore.run").findings_of(scenario_of(where, name, folder), plan,
    require("perilune.explore.worlds"), seed)
  local wrong = findings[1] or unmet[1]
  if wrong then
    error(wrong, 0)
  end
end

local place_checks = { scripts = texts, sample = texts }

local function check_kept(where, name, plan, seed)
  if type(where) == "table" then
    check.options("test.keep: the scenario", where, place_checks)
  elseif type(where) ~= "string" then
    check.fail("test.keep: the scenario must be a spec file or a table of scripts and sample, not %s",
      check.describe(where))
  end
  check.string("test.keep: the name", name)
  check.text("test.keep: the plan", plan)
  return seed == nil or check.integer(1)("test.keep: the seed", seed)
end

-- Declares a test for a kept finding (--write-spec). It fails as long as the plan leads to a
-- finding, with the line of its declaration, since no line of the spec runs then.
function M.keep(where, name, plan, seed)
  check_kept(where, name, plan, seed)
  local folder, file, line = files.spec_folder(), host.where()
  local title = ("%s: %s"):format(name, plan == "" and "undisturbed" or plan)
  declare_test("test.keep", declarer("test.keep"), title, function()
    local ok, e = pcall(run_kept, where, name, plan, seed, folder)
    if not ok then
      error(("%s:%d: %s"):format(file, line, tostring(e)), 0)
    end
  end)
end

return M
