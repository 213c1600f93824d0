-- Which namespaces a read may ask for, and keys and references of the right scope. Run by
-- `perilune test`.
local test = require("perilune.test")

local function config(namespace, name, owner)
  return { apiVersion = "v1", kind = "ConfigMap",
    metadata = { name = name, namespace = namespace, ownerReferences = owner and { owner } } }
end

local function namespace(name)
  return { apiVersion = "v1", kind = "Namespace", metadata = { name = name } }
end

local function assert_has(text, part)
  assert.truthy(tostring(text):find(part, 1, true), tostring(text))
end

describe("with --namespace", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()

  after_each(files.remove)

  -- The lines that the calls print: each is a Lua expression, called in a reconcile.
  local function prints(call, declared, flags)
    local world = test.world{ scripts = { files.script(([[
perilune.controller("reads"):For("v1/ConfigMap", { namespaces = { "default" } }):Reads("v1/Namespace")
  :Reads("v1/Secret"%s):Reconcile(function(request)
  local ok, found = pcall(function() return %s end)
  print("READ " .. tostring(ok) .. " " .. tostring(found))
end)]]):format(declared or "", call)) }, flags = { namespace = flags or { "default" } },
      manifests = { namespace("team"), config("default", "a"),
        { apiVersion = "v1", kind = "Secret", metadata = { name = "s", namespace = "team" } } } }
    world:settle()
    for _, line in ipairs(world:logs("info")) do
      local text = line.msg:match("READ (.*)")
      if text then
        return text
      end
    end
  end

  local outside = 'v1/Secret: the namespace "team" is not one of those of --namespace'
  for what, call in pairs({
    get = 'client:get("v1/Secret", "team/s")',
    list = '#client:list("v1/Secret", { namespace = "team" })',
    each = 'client:each("v1/Secret", { namespace = "team" })()',
    wait = 'client:wait("v1/Secret", "team/s", function(o) return o end, 1)',
    ["create or update"] = 'client:create_or_update({ apiVersion = "v1", kind = "Secret", '
      .. 'metadata = { name = "s", namespace = "team" } }, function() end)',
  }) do
    it("a cached read outside is an error: " .. what, function()
      assert_has(prints(call), "false ")
      assert_has(prints(call), outside)
      assert_has(prints(call, nil, { "default", "kube-system" }), outside)
      assert_has(prints(call, ', { labels = "a=b" }'), outside)
      assert_has(prints(call, ', { namespaces = { "default", "team" } }'), outside)
    end)
  end

  it("names the declared namespaces where they leave it out", function()
    assert_has(prints('client:get("v1/Secret", "team/s")', ', { namespaces = { "default" } }'),
      'the namespace "team" is not one of those that the controller declares')
  end)

  it("reads inside, of all namespaces, of cluster-scoped kinds and of the server are answered", function()
    for call, result in pairs({
      ['client:get("v1/Secret", "default/s")'] = "nil",
      ['#client:list("v1/Secret")'] = "0",
      ['#client:list("v1/Secret", { namespace = "default" })'] = "0",
      ['client:get("v1/Namespace", "team").metadata.name'] = "team",
      ['perilune.live:get("v1/Secret", "team/s").metadata.name'] = "s",
      ['client:get("v1/ServiceAccount", "team/s")'] = "nil",
    }) do
      assert.equal("true " .. result, prints(call), call)
    end
    assert.equal("true s", prints('client:get("v1/Secret", "team/s").metadata.name', nil, { "default", "team" }))
  end)
end)

