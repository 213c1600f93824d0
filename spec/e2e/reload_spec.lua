-- Hot reload: its triggers, refused scripts while the running ones continue, what a switch keeps,
-- and the rollback. The same tests run on both servers.

local beds = require("spec.support.script_folder")
local e2e = require("spec.support.e2e")

describe("hot reload", function()
  local host
  local bed = beds.new()
  local core, config_map, write = bed.core, bed.config_map, bed.write

  setup(bed.set_up)
  before_each(bed.begin)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  -- A controller that logs its word in each run.
  local function says(word, name, more)
    return ([[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("%s"):For("v1/ConfigMap", { labels = "reload=yes" })%s
  :Reconcile(function(request, context)
    local word = %s
    context.log:info("ran", { word = word, name = request.name, generation = perilune.generation,
      cause = context.causes[1] and context.causes[1].type })
  end)
]]):format(name or "words", more or "", word)
  end

  local function start(...)
    host = bed.start(...)
  end

  local function ran(word, name)
    return host:logged(function(line)
      return line.msg == "ran" and line.word == word and (not name or line.name == name)
    end)
  end

  local function shell(command)
    assert(os.execute(command) == 0, command)
  end

  local function total(result)
    return host:metrics():value("perilune_reload_total", { result = result }) or 0
  end

  -- How often the kind was listed and watched so far.
  local function requests(kind)
    local page = host:metrics()
    return (page:value("perilune_informer_lists_total", { kind = kind }) or 0)
      .. " lists, " .. (page:value("perilune_informer_watches_total", { kind = kind }) or 0)
      .. " watches"
  end

  describe("refuses", function()
    local refusals = {
      ["what does not compile"] = { "local x = = 1\n", "unexpected symbol" },
      ["a main chunk that raises"] = { "error('broken on purpose')\n", "broken on purpose" },
      ["a main chunk over its memory"] = {
        "local t = {}\nfor i = 1, 1e9 do t[i] = { i } end\n", "memory limit" },
      ["a main chunk that takes over 2 s"] = { "while true do end\n", "2" },
      ["wrong declarations"] = { [[
require("perilune").controller("words"):For("v1/ConfigMap"):For("v1/Secret")
]], "For is called twice" },
      ["scripts that declare nothing"] = { "local nothing = 1\n", "declare nothing" },
      ["a kind that does not sync"] = { [[
require("perilune").controller("words", { cache_sync_timeout = "1s" })
  :For("v1/ConfigMap", { labels = "reload=yes" }):Owns("nowhere.example.com/v1/Nothing")
  :Reconcile(function() end)
]], "did not sync in time" },
      ["an index of a kind that nobody declares"] = {
        says("'two'") .. "perilune.index('v1/Pod', 'node', 'spec.nodeName')\n",
        "no controller caches v1/Pod" },
    }
    for what, case in pairs(refusals) do
      it(what .. ", and the running scripts go on", function()
        local script = write("main.lua", says("'one'"))
        start(script, { "--lua-memory", "32MiB" })
        config_map("before")
        ran("one", "before")
        local asked = requests("v1/ConfigMap")
        write("main.lua", case[1])
        local line = host:logged("^reload refused")
        assert.truthy(line.error:find(case[2], 1, true), line.error)
        assert.equal(1, line.generation)
        config_map("after")
        assert.equal(1, ran("one", "after").generation)
        assert.equal(1, total("rejected"))
        assert.equal(0, total("applied"))
        assert.equal(asked, requests("v1/ConfigMap"))
        write("main.lua", says("'two'"))
        assert.equal(2, ran("two", "after").generation)
        host:stop()
      end)
    end
  end)

  describe("sees", function()
    local saves = {
      ["a write in place"] = function(path, text)
        e2e.write_file(path, text)
      end,
      ["a write in pieces"] = function(path, text)
        local file = assert(io.open(path, "w"))
        file:write(text:sub(1, 40))
        file:flush()
        e2e.process.pause(0.1)
        file:write(text:sub(41))
        file:close()
      end,
      ["a write beside and a rename"] = function(path, text)
        e2e.write_file(path .. ".tmp", text)
        assert(os.rename(path .. ".tmp", path))
      end,
      ["an editor's backup dance"] = function(path, text)
        shell(("cd $(dirname %s) && touch 4913 && rm 4913"):format(path))
        assert(os.rename(path, path .. "~"))
        e2e.write_file(path, text)
        os.remove(path .. "~")
      end,
      ["a removal and a new file"] = function(path, text)
        os.remove(path)
        e2e.process.pause(0.05)
        e2e.write_file(path, text)
      end,
    }
    for what, save in pairs(saves) do
      it(what, function()
        local script = write("main.lua", says("'one'"))
        config_map("a")
        start(script)
        ran("one", "a")
        save(script, says("'two'"))
        assert.equal("RELOAD", ran("two", "a").cause)
        host:stop()
      end)
    end

    -- The folder of a link has no event when the link's target changes.
    it("changes of a script and a module behind links", function()
      local far = bed.folder .. "/../" .. e2e.unique("far")
      local app = bed.folder
      shell(("mkdir %s"):format(far))
      e2e.write_file(far .. "/real.lua", says("require('word')"))
      e2e.write_file(far .. "/word.lua", "return 'one'\n")
      shell(("ln -s %s/real.lua %s/main.lua"):format(far, app))
      shell(("ln -s ../%s/word.lua %s/word.lua"):format(far:match("[^/]+$"), app))
      config_map("a")
      start(app)
      ran("one", "a")
      e2e.write_file(far .. "/word.lua", "return 'two'\n")
      ran("two", "a")
      assert(os.rename(e2e.write_file(far .. "/new", "return 'three'\n"), far .. "/word.lua"))
      ran("three", "a")
      e2e.write_file(far .. "/real.lua", says("require('word') .. '!'"))
      ran("three!", "a")
      shell(("ln -s %s/other.lua %s/new"):format(far, app))
      e2e.write_file(far .. "/other.lua", "return 'four'\n")
      assert(os.rename(app .. "/new", app .. "/word.lua"))
      ran("four!", "a")
      e2e.write_file(far .. "/other.lua", "return 'five'\n")
      ran("five!", "a")
      host:stop()
    end)

    it("the swap of a ConfigMap volume, whole or not at all", function()
      local function volume(stamp, word)
        shell(("mkdir %s/..%s"):format(bed.folder, stamp))
        write(".." .. stamp .. "/main.lua", says("require('word')"))
        write(".." .. stamp .. "/word.lua", "return '" .. word .. "'\n")
        shell(("cd %s && ln -s ..%s ..data_tmp && mv -T ..data_tmp ..data"):format(bed.folder, stamp))
      end
      volume("1", "one")
      shell(("cd %s && ln -s ..data/main.lua main.lua && ln -s ..data/word.lua word.lua"):format(bed.folder))
      config_map("a")
      start(bed.folder)
      ran("one", "a")
      volume("2", "two")
      shell("rm -r " .. bed.folder .. "/..1")
      ran("two", "a")
      host:stop()
    end)

    it("new and removed files of a folder, and leaves the rest alone", function()
      write("one.lua", says("'one'", "first"))
      config_map("a")
      start(bed.folder)
      ran("one", "a")
      write("two.lua", says("'two'", "second"))
      ran("two", "a")
      os.remove(bed.folder .. "/one.lua")
      host:logged("^controller is no longer declared$")
      config_map("b")
      ran("two", "b")
      assert.equal(3, host:count_logged("^ran$"))
      host:stop()
    end)

    it("a module, also one that was not there", function()
      local script = write("main.lua", says("require('lib.word')"))
      shell("mkdir " .. bed.folder .. "/lib")
      write("lib/word.lua", "return 'one'\n")
      config_map("a")
      start(script)
      ran("one", "a")
      write("lib/word.lua", "return 'two'\n")
      ran("two", "a")
      write("main.lua", "local word = require('more.word')\n" .. says("word"))
      host:logged("^reload refused")
      shell("mkdir " .. bed.folder .. "/more")
      e2e.process.pause(0.1)
      write("more/word.lua", "return 'three'\n")
      ran("three", "a")
      host:stop()
    end)

    it("a manifest that a run has read, and the file of --config", function()
      local config = write("config.yaml", "word: one\n")
      write("word.yaml", "value: ${more}\n")
      local script = write("main.lua", says(
        "perilune.config.word .. perilune.manifest('word.yaml', { more = 1 }).value"))
      config_map("a")
      start(script, { "--config", config })
      ran("one1", "a")
      write("word.yaml", "value: ${more}2\n")
      ran("one12", "a")
      write("config.yaml", "word: [\n")
      host:logged("^reload refused")
      write("config.yaml", "word: two\n")
      ran("two12", "a")
      host:stop()
    end)

    it("the config, and says that flags in it wait for the next start", function()
      local config = write("config.yaml", "word: one\nflags: {lanes: 2, log-level: info}\n")
      local script = write("main.lua", says('require("perilune").config.word'))
      config_map("a")
      start(script, { "--config", config })
      ran("one", "a")
      write("config.yaml", "flags: {log-level: info, lanes: 2}\nword: two\n")
      ran("two", "a")
      assert.equal(0, host:count_logged("^flags in the config have changed"))
      write("config.yaml", "flags: {lanes: 3, log-level: info}\nword: three\n")
      ran("three", "a")
      assert.equal(config, host:logged("^flags in the config have changed").config)
      host:stop()
    end)

    it("the last of many saves in a row", function()
      local script = write("main.lua", says("0"))
      config_map("a")
      start(script)
      ran(0, "a")
      for i = 1, 40 do
        e2e.write_file(script, says(tostring(i)))
      end
      ran(40, "a")
      host:stop()
    end)
  end)

  describe("is stopped", function()
    -- Its sources are never opened, because the host stops first; it continues until the run has
    -- ended.
    it("after new scripts were loaded and before they run", function()
      local script = write("main.lua", says("'one'") .. [[
perilune.controller("slow"):For("v1/ConfigMap"):Reconcile(function()
  print("begins")
  perilune.sleep(1)
end)
]])
      config_map("a")
      start(script)
      host:logged("^begins$")
      write("main.lua", says("'two'", "words", ':Owns("v1/Secret")') .. [[
print("loads")
local ends = perilune.time.now() + 0.1
repeat until perilune.time.now() > ends
]])
      host:logged("^loads$")
      host:stop()
      assert.equal(0, host:count_logged("^reloaded"))
    end)

    it("at any moment of a reload", function()
      config_map("a")
      for i = 1, 20 do
        start(write("main.lua", says("'one'")))
        ran("one", "a")
        write("main.lua", says("'two'", "words", ':Owns("v1/Secret")'))
        e2e.process.pause(i * 0.003)
        host:stop()
      end
    end)
  end)

  it("loads nothing when the content is the same", function()
    local script = write("main.lua", says("'one'"))
    config_map("a")
    start(script)
    ran("one", "a")
    shell("touch " .. script)
    write("main.lua", says("'one'"))
    host.child:signal("HUP")
    host:logged("^nothing to reload")
    write("main_spec.lua", "error('not a script')\n")
    write("main.lua", says("'two'"))
    assert.equal(2, ran("two", "a").generation)
    assert.equal(1, total("applied"))
    assert.equal(0, total("rejected"))
    host:stop()
  end)

  it("waits for SIGHUP with --no-reload", function()
    local script = write("main.lua", says("'one'"))
    config_map("a")
    start(script, { "--no-reload" })
    ran("one", "a")
    write("main.lua", says("'two'"))
    config_map("b")
    ran("one", "b")
    host.child:signal("HUP")
    ran("two", "b")
    host:stop()
  end)

  it("enqueues what has changed and leaves the rest alone, without a request", function()
    write("a.lua", says("'a1'", "first"))
    write("b.lua", says("require('word')", "second"))
    write("c.lua", says("'c1'", "third", [[:Watches("v1/Secret", "self")]]))
    shell("mkdir " .. bed.folder .. "/word")
    write("word/init.lua", "return 'b1'\n")
    for i = 1, 5 do
      config_map("m" .. i)
    end
    start(bed.folder)
    for i = 1, 5 do
      ran("a1", "m" .. i)
      ran("b1", "m" .. i)
      ran("c1", "m" .. i)
    end
    local maps, secrets = requests("v1/ConfigMap"), requests("v1/Secret")
    write("word/init.lua", "return 'b2'\n")
    for i = 1, 5 do
      assert.equal("RELOAD", ran("b2", "m" .. i).cause)
    end
    assert.equal("second", host:logged("^reloaded$").changed)
    config_map("last")
    assert.equal(2, ran("a1", "last").generation)
    ran("b2", "last")
    ran("c1", "last")
    assert.equal(3 * 5 + 5 + 3, host:count_logged("^ran$"))
    assert.equal(maps, requests("v1/ConfigMap"))
    assert.equal(secrets, requests("v1/Secret"))
    host:stop()
  end)

  it("syncs new kinds first, and ends those that nobody uses", function()
    local script = write("main.lua", says("'one'", nil, [[:Watches("v1/Secret", "self")]]))
    config_map("a")
    start(script)
    ran("one", "a")
    bed.server:create(core("serviceaccounts"), { apiVersion = "v1", kind = "ServiceAccount",
      metadata = { name = "one-of-ours" } })
    write("main.lua", says([[perilune.dig(client:get("v1/ServiceAccount",
      { namespace = request.namespace, name = "one-of-ours" }), "metadata", "name")]], nil,
      [[:Reads("v1/ServiceAccount")]]))
    ran("one-of-ours", "a")
    assert.equal(0, host:metrics():value("perilune_informer_lists_total",
      { kind = "v1/Pod" }) or 0)
    -- The guard keeps the old generation and its kinds until it has ended.
    assert.truthy(host:metrics():value("perilune_informer_objects", { kind = "v1/Secret" }))
    host:stop()

    start(script, { "--no-reload-guard" })
    ran("one-of-ours", "a")
    write("main.lua", says("'two'"))
    ran("two", "a")
    e2e.eventually("the kind is not watched any more", function()
      return not host:metrics():value("perilune_informer_objects", { kind = "v1/ServiceAccount" })
    end)
    host:stop()
  end)

  it("keeps delays over a reload", function()
    local function delayed(word)
      return says("'" .. word .. "'"):gsub("(cause = [^\n]*\n)", "%1    return { requeue_after = '3s' }\n")
    end
    config_map("a")
    local script = write("main.lua", (delayed("one")))
    start(script, { "--no-reload-guard" })
    ran("one", "a")
    local other = write("main.lua", (delayed("two"):gsub("perilune.controller%(\"words\"",
      "perilune.controller(\"words\", { on_reload = 'none' }")))
    assert.equal(script, other)
    host:logged("^reloaded$")
    assert.equal("REQUEUE", ran("two", "a").cause)
    host:stop()
  end)

  -- Six keys have run with the first scripts.
  local function start_with_six()
    local script = write("main.lua", says("'one'"))
    for i = 1, 6 do
      config_map("m" .. i)
    end
    start(script)
    ran("one", "m6")
  end

  it("goes back when the new scripts fail at once, and does not try them again", function()
    start_with_six()
    local bad = says("error('worse than before')")
    write("main.lua", bad)
    local line = host:logged("^the new scripts fail")
    assert.truthy(line.first_failure:find("worse than before", 1, true), line.first_failure)
    assert.truthy(line.first_failure:find("stack traceback", 1, true), line.first_failure)
    assert.equal(1, line.to)
    config_map("after")
    assert.equal(1, ran("one", "after").generation)
    assert.equal(1, total("rolled_back"))
    host.child:signal("HUP")
    assert.truthy(host:logged("^reload refused").error:find("rolled back", 1, true))
    config_map("later")
    ran("one", "later")
    write("main.lua", says("'better'"))
    assert.equal(3, ran("better", "later").generation)
    host:stop()
  end)

  -- Saves within the time of the guard: what ran well is not undone by what fails after it.
  it("goes back to the newest scripts that ran well, whatever their age", function()
    start_with_six()
    local function save(word)
      write("main.lua", says("'" .. word .. "'"))
      for i = 1, 6 do
        ran(word, "m" .. i)
      end
    end
    save("two")
    save("three")
    write("main.lua", says("error('worse than before')"))
    local line = host:logged("^the new scripts fail")
    assert.same({ 4, 3 }, { line.from, line.to })
    config_map("after")
    assert.equal(3, ran("three", "after").generation)
    host:stop()
  end)

  it("does not go back to scripts that never ran", function()
    start_with_six()
    write("main.lua", (says("'two'"):gsub('"words"', '"words", { on_reload = "none" }')))
    host:logged("^reloaded$") -- it runs for nothing
    write("main.lua", says("error('worse than before')"))
    local line = host:logged("^the new scripts fail")
    assert.same({ 3, 1 }, { line.from, line.to })
    config_map("after")
    assert.equal(1, ran("one", "after").generation)
    host:stop()
  end)

  it("goes back to a controller that the new scripts did without", function()
    local script = write("main.lua", says("'one'") .. says("'other'", "others"))
    for i = 1, 6 do
      config_map("m" .. i)
    end
    start(script)
    ran("other", "m6")
    write("main.lua", says("error('worse than before')"))
    host:logged("^controller is no longer declared$")
    host:logged("^the new scripts fail")
    config_map("after")
    assert.equal(1, ran("other", "after").generation)
    assert.equal(1, ran("one", "after").generation)
    host:stop()
  end)

  it("does not go back for what failed before, or without the guard", function()
    local bad = "error('as bad as ever')"
    local script = write("main.lua", says(bad))
    for i = 1, 6 do
      config_map("m" .. i)
    end
    start(script)
    e2e.eventually("failures", function()
      return host:text():find("as bad as ever", 1, true)
    end)
    e2e.process.pause(0.5)
    write("main.lua", says(bad) .. "-- not better\n")
    host:logged("^reloaded$")
    e2e.process.pause(2)
    assert.equal(0, total("rolled_back"))
    host:stop()

    write("main.lua", says("'one'"))
    start(script, { "--no-reload-guard" })
    ran("one", "m6")
    write("main.lua", says(bad))
    e2e.eventually("retries", function()
      return (host:metrics():value("controller_runtime_reconcile_errors_total",
        { controller = "words" }) or 0) > 12
    end)
    assert.equal(0, total("rolled_back"))
    host:stop()
  end)

  it("rebuilds an index whose function changed, and keeps one by a path", function()
    local function indexed(value)
      return ([[
local perilune = require("perilune")
local client = perilune.client
perilune.index("v1/ConfigMap", "by_word", function(object) return %s end)
perilune.index("v1/ConfigMap", "by_name", "metadata.name")
perilune.controller("indexed"):For("v1/ConfigMap", { labels = "reload=yes" })
  :Reconcile(function(request, context)
    local named = client:list("v1/ConfigMap", { index = { name = "by_name", value = request.name } })
    local found = client:list("v1/ConfigMap", { index = { name = "by_word", value = "new" } })
    context.log:info("found", { count = #found, named = #named, generation = perilune.generation })
  end)
]]):format(value)
    end
    local script = write("main.lua", indexed("object.data.word"))
    for i = 1, 20 do
      config_map("m" .. i, { word = i % 2 == 0 and "new" or "old" })
    end
    start(script)
    host:logged(function(line) return line.msg == "found" and line.count == 10 end)
    write("main.lua", indexed("'new'"))
    host:logged(function(line) return line.msg == "found" and line.generation == 2 end)
    for _, line in ipairs(host:log()) do
      if line.msg == "found" then
        assert.equal(line.generation == 2 and 20 or 10, line.count)
        assert.equal(1, line.named)
      end
    end
    host:stop()
  end)

  it("a saved fix heals a script that never ends, and one that nothing can end", function()
    local function other(text)
      return says("'fine'", "fine") .. ([[
perilune.controller("wild"):For("v1/ConfigMap", { labels = "reload=yes" })
  :Reconcile(function(request, context)
    if request.name == "wild" then %s end
    context.log:info("tamed", { name = request.name })
  end)
]]):format(text)
    end
    for _, text in ipairs({ "while true do end",
        "(('a'):rep(60)):find(('a*'):rep(30) .. 'b')" }) do
      local script = write("main.lua", other(text))
      start(script, { "--reconcile-cpu-limit", "300ms", "--no-reload-guard", "--lanes", "2" })
      config_map("wild")
      ran("fine", "wild")
      e2e.eventually("the run is ended", function()
        return host:text():find("computed longer", 1, true)
          or host:text():find("could not be interrupted", 1, true)
          or host:text():find("reconcile failed", 1, true)
      end)
      config_map("calm")
      ran("fine", "calm")
      write("main.lua", other("context.log:info('no bomb')"))
      host:logged(function(line) return line.msg == "tamed" and line.name == "wild" end)
      assert.equal(200, (host:ask("health", "/healthz/lanes")))
      bed.server:delete(core("configmaps", "wild"))
      bed.server:delete(core("configmaps", "calm"))
      host.child:signal("TERM")
      host.child:wait(e2e.patience)
    end
  end)

  it("reloads under `perilune dev` too", function()
    local script = write("main.lua", [[
local perilune = require("perilune")
perilune.controller("dev"):For("v1/Namespace")
  :Reconcile(function(request, context)
    context.log:info("ran", { word = "one", name = request.name })
  end)
]])
    host = e2e.start_host(bed.server, script, {}, { command = "dev" })
    ran("one", "default")
    write("main.lua", (e2e.read_file(script):gsub("one", "two")))
    ran("two", "default")
    host:stop()
  end)
end)
