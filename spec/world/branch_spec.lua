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

-- Two failures, and it no longer follows what it watches: nothing in the cluster tells so.
local REMEMBERING = [[
local perilune = require("perilune")
local failures = 0
perilune.controller("maps"):For("v1/ConfigMap", { labels = "app=yes" })
  :Writes("v1/ConfigMap", { "create", "update" })
  :Reconcile(function(request)
    local map = perilune.live:get("v1/ConfigMap", request)
    if not map or failures > 1 and map.data.text == "2" then return end
    local ok, problem = pcall(perilune.live.create_or_update, perilune.live, { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "copy", namespace = request.namespace } }, function(copy)
      copy.data = { text = map.data.text }
    end)
    if not ok then
      failures = failures + 1
      error(problem)
    end
  end)
]]

local function run(world, at_second_step)
  world:create{ apiVersion = "v1", kind = "ConfigMap", data = { text = "1" },
    metadata = { name = "a", namespace = "default", labels = { app = "yes" } } }
  world:settle()
  if at_second_step then at_second_step() end
  world:patch("v1/ConfigMap", "default/a", { data = { text = "2" } })
  world:settle()
end

local function write(path, mode, text)
  local file = assert(io.open(path, mode))
  file:write(text)
  file:close()
end

local function size_of(path)
  local file = assert(io.open(path))
  local size = file:seek("end")
  file:close()
  return size
end

