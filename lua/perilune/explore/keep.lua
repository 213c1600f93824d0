-- `--write-spec FILE`: writes findings as a spec. Plain `perilune test` then runs the plans again,
-- and fails as long as the findings are there.

local files = require("perilune.test_files")
local lfs = require("lfs")
local report = require("perilune.explore.report")

local format = string.format
local M = {}

local HEAD = [[
-- Findings of `perilune test --explore`, to keep: each runs its plan again, and fails as long as
-- something is wrong afterwards.
local test = require("perilune.test")

]]

local function quoted(text)
  return format("%q", text):gsub("\\\n", "\\n")
end

local function absolute(path)
  return path:sub(1, 1) == "/" and path or lfs.currentdir() .. "/" .. path:gsub("^%./", "")
end

-- A path relative to `folder`, if it lies there; else an absolute one.
local function relative(path, folder)
  path, folder = absolute(path):gsub("/%.$", ""), absolute(folder):gsub("/%.$", "")
  if path == folder then
    return "."
  end
  return path:sub(1, #folder + 1) == folder .. "/" and path:sub(#folder + 2) or path
end

local function listed(paths, folder)
  local out = {}
  for i, path in ipairs(paths) do
    out[i] = quoted(relative(path, folder))
  end
  return "{ " .. table.concat(out, ", ") .. " }"
end

-- The scenario as the first argument of test.keep.
local function place_of(scenario, folder)
  if not scenario.sample then
    return quoted(relative(scenario.file, folder))
  end
  return format("{ scripts = %s, sample = %s }", listed(scenario.sample.scripts, folder),
    listed(scenario.sample.sample, folder))
end

-- Returns a function that appends the finding of a group to the file, which is created with the first one.
-- A finding that the file has already is not added again.
function M.writer(path, scenario, seed)
  local folder = path:match("^(.*)/[^/]*$") or "."
  return function(group)
    local call = format("test.keep(%s, %s, %s%s)\n", place_of(scenario, folder), quoted(scenario.name),
      quoted(group.plan), seed ~= 1 and ", " .. seed or "")
    local had = lfs.attributes(path, "mode") == "file" and files.read(path)
    if had and had:find(call, 1, true) then
      return
    end
    local file, message = io.open(path, "ab")
    local ok = file ~= nil
    if ok then
      file:write(had and "" or HEAD, "-- ", (report.headline(group.finding):gsub("\n", " ")), "\n", call, "\n")
      ok, message = file:close()
    end
    if not ok then
      error("--write-spec: " .. message, 0)
    end
  end
end

return M