describe("a map function", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()

  after_each(files.remove)

  -- The keys of the runs, and the errors of the log, of a controller of this For kind whose map
  -- returns this for the secret `s`.
  local function run(kind, result)
    local world = test.world{ scripts = { files.script(([[
perilune.controller("mapped"):For(%q, { labels = "mine=yes" }):Watches("v1/Secret", function(o)
  return o.data and %s or { o.metadata.annotations.good } end)
  :Reconcile(function(request) print("RUN " .. request.key) end)]]):format(kind, result)) } }
    local good = kind == "v1/Node" and "good" or "default/good"
    for name, data in pairs({ s = { a = "YQ==" }, t = false }) do
      world:create{ apiVersion = "v1", kind = "Secret", data = data or nil,
        metadata = { name = name, namespace = "default", annotations = { good = good } } }
    end
    world:advance("10s")
    local keys, errors = {}, world:logs("error")
    for _, line in ipairs(world:logs("info")) do
      keys[#keys + 1] = line.msg:match("RUN (.*)")
    end
    return keys, errors
  end

  local needs = 'map of v1/Secret: v1/ConfigMap is namespaced: "s" needs a namespace'
  local too_much = 'map of v1/Secret: v1/Node is cluster-scoped: leave the namespace "default" out'
  for what, case in pairs({
    ["a name without a namespace"] = { "v1/ConfigMap", "o.metadata.name", needs },
    ["such a name beside a good key"] = { "v1/ConfigMap", '{ "default/other", { name = "s" } }', needs },
    ["a key with a namespace"] = { "v1/Node", '"default/x"', too_much },
    ["an object with a namespace"] = { "v1/Node", '{ "other", o }', too_much },
  }) do
    it("whose result has the wrong scope has failed: " .. what, function()
      local keys, errors = run(case[1], case[2])
      assert.same({ case[1] == "v1/Node" and "good" or "default/good" }, keys)
      local first = errors[1]
      assert.equal("map function failed: the object is mapped again later", first.msg)
      assert.same({ "mapped", "v1/Secret", "default/s" }, { first.controller, first.kind, first.key })
      assert.truthy(first.error:find("^%S+%.lua:3: "), first.error)
      assert_has(first.error, case[3])
    end)
  end

  it("whose results have the right scope queues them", function()
    local keys, errors = run("v1/Node", '{ "b", { name = "c" } }')
    table.sort(keys)
    assert.same({ "b", "c", "good" }, keys)
    assert.same({}, errors)
  end)
end)

describe("perilune.controller_of", function()
  local files = dofile("spec/support/one_file_scripts.lua").new()

  after_each(files.remove)

  -- A cluster-scoped kind of the server, and one that has namespaces.
  local function crd(kind, scope)
    local plural = kind:lower() .. "s"
    return { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
      metadata = { name = plural .. ".example.com" },
      spec = { group = "example.com", scope = scope, names = { kind = kind, plural = plural },
        versions = { { name = "v1", served = true, storage = true, schema = { openAPIV3Schema = {
          type = "object", ["x-kubernetes-preserve-unknown-fields"] = true } } } } } }
  end

  -- The keys of the runs and of the owners that they print. The owner `own` controls a ConfigMap in
  -- "team". declared: what the controller also declares.
  local function keys_of(owner, sources)
    local world = test.world{ manifests = { namespace("team"), crd("Realm", "Cluster"), crd("House", "Namespaced") },
      scripts = { files.script(([[
perilune.controller("up")%s:Watches("v1/ConfigMap", function(o) return perilune.controller_of(o) end)
  :Reconcile(function(request)
  if request.name ~= "own" then return end
  local ref = perilune.controller_of(perilune.live:get("v1/ConfigMap", "team/c"))
  print("KEY " .. request.key .. " " .. perilune.key(ref) .. " " .. client:get(ref.kind, ref).metadata.name)
end)]]):format(sources)) } }
    world:create(owner)
    local stored = world:get((owner.apiVersion .. "/" .. owner.kind), owner.metadata)
    world:create(config("team", "c", { apiVersion = owner.apiVersion, kind = owner.kind, name = "own",
      uid = stored.metadata.uid, controller = true }))
    world:settle()
    for _, line in ipairs(world:logs("info")) do
      local text = line.msg:match("KEY (.*)")
      if text then
        return text
      end
    end
    local failed = world:logs("error")[1]
    return failed and failed.error
  end

  it("has no namespace for a cluster-scoped kind of Kubernetes", function()
    assert.equal("own own own", keys_of(namespace("own"), ':For("v1/Namespace")'))
    assert.equal("own own own", keys_of(namespace("own"), ""))
  end)

  it("has none for a cluster-scoped custom kind that a controller watches", function()
    local realm = { apiVersion = "example.com/v1", kind = "Realm", metadata = { name = "own" } }
    assert.equal("own own own", keys_of(realm, ':For("example.com/v1/Realm")'))
    assert.equal("own own own", keys_of(realm, ':Reads("example.com/v1/Realm")'))
  end)

  it("has the object's namespace for other kinds", function()
    local house = { apiVersion = "example.com/v1", kind = "House", metadata = { name = "own", namespace = "team" } }
    assert.equal("team/own team/own own", keys_of(house, ':For("example.com/v1/House")'))
    assert.equal("team/own team/own own", keys_of(house, ""))
  end)
end)
