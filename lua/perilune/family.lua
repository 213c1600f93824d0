-- WatchesKinds: a source that follows a selection of kinds. A task of the controller asks the API
-- server for its kinds at intervals, and a function of the script selects some of them. The core
-- starts and stops watching them. If a group cannot be asked, its kinds stay as they are: an
-- unknown kind must not count as removed.

local host = require("perilune.host")
local check = require("perilune.check")
local kinds = require("perilune.kinds")

local format, concat = string.format, table.concat
local fail = check.fail
local M = {}

local EVERY = 30 -- seconds between two requests for the kinds
local KINDS_MAX = 1000

-- The options of `source` that a source of one kind has, without the cluster, and the options that
-- select kinds.
function M.options(source)
  local out = { every = check.positive_duration }
  for _, options in ipairs({ source, kinds.options_of }) do
    for name, checker in pairs(options) do
      out[name] = checker
    end
  end
  out.cluster = nil
  return out
end

function M.check_cluster(what, options)
  check.no_cluster(what, options, "the kinds of another one are watched by their names: "
    .. ":Watches(kind, map, {cluster = ...})")
end

-- Splits the options: those that select kinds, and the source's own.
function M.split(options)
  local narrow, source = { every = options.every or EVERY }, {}
  for name, value in pairs(options) do
    if kinds.options_of[name] then
      narrow[name] = value
    elseif name ~= "every" then
      source[name] = value
    end
  end
  local verbs = { "list", "watch" }
  for _, verb in ipairs(narrow.verb or {}) do
    verbs[#verbs + 1] = verb
  end
  narrow.verb = verbs
  return narrow, source
end

local function selected(what, family, all)
  local out = {}
  check.blame(family.selects)
  for _, kind in ipairs(all) do
    if kinds.fits(kind, family.narrow) and family.selects(host.deepcopy(kind)) then
      out[#out + 1] = kind.kind
    end
  end
  if #out > KINDS_MAX then
    fail("%s selects %d kinds, at most %d can be followed: narrow it", what, #out, KINDS_MAX)
  end
  return out
end

-- Declares the task; called when the controller is complete.
function M.declare(controller)
  local tasks = require("perilune.task")
  local name = controller.name .. "-kinds"
  local what = format("controller %q: WatchesKinds", controller.name)
  if not host.is_name(name, "dns-label") then
    fail("%s: its task would be called %q, which is longer than 63 letters", what, name)
  end
  local every = controller.families[1].narrow.every
  for _, family in ipairs(controller.families) do
    every = math.min(every, family.narrow.every)
  end
  tasks.declare(what, name,
    { form = "every", period = every, immediate = true, when_changed = true },
    { leader_election = false }, controller.families[1].selects,
    function()
      local all, missing = kinds.all()
      for _, family in ipairs(controller.families) do
        host.select_kinds(controller.name, family.source, concat(selected(what, family, all), "\n"),
          concat(missing, "\n"))
      end
      return "done"
    end)
end

return M
