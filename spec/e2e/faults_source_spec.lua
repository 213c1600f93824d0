-- Many faults between a source and its server at the same time: each namespace has a separate
-- watch, and the proxy gives each a separate fault. The tests check the host's next request, that
-- its cache finally equals the server's, and that the log reports the fault once. F-numbers as in
-- spec/README.md; rule numbers are those of host/RULES.md.

local e2e = require("spec.support.e2e")
local mirror = require("spec.support.mirror")
local proxies = require("spec.support.proxy")

local status, error_event = proxies.status, proxies.error_event

local expired = status(410, "Expired", "too old resource version: 1 (2)")
local internal = status(500, "InternalError", "etcdserver: leader changed")
local forbidden = status(403, "Forbidden", "configmaps is forbidden: no right to watch")
local too_many = status(429, "TooManyRequests", "slow down")
local too_large_cause = status(504, "Timeout", "Too large resource version: 9, current: 8",
  { details = { causes = { { reason = "ResourceVersionTooLarge", message = "too large" } } } })
local too_large_text = status(504, "Timeout", "Too large resource version: 9, current: 8")
local html = "<!doctype html><title>Sign in</title><p>Welcome to the gateway"

-- Like a server without a watch cache and with pages of another size.
local small_pages = { { "limit=500", "limit=3" }, { "resourceVersion=0", "resourceVersion=" } }

-- Rules for the path of a namespace.
local function watch(rule)
  rule.query = rule.query or "watch="
  return rule
end

local function list(rule)
  rule.query, rule.not_query = rule.query or "^", "watch=|limit=" .. proxies.page
  return rule
end

local function answer(code, body, headers)
  return { status = code, body = body, headers = headers }
end

-- ---- the next request ----

local function verbs(asked)
  local out = {}
  for i, one in ipairs(asked) do
    out[i] = one.verb
  end
  return table.concat(out, " ")
end

