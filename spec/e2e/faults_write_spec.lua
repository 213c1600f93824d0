-- Writes that meet a foreign change, a busy server, or a watch without news: the writes of others
-- survive, nothing is created twice, and Retry-After is obeyed.

local e2e = require("spec.support.e2e")
local mirror = require("spec.support.mirror")
local proxies = require("spec.support.proxy")

local crd = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: jobs.faults.example.com
spec:
  group: faults.example.com
  scope: Namespaced
  names: {kind: Job, plural: jobs, singular: job, listKind: JobList}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          x-kubernetes-preserve-unknown-fields: true
]]

-- "status" counts its runs in the status and keeps its other fields; "child" creates one child when
-- it sees none. Both run again and again.
local script = [[
local perilune = require("perilune")
local client, kind = perilune.client, "faults.example.com/v1/Job"

local function set_status(job, context)
  job.status = job.status or {}
  job.status.seen = job.spec.v
  client:update_status(job)
  context.log:info("status written", { v = job.spec.v })
end

local function one_child(job, context)
  local children = client:list("v1/ConfigMap", { namespace = job.metadata.namespace, owner = job })
  if #children == 0 then
    client:create({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { generateName = "child-", labels = { child = "yes" } } }, { owner = job })
  end
  context.log:info("children", { before = #children, v = job.spec.v })
end

perilune.controller("jobs", { rate_limiter = { base = "50ms", max = "1s" } })
  :For(kind)
  :Owns("v1/ConfigMap", { labels = "child=yes" })
  :Reconcile(function(request, context)
    local job = client:get(kind, request)
    if not job then return end
    if request.name == "status" then
      if perilune.dig(job, "status", "seen") ~= job.spec.v then set_status(job, context) end
    elseif request.name == "ensure" then
      client:create_or_update({ apiVersion = "v1", kind = "ConfigMap", metadata = {
        name = "ensured", namespace = request.namespace, labels = { child = "yes" } } },
        function(current)
          current.data = current.data or {}
          current.data.ours = job.spec.v
        end)
      context.log:info("ensured", { v = job.spec.v })
    else
      one_child(job, context)
    end
  end)
]]

describe("a write", function()
  local server, namespace, proxy, host

  local function path(name)
    return "/apis/faults.example.com/v1/namespaces/" .. namespace .. "/jobs" .. (name and "/" .. name or "")
  end

  local function create(name)
    server:create(path(), { apiVersion = "faults.example.com/v1", kind = "Job",
      metadata = { name = name, namespace = namespace }, spec = { v = "1" } })
  end

  -- Delays such a request until the spec has changed something.
  local function while_it_is_under_way(rule, change)
    rule.name, rule.delay = rule.name or "held", 1
    local mark = proxy:mark()
    proxy:add({ rule })
    return mark, function()
      e2e.eventually("the request is under way", function()
        return proxy:hits()[rule.name] > 0
      end)
      change()
    end
  end

  local function of_method(asked, method)
    local out = {}
    for _, one in ipairs(asked) do
      if one.method == method then
        out[#out + 1] = one
      end
    end
    return out
  end

  setup(function()
    server = e2e.server()
    server:apply_crd(crd)
    namespace = server:new_namespace()
    proxy = proxies.start(server)
    host = e2e.start_host(proxy, script, { "--namespace", namespace })
    host:logged("controller started")
  end)

  teardown(function()
    e2e.clean_up()
    if proxy then
      proxy:stop()
    end
  end)

  it("of a status keeps what another wrote to it meanwhile, in two attempts (F47)", function()
    create("status")
    e2e.eventually("the first status", function()
      local job = server:get(path("status"))
      return job.status and job.status.seen == "1"
    end)
    local mark, foreign = while_it_is_under_way({ method = "PUT", path = "/jobs/status/status$" },
      function()
        server:patch(path("status") .. "/status", { status = { foreign = "theirs" } })
      end)
    server:patch(path("status"), { spec = { v = "2" } })
    foreign()
    local job = e2e.eventually("the second status", function()
      local now = server:get(path("status"))
      return now.status.seen == "2" and now
    end)
    assert.equal("theirs", job.status.foreign)
    local puts = proxy:requests(path("status") .. "/status", mark)
    assert.equal(2, #puts)
    assert.equal(409, puts[1].status)
  end)

  it("of an object keeps what another wrote between our read and its echo (F39)", function()
    create("ensure")
    local object = mirror.path(namespace) .. "/ensured"
    e2e.eventually("the object", function()
      local now = server:get(object)
      return now and now.data.ours == "1"
    end)
    local mark, foreign = while_it_is_under_way({ method = "PUT", path = "/configmaps/ensured$" },
      function()
        server:patch(object, { data = { theirs = "x" } })
      end)
    server:patch(path("ensure"), { spec = { v = "2" } })
    foreign()
    local now = e2e.eventually("our change", function()
      local now = server:get(object)
      return now.data.ours == "2" and now
    end)
    assert.equal("x", now.data.theirs)
    assert.is_true(#of_method(proxy:requests(object, mark), "PUT") <= 2)
    host:logged(function(line)
      return line.msg == "ensured" and line.v == "2"
    end)
  end)

  it("that is answered 429 is sent again after the time it was told (F40)", function()
    local mark = proxy:mark()
    proxy:add({ { name = "busy", method = "POST", path = "/configmaps$", status = 429, times = 2,
      body = proxies.status(429, "TooManyRequests", "busy"), headers = { ["Retry-After"] = "1" } } })
    create("busy")
    local posts
    e2e.eventually("the child", function()
      posts = of_method(proxy:requests(mirror.path(namespace), mark), "POST")
      return #posts == 3 and posts[3].status == 201
    end)
    for i = 2, 3 do
      assert.is_true(posts[i].time - posts[i - 1].time >= 1)
    end
  end)

  -- The watch of children delivers nothing for longer than an answer is trusted (10 s): a live read
  -- decides, and nothing is created twice.
  it("is made once although the watch never tells of it (F50)", function()
    proxy:add({ { name = "mute", path = mirror.path(namespace) .. "$", query = "watch=true", times = 0,
      stall = 0 } })
    proxy:finish("/configmaps$")
    e2e.eventually("the watch is mute", function()
      return proxy:hits().mute > 0
    end)
    local mark = proxy:mark()
    create("mute")
    local function children()
      local count, name = 0, nil
      for _, one in ipairs(server:get(mirror.path(namespace)).items) do
        for _, owner in ipairs(one.metadata.ownerReferences or {}) do
          if owner.name == "mute" then
            count, name = count + 1, one.metadata.name
          end
        end
      end
      return count, name
    end
    local child
    e2e.eventually("the child is there", function()
      local count, name = children()
      child = name
      return count > 0
    end)
    -- Runs before and after the live read see it.
    local function run_again(v)
      server:patch(path("mute"), { spec = { v = v } })
      local line = host:logged(function(line)
        return line.msg == "children" and line.v == v
      end)
      assert.equal(1, line.before)
    end
    run_again("2")
    e2e.eventually("the server is asked about it", function()
      return #of_method(proxy:requests(mirror.path(namespace) .. "/" .. child, mark), "GET") > 0
    end)
    run_again("3")
    assert.equal(1, (children()))
    proxy:clear("mute")
    host:stop()
  end)
end)

-- Starts on a server whose view is older than that of another one: an object with the same name
-- exists, but not the one that the host sees.
local cleaner = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("cleaner", { rate_limiter = { base = "50ms", max = "1s" } })
  :For("v1/ConfigMap", { labels = "mirror=yes", writes = { "delete", "update" } })
  :Reconcile(function(request, context)
    local config = client:get("v1/ConfigMap", request)
    if not config then return end
    local write = request.name == "deleted" and client.delete or client.update
    config.data.by = "cleaner"
    local _, e = perilune.try(write, client, config)
    context.log:info(request.name .. (e and " refused" or " written"), { code = e and e.code })
  end)
]]

describe("an older view", function()
  local proxy

  after_each(function()
    e2e.clean_up()
    proxy:stop()
    e2e.finish()
  end)

  it("deletes and changes nothing that is newer than it (F28)", function()
    local server = e2e.server()
    local namespace = server:new_namespace()
    proxy = proxies.start(server)
    for _, name in ipairs({ "deleted", "updated" }) do
      server:create(mirror.path(namespace), mirror.config(name, "1"))
    end
    local uid = server:get(mirror.path(namespace) .. "/deleted").metadata.uid
    -- Only the version shows that "updated" is older, and only the uid that "deleted" is another
    -- object.
    local lag = { replace = { { '"name":"deleted"(.*?)"uid":"', '"name":"deleted"\\1"uid":"0' },
      { '"resourceVersion":"[0-9]+"', '"resourceVersion":"1"' } }, times = 0, name = "lag" }
    lag.path, lag.not_query = mirror.path(namespace) .. "$", "limit=" .. proxies.page
    proxy:add({ lag })
    local host = e2e.start_host(proxy, cleaner, { "--namespace", namespace })
    for _, name in ipairs({ "deleted", "updated" }) do
      assert.equal(409, host:logged("^" .. name .. " refused").code)
    end
    assert.equal(uid, server:get(mirror.path(namespace) .. "/deleted").metadata.uid)
    assert.is_nil(server:get(mirror.path(namespace) .. "/updated").data.by)
    host:stop()
  end)
end)