describe("branches", function()
  local folder

  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    os.execute("mkdir " .. folder)
  end)
  before_each(function()
    write(folder .. "/main.lua", "w", SCRIPT)
  end)
  teardown(function()
    os.execute("rm -r " .. folder)
  end)

  local function new_pipe()
    local path = os.tmpname()
    os.remove(path)
    assert.equal(0, os.execute("mkfifo " .. path))
    return path
  end

  -- Runs f in a branch, which f has to end.
  local function begin(f)
    local is_branch, branch = native.fork()
    if is_branch then f() end
    return branch
  end

  -- The output of the search, and how often the scenario ran in this process. is_prepared: undisturbed executions
  -- go on from one world.
  local function explore(branch, executions, at_second_step, is_prepared)
    local ran = 0
    local scenario = { name = "maps", folder = folder, options = { scripts = folder .. "/main.lua" } }
    local execute, prepare = executor.new({ kind_of = worlds.kind_of, open = function(how, at)
      return worlds.open(scenario, how, at)
    end, f = function(world)
      ran = ran + 1
      run(world, at_second_step)
    end })
    local shown = {}
    local result = search.explore({ execute = execute, prepare = is_prepared and prepare, branch = branch,
      at_a_time = 3, seed = 3, executions = executions, clock = worlds.clock })
    for i, group in ipairs(result.groups) do
      shown[i] = report.finding(group, { scenario = "maps", command = "c", seed = 3, reference = group.reference })
    end
    shown[#shown + 1] = report.json_summary(result, { scenario = "maps", seed = 3 })
    return table.concat(shown, "\n"), ran
  end

  it("find what executions of their own find, in the same order", function()
    if not worlds.branch then return pending("a sanitizer sees one process") end
    for _, executions in ipairs({ 30, 110, 250 }) do
      local alone, all = explore(nil, executions)
      local together, few = explore(worlds.branch, executions)
      local prepared, fewest = explore(worlds.branch, executions, nil, true)
      assert.truthy(alone:find("two", 1, true))
      assert.equal(alone, together)
      assert.equal(alone, prepared)
      assert.is_true(few < all / 2, few .. " of " .. all)
      assert.is_true(fewest < few, fewest .. " of " .. few)
    end
  end)

  -- How many branches there were, and how many began the second step.
  local function begun(script, executions)
    write(folder .. "/main.lua", "w", script)
    local ended, second = folder .. "/ended", folder .. "/second"
    write(ended, "w", "")
    write(second, "w", "")
    explore({ fork = worlds.branch.fork, wait = worlds.branch.wait, finish = function(text)
      write(ended, "a", "x")
      worlds.branch.finish(text)
    end }, executions, function() write(second, "a", "x") end)
    return size_of(ended), size_of(second)
  end

  it("end where all is as in the undisturbed run, unless the script remembers something", function()
    if not worlds.branch then return pending("a sanitizer sees one process") end
    local ended, second = begun(REMEMBERING, 120)
    local without_ended, without_second = begun(REMEMBERING:gsub("failures = failures %+ 1", ""), 120)
    assert.is_true(second < ended)
    assert.is_true(without_second < second, without_second .. " of " .. without_ended)
  end)

  it("do not end where only the script knows of a difference", function()
    if not worlds.branch then return pending("a sanitizer sees one process") end
    write(folder .. "/main.lua", "w", REMEMBERING)
    local alone, together = explore(nil, 400), explore(worlds.branch, 400)
    assert.truthy(alone:find("state  ConfigMap default/copy data.text is 1, undisturbed 2", 1, true), alone)
    assert.equal(alone, together)
  end)

  it("that fail are run again in this process", function()
    if not worlds.branch then return pending("a sanitizer sees one process") end
    local failing = { fork = worlds.branch.fork, wait = worlds.branch.wait, finish = function() os.exit(3) end }
    local impossible = { fork = function() return false, nil, "no room" end, finish = error }
    local alone = explore(nil, 40)
    for _, is_prepared in ipairs({ false, true }) do
      assert.equal(alone, (explore(failing, 40, nil, is_prepared)))
      assert.equal(alone, (explore(impossible, 40, nil, is_prepared)))
    end
  end)

  it("tell their result, or that there is none", function()
    if not native.fork then return pending("a sanitizer sees one process") end
    local text = ("x"):rep(1000000) .. "\0\n"
    local branch = begin(function() native.finish(text) end)
    assert.same({ 1, text }, { native.wait({ branch }) })
    assert.has_error(function() native.wait({ branch }) end)
    branch = begin(function() os.exit(1) end)
    local at, heard, message = native.wait({ branch })
    assert.equal(1, at)
    assert.is_nil(heard)
    assert.equal("the branch did not finish", message)
    assert.has_error(function() native.finish("") end)
    assert.has_error(function() native.wait({}) end)
    assert.has_error(function() native.wait({ io.stdout }) end)
  end)

  it("run at a time, and end in any order", function()
    if not native.fork then return pending("a sanitizer sees one process") end
    local pipe = new_pipe()
    local first = begin(function() -- ends only when the second one runs
      local file = io.open(pipe)
      native.finish(file:read("*a"))
    end)
    local second = begin(function()
      local file = io.open(pipe, "w")
      file:write("from the second one")
      file:close()
      native.finish("second")
    end)
    local texts = {}
    local at, text = native.wait({ first, second })
    texts[at] = text
    local left = at == 1 and second or first
    texts[3 - at] = select(2, native.wait({ left }))
    os.remove(pipe)
    assert.same({ "from the second one", "second" }, texts)
  end)

  it("end when nobody waits for them", function()
    if not native.fork then return pending("a sanitizer sees one process") end
    local pipe = new_pipe()
    begin(function() native.finish(io.open(pipe):read("*a")) end) -- waits for a writer
    collectgarbage()
    collectgarbage()
    local status = os.execute("timeout 0.2 sh -c 'echo > " .. pipe .. "'")
    os.remove(pipe)
    assert.not_equal(0, status) -- there is no reader
  end)

  it("end with the process that began them", function()
    if not native.fork then return pending("a sanitizer sees one process") end
    local pipe = new_pipe()
    local outer = begin(function()
      local _ = begin(function()
        while true do io.open(pipe):read("*a") end
      end)
      native.finish("")
    end)
    assert.same({ 1, "" }, { native.wait({ outer }) })
    local status, tries = 0, 0
    while status == 0 and tries < 100 do
      status, tries = os.execute("timeout 0.2 sh -c 'echo > " .. pipe .. "'"), tries + 1
    end
    os.remove(pipe)
    assert.not_equal(0, status) -- there is no reader any more
  end)

  it("pack plain values", function()
    local value = { "a\n\"b\"\\", 2, true, { name = "x\0y", { false } }, ["a b"] = -1 }
    assert.same(value, branches.unpack(branches.pack(value)))
    assert.is_nil(branches.unpack("\255"))
    assert.is_nil(branches.unpack(""))
    assert.is_nil(branches.unpack(nil))
  end)
end)
