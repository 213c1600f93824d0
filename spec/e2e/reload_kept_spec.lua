-- A reload keeps the queue with its order, delays, failures and priorities; the timeout and the
-- fence of a run that is under way; and answers from an index that is being rebuilt.

local beds = require("spec.support.script_folder")
local cjson = require("cjson")
local e2e = require("spec.support.e2e")

local sanitized = os.getenv("PL_SANITIZED") ~= nil
local LATER = sanitized and 60 or 20 -- seconds: longer than the steps before

describe("over a reload", function()
  local host, socket
  local bed = beds.new()
  local core, config_map, write = bed.core, bed.config_map, bed.write

  setup(bed.set_up)
  before_each(bed.begin)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function start(flags)
    socket = bed.folder .. "/admin.sock"
    local all = { "--admin-socket", socket }
    for _, flag in ipairs(flags or {}) do
      all[#all + 1] = flag
    end
    host = bed.start(bed.folder, all)
  end

  -- Lines of runs: {msg=, word=, name=, ...}.
  local function lines(msg, name)
    local out = {}
    for _, line in ipairs(host:log()) do
      if line.msg == msg and (not name or line.name == name) then
        out[#out + 1] = line
      end
    end
    return out
  end

  local function wait_for(msg, name, word)
    return host:logged(function(line)
      return line.msg == msg and (not name or line.name == name) and (not word or line.word == word)
    end, LATER + e2e.patience)
  end

  local function secret(name)
    bed.server:create(core("secrets"), { apiVersion = "v1", kind = "Secret",
      metadata = { name = name, labels = { reload = "yes" } } })
  end

  -- ---- the queue ----

  -- One worker. A Secret asks "feeder", whose code stays, to enqueue keys of "queued".
  local feeder = [[
local perilune = require("perilune")
local batches = {
  failing = { { "failing" } },
  later = { { "later" } },
  blocked = { { "block" } },
  filled = { { "a" }, { "b" }, { "c", { priority = 10 } }, { "d", { priority = -5 } },
    { "e", { priority = 10 } }, { "f", { after = "10m", priority = 3 } } },
}
perilune.controller("feeder"):For("v1/Secret", { labels = "reload=yes" })
  :Reconcile(function(request, context)
    for _, one in ipairs(batches[request.name]) do
      perilune.enqueue("queued", { namespace = request.namespace, name = one[1] }, one[2])
    end
  end)
]]
  local function queued(word, on_reload)
    return ([[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("queued", { on_reload = "ON_RELOAD",
    rate_limiter = { fast = "100ms", slow = "LATER", fast_attempts = 4 } })
  :For("v1/ConfigMap", { labels = "reload=yes" })
  :Reconcile(function(request, context)
    context.log:info("ran", { word = "WORD", name = request.name, attempt = context.attempt,
      cause = context.causes[1] and context.causes[1].type })
    if request.name == "block" and "WORD" == "one" then
      client:wait("v1/ConfigMap", { namespace = request.namespace, name = "go" },
        function(o) return o end, "10m")
    elseif request.name == "failing" then
      error("on purpose", 0)
    elseif request.name == "later" and "WORD" == "one" then
      return { requeue_after = "LATER" }
    end
  end)
]]):gsub("WORD", word):gsub("ON_RELOAD", on_reload):gsub("LATER", LATER .. "s")
  end

  -- The queued keys: names in the order of the answer; by name {state, priority, requeues}, and for
  -- a delayed key the bounds of its due time (on this clock).
  local function queue()
    local from = e2e.now()
    local code, out = e2e.run("queue", "list", "queued", "--admin-socket", socket, "-o", "json")
    local to = e2e.now()
    assert.equal(0, code)
    local order, keys, due = {}, {}, {}
    for _, key in ipairs(cjson.decode(out).queues[1].keys) do
      local name = key.key:match("/(.*)")
      order[#order + 1] = name
      keys[name] = { key.state, key.priority, key.requeues }
      due[name] = key.in_seconds and { from + key.in_seconds, to + key.in_seconds }
    end
    return order, keys, due
  end

  for _, on_reload in ipairs({ "none", "enqueue" }) do
    it("keys keep order, delays, failures and priorities, with on_reload = " .. on_reload, function()
      write("feeder.lua", feeder)
      write("queued.lua", (queued("one", on_reload)))
      config_map("rest")
      start()
      wait_for("ran", "rest")
      secret("failing")
      secret("later")
      wait_for("ran", "later")
      e2e.eventually("five failures", function() return select(2, queue()).failing[3] == 5 end)
      secret("blocked")
      wait_for("ran", "block")
      secret("filled")
      e2e.eventually("all are queued", function() return select(2, queue()).f end)
      local order, keys, due = queue()
      assert.same({ { "delayed", 3, 0 }, "running" }, { keys.f, keys.block[1] })
      assert.same({ "delayed", "delayed" }, { keys.failing[1], keys.later[1] })

      write("queued.lua", (queued("two", on_reload)))
      host:logged("^reloaded$")
      if on_reload == "enqueue" then -- after all others, when it was idle
        e2e.eventually("what was at rest is queued", function() return select(2, queue()).rest end)
      end
      local order_now, keys_now, due_now = queue()
      if on_reload == "enqueue" then
        assert.is_true(keys_now.rest[2] < -5)
        keys_now.rest = nil
        for i, name in ipairs(order_now) do
          if name == "rest" then table.remove(order_now, i) end
        end
      end
      assert.same(order, order_now)
      assert.same(keys, keys_now)
      for name, before in pairs(due) do -- the two intervals overlap
        local now = due_now[name]
        assert.is_true(before[1] - 0.01 <= now[2] and now[1] - 0.01 <= before[2],
          ("%s was due at %.3f..%.3f, now %.3f..%.3f"):format(name, before[1], before[2], now[1], now[2]))
      end

      assert.equal(0, #lines("ran", "a"))
      config_map("go")
      wait_for("ran", "d", "two")
      if on_reload == "enqueue" then
        wait_for("ran", "rest", "two")
      end
      local ran = {}
      for _, line in ipairs(lines("ran")) do
        if line.word == "two" and line.name:find("^[a-e]$") or line.word == "two" and line.name == "rest" then
          ran[#ran + 1] = line.name
        end
      end
      assert.equal("c e a b d" .. (on_reload == "enqueue" and " rest" or ""), table.concat(ran, " "))

      -- The failing key continues to count, and the delayed key runs when it is due.
      assert.equal(5, wait_for("ran", "failing", "two").attempt)
      assert.is_true(e2e.now() >= due.failing[1])
      e2e.eventually("it failed once more", function()
        local _, after = queue()
        return after.failing and after.failing[3] == 6
      end)
      assert.equal("REQUEUE", wait_for("ran", "later", "two").cause)
      assert.is_true(e2e.now() >= due.later[1])
      host:stop()
    end)
  end

  -- ---- an index ----

  -- The index gives "hit" for each object with an even number, or with an odd one. So an answer
  -- shows which function it comes from, or whether it mixes both. The function is slow.
  local OBJECTS = 300
  local function index(word, seconds)
    return ([[
local perilune = require("perilune")
perilune.index("v1/ConfigMap", "parity", function(object)
  local ends = os.clock() + SECONDS
  while os.clock() < ends do end
  return tonumber(object.data.n) % 2 == WORD and "hit" or "miss"
end)
]]):gsub("WORD", word == "even" and "0" or "1"):gsub("SECONDS", seconds)
  end
  local users = [[
local perilune = require("perilune")
local client = perilune.client
local function look(context, name)
  local count = { [0] = 0, [1] = 0 }
  for _, one in ipairs(client:list("v1/ConfigMap", { index = { name = "parity", value = "hit" } })) do
    local parity = tonumber(one.data.n) % 2
    count[parity] = count[parity] + 1
  end
  context.log:info("found", { name = name, generation = perilune.generation, even = count[0],
    odd = count[1] })
end
perilune.controller("plain", { max_concurrent_reconciles = 4 })
  :For("v1/ConfigMap", { labels = "reload=yes" })
  :Reconcile(function(request, context)
    context.log:info("plain", { name = request.name, generation = perilune.generation })
  end)
perilune.controller("looks", { max_concurrent_reconciles = 4 })
  :For("v1/Secret", { labels = "reload=yes" })
  :Reconcile(function(request, context)
    context.log:info("looks", { name = request.name, generation = perilune.generation })
    look(context, request.name)
    while request.name == "long" do -- on the old code until it ends
      if client:get("v1/Secret", { namespace = request.namespace, name = "stop" }) then return end
      perilune.sleep("20ms")
      look(context, request.name)
    end
  end)
]]

  it("a look-up in an index that is rebuilt waits, and nothing else does", function()
    local requests = {}
    for i = 1, OBJECTS do
      requests[i] = { "POST", core("configmaps"), bed.map("m" .. i, { n = tostring(i) }) }
    end
    assert.equal(OBJECTS, bed.server:bulk(requests)[201])
    write("users.lua", users)
    write("index.lua", (index("even", "0")))
    start({ "--lanes", "2" })
    secret("first")
    assert.same({ OBJECTS / 2, 0 }, { wait_for("found", "first").even, wait_for("found", "first").odd })
    secret("long")
    wait_for("found", "long")
    e2e.eventually("all are reconciled", function() return #lines("plain") == OBJECTS end)

    local from = #host:log()
    write("index.lua", (index("odd", "0.01")))
    assert.equal("", host:logged("^reloaded$").changed or "") -- the code of no controller has changed
    secret("waits")
    wait_for("looks", "waits")
    local more = { data = { more = "x" } }
    bed.server:bulk({ -- the new one is odd
      { "PATCH", core("configmaps", "m7"), more, "application/merge-patch+json" },
      { "PATCH", core("configmaps", "m14"), more, "application/merge-patch+json" },
      { "POST", core("configmaps"), bed.map("m" .. OBJECTS + 1, { n = tostring(OBJECTS + 1) }) },
    })
    local line = wait_for("found", "waits")
    assert.equal(2, line.generation)
    local meanwhile, looking = 0, false
    for _, one in ipairs(host:log()) do
      if one.msg == "looks" and one.name == "waits" then
        looking = true
      elseif one == line then
        break
      elseif looking and one.msg == "plain" then
        meanwhile = meanwhile + 1
      end
    end
    assert.equal(3, meanwhile, "reconciled while the look-up waited")
    e2e.eventually("what is new is found", function()
      local name = e2e.unique("later")
      secret(name)
      return wait_for("found", name).odd == OBJECTS / 2 + 1
    end)
    secret("stop")
    -- Old code gets the old function's answers, new code those of the new function, and none gets a
    -- mixture.
    local old, new = 0, 0
    for i, one in ipairs(host:log()) do
      if one.msg == "found" and one.generation == 1 then
        assert.equal(0, one.odd, cjson.encode(one))
        assert.is_true(one.even == OBJECTS / 2, cjson.encode(one))
        old = old + (i > from and 1 or 0)
      elseif one.msg == "found" then
        assert.equal(0, one.even, cjson.encode(one))
        assert.is_true(one.odd == OBJECTS / 2 or one.odd == OBJECTS / 2 + 1, cjson.encode(one))
        new = new + 1
      end
    end
    assert.is_true(old > 5 and new >= 2, old .. " on the old code, " .. new .. " on the new one")
    host:stop()
  end)
end)
