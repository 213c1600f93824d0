-- `perilune manifests`: a server accepts all of its output, the ConfigMaps hold the scripts byte
-- for byte, and files that do not fit are reported.

local e2e = require("spec.support.e2e")
local process = require("spec.support.process")

local IMAGE = "registry.example.com/perilune:1"

describe("perilune manifests", function()
  local folder, server, host

  setup(function() server = e2e.server() end)
  before_each(function()
    folder = e2e.folder() .. "/" .. e2e.unique("m")
    os.execute("mkdir -p " .. folder .. "/lib")
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function manifests(path, ...)
    local code, out, err = e2e.run("manifests", path, "--image", IMAGE, ...)
    assert.equal(0, code, err)
    return out, err
  end

  local function documents(text)
    local out = {}
    for document in (text .. "\n---\n"):gmatch("(.-)\n%-%-%-\n") do
      out[#out + 1] = document .. "\n"
    end
    return out
  end

  local paths = { Namespace = "/api/v1/namespaces", ServiceAccount = "/api/v1/namespaces/%s/serviceaccounts",
    ConfigMap = "/api/v1/namespaces/%s/configmaps",
    Service = "/api/v1/namespaces/%s/services", Deployment = "/apis/apps/v1/namespaces/%s/deployments",
    ClusterRole = "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    ClusterRoleBinding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    Role = "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles",
    RoleBinding = "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings",
    CustomResourceDefinition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" }

  -- Applies all of it; the stored objects by kind, in order.
  local function apply(text, namespace)
    local out = {}
    for _, document in ipairs(documents(text)) do
      local kind = document:match("\nkind: (%S+)") or document:match("^kind: (%S+)")
      local name = document:match("\nmetadata:\n  name: (%S+)") or document:match("\n  name: (%S+)")
      local path = assert(paths[kind], kind):format(namespace) .. "/" .. name .. "?fieldManager=spec&force=true"
      local status, answer = server:request("PATCH", path, document, "application/apply-patch+yaml")
      assert(status == 200 or status == 201, kind .. " " .. tostring(answer and answer.message) .. "\n" .. document)
      out[kind] = out[kind] or {}
      table.insert(out[kind], answer)
    end
    return out
  end

  it("gives a server everything that the host needs", function()
    local namespace = e2e.unique("web")
    local stored = apply(manifests("examples/website", "-n", namespace, "--crds", "--create-namespace",
      "--replicas", "3", "--lanes", "2", "--lua-memory", "100MiB"), namespace)
    assert.equal("websites.example.com", stored.CustomResourceDefinition[1].metadata.name)
    local deployment = stored.Deployment[1]
    assert.equal(3, deployment.spec.replicas)
    local pod = deployment.spec.template.spec
    local container = pod.containers[1]
    assert.equal(IMAGE, container.image)
    assert.same({ "run", "/scripts", "--leader-elect", "--lanes=2", "--lua-memory=100MiB" }, container.args)
    assert.equal("314Mi", container.resources.limits.memory)
    assert.same({ cpu = "10m", memory = "16Mi" }, container.resources.requests)
    assert.is_true(container.securityContext.readOnlyRootFilesystem)
    assert.is_false(container.securityContext.allowPrivilegeEscalation)
    assert.is_true(pod.securityContext.runAsNonRoot)
    assert.equal(65532, pod.securityContext.runAsUser)
    assert.equal("website", pod.serviceAccountName)
    assert.equal("website", stored.ServiceAccount[1].metadata.name)
    assert.equal(namespace .. "-website", stored.ClusterRoleBinding[1].roleRef.name)
    assert.equal(namespace .. "-website", stored.ClusterRole[1].metadata.name)
    assert.equal("website", stored.RoleBinding[1].subjects[1].name)
    assert.equal("leases", stored.Role[1].rules[1].resources[1])
    local data = stored.ConfigMap[1].data
    assert.equal(e2e.read_file("examples/website/main.lua"), data["main.lua"])
    assert.equal(e2e.read_file("examples/website/children.yaml"), data["children.yaml"])
    assert.is_nil(data["README.md"])
  end)

  it("serves webhooks through a Service, with the rights to register them", function()
    e2e.write_file(folder .. "/main.lua", [[
local perilune = require("perilune")
perilune.webhook.validate("v1/ConfigMap", function() end)
perilune.webhook.convert("example.com/Website", function(object) return object end)
]])
    local namespace = server:new_namespace()
    local stored = apply(manifests(folder, "-n", namespace, "--name", "hooks"), namespace)
    assert.equal("hooks", stored.Service[1].spec.selector["app.kubernetes.io/name"])
    local container = stored.Deployment[1].spec.template.spec.containers[1]
    assert.same({ "run", "/scripts", "--leader-elect-resource-name=perilune-hooks",
      "--webhook-service=" .. namespace .. "/hooks-webhook:443", "--lua-memory=512MiB" }, container.args)
    assert.equal(9443, container.ports[3].containerPort)
    local resources = {}
    for _, rule in ipairs(stored.ClusterRole[1].rules) do
      resources[#resources + 1] = rule.resources[1] .. ":" .. table.concat(rule.resourceNames or {}, ",")
    end
    assert.same({ "mutatingwebhookconfigurations:", "validatingwebhookconfigurations:",
      "customresourcedefinitions:", "customresourcedefinitions:websites.example.com" }, resources)
    assert.same({ "perilune-webhook" }, stored.Role[1].rules[2].resourceNames)
  end)

  it("secures the metrics, with --metrics-secure: port, scheme, and who asks and may see them", function()
    local namespace = server:new_namespace()
    local stored = apply(manifests("examples/hello", "-n", namespace, "--name", "hello", "--metrics-secure"), namespace)
    local template = stored.Deployment[1].spec.template
    local container = template.spec.containers[1]
    local secure = false
    for _, argument in ipairs(container.args) do
      secure = secure or argument == "--metrics-secure"
    end
    assert.is_true(secure)
    assert.same({ "https-metrics", 8080 }, { container.ports[1].name, container.ports[1].containerPort })
    assert.same({ ["prometheus.io/scrape"] = "true", ["prometheus.io/scheme"] = "https",
      ["prometheus.io/port"] = "8080" }, template.metadata.annotations)
    local reviews, reader = {}, nil
    for _, role in ipairs(stored.ClusterRole) do
      for _, rule in ipairs(role.rules) do
        for _, resource in ipairs(rule.resources or {}) do
          reviews[resource] = table.concat(rule.verbs, " ")
        end
        reader = rule.nonResourceURLs and role or reader
      end
    end
    assert.equal("create", reviews.tokenreviews)
    assert.equal("create", reviews.subjectaccessreviews)
    assert.equal(namespace .. "-hello-metrics-reader", reader.metadata.name)
    assert.same({ nonResourceURLs = { "/metrics" }, verbs = { "get" } }, reader.rules[1])
    local text = manifests("examples/hello", "-n", "x")
    assert.is_nil(text:find("https-metrics", 1, true) or text:find("prometheus.io", 1, true)
      or text:find("tokenreviews", 1, true) or text:find("metrics-reader", 1, true))
  end)

  it("runs the scripts as they were declared here: --unsafe-stdlib, --jit, and what --config says", function()
    e2e.write_file(folder .. "/main.lua", [[
local perilune = require("perilune")
io.open("/etc/hostname"):close()
perilune.controller("c"):For("v1/ConfigMap"):Reconcile(function() end)
]])
    local config = e2e.write_file(folder .. "/c.conf", "flags:\n  jit: true\n  lanes: 2\n  metrics-secure: true\n")
    for _, case in ipairs({
      { { "--unsafe-stdlib" }, '- "--unsafe-stdlib"\n            - "--lua-memory=512MiB"' },
      { { "--unsafe-stdlib", "--jit" }, '- "--jit"\n            - "--unsafe-stdlib"\n' },
      { { "--unsafe-stdlib", "--config", config }, '- "--metrics-secure"\n            - "--jit"\n            '
        .. '- "--unsafe-stdlib"\n            - "--lanes=2"\n' },
      { { "--unsafe-stdlib", "--config", config, "--no-jit", "--lanes=1", "--no-metrics-secure" },
        '- "--no-metrics-secure"\n            - "--no-jit"\n            - "--unsafe-stdlib"\n            '
        .. '- "--lanes=1"\n' },
    }) do
      local text = manifests(folder, "-n", "x", unpack(case[1]))
      assert(text:find(case[2], 1, true), text:match("args:.-env:"))
    end
  end)

  it("shares the work, with --shards", function()
    local text = manifests("examples/hello", "-n", "x", "--replicas", "3", "--shards", "12", "--shard-by", "uid")
    assert(text:find('- "--shards=12"\n            - "--shard-by=uid"', 1, true), text)
    assert.is_nil(text:find("--leader-elect", 1, true))
    assert.is_nil(text:find("type: Recreate", 1, true))
  end)

  it("lets one replica go before another one begins, where nobody elects", function()
    local text = manifests("examples/hello", "-n", "x")
    assert(text:find("type: Recreate", 1, true))
    assert.is_nil(text:find("leases", 1, true))
    assert.is_nil(text:find("leader-elect", 1, true))
  end)

  it("keeps every byte, and the folders", function()
    local texts = {
      ["a.yaml"] = "plain: text\n", ["b.yaml"] = "no end", ["c.yaml"] = "many ends\n\n\n", ["d.yaml"] = "",
      ["e.yaml"] = "  leading\n\ttab\n\n  trailing  \n", ["f.yaml"] = "carriage\r\nreturn\r\n",
      ["g.yaml"] = "\n\nblank first\n", ["h.yaml"] = "bytes \255\254\0 none\n", ["i.yaml"] = "next\194\133line\n",
      ["j.yaml"] = "ends in blanks\n   ", ["k.yaml"] = "---\n- a\n---\n# b\n",
      ["lib/l.yaml"] = "\226\128\168 \240\159\166\138\n",
      ["m n.yaml"] = "a name\n", ["o.yaml"] = "\239\187\191mark\n", ["p.yaml"] = " ",
    }
    local script = { 'local perilune = require("perilune")\nlocal words = require("lib.words")\n'
      .. 'perilune.controller(words.name):For("v1/ConfigMap"):Reconcile(function()\n' }
    for name, text in pairs(texts) do
      e2e.write_file(folder .. "/" .. name, text)
      script[#script + 1] = ("  perilune.manifest(%q)\n"):format(name)
    end
    script[#script + 1] = "end)\n"
    e2e.write_file(folder .. "/lib/words.lua", 'return { name = "bytes" }\n')
    e2e.write_file(folder .. "/main.lua", table.concat(script))
    e2e.write_file(folder .. "/unread.yaml", "not: read\n")
    local namespace = server:new_namespace()
    local stored = apply(manifests(folder, "-n", namespace), namespace)
    local found = {}
    local at = {}
    for _, source in ipairs(stored.Deployment[1].spec.template.spec.volumes[1].projected.sources) do
      for _, item in ipairs(source.configMap.items) do
        at[source.configMap.name .. "/" .. item.key] = item.path
      end
    end
    for _, map in ipairs(stored.ConfigMap) do
      for key, text in pairs(map.data or {}) do
        found[at[map.metadata.name .. "/" .. key]] = text
      end
      for key, text in pairs(map.binaryData or {}) do
        local pipe = io.popen("printf %s " .. text .. " | base64 -d")
        found[at[map.metadata.name .. "/" .. key]] = pipe:read("*a")
        pipe:close()
      end
    end
    texts["main.lua"] = table.concat(script)
    texts["lib/words.lua"] = e2e.read_file(folder .. "/lib/words.lua")
    assert.same(texts, found)
  end)

  -- The modules are no part of what was loaded.
  it("holds modules that are required in functions, and warns of computed names", function()
    e2e.write_file(folder .. "/main.lua", [[
local perilune = require("perilune")
local eager = require("lib.eager")
local function late(name)
  return require("lib." .. name)
end
perilune.controller("lazy"):For("v1/ConfigMap"):Reconcile(function(request)
  require("lib.lazy").note(request)
  pcall(require, "lib.guarded")
  require "nowhere"
  late("late")
end)
]])
    e2e.write_file(folder .. "/lib/eager.lua", "return {}\n")
    e2e.write_file(folder .. "/lib/lazy.lua", "local more = require('more')\nreturn { note = more }\n")
    e2e.write_file(folder .. "/lib/guarded.lua", "return { function() return require('cjson') end }\n")
    e2e.write_file(folder .. "/lib/late.lua", "return {}\n")
    e2e.write_file(folder .. "/lib/unused.lua", "return {}\n")
    os.execute("mkdir " .. folder .. "/more")
    e2e.write_file(folder .. "/more/init.lua", "return print\n")
    for _, path in ipairs({ folder, folder .. "/", folder .. "/main.lua" }) do
      local text, err = manifests(path, "-n", "x")
      local found = {}
      for inside in text:gmatch("%- key: %S+%s+path: \"([^\"]+)\"") do
        found[#found + 1] = inside
      end
      table.sort(found)
      assert.same({ "lib/eager.lua", "lib/guarded.lua", "lib/lazy.lua", "main.lua", "more/init.lua" }, found)
      assert.matches("main%.lua:4: the name of the required module is computed", err)
      assert.equal(1, select(2, err:gsub("\n", "\n")))
    end
  end)

  describe("takes templates along", function()
    before_each(function()
      os.execute("mkdir -p " .. folder .. "/t/deep")
      for _, name in ipairs({ "top.yaml", "site-a.yaml", "t/a.yaml", "t/b.yml", "t/deep/c.yaml", "lib/d.yaml",
          "t/deep/e.tmpl" }) do
        e2e.write_file(folder .. "/" .. name, "a: 1\n")
      end
    end)

    -- The templates in the volume, and what is on stderr.
    local function taken(body)
      e2e.write_file(folder .. "/main.lua", 'local perilune = require("perilune")\n' .. body
        .. '\nperilune.controller("c"):For("v1/ConfigMap"):Reconcile(function() return f end)\n')
      local text, err = manifests(folder, "-n", "x")
      local found = {}
      for inside in text:gmatch("%- key: %S+%s+path: \"([^\"]+)\"") do
        found[#found + 1] = inside ~= "main.lua" and inside or nil
      end
      table.sort(found)
      return table.concat(found, " "), err
    end

    for _, case in ipairs({
      { 'local function f(n) return perilune.manifest("t/" .. n .. ".yaml") end', "t/a.yaml t/deep/c.yaml" },
      { 'local function f(n) return perilune.manifests("t/" .. n) end',
        "t/a.yaml t/b.yml t/deep/c.yaml t/deep/e.tmpl" },
      { 'local function f(n) return perilune.manifest("site-" .. n .. ".yaml") end', "site-a.yaml" },
      { 'local function f(n) return perilune.manifest(("t/%s.yml"):format(n)) end', "t/b.yml" },
      { 'local function f(n) return perilune.manifest(string.format("t/%s.yml", n)) end', "t/b.yml" },
      { 'local FOLDER = "t/"\nlocal function f(n) return perilune.manifest(FOLDER .. n .. ".yml") end', "t/b.yml" },
      { 'local function f(n) return perilune.manifest(n and "t/a.yaml" or "top.yaml") end', "t/a.yaml top.yaml" },
      { 'local function f() for _, n in ipairs({ "t/a", "top" }) do perilune.manifest(n .. ".yaml") end end',
        "t/a.yaml top.yaml" },
      { 'local manifest = perilune.manifest\nlocal function f() return manifest("t/a.yaml") end', "t/a.yaml" },
      { 'local other = perilune.manifests\nlocal one = other\nlocal function f() return one("t/a.yaml") end',
        "t/a.yaml" },
      { 'local one\none = require("perilune").manifest\nlocal function f() return one("t/a.yaml") end', "t/a.yaml" },
      { 'local p = perilune\nlocal one = p.manifest\nlocal function f() return one("t/a.yaml") end', "t/a.yaml" },
      { 'local function f() return pcall(perilune.manifest, "t/a.yaml") end', "t/a.yaml" },
      { 'local function f(x) return x.manifest("t/a.yaml") end', "t/a.yaml" },
      { 'local function f() return perilune.manifest("a: 1\\n") end', "" },
      { 'local function f(object) return object.manifest end', "" },
      { 'local M = {}\nfunction M.manifest(n) return n end\nlocal function f(n) return M.manifest(n) end',
        "site-a.yaml top.yaml" },
      { 'local function f(n) return perilune.manifest("./t/" .. n .. ".yml") end', "t/b.yml" },
      { 'local function f(n) return perilune.manifest(n .. ".tmpl") end', "t/deep/e.tmpl" },
    }) do
      it(case[1], function()
        local found, err = taken(case[1])
        assert.equal(case[2], found)
        assert.equal("", err)
      end)
    end

    for _, case in ipairs({
      { 'local function f(n) return perilune.manifest(n) end',
        "site-a.yaml top.yaml", "main.lua:2: the name of the template" },
      { 'local list = { "t/a.yaml" }\nlocal function f(n) return perilune.manifest(list[n]) end',
        "site-a.yaml t/a.yaml top.yaml", "main.lua:3: the name of the template is computed" },
      { 'local f = { load = perilune.manifest }',
        "site-a.yaml top.yaml", "main.lua:2: the name of the template is computed" },
      { 'local one = perilune.manifest\nlocal function f() return one end',
        "site-a.yaml top.yaml", "main.lua:3: the name" },
      { 'local function f(n) return perilune.manifest("none/" .. n .. ".yaml") end', "",
        "main.lua:2: the name of the template is computed: no file is named none/....yaml" },
    }) do
      it("and warns: " .. case[1], function()
        local found, err = taken(case[1])
        assert.equal(case[2], found)
        assert(err:find(case[3], 1, true), err)
        assert.equal(1, select(2, err:gsub("\n", "")))
      end)
    end
  end)

  it("splits what is large, warns of one that is too large for kubectl, and refuses over 1 MiB", function()
    e2e.write_file(folder .. "/main.lua", [[
local perilune = require("perilune")
local a, b, c = require("a"), require("b"), require("c")
perilune.controller("large"):For("v1/ConfigMap"):Reconcile(function() end)
]])
    local function fill(name, bytes)
      e2e.write_file(folder .. "/" .. name, "return [[\n" .. ("x"):rep(bytes) .. "]]\n")
    end
    fill("a.lua", 120000)
    fill("b.lua", 120000)
    fill("c.lua", 100)
    local text, err = manifests(folder, "-n", "x")
    assert.equal("", err)
    local maps = 0
    for _, document in ipairs(documents(text)) do
      if document:find("\nkind: ConfigMap\n", 1, true) then
        maps = maps + 1
        assert.is_true(#document <= 200 * 1024)
      end
    end
    assert.equal(2, maps)
    fill("a.lua", 250000)
    err = select(2, manifests(folder, "-n", "x"))
    assert(err:find("a.lua takes", 1, true) and err:find("--server-side", 1, true), err)
    fill("b.lua", 900000)
    local code, out
    code, out, err = e2e.run("manifests", folder, "--image", IMAGE, "-n", "x")
    assert.equal(1, code)
    assert.equal("", out)
    assert(err:find("b.lua with 9000", 1, true), err)
    fill("b.lua", 1500000)
    code, out, err = e2e.run("manifests", folder, "--image", IMAGE, "-n", "x")
    assert.equal(1, code)
    assert.equal("", out)
    assert(err:find("b.lua with 15000", 1, true), err)
    assert.equal(1, select(2, err:gsub("\n", "")), err)
    for _, command in ipairs({ "check", "rbac" }) do -- scripts may be as large as they like
      assert.equal(0, (e2e.run(command, folder)))
    end
  end)

  -- kubectl writes < as six bytes, and a quote as two.
  it("reckons with what kubectl's annotation takes", function()
    local function write(name, line, bytes)
      e2e.write_file(folder .. "/" .. name, "page: |\n" .. ("  " .. line .. "\n"):rep(bytes / (#line + 3)))
    end
    e2e.write_file(folder .. "/main.lua", [[
local perilune = require("perilune")
local function f() return perilune.manifest("a.yaml"), perilune.manifest("b.yaml") end
perilune.controller("page"):For("v1/ConfigMap"):Reconcile(function() return f end)
]])
    os.execute("mkdir -p " .. folder .. "/manifests")
    local function run(...)
      local text, err = manifests(folder, "-n", "x", ...)
      return select(2, text:gsub("kind: ConfigMap\n", "")), err
    end
    write("a.yaml", "<b>bold</b> & more", 55000)
    write("b.yaml", "<b>bold</b> & more", 55000)
    local maps, err = run()
    assert.equal(1, maps)
    assert.equal("", err)
    write("b.yaml", "<b>bold</b> & more", 90000)
    maps, err = run()
    assert.equal(2, maps)
    assert.equal("", err)
    write("a.yaml", "<b>bold</b> & more", 150000)
    maps, err = run()
    assert.equal(2, maps)
    assert(err:find("a.yaml takes", 1, true) and err:find("bytes as JSON", 1, true)
      and err:find("--server-side", 1, true), err)
    assert.equal(1, select(2, err:gsub("\n", "")))
    write("a.yaml", "plain", 100)
    local crd = e2e.read_file("examples/website/manifests/crd.yaml")
    e2e.write_file(folder .. "/manifests/crd.yaml", (crd:gsub("\nspec:\n", "\n  annotations:\n    about: "
      .. ("x"):rep(140000) .. "\nspec:\n", 1)))
    err = select(2, run())
    assert.equal("", err)
    err = select(2, run("--crds"))
    assert(err:find("CustomResourceDefinition websites.example.com takes", 1, true)
      and err:find("--server-side", 1, true), err)
  end)

  it("runs from the mounted folder, and an edit of the ConfigMap reloads it", function()
    local function mount(version, word)
      os.execute(("mkdir -p %s/vol/..%s && ln -sfn ..%s %s/vol/..tmp && mv -T %s/vol/..tmp %s/vol/..data"):format(
        folder, version, version, folder, folder, folder))
      e2e.write_file(folder .. "/vol/..data/main.lua", ([[
require("perilune").controller("edit"):For("v1/Namespace")
  :Reconcile(function(_, context) context.log:info("word", { word = %q }) end)
]]):format(word))
      os.execute(("ln -sfn ..data/main.lua %s/vol/main.lua"):format(folder))
    end
    mount("1", "first")
    host = e2e.start_host(server, folder .. "/vol")
    host:logged(function(line) return line.word == "first" end)
    os.execute(("mkdir %s/vol/..2"):format(folder))
    e2e.write_file(folder .. "/vol/..2/main.lua", (e2e.read_file(folder .. "/vol/main.lua"):gsub("first", "second")))
    os.execute(("ln -sfn ..2 %s/vol/..tmp && mv -T %s/vol/..tmp %s/vol/..data"):format(folder, folder, folder))
    host:logged(function(line) return line.word == "second" end)
    host:stop()
  end)

  local refused = {
    { { "-n", "x" }, 2, "--image IMAGE is missing" }, { { "--image", "a b", "-n", "x" }, 2, '"a b" is not an image' },
    { { "--image", "i" }, 2, "one -n NS" }, { { "--image", "i", "-n", "x", "-n", "y" }, 2, "one -n NS" },
    { { "--image", "i", "-n", "x", "--name", "No" }, 2, '"No" cannot name all' },
    { { "--image", "i", "-n", "x", "--replicas", "0" }, 2, "--replicas" },
    { { "--image", "i", "-n", "x", "--replicas", "99999999999" }, 2,
      '--replicas: "99999999999": it must be a whole number from 1 to 2147483647' },
    { { "--image", "i", "-n", "x", "--lanes", "4294967297" }, 2, "it must be a whole number from 1 to 1024" },
    { { "--image", "i", "-n", "x", "--lua-memory", "15EiB" }, 2, "and at most 1073741824MiB" },
    { { "--image", "i", "-n", "x", "--lua-memory", "1PiB", "--lanes", "1024" }, 2, "more than a machine has" },
    { { "--image", "i", "-n", "x", "--cluster", "--server", "http://127.0.0.1:1" }, 1, "http://127.0.0.1:1: " },
  }
  for _, case in ipairs(refused) do
    it("refuses: manifests " .. table.concat(case[1], " "), function()
      local code, out, err = e2e.run("manifests", "examples/hello", unpack(case[1]))
      assert.equal(case[2], code)
      assert.equal("", out)
      assert(err:find(case[3], 1, true), err)
    end)
  end

  it("writes types over itself and over nothing else", function()
    os.execute("cp -r examples/website/. " .. folder)
    local code, out, err = e2e.run("types", folder)
    assert.equal(0, code, err)
    assert.equal(folder .. "/types/perilune.lua\n", out)
    assert(e2e.read_file(folder .. "/types/perilune.lua"):find("---@class example.com.v1.Website.spec", 1, true))
    assert.equal(0, (e2e.run("types", folder)))
    e2e.write_file(folder .. "/types/perilune.lua", "mine\n")
    code, out, err = e2e.run("types", folder)
    assert.equal(1, code)
    assert.equal("", out)
    assert(err:find("nothing was written", 1, true), err)
    assert.equal("mine\n", e2e.read_file(folder .. "/types/perilune.lua"))
    assert.equal(1, (e2e.run("types", folder .. "/no")))
  end)

  if e2e.is_kube then
    it("applies a new project to the cluster", function()
      local started = process.now()
      local dir, namespace = folder .. "/website", server:new_namespace()
      assert.equal(0, (e2e.run("new", "website", "--group", namespace .. ".example.com", "--dir", dir)))
      local text = manifests(dir, "-n", namespace, "--name", namespace, "--crds")
      local file = e2e.write_file(folder .. "/new.yaml", text)
      local pipe = io.popen(("%s --kubeconfig %s apply -f %s 2>&1; echo code $?"):format(
        e2e.kubectl(), server.kubeconfig, file))
      local said = pipe:read("*a")
      pipe:close()
      assert(said:find("code 0", 1, true), said)
      assert(said:find("deployment.apps/" .. namespace .. " created", 1, true), said)
      print(("`new` to objects applied on a cluster: %.2f s"):format(process.now() - started))
    end)

    it("is taken where Pod Security enforces restricted, without a warning", function()
      local namespace = server:new_namespace()
      server:patch("/api/v1/namespaces/" .. namespace, { metadata = { labels = {
        ["pod-security.kubernetes.io/enforce"] = "restricted", ["pod-security.kubernetes.io/warn"] = "restricted" } } })
      local text = manifests("examples/hello", "-n", namespace, "--replicas", "2")
      local file = e2e.write_file(folder .. "/all.yaml", text)
      local pipe = io.popen(("%s --kubeconfig %s apply --dry-run=server -f %s 2>&1; echo code $?"):format(
        e2e.kubectl(), server.kubeconfig, file))
      local said = pipe:read("*a")
      pipe:close()
      assert(said:find("code 0", 1, true), said)
      assert(said:find("deployment.apps/hello", 1, true), said)
      assert.is_nil(said:find("arning", 1, true), said)
    end)
  end
end)
