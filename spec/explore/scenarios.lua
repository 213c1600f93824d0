-- The scenarios of the bugs in spec/explore, named like their folders. Each is explored twice: with
-- buggy.lua, which has the bug, and with mended.lua, which does not. `perilune test --filter buggy`
-- runs only the first.

local KIND, KEY = "example.com/v1/Cluster", "default/a"

local function cluster(spec, more)
  local object = { apiVersion = "example.com/v1", kind = "Cluster",
    metadata = { namespace = "default", name = "a" }, spec = spec }
  for key, value in pairs(more or {}) do
    object.metadata[key] = value
  end
  return object
end

local function made(spec)
  return function(world)
    world:apply(cluster(spec))
    world:settle()
  end
end

local function patched(spec, patches)
  return function(world)
    made(spec)(world)
    for _, patch in ipairs(patches) do
      world:patch(KIND, KEY, { spec = patch })
      world:settle()
    end
  end
end

local longer = {} -- scenario -> the same, and then back and forth again

-- The cluster is created; then each patch changes its spec, and the world settles.
local function changed(spec, first, ...)
  local scenario = patched(spec, { first, ... })
  longer[scenario] = patched(spec, { first, spec, first, ... })
  return scenario
end

-- Buckets outside of the cluster: POST makes a new one, PUT makes the one of that name unless it exists.
local function with_buckets(f)
  return function(world)
    local buckets = world:external("buckets")
    world:http("https://buckets.example.com/buckets*", function(request)
      local name = request.url:match("/buckets/(.+)$")
      if request.method == "DELETE" and not buckets[name] then
        return { status = 404 }
      elseif request.method == "DELETE" then
        buckets[name] = nil
        return { status = 204 }
      end
      local n = 1
      while not name and buckets["bucket-" .. n] do
        n = n + 1
      end
      name = name or "bucket-" .. n
      buckets[name] = { of = request.json.of }
      return { status = request.method == "POST" and 201 or 200, json = { id = name } }
    end)
    f(world)
  end
end

-- An authority outside of the cluster, which signs for a public key.
local function with_authority(f)
  return function(world)
    world:http("https://ca.example.com/sign", function(request)
      return { status = 200, json = { certificate = ("%s for %s"):format(request.json.public, request.json.name) } }
    end)
    f(world)
  end
end

local function gone(spec)
  return function(world)
    made(spec)(world)
    world:delete(KIND, KEY)
    world:settle()
  end
end

local function made_anew(world)
  gone({ size = 1 })(world)
  world:apply(cluster({ size = 1 }))
  world:settle()
end

local scenarios = {
  swallowed = made({ size = 1 }),
  others_finalizer = with_buckets(gone({ size = 1 })),
  garbage_late = made_anew,
  namesake = made_anew,
  outside_twice = with_buckets(made({ size = 1 })),
  outside_stuck = with_buckets(gone({ size = 1 })),
  first_of_two = made({ size = 1 }),
  by_status = made({ size = 1 }),
  made_already = made({ size = 1 }),
  password_twice = made({ size = 1 }),
  difference_destroyed = changed({ storage = "10Gi" }, { storage = "15Gi" }),
  recorded_before = changed({ image = "a:1" }, { image = "a:2" }),
  old_spec = changed({ size = 1 }, { size = 3 }),
  restart_lost = changed({ config = "one" }, { config = "two" }),
  nil_later = changed({ size = 1 }, { size = 2 }),
  takeover = changed({ size = 1 }, { size = 2 }, { note = "x" }),
  tls_off = changed({ tls = false }, { tls = true }),
  claim_left = changed({ racks = 1 }, { racks = 0 }),
  list_order = changed({ size = 3 }, { size = 2 }),
  copied_once = changed({ image = "db:1" }, { image = "db:2" }),
  never_pruned = changed({ labels = { a = "1" } }, { labels = { a = require("perilune.host").null, b = "2" } }),
  mode_left = changed({ arbiter = true }, { arbiter = false }),
  status_early = changed({ size = 1 }, { size = 2 }),
  ready_early = changed({ size = 1 }, { size = 2 }),
  decommission = changed({ size = 2 }, { size = 1 }),
  finalizer_list = gone({ size = 1 }),
  wrong_key = with_authority(made({ size = 1 })),
  finalizer_first = gone({ size = 2 }),
  finalizer_late = with_buckets(gone({ size = 1 })),
  list_rollout = function(world)
    for _, name in ipairs({ "first", "second" }) do
      world:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "default", name = name,
        labels = { cluster = "a" } } })
    end
    changed({ size = 1 }, { size = 2 })(world)
  end,
  cleanup_by_label = made_anew,
  in_memory = made_anew,
  swept = changed({ size = 1 }, { size = 2 }),
  key_lost = changed({ rotation = 1 }, { rotation = 2 }),
  observed_later = changed({ size = 1 }, { size = 2 }),
  stays_degraded = changed({ port = 80 }, { port = 81 }),
  restarted_again = function(world)
    world:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "default", name = "a" },
      data = { size = "1" } })
    world:apply({ apiVersion = "apps/v1", kind = "Deployment", metadata = { namespace = "default", name = "a" },
      spec = { selector = { matchLabels = { app = "a" } }, template = { metadata = { labels = { app = "a" } },
        spec = { containers = { { name = "a", image = "a" } } } } } })
    world:patch("v1/ConfigMap", "default/a", { data = { size = "2" } })
    world:settle()
  end,
  two_want_one = function(world)
    for _, name in ipairs({ "a", "b" }) do
      world:apply(cluster({ target = "shared" }, { name = name }))
      world:settle()
    end
  end,
  unseen_state = function(world)
    world:apply(cluster({ size = 1 }, { finalizers = { "example.com/others" } }))
    world:settle()
    world:delete(KIND, KEY)
    world:settle()
    world:patch(KIND, KEY, { metadata = { finalizers = require("perilune.host").null } })
    world:settle()
  end,
}

scenarios.there_and_back = {}
for name, scenario in pairs(scenarios) do
  scenarios.there_and_back[name] = longer[scenario]
end
return scenarios
