-- list: lists a tenth of all pods by label and by index: whole objects, three fields of each with
-- `select`, and one object at a time of which three fields are read.
local perilune = require("perilune")
local milestone = require("milestone")
local client, config = perilune.client, milestone.config

local kind = milestone.kinds.pods
perilune.index(kind, "tenth", function(pod)
  return pod.metadata.labels.tenth
end)

local function touch(pod)
  return pod.metadata.name and pod.metadata.namespace and pod.status.phase
end

local function whole(options)
  local n = 0
  for _, pod in ipairs(client:list(kind, options)) do
    n = n + (touch(pod) and 1 or 0)
  end
  return n
end

local function select(options)
  options.select = { "metadata.name", "metadata.namespace", "status.phase" }
  return whole(options)
end

local function each(options)
  local n = 0
  for pod in client:each(kind, options) do
    n = n + (touch(pod) and 1 or 0)
  end
  return n
end

local function measure(log, name, how, options)
  local before = os.clock()
  local n = how(options)
  milestone.say(log, name, { objects = n, cpu_seconds = os.clock() - before })
end

local count = milestone.counter(config.count, function(log)
  for _ = 1, config.rounds do
    measure(log, "label_whole", whole, { labels = "tenth=3" })
    measure(log, "label_select", select, { labels = "tenth=3" })
    measure(log, "label_each", each, { labels = "tenth=3" })
    measure(log, "index_whole", whole, { index = { name = "tenth", value = "3" } })
    measure(log, "index_select", select, { index = { name = "tenth", value = "3" } })
    measure(log, "index_each", each, { index = { name = "tenth", value = "3" } })
  end
  milestone.say(log, "listed")
end)

perilune.controller("bench"):For(kind):Reconcile(function(_, context)
  count(context.log)
end)
