-- Finalizers: the list in a table, and the protocol against a scripted server.
local spec = require("spec.support.host")
local perilune = require("perilune")

local host, finalizer = spec.host, perilune.finalizer
local name = "example.com/dns"

local function object(finalizers, deleting)
  return { apiVersion = "example.com/v1", kind = "Website", metadata = { namespace = "default",
    name = "blog", uid = "u1", resourceVersion = "5", finalizers = finalizers,
    deletionTimestamp = deleting and "2026-01-01T00:00:00Z" or nil } }
end

describe("perilune.finalizer.add, remove and has", function()
  it("say whether they changed the list", function()
    local o = object()
    assert.is_false(finalizer.has(o, name))
    assert.is_true(finalizer.add(o, name))
    assert.is_false(finalizer.add(o, name))
    assert.is_true(finalizer.has(o, name))
    assert.same({ name }, o.metadata.finalizers)
    assert.is_true(finalizer.remove(o, name))
    assert.is_false(finalizer.remove(o, name))
  end)

  it("leave other names alone", function()
    local o = object({ "a.com/x", "b.com/y" })
    finalizer.add(o, name)
    finalizer.remove(o, "a.com/x")
    assert.same({ "b.com/y", name }, o.metadata.finalizers)
  end)

  it("leave an array, which the API server accepts, when the last name is removed", function()
    for _, list in ipairs({ false, perilune.null, { name }, perilune.array({ name }) }) do
      local o = object(list or nil)
      finalizer.add(o, name)
      assert.is_true(finalizer.remove(o, name))
      assert.equal("[]", perilune.json.encode(o.metadata.finalizers))
    end
  end)

  it("take a null list for none", function()
    local o = object(perilune.null)
    assert.is_false(finalizer.has(o, name))
    assert.is_false(finalizer.remove(o, name))
    assert.is_true(finalizer.add(o, name))
  end)

  it("refuse names that the API server would refuse", function()
    assert.truthy(spec.message_of(finalizer.add, object(), "not a name"):find("is not a finalizer name", 1, true))
    assert.equal("finalizer.add: the name must be a string, not nil", spec.message_of(finalizer.add, object()))
    assert.equal("finalizer.has: the object must be a table, not nil", spec.message_of(finalizer.has, nil, name))
  end)
end)