local function of_verb(asked, verb)
  local out = {}
  for _, one in ipairs(asked) do
    if one.verb == verb then
      out[#out + 1] = one
    end
  end
  return out
end

-- One complete list, not older than the known version, and a watch from there (rules 50, 52, 65).
local function relists_once_from_what_it_knew(asked)
  assert.matches("^watch list watch", verbs(asked))
  local lists = of_verb(asked, "list")
  assert.equal(1, #lists)
  assert.equal(asked[1].rv, lists[1].rv)
  assert.is_nil(lists[1].limit)
end

-- The version is still valid: the watch continues from it, and nothing is listed (rules 63, 67,
-- F20).
local function resumes(asked)
  assert.equal(0, #of_verb(asked, "list"), verbs(asked))
  assert.is_true(#of_verb(asked, "watch") >= 2, verbs(asked))
end

local function resumes_from_the_same_version(asked)
  resumes(asked)
  local watches = of_verb(asked, "watch")
  assert.equal(watches[1].rv, watches[2].rv)
end

-- It is said of a watch, and the host waits. Not if the machine is so busy that the host knows of the end
-- more than a second after its request.
local LESS_THAN_A_SECOND = "within a second"

local function pauses_between(asked, verb, count, at_least)
  local all = of_verb(asked, verb)
  assert.is_true(#all > count, verbs(asked))
  for i = 2, count + 1 do
    local gap = all[i].time - all[i - 1].time
    assert.is_true(gap >= at_least, ("%s %d came %.2f s after the one before"):format(verb, i, gap))
  end
end

-- ---- the faults ----

-- rules: in effect from the end of the first watch on; first: from the start. says: how many log
-- lines are allowed (at least one, except where a watch that lived for a second may end normally);
-- one must match `line`.
local faults = {
  { f = "F9", name = "gone-status", it = "410 as the status of a watch leads to one list",
    rules = { watch(answer(410, expired)) }, says = 0, check = relists_once_from_what_it_knew },

  { f = "F9", name = "gone-event", it = "410 as an event leads to one list and is no object",
    rules = { watch({ inject = { error_event(expired) } }) }, says = 0,
    check = relists_once_from_what_it_knew },

  { f = "F9", name = "gone-text", it = "an error event that only says so leads to one list",
    rules = { watch({ inject = { error_event(
      '{"kind":"Status","apiVersion":"v1","message":"too old resource version: 1 (2)"}') } }) },
    says = 0, check = relists_once_from_what_it_knew },

  { f = "F10", name = "always-gone", it = "watches that always expire lead to a list of its own version",
    rules = { watch({ status = 410, body = expired, times = 3 }) }, says = 1, line = "expire",
    check = function(asked)
      local lists = of_verb(asked, "list")
      assert.equal(3, #lists, verbs(asked))
      assert.equal(asked[1].rv, lists[1].rv)
      assert.is_nil(lists[2].rv)
      assert.equal("500", lists[2].limit)
      pauses_between(asked, "list", 2, 0.8)
    end },

  { f = "F12", name = "too-large", it = "a version that is too large is left out at once and once",
    rules = { watch(answer(410, expired)), list({ status = 504, body = too_large_cause }) },
    says = 0, check = function(asked)
      assert.matches("^watch list list watch", verbs(asked))
      assert.is_nil(asked[3].rv)
    end },

  { f = "F12", name = "too-large-text", it = "the same, as older servers say it",
    rules = { watch(answer(410, expired)), list({ status = 504, body = too_large_text }) },
    says = 0, check = function(asked)
      assert.matches("^watch list list watch", verbs(asked))
      assert.is_nil(asked[3].rv)
    end },

  { f = "F13", name = "error-event", it = "an error event keeps the version",
    rules = { watch({ inject = { error_event(internal) } }) }, says = 1, line = "leader changed",
    check = relists_once_from_what_it_knew },

  { f = "F14", name = "bookmark", it = "a bookmark moves the version that is watched from",
    rules = function(server)
      local version = server:get("/api/v1/configmaps?limit=1").metadata.resourceVersion
      return { watch({ inject = { ('{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":'
        .. '"v1","metadata":{"resourceVersion":"%s"}}}'):format(version) }, end_after = 3 }) },
        version
    end, quiet = true, says = 0, check = function(asked, version)
      resumes(asked)
      assert.equal(version, of_verb(asked, "watch")[2].rv)
    end },

  { f = "F19", name = "bookmark-bare", it = "a bookmark without an object is told and survived",
    rules = { watch({ inject = { '{"type":"BOOKMARK"}' } }) }, says = 1,
    check = relists_once_from_what_it_knew },

  { f = "F14", name = "bookmark-empty", it = "a bookmark without a version changes nothing",
    rules = { watch({ inject = {
      '{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}}' } }) },
    says = 0, check = function(asked)
      assert.equal(0, #of_verb(asked, "list"), verbs(asked))
    end },

  { f = "F19", name = "bad-line", it = "a line that is no JSON leads to a list after a pause",
    rules = { watch({ inject = { '{"type":"ADDED","object":{"kind' } }) }, says = 1,
    check = relists_once_from_what_it_knew },

  { f = "F19", name = "half-list", it = "a list that ends in the middle is made again",
    rules = { watch(answer(410, expired)), list({ cut = 400, how = "end" }) }, says = 1,
    check = function(asked)
      assert.matches("^watch list list watch", verbs(asked))
      assert.equal(asked[1].rv, asked[2].rv)
      assert.equal(asked[2].rv, asked[3].rv)
    end },

  { f = "F20", name = "clean-end", it = "a watch that ends in order is opened again without a pause",
    rules = { watch({ end_after = 3, times = 3 }) }, says = 0, check = function(asked)
      resumes(asked)
      assert.is_true(#of_verb(asked, "watch") >= 4, verbs(asked))
    end },

  { f = "F20", name = "reset", it = "a watch that is reset is resumed from its version",
    rules = { watch({ cut = 0 }) }, says = 1, line = LESS_THAN_A_SECOND, may_be_silent = true,
    check = resumes_from_the_same_version },

  { f = "F23", name = "short-chunk", it = "an event whose chunk is cut off comes again, whole",
    rules = { watch({ cut = 150, short_chunk = true, how = "close" }) }, says = 1, may_be_silent = true,
    check = resumes_from_the_same_version },

  { f = "F23", name = "one-byte", it = "events come through in chunks of one byte",
    rules = { watch({ pieces = 1 }) }, says = 0, check = function(asked)
      assert.equal("watch", verbs(asked))
    end },

  { f = "F23", name = "slow", it = "slow bytes are waited for",
    rules = { watch({ pieces = 40, pause = 0.02 }) }, says = 0, check = function(asked)
      assert.equal("watch", verbs(asked))
    end },

  { f = "F3", name = "twice", it = "events that come twice are told once",
    rules = { watch({ twice = true }) }, says = 0, check = function(asked, _, told)
      assert.equal("watch", verbs(asked))
      -- 9 were created, one changed, one deleted, and we wrote to each after the first two.
      assert.is_true(told.events <= 9 + 1 + 1 + 10, told.events .. " events")
    end },

  { f = "F24", name = "big", it = "a 3 MiB object is delivered",
    rules = { watch({ end_after = 4, replace = {
      { '"data":{', '"data":{"big":"' .. ("x"):rep(3 * 1048576) .. '",' } } }) },
    again = true, says = 0, check = function(asked, _, told)
      resumes(asked)
      assert.equal(3 * 1048576, told.big)
    end },

  { f = "F24", name = "too-big", it = "an event over the limit is refused with the limit's name",
    rules = { watch({ inject_big = 17 * 1048576 }) }, says = 1, line = "an event is too long",
    check = relists_once_from_what_it_knew },

  { f = "F25", name = "page-expired", it = "an expired page leads to one list without pages",
    first = { list({ times = 0, ask = small_pages }) },
    first_before = { list({ status = 410, body = expired, query = "continue=" }) },
    says = 0, whole = true, check = function(_, _, told, first)
      assert.matches("^list list list watch", verbs(first))
      assert.truthy(first[2].token)
      assert.is_nil(first[3].token)
      assert.is_nil(first[3].limit)
      assert.equal(3, #of_verb(first, "list"))
      assert.equal(0, told.twice)
    end },

  { f = "F25", name = "page-inconsistent", it = "the same when the answer offers to go on inconsistently",
    first = { list({ times = 0, ask = small_pages }) },
    first_before = { list({ status = 410, query = "continue=",
      body = (expired:gsub('"metadata":{}', '"metadata":{"continue":"inconsistent"}')) }) },
    says = 0, whole = true, check = function(_, _, _, first)
      assert.equal(3, #of_verb(first, "list"))
      assert.is_nil(first[3].token)
    end },

  { f = "F25", name = "page-empty", it = "an empty page with a token is followed by the next",
    first = { list({ status = 200, body = '{"kind":"ConfigMapList","apiVersion":"v1","metadata":'
      .. '{"resourceVersion":"1","continue":"next"},"items":[]}' }),
      list({ ask = { { "&?continue=[^&]*", "" } } }) },
    says = 0, whole = true, check = function(_, _, _, first)
      assert.matches("^list list watch", verbs(first))
      assert.equal("next", first[2].token)
    end },

  { f = "F19", name = "html-watch", it = "HTML instead of a stream is quoted once",
    rules = { watch({ status = 200, body = html, headers = { ["Content-Type"] = "text/html" } }) },
    says = 1, line = "Sign in", check = relists_once_from_what_it_knew },

  { f = "F19", name = "html-list", it = "HTML instead of a list is quoted once",
    rules = { watch(answer(410, expired)), list({ status = 200, body = html, times = 2,
      headers = { ["Content-Type"] = "text/html" } }) },
    says = 1, check = function(asked)
      assert.matches("^watch list list list watch", verbs(asked))
      pauses_between(asked, "list", 2, 0.8)
    end },

  { f = "F8", name = "closes-at-once", it = "a watch that always closes at once is paused for, not listed",
    rules = { watch({ cut = 0, how = "end", times = 3 }) }, says = 1, line = LESS_THAN_A_SECOND,
    may_be_silent = true, check = function(asked)
      resumes(asked)
      local watches = of_verb(asked, "watch")
      assert.is_true(#watches > 3, verbs(asked))
      assert.is_true(watches[4].time - watches[1].time >= 2.4, "three watches and no pause")
    end },

  { f = "F20", name = "too-many", it = "429 to a watch is waited for, from the same version",
    rules = { watch({ status = 429, body = too_many, times = 2 }) }, says = 1,
    check = function(asked)
      resumes_from_the_same_version(asked)
      pauses_between(asked, "watch", 2, 0.8)
    end },

  { f = "F40", name = "retry-after", it = "429 with Retry-After to a watch is waited for that long",
    rules = { watch(answer(429, too_many, { ["Retry-After"] = "2" })) }, says = 1,
    check = function(asked)
      resumes_from_the_same_version(asked)
      pauses_between(asked, "watch", 1, 2)
    end },

  { f = "F40", name = "retry-list", it = "429 with Retry-After to a list is waited for once an answer",
    rules = { watch(answer(410, expired)), list({ status = 429, body = too_many, times = 2,
      headers = { ["Retry-After"] = "1" } }) },
    says = 0, check = function(asked)
      assert.matches("^watch list list list watch", verbs(asked))
      pauses_between(asked, "list", 2, 1)
    end },

  { f = "F40", name = "retry-patch", it = "429 with Retry-After to a write is waited for once an answer",
    rules = { { method = "PATCH", path = "/late$", status = 429, body = too_many, times = 2,
      headers = { ["Retry-After"] = "1" } } },
    says = 0, patches = true, check = function(_, _, _, _, patches)
      assert.same({ 429, 429, 200 }, { patches[1].status, patches[2].status, patches[3].status })
      pauses_between(patches, "PATCH", 2, 1)
    end },

  { f = "F20", name = "internal", it = "500 to a watch leads to a list after a pause",
    rules = { watch(answer(500, internal)) }, says = 1, line = "leader changed",
    check = relists_once_from_what_it_knew },

  { f = "F20", name = "unavailable", it = "503 to a watch leads to a list after a pause",
    rules = { watch({ status = 503, body = "upstream connect error", times = 1 }) }, says = 1,
    check = relists_once_from_what_it_knew },

  { f = "F44", name = "forbidden", it = "a right that is taken away shows once and heals",
    rules = { watch({ status = 403, body = forbidden }),
      list({ status = 403, body = forbidden, times = 2 }) },
    says = 2, line = "no right to watch", check = function(asked)
      assert.matches("^watch list list list watch", verbs(asked))
      pauses_between(asked, "list", 2, 0.8)
    end },

  { f = "F37", name = "half-open", it = "a watch that nobody answers is given up and opened again",
    rules = { watch({ silent = true }) }, says = 1, check = function(asked)
      assert.is_true(#of_verb(asked, "list") == 0, verbs(asked))
    end },

  { f = "F37", name = "half-open-list", it = "a list that nobody answers is given up and made again",
    rules = { watch(answer(410, expired)), list({ silent = true }) }, says = 1,
    check = function(asked)
      assert.equal("list", asked[2].verb)
      assert.equal(asked[2].rv, of_verb(asked, "list")[2].rv)
    end },

  { f = "F4, F5, F6", name = "gap", it = "what was deleted and made anew in a gap is first gone, then new",
    rules = { watch({ status = 410, body = expired, delay = 8 }) }, says = 0, gap = true, -- while all changes
    check = relists_once_from_what_it_knew },
}

describe("a source", function()
  local server, proxy, host
  local namespaces, told = {}, nil

  local function config(fault, name)
    return mirror.path(fault.namespace) .. (name and "/" .. name or "")
  end

  -- Creates all namespaces with their first objects.
  local function prepare()
    local requests = {}
    for _, fault in ipairs(faults) do
      fault.namespace = e2e.unique(fault.name)
      namespaces[#namespaces + 1] = fault.namespace
      requests[#requests + 1] = { "POST", "/api/v1/namespaces", { apiVersion = "v1",
        kind = "Namespace", metadata = { name = fault.namespace } } }
    end
    server:bulk(requests)
    requests = {}
    for _, fault in ipairs(faults) do
      for i = 1, 8 do
        requests[#requests + 1] = { "POST", config(fault), mirror.config("object-" .. i, "a",
          fault.gap and { trace = "yes" }) }
      end
    end
    local counts = server:bulk(requests)
    assert.equal(8 * #faults, counts[201])
  end

  local function add_rules(fault, rules)
    fault.times = fault.times or 0
    for _, rule in ipairs(rules or {}) do
      rule.name = fault.name
      fault.times = fault.times + (rule.times == 0 and 1 or rule.times or 1)
      rule.path = mirror.path(fault.namespace) .. (rule.path or "$")
    end
    if rules and #rules > 0 then
      proxy:add(rules)
    end
  end

  local function patch(fault, name, value)
    return { "PATCH", config(fault, name), { data = { v = value } }, "application/merge-patch+json" }
  end

  -- While the faults last: a new object, a change, a deletion.
  local function change()
    local requests = {}
    for _, fault in ipairs(faults) do
      if not fault.quiet then
        requests[#requests + 1] = { "POST", config(fault), mirror.config("late", "ü€😀") }
        requests[#requests + 1] = patch(fault, "object-1", "b")
        requests[#requests + 1] = { "DELETE", config(fault, "object-2") }
      end
      if fault.gap then
        fault.old = server:get(config(fault, "object-3")).metadata.uid
        requests[#requests + 1] = { "DELETE", config(fault, "object-3") }
        requests[#requests + 1] = patch(fault, "object-4", "x")
      end
    end
    server:bulk(requests)
    for _, fault in ipairs(faults) do
      if fault.gap then
        server:create(config(fault), mirror.config("object-3", "new", { trace = "yes" }))
        -- Terminating and deleted within the gap: only its absence is seen (F6).
        server:patch(config(fault, "object-5"), { metadata = { finalizers = { "spec/hold" } } })
        server:delete(config(fault, "object-5"))
        server:patch(config(fault, "object-5"), { metadata = { finalizers = e2e.null } })
      end
    end
  end

  -- A watch that ends within its first second is logged (rule 68). A watch from a version that the
  -- server has forgotten is opened one pause later than the others.
  local function settle()
    local count, since
    e2e.eventually("every watch has been open for more than a second", function()
      local now = proxy:mark()
      if now ~= count then
        count, since = now, e2e.now()
      end
      return e2e.now() - since > 3
    end)
  end

  setup(function()
    server = e2e.server()
    proxy = proxies.start(server)
    prepare()
    -- Like a server without streamed lists; another spec tests these.
    proxy:add({ { name = "no streams", times = 0, query = "sendInitialEvents=true", status = 422,
      body = status(422, "Invalid", "sendInitialEvents: Forbidden") } })
    for _, fault in ipairs(faults) do
      add_rules(fault, fault.first_before)
      add_rules(fault, fault.first)
    end
    host = mirror.start(server, proxy, namespaces, { "--request-timeout", "15s" })
    host:synced()
    local before = host:agree(namespaces)
    for _, fault in ipairs(faults) do
      fault.first_requests = proxy:requests(mirror.path(fault.namespace))
      fault.twice_before = before[fault.namespace].twice
    end
    for _, fault in ipairs(faults) do
      local rules = fault.rules
      if type(rules) == "function" then
        rules, fault.fact = fault.rules(server)
      end
      if not fault.first then
        add_rules(fault, rules)
      end
    end
    settle()
    for _, fault in ipairs(faults) do
      fault.mark = proxy:mark()
    end
    proxy:finish("/configmaps$")
    e2e.eventually("every watch is opened again, into its fault", function()
      local again = {}
      for _, one in ipairs(proxy:requests(nil, faults[1].mark)) do
        again[one.path] = again[one.path] or one.verb == "watch"
      end
      for _, fault in ipairs(faults) do
        if not again[mirror.path(fault.namespace)] then
          return false, fault.name
        end
      end
      return true
    end)
    change()
    local more = {}
    for _, fault in ipairs(faults) do
      if fault.again then
        -- The cache differs from the server for this object until it changes.
        e2e.eventually("the edited watch is over", function()
          local asked = proxy:requests(mirror.path(fault.namespace), fault.mark)
          return #of_verb(asked, "watch") > 1
        end)
        more[#more + 1] = patch(fault, "object-1", "c")
        more[#more + 1] = patch(fault, "late", "c")
      end
    end
    server:bulk(more)
    told = host:agree(namespaces)
    e2e.eventually("every fault has happened and is over", function()
      local hits = proxy:hits()
      for _, fault in ipairs(faults) do
        local asked = proxy:requests(mirror.path(fault.namespace), fault.mark)
        local last = asked[#asked]
        if (hits[fault.name] or 0) < fault.times or last.verb ~= "watch" or last.done ~= "" then
          return false, fault.name .. ": " .. verbs(asked)
        end
      end
      return true
    end)
  end)

  teardown(function()
    e2e.clean_up()
    if proxy then
      proxy:stop()
    end
    e2e.finish()
  end)

  for _, fault in ipairs(faults) do
    it(fault.it .. " (" .. fault.f .. ")", function()
      local asked = proxy:requests(mirror.path(fault.namespace), fault.mark)
      local patches = fault.patches
        and proxy:requests(mirror.path(fault.namespace) .. "/late", fault.mark)
      fault.check(asked, fault.fact, told[fault.namespace], fault.first_requests, patches)
      assert.equal(0, told[fault.namespace].twice)
      local said = host:troubles(fault.namespace)
      assert.is_true(#said <= fault.says, table.concat(said, "\n"))
      assert.is_true(#said > 0 or fault.says == 0 or fault.may_be_silent, "nothing was said")
      if fault.line and (#said > 0 or not fault.may_be_silent) then
        assert.truthy(table.concat(said, "\n"):find(fault.line, 1, true), table.concat(said, "\n"))
      end
      if fault.gap then
        local old = ("deleted %s/object-3 %s stale"):format(fault.namespace, fault.old)
        assert.equal(1, host.host:count_logged(old:gsub("%-", "%%-")))
        assert.equal(3, told[fault.namespace].stale) -- object-2, object-3, object-5
      end
    end)
  end

  it("keeps its memory and its files", function()
    local files = 0
    for _ in io.popen("ls /proc/" .. host.host.child.pid .. "/fd"):lines() do
      files = files + 1
    end
    -- A watch and at most one more connection for each namespace.
    assert.is_true(files < 4 * #namespaces + 60, files .. " files are open")
    if not os.getenv("PL_SANITIZED") then
      assert.is_true(host.host.child:rss() < 160 * 1048576, host.host.child:rss() .. " bytes")
    end
    host:stop()
  end)
end)
