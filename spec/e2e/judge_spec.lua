-- `perilune check` on kinds, fields and types: it must find nine in ten mistakes of a corpus of
-- scripts with one mistake each, and report nothing about a corpus of correct scripts.

local e2e = require("spec.support.e2e")

local FOLDER = "spec/data/check/"

local HEAD = [[
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Website"
perilune.controller("c"):For(KIND):Owns("apps/v1/Deployment"):Reconcile(function(request, context)
  local site = client:get(KIND, request)
]]

-- {name, script}
local function read_cases(file)
  local out = {}
  for case in (e2e.read_file(FOLDER .. file) .. "\n== "):gmatch("== ([^\n]*\n.-)\n%f[=]") do
    local name, body = case:match("^([^\n]*)\n(.*)$")
    if name:sub(1, 2) == "R " then
      body = HEAD .. body .. "\nend)\n"
    end
    out[#out + 1] = { name = name, script = body .. "\n" }
  end
  return out
end

-- The line of the mistake and the text to find.
local function expected(script)
  local number = 0
  for line in script:gmatch("([^\n]*)\n") do
    number = number + 1
    local words = line:match("%-%-! (.*)$")
    if words then
      return number, words
    end
  end
end

describe("perilune check", function()
  local folder

  setup(function() folder = e2e.folder() end)
  teardown(e2e.finish)

  local function check(script, ...)
    local path = e2e.write_file(folder .. "/case.lua", script)
    local code, _, err = e2e.run("check", path, "--schema", FOLDER .. "schemas", ...)
    return code, err:gsub(folder:gsub("%p", "%%%0") .. "/", "")
  end

  it("finds nine of ten mistakes, and says nothing of what is right", function()
    local wrong, right = read_cases("wrong.txt"), read_cases("right.txt")
    assert.is_true(#wrong >= 60 and #right >= 40)
    local found, missed, alarms = 0, {}, {}
    for _, case in ipairs(wrong) do
      local line, words = expected(case.script)
      local code, err = check(case.script)
      if code == 1 and err:find("case.lua:" .. line .. ": ", 1, true) and err:find(words, 1, true) then
        found = found + 1
      else
        missed[#missed + 1] = case.name .. ": " .. err
      end
      local _, more = err:gsub("case.lua:%d+:", "")
      if more > 1 then
        alarms[#alarms + 1] = case.name .. ": more than one: " .. err
      end
    end
    for _, case in ipairs(right) do
      local code, err = check(case.script)
      if code ~= 0 or err ~= "" then
        alarms[#alarms + 1] = case.name .. ": " .. err
      end
    end
    print(("found %d of %d mistakes (%.0f%%), %d false alarms in %d correct scripts"):format(found, #wrong,
      100 * found / #wrong, #alarms, #right))
    for _, text in ipairs(missed) do
      print("  missed: " .. text)
    end
    assert.equal("", table.concat(alarms, "\n"))
    assert.is_true(found >= 0.9 * #wrong)
  end)

  it("follows what a script passes to the functions of its modules, and takes from them", function()
    local dir = folder .. "/modules"
    os.execute("mkdir -p " .. dir .. "/lib")
    e2e.write_file(dir .. "/lib/sites.lua", [[
local M = {}
function M.host(site) return site.spec.hots end
M.path = function(site) return site.spec.page end
local function inner(site) return site.spec.replicsa end
function M.outer(site) return inner(site) end
function M.unsure(object) return object.spec.anything_at_all end
function M.child(site)
  return { apiVersion = "apps/v1", kind = "Deployment", metadata = { name = site.metadata.name } }
end
return M
]])
    e2e.write_file(dir .. "/single.lua", "return function(site) return site.spec.mdoe end\n")
    e2e.write_file(dir .. "/main.lua", [[
local perilune = require("perilune")
local sites = require("lib.sites")
local single = require("single")
local client = perilune.client
perilune.controller("c"):For("example.com/v1/Website"):Owns("apps/v1/Deployment"):Reconcile(function(request)
  local site = client:get("example.com/v1/Website", request)
  sites.host(site)
  sites.path(site)
  sites.outer(site)
  sites.unsure(site)
  sites.unsure(client:get("apps/v1/Deployment", request))
  single(site)
  local child = sites.child(site)
  child.spec = { replcias = 3 }
end)
]])
    local code, _, err = e2e.run("check", dir, "--schema", FOLDER .. "schemas")
    assert.equal(1, code)
    local found = {}
    for file, line, words in err:gmatch("modules/(%S-):(%d+):[^\n]-(did you mean [^\n]*)") do
      found[#found + 1] = file .. ":" .. line .. ": " .. words
    end
    assert.same({ 'lib/sites.lua:2: did you mean "host"?', 'lib/sites.lua:4: did you mean "replicas"?',
      'main.lua:14: did you mean "replicas"?', 'single.lua:1: did you mean "mode"?' }, found, err)
    assert.equal(4, select(2, err:gsub("\n", "")), err)
  end)

  it("judges manifests, in which placeholders are not known", function()
    local dir = folder .. "/project"
    os.execute("mkdir -p " .. dir .. "/manifests && cp " .. FOLDER .. "schemas/crds.yaml " .. dir .. "/manifests/")
    e2e.write_file(dir .. "/main.lua", [[
local perilune = require("perilune")
perilune.controller("c"):For("example.com/v1/Website"):Reconcile(function()
  perilune.client:apply(perilune.manifest("child.yaml", { replicas = 1, name = "x" }))
end)
]])
    e2e.write_file(dir .. "/child.yaml", [[
apiVersion: example.com/v1
kind: Website
metadata:
  name: ${name}-child
spec:
  host: "${name}.example.com"
  replicas: ${replicas}
  mode: ${mode}
]])
    local code, _, err = e2e.run("check", dir)
    assert.equal("", err)
    assert.equal(0, code)
    e2e.write_file(dir .. "/child.yaml", [[
apiVersion: example.com/v1
kind: Website
metadata:
  name: ${name}
spec:
  hots: x
  replicas: "3"
  mode: fsat
]])
    code, _, err = e2e.run("check", dir)
    assert.equal(1, code)
    assert(err:find('child.yaml:6: example.com/v1/Website has no spec.hots; did you mean "host"?', 1, true), err)
    assert(err:find("child.yaml:7: ", 1, true), err)
    assert(err:find("child.yaml:8: ", 1, true), err)
  end)

  it("looks at modules that are required in functions, too", function()
    local dir = folder .. "/late"
    os.execute("mkdir -p " .. dir .. "/lib")
    e2e.write_file(dir .. "/lib/sites.lua", [[
local words = require("lib.words")
return { host = function(site) return site.spec.hots .. words end }
]])
    e2e.write_file(dir .. "/lib/words.lua", "return 'words'\n")
    e2e.write_file(dir .. "/lib/broken.lua", "local x = 1\nlocal = 2\n")
    e2e.write_file(dir .. "/main.lua", [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("c"):For("example.com/v1/Website"):Reconcile(function(request, context)
  local site = client:get("example.com/v1/Website", request)
  require("lib.sites").host(site)
  require(context.name)
  require("lib.broken")
  require("lib.not_there")
end)
]])
    local code, _, err = e2e.run("check", dir, "--schema", FOLDER .. "schemas")
    assert.equal(1, code)
    assert.matches("late/main.lua:6: the name of the required module is computed", err)
    assert.matches('late/lib/sites.lua:2: [^\n]*did you mean "host"', err)
    assert.matches("late/lib/broken.lua:2: ", err)
    assert.equal(3, select(2, err:gsub("\n", "")), err)
  end)

  it("knows names of built-in kinds without any schema, and CRDs beside the script", function()
    local path = e2e.write_file(folder .. "/plain.lua", [[
require("perilune").controller("c"):For("apps/v1/Deploymnt"):Reconcile(function() end)
]])
    local code, out, err = e2e.run("check", path)
    assert.equal(1, code)
    assert.equal(path .. ':1: there is no kind apps/v1/Deploymnt; did you mean "Deployment"?\n', err)
    assert(out:find("controller c", 1, true), out)
  end)

  it("asks the cluster, and gives up on one that is away", function()
    local server = e2e.server()
    local script = 'require("perilune").controller("c"):For("%s"):Reconcile(function() end)\n'
    local path = e2e.write_file(folder .. "/cluster.lua", script:format("v1/Pod"))
    local code, _, err = e2e.run("check", path, "--cluster", "--kubeconfig", server.kubeconfig)
    assert.equal("", err)
    assert.equal(0, code)
    code, _, err = e2e.run("check", path, "--cluster", "--server", "http://127.0.0.1:1")
    assert.equal(1, code)
    assert(err:find("127.0.0.1:1", 1, true), err)
  end)

  it("believes the cluster about versions, of its own kinds too", function()
    local server = e2e.server()
    server:apply_crd([[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: twins.judge.example.com
spec:
  group: judge.example.com
  names: { kind: Twin, plural: twins }
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object } }
    - name: v1beta1
      served: true
      storage: false
      schema: { openAPIV3Schema: { type: object } }
]])
    local dir = folder .. "/versions"
    os.execute("mkdir -p " .. dir)
    e2e.write_file(dir .. "/main.lua", [[
local perilune = require("perilune")
perilune.controller("c"):For("judge.example.com/v1/Twin"):Owns("autoscaling/v2/HorizontalPodAutoscaler")
  :Reconcile(function() perilune.client:apply(perilune.manifest("child.yaml")) end)
]])
    local child = "apiVersion: %s\nkind: %s\nmetadata: { name: x }\n"
    e2e.write_file(dir .. "/child.yaml", child:format("judge.example.com/v1beta1", "Twin"))
    local code, _, err = e2e.run("check", dir, "--cluster", "--kubeconfig", server.kubeconfig)
    assert.equal("", err)
    assert.equal(0, code)
    e2e.write_file(dir .. "/child.yaml", child:format("autoscaling/v2beta1", "HorizontalPodAutoscaler"))
    code, _, err = e2e.run("check", dir, "--cluster", "--kubeconfig", server.kubeconfig)
    assert(err:find("child.yaml:2: autoscaling/HorizontalPodAutoscaler has no version v2beta1; it has ", 1, true), err)
    assert.equal(1, code)
  end)

  it("does not take a refusal of the cluster for an answer", function()
    local server = e2e.server()
    local path = e2e.write_file(folder .. "/refused.lua",
      'require("perilune").controller("c"):For("example.org/v1/Thing"):Reconcile(function() end)\n')
    local stranger = e2e.write_file(folder .. "/stranger",
      (e2e.read_file(server.kubeconfig):gsub("(token: *)[^,}\n]*", "%1nobody")))
    local code, _, err = e2e.run("check", path, "--cluster", "--kubeconfig", stranger)
    assert.equal(1, code)
    assert(err:find("Unauthorized", 1, true), err)
    code, _, err = e2e.run("check", path, "--cluster", "--kubeconfig", server.kubeconfig,
      "--server", server.url .. "/elsewhere")
    assert.equal(1, code)
    assert(err:find("is not a Kubernetes API server", 1, true), err)
  end)

  it("refuses schemas that are none", function()
    local path = e2e.write_file(folder .. "/ok.lua",
      'require("perilune").controller("c"):For("v1/Pod"):Reconcile(function() end)\n')
    for name, text in pairs({ ["a.yaml"] = "a: b\n", ["b.json"] = "{", ["c.json"] = "", ["d.yaml"] = "- 1\n" }) do
      local file = e2e.write_file(folder .. "/" .. name, text)
      local code, _, err = e2e.run("check", path, "--schema", file)
      assert.equal(1, code)
      assert(err:find(file, 1, true), err)
    end
    local code, _, err = e2e.run("check", path, "--schema", folder .. "/none")
    assert.equal(1, code)
    assert(err:find("none: No such file", 1, true), err)
  end)
end)