-- A server with one object; changes of others are made before a request is served.
local function server(stored)
  local self = { stored = stored, requests = {}, meanwhile = {} }
  local version = 5

  local function changed()
    version = version + 1
    self.stored.metadata.resourceVersion = tostring(version)
    return perilune.deepcopy(self.stored)
  end

  function host.get(kind, ns, object_name, options)
    assert.equal("example.com/v1/Website", kind)
    assert.same({ "default", "blog" }, { ns, object_name })
    assert.is_true(options.live)
    return self.stored and perilune.deepcopy(self.stored)
  end

  local function json_patch(body)
    local list = self.stored.metadata.finalizers or {}
    for _, op in ipairs(body) do
      local at = tonumber(op.path:match("^/metadata/finalizers/(%d+)$")) + 1
      if op.op == "test" and list[at] ~= op.value then
        error(spec.api_error(422, "Invalid", "the test failed"), 0)
      elseif op.op == "remove" then
        table.remove(list, at)
      end
    end
    if #list == 0 and self.stored.metadata.deletionTimestamp then
      self.stored = nil
      return nil
    end
    return changed()
  end

  function host.write(request)
    self.requests[#self.requests + 1] = request
    assert.equal("patch", request.verb)
    local other = table.remove(self.meanwhile, 1)
    if other then
      other(self, changed)
    end
    if not self.stored then
      error(spec.api_error(404, "NotFound"), 0)
    elseif self.stored.metadata.uid ~= request.object.metadata.uid then
      error(spec.api_error(409, "Conflict", "another uid"), 0)
    elseif request.patch_type == "json" then
      return json_patch(request.body), {}
    end
    local metadata = request.body.metadata
    if metadata.resourceVersion ~= self.stored.metadata.resourceVersion then
      error(spec.api_error(409, "Conflict", "it has changed"), 0)
    end
    self.stored.metadata.finalizers = perilune.deepcopy(metadata.finalizers)
    return changed(), {}
  end

  return self
end

describe("perilune.finalizer.handle", function()
  local applied, cleaned
  local function functions(cleanup)
    applied, cleaned = {}, {}
    return {
      apply = function(o)
        applied[#applied + 1] = o
        return { requeue_after = 60 }
      end,
      cleanup = function(o)
        cleaned[#cleaned + 1] = o
        if cleanup then
          return cleanup(o)
        end
      end,
    }
  end
  before_each(spec.reset)

  it("adds the finalizer with one patch, then applies the stored object", function()
    local s = server(object({ "a.com/x" }))
    local result = finalizer.handle(object({ "a.com/x" }), name, functions())
    assert.same({ requeue_after = 60 }, result)
    assert.same({ "a.com/x", name }, s.stored.metadata.finalizers)
    assert.equal(1, #s.requests)
    assert.equal("merge", s.requests[1].patch_type)
    assert.same({ metadata = { resourceVersion = "5", finalizers = { "a.com/x", name } } }, s.requests[1].body)
    assert.equal("6", applied[1].metadata.resourceVersion)
  end)

  it("sends nothing when it is there already", function()
    local s = server(object({ name }))
    assert.same({ requeue_after = 60 }, finalizer.handle(object({ name }), name, functions()))
    assert.equal(0, #s.requests)
    assert.equal(1, #applied)
  end)

  it("looks again when somebody else changed the object", function()
    local s = server(object())
    s.meanwhile[1] = function(self, changed)
      self.stored.metadata.finalizers = { "b.com/y" }
      changed()
    end
    finalizer.handle(object(), name, functions())
    assert.same({ "b.com/y", name }, s.stored.metadata.finalizers)
    assert.equal(2, #s.requests)
    assert.same({ "b.com/y", name }, applied[1].metadata.finalizers)
  end)

  it("gives up after five lost races and raises the conflict", function()
    local s = server(object())
    for i = 1, 9 do
      s.meanwhile[i] = function(_, changed)
        changed()
      end
    end
    local ok, e = pcall(finalizer.handle, object(), name, functions())
    assert.is_false(ok)
    assert.is_true(perilune.errors.is_conflict(e))
    assert.equal(5, #s.requests)
    assert.equal(0, #applied)
  end)

  it("runs nothing when the object is gone, or is another one of that name", function()
    server(nil)
    assert.is_nil(finalizer.handle(object(), name, functions()))
    local s = server(object())
    s.stored.metadata.uid = "u2"
    assert.is_nil(finalizer.handle(object(), name, functions()))
    assert.same({ 0, 0 }, { #applied, #cleaned })
    assert.is_nil(s.stored.metadata.finalizers)
  end)

  it("runs nothing when a deletion came first and the finalizer is not there", function()
    local s = server(object({ "a.com/x" }))
    s.meanwhile[1] = function(self, changed)
      self.stored.metadata.deletionTimestamp = "2026-01-01T00:00:00Z"
      changed()
    end
    assert.is_nil(finalizer.handle(object({ "a.com/x" }), name, functions()))
    assert.same({ 0, 0 }, { #applied, #cleaned })
    assert.same({ "a.com/x" }, s.stored.metadata.finalizers)
  end)

  it("cleans up and removes the finalizer with a patch that tests for it", function()
    local s = server(object({ "a.com/x", name }, true))
    assert.is_nil(finalizer.handle(object({ "a.com/x", name }, true), name, functions()))
    assert.equal(1, #cleaned)
    assert.equal(0, #applied)
    assert.same({ "a.com/x" }, s.stored.metadata.finalizers)
    assert.same({ { op = "test", path = "/metadata/finalizers/1", value = name },
      { op = "remove", path = "/metadata/finalizers/1" } }, s.requests[1].body)
    assert.equal("json", s.requests[1].patch_type)
  end)

  it("finds its place again when others removed theirs meanwhile", function()
    local s = server(object({ "a.com/x", name }, true))
    s.meanwhile[1] = function(self, changed)
      self.stored.metadata.finalizers = { name }
      changed()
    end
    finalizer.handle(object({ "a.com/x", name }, true), name, functions(function()
      return {}
    end))
    assert.is_nil(s.stored)
    assert.equal(2, #s.requests)
  end)

  it("keeps the finalizer while a cleanup waits", function()
    local s = server(object({ name }, true))
    local waiting = perilune.waiting("2 pods are there")
    assert.equal(waiting, finalizer.handle(object({ name }, true), name, functions(function()
      return waiting
    end)))
    assert.equal(0, #s.requests)
    assert.same({ name }, s.stored.metadata.finalizers)
  end)

  it("takes gone for done", function()
    local s = server(object({ name }, true))
    s.meanwhile[1] = function(self)
      self.stored = nil
    end
    assert.is_nil(finalizer.handle(object({ name }, true), name, functions()))
    assert.equal(1, #cleaned)
  end)

  local keeps = {
    { "a requeue", function() return { requeue_after = 5 } end },
    { "nil and an error", function() return nil, "not yet" end },
  }
  for _, case in ipairs(keeps) do
    it("keeps the finalizer after " .. case[1] .. " and returns it", function()
      local s = server(object({ name }, true))
      assert.same({ case[2]() }, { finalizer.handle(object({ name }, true), name, functions(case[2])) })
      assert.same({ name }, s.stored.metadata.finalizers)
      assert.equal(0, #s.requests)
    end)
  end

  it("takes a table without a requeue for done", function()
    for _, result in ipairs({ {}, { requeue = false } }) do
      local s = server(object({ name }, true))
      assert.equal(result, finalizer.handle(object({ name }, true), name, functions(function()
        return result
      end)))
      assert.is_nil(s.stored)
    end
  end)

  local mistakes = {
    { "true", function() return true end, "cleanup of example.com/dns returned the boolean true; return nothing, "
      .. "{requeue_after = ...}, {requeue = true} or perilune.waiting(reason)" },
    { "false", function() return false end, "returned the boolean false; return nothing" },
    { "a text", function() return "done" end, 'returned the string "done"; return nothing' },
    { "a misspelt requeue", function() return { requeue_afer = 1 } end, 'did you mean "requeue_after"?' },
    { "an object", function() return { apiVersion = "v1", kind = "Pod" } end,
      "cleanup of example.com/dns returned an object (Pod); return nothing" },
    { "a wrong time", function() return { requeue_after = "soon" } end, "requeue_after must be seconds" },
    { "two values", function() return {}, "created" end, 'a second value (the string "created")' },
    { "three values", function() return nil, nil, 1 end, "returned more than two values" },
  }
  for _, case in ipairs(mistakes) do
    it("says that cleanup may not return " .. case[1] .. ", and keeps the finalizer", function()
      local s = server(object({ name }, true))
      local message = spec.message_of(finalizer.handle, object({ name }, true), name, functions(case[2]))
      assert.truthy(message:find(case[3], 1, true), message)
      assert.same({ name }, s.stored.metadata.finalizers)
    end)
  end

  it("keeps the finalizer after an error, which is raised", function()
    local s = server(object({ name }, true))
    local ok, e = pcall(finalizer.handle, object({ name }, true), name, functions(function()
      error("no DNS", 0)
    end))
    assert.same({ false, "no DNS" }, { ok, e })
    assert.same({ name }, s.stored.metadata.finalizers)
  end)

  it("does nothing for an object that is being deleted without it, and for nil", function()
    local s = server(object({ "a.com/x" }, true))
    assert.is_nil(finalizer.handle(object({ "a.com/x" }, true), name, functions()))
    assert.is_nil(finalizer.handle(nil, name, functions()))
    assert.same({ 0, 0, 0 }, { #applied, #cleaned, #s.requests })
  end)

  it("takes a null deletionTimestamp for none", function()
    server(object())
    local o = object()
    o.metadata.deletionTimestamp = perilune.null
    finalizer.handle(o, name, functions())
    assert.equal(1, #applied)
  end)

  it("raises what is not about the race", function()
    server(object())
    host.write = function()
      error(spec.api_error(403, "Forbidden"), 0)
    end
    local ok, e = pcall(finalizer.handle, object(), name, functions())
    assert.is_false(ok)
    assert.is_true(perilune.errors.is_forbidden(e))
  end)

  it("needs its functions", function()
    assert.equal("finalizer.handle needs cleanup, a function(object)",
      spec.message_of(finalizer.handle, object(), name, { apply = print }))
    assert.truthy(spec.message_of(finalizer.handle, object(), name, { clean = print })
      :find('did you mean "cleanup"?', 1, true))
    assert.truthy(spec.message_of(finalizer.handle, object(), name, { cleanup = 5 })
      :find("cleanup must be a function", 1, true))
  end)
end)
