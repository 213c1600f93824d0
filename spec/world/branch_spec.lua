-- Executions with the same beginning are branches of one process: the search has the same findings
-- as with a separate execution for each plan.

local branches = require("perilune.explore.branches")
local executor = require("perilune.explore.executor")
local native = require("perilune.world")
local report = require("perilune.explore.report")
local search = require("perilune.explore.search")
local worlds = require("perilune.explore.worlds")

local SCRIPT = [[
local perilune = require("perilune")
local client = perilune.client
local function owned(map, name, data)
  return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name, namespace = map.metadata.namespace },
    data = data }
end
perilune.controller("maps"):For("v1/ConfigMap", { labels = "app=yes" })
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if not map then return end
    if client:get("v1/ConfigMap", { namespace = request.namespace, name = "one" }) then return end
    client:create(owned(map, "one", { text = map.data.text }), { owner = map })
    client:create(owned(map, "two", { text = map.data.text }), { owner = map })
    client:patch("v1/ConfigMap", request, { metadata = { annotations = { done = "yes" } } })
  end)
]]

local function run(world)
  world:create{ apiVersion = "v1", kind = "ConfigMap", data = { text = "1" },
    metadata = { name = "a", namespace = "default", labels = { app = "yes" } } }
  world:settle()
  world:patch("v1/ConfigMap", "default/a", { data = { text = "2" } })
  world:settle()
end

describe("branches", function()
  local folder

  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    os.execute("mkdir " .. folder)
    local file = assert(io.open(folder .. "/main.lua", "w"))
    file:write(SCRIPT)
    file:close()
  end)
  teardown(function()
    os.execute("rm -r " .. folder)
  end)

  -- The output of the search, and how often the scenario ran in this process.
  local function explore(branch, executions)
    local ran = 0
    local scenario = { name = "maps", folder = folder, options = { scripts = folder .. "/main.lua" } }
    local execute = executor.new({ kind_of = worlds.kind_of, open = function(how, at)
      return worlds.open(scenario, how, at)
    end, f = function(world)
      ran = ran + 1
      run(world)
    end })
    local shown = {}
    local result = search.explore({ execute = execute, branch = branch, seed = 3, executions = executions,
      clock = worlds.clock })
    for i, group in ipairs(result.groups) do
      shown[i] = report.finding(group, { scenario = "maps", command = "c", seed = 3, reference = group.reference })
    end
    shown[#shown + 1] = report.json_summary(result, { scenario = "maps", seed = 3 })
    return table.concat(shown, "\n"), ran
  end

  it("find what executions of their own find, in the same order", function()
    if not worlds.branch then return pending("a sanitizer sees one process") end
    for _, executions in ipairs({ 30, 110 }) do
      local alone, all = explore(nil, executions)
      local together, few = explore(worlds.branch, executions)
      assert.truthy(alone:find("two", 1, true))
      assert.equal(alone, together)
      assert.is_true(few < all / 2, few .. " of " .. all)
    end
  end)

  it("that fail are run again in this process", function()
    if not worlds.branch then return pending("a sanitizer sees one process") end
    local failing = { fork = worlds.branch.fork, finish = function() os.exit(3) end }
    local impossible = { fork = function() return false, nil, "no room" end, finish = error }
    local alone = explore(nil, 40)
    assert.equal(alone, (explore(failing, 40)))
    assert.equal(alone, (explore(impossible, 40)))
  end)

  it("tell their result, or that there is none", function()
    if not native.fork then return pending("a sanitizer sees one process") end
    local text = ("x"):rep(1000000) .. "\0\n"
    local is_branch, heard = native.fork()
    if is_branch then native.finish(text) end
    assert.equal(text, heard)
    local message
    is_branch, heard, message = native.fork()
    if is_branch then os.exit(1) end
    assert.is_nil(heard)
    assert.equal("the branch did not finish", message)
    assert.has_error(function() native.finish("") end)
  end)

  it("pack plain values", function()
    local value = { "a\n\"b\"\\", 2, true, { name = "x\0y", { false } }, ["a b"] = -1 }
    assert.same(value, branches.unpack(branches.pack(value)))
    assert.is_nil(branches.unpack("\255"))
    assert.is_nil(branches.unpack(""))
    assert.is_nil(branches.unpack(nil))
  end)
end)
