-- The scenarios of the bugs in spec/explore, named like their folders. Each is explored twice: with
-- buggy.lua, which has the bug, and with mended.lua, which does not. `perilune test --filter buggy`
-- runs only the first.
--
-- Some scenarios also check what the controller is for, as its user would. They look at the world only at
-- their end: a look lets it settle, so the next step could not come early.

local assert = require("luassert")
local conditions = require("perilune.conditions")

local KIND, KEY = "example.com/v1/Cluster", "default/a"
local CLAIM = "v1/PersistentVolumeClaim"

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

-- The scenario, and then `check` of the world and its cluster.
local function checked(scenario, check)
  local function of(f)
    return f and function(world)
      f(world)
      check(world, world:get(KIND, KEY))
    end
  end
  local out = of(scenario)
  longer[out] = of(longer[scenario])
  return out
end

local function names(world, kind)
  local out = {}
  for i, object in ipairs(world:list(kind, { namespace = "default" })) do
    out[i] = object.metadata.name
  end
  table.sort(out)
  return out
end

-- An object of this kind for each member of the cluster, and no others.
local function check_members(world, kind, prefix, object)
  local wanted = {}
  for i = 1, object.spec.size do
    wanted[i] = ("%s%s-%d"):format(prefix, object.metadata.name, i - 1)
  end
  assert.same(wanted, names(world, kind))
end

local function check_claims(world, object)
  check_members(world, CLAIM, "data-", object)
end

local function check_claim(world)
  assert.same({ "data-a" }, names(world, CLAIM))
end

local function check_bucket_of_b(world)
  assert.same({ b = { of = "b" } }, world:external("buckets"))
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

-- Two clusters are created, and then one is deleted. `check` is of the other one.
local function gone(spec, check)
  return function(world)
    world:apply({ cluster(spec), cluster(spec, { name = "b" }) })
    world:settle()
    world:delete(KIND, KEY)
    world:settle()
    assert.is_nil(world:get(KIND, KEY))
    check(world, world:get(KIND, "default/b"))
  end
end

local function made_anew(world)
  made({ size = 1 })(world)
  world:delete(KIND, KEY)
  world:settle()
  world:apply(cluster({ size = 1 }))
  world:settle()
end

local scenarios = {
  swallowed = made({ size = 1 }),
  others_finalizer = with_buckets(gone({ size = 1 }, check_bucket_of_b)),
  garbage_late = checked(made_anew, function(world, object)
    assert.equal(object.metadata.uid, world:get("v1/ConfigMap", KEY).metadata.ownerReferences[1].uid)
  end),
  namesake = checked(made_anew, check_claim),
  outside_twice = with_buckets(made({ size = 1 })),
  outside_stuck = with_buckets(gone({ size = 1 }, check_bucket_of_b)),
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
  mode_left = checked(changed({ arbiter = true }, { arbiter = false }), function(world, object)
    assert.equal(object.spec.arbiter, world:get("v1/Service", "default/a-arbiter") ~= nil)
  end),
  status_early = changed({ size = 1 }, { size = 2 }),
  ready_early = changed({ size = 1 }, { size = 2 }),
  decommission = checked(changed({ size = 2 }, { size = 1 }), function(world, object)
    check_members(world, "v1/Pod", "", object)
    check_claims(world, object)
  end),
  finalizer_list = gone({ size = 1 }, function(world)
    assert.is_nil(world:get("v1/ConfigMap", "kube-public/a"))
    assert.equal("1", world:get("v1/ConfigMap", "kube-public/b").data.size)
  end),
  wrong_key = with_authority(made({ size = 1 })),
  finalizer_first = gone({ size = 2 }, check_claims),
  finalizer_late = with_buckets(gone({ size = 1 }, check_bucket_of_b)),
  list_rollout = function(world)
    for _, name in ipairs({ "first", "second" }) do
      world:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "default", name = name,
        labels = { cluster = "a" } } })
    end
    changed({ size = 1 }, { size = 2 })(world)
  end,
  cleanup_by_label = checked(made_anew, check_claim),
  in_memory = made_anew,
  swept = changed({ size = 1 }, { size = 2 }),
  key_lost = changed({ rotation = 1 }, { rotation = 2 }),
  observed_later = checked(changed({ size = 1 }, { size = 2 }), function(world, object)
    assert.equal(tostring(object.spec.size), world:get("v1/ConfigMap", KEY).data.size)
    assert.equal(object.metadata.generation, object.status.observedGeneration)
  end),
  stays_degraded = checked(changed({ port = 80 }, { port = 81 }), function(world, object)
    assert.equal(object.spec.port, world:get("v1/Service", KEY).spec.ports[1].port)
    assert.is_true(conditions.is_true(object, "Ready"))
    assert.is_false(conditions.is_true(object, "Degraded"))
  end),
  restarted_again = function(world)
    for _, name in ipairs({ "a", "of-no-deployment" }) do
      world:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "default", name = name },
        data = { size = "1" } })
    end
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
    assert.equal("a", world:get("v1/ConfigMap", "default/shared").data.of)
    assert.is_false(world:get(KIND, "default/a").status.taken)
    assert.is_true(world:get(KIND, "default/b").status.taken)
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
