-- The web page: who may open it, its content, and the page itself in a headless Chromium.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")
local browsers = require("spec.support.browser")

local script = [[
local perilune = require("perilune")
local client = perilune.client
perilune.controller("copies", {max_concurrent_reconciles = 1})
  :For("v1/ConfigMap", {namespaces = {NAMESPACE}, labels = "copy=yes"})
  :Owns("v1/Secret", {namespaces = {NAMESPACE}})
  :Reconcile(function(request)
    local map = client:get("v1/ConfigMap", request)
    if not map then return end
    if map.data.fail then error("it must not be <b>so</b>") end
    client:create_or_update(
      {apiVersion = "v1", kind = "Secret", metadata = {name = map.metadata.name}},
      function(secret) secret.stringData = {copy = map.data.text} end, {owner = map})
  end)
]]

describe("the page", function()
  local server, namespace, host, file, address, token, browser

  local function path(name)
    return e2e.core_path(namespace, "configmaps", name)
  end

  local function add(name, data)
    server:create(path(), { apiVersion = "v1", kind = "ConfigMap", data = data,
      metadata = { name = name, labels = { copy = "yes" } } })
  end

  local function start(...)
    local one = e2e.start_host(server, file, { "--admin-socket", "0", ... })
    local url
    e2e.eventually("the page's address is printed", function()
      url = e2e.read_file(one.out_file):match("page: (http://[^\n]+)\n")
      one:must_run()
      return url
    end)
    return one, url
  end

  -- Status, body and headers; headers: curl's -H.
  local function curl(method, where, headers, body)
    local words = { "curl -sS --max-time 30 -D - -w '\\n%{http_code}' -X", method }
    for _, header in ipairs(headers or {}) do
      words[#words + 1] = "-H '" .. header .. "'"
    end
    if body then
      words[#words + 1] = "-d '" .. body .. "'"
    end
    words[#words + 1] = "'" .. address .. where .. "' 2>&1"
    local pipe = assert(io.popen(table.concat(words, " ")))
    local text = pipe:read("*a")
    pipe:close()
    local head, answer, status = text:match("^(.-\r\n)\r\n(.*)\n(%d+)$")
    return tonumber(status), answer, head
  end

  local function bearer()
    return "Authorization: Bearer " .. token
  end

  local function get(where)
    local status, body = curl("GET", where, { bearer() })
    assert(status == 200, body)
    return cjson.decode(body).result
  end

  setup(function()
    server = e2e.server()
    namespace = server:new_namespace()
    file = e2e.write_file(e2e.folder() .. "/page.lua",
      (script:gsub("NAMESPACE", string.format("%q", namespace))))
    local url
    host, url = start("--ui-bind-address", "127.0.0.1:0")
    address, token = url:match("^(http://[^/]+)/#token=(%x+)$")
    assert(token, url)
    add("first", { text = "a" })
    add("bad", { fail = "yes" })
    e2e.eventually("both have run", function()
      local status = get("/api/status")
      return status.controllers[1].errors > 0 and status.controllers[1].runs > 1
    end)
  end)
  after_each(function() host:must_run() end)
  teardown(function()
    if browser then
      browser:stop()
    end
    host:stop()
    e2e.finish()
  end)

  it("is shown to nobody without the token, but for the form that asks for it", function()
    local status, body, head = curl("GET", "/")
    assert.equal(401, status)
    assert(body:find("sign%-in%.js"), body)
    assert(head:find("\r\nContent%-Security%-Policy: default%-src 'self'\r\n"), head)
    for _, where in ipairs({ "/page.js", "/api/status", "/api/log", "/nothing" }) do
      assert.equal(401, (curl("GET", where)), where)
      assert.equal(401, (curl("GET", where, { "Authorization: Bearer " .. ("0"):rep(#token) })), where)
    end
    assert.equal(401, (curl("GET", "/api/status?token=" .. token)))
    assert.equal(200, (curl("GET", "/sign-in.js")))
    status, body, head = curl("POST", "/session", { bearer() }, "")
    assert.equal(200, status, body)
    local cookie = "perilune-" .. address:match("%d+$") .. "=" .. token
    assert(head:find("\r\nSet-Cookie: " .. cookie .. "; SameSite=Strict; Path=/\r\n", 1, true), head)
    assert.equal(403, (curl("POST", "/session", { "Cookie: " .. cookie }, "")))
    assert.equal(401, (curl("POST", "/session", {}, "")))
  end)

  it("answers for loopback's names alone, and no other site", function()
    local port = address:match("%d+$")
    for name, wanted in pairs({ ["evil.example"] = 403, ["evil.example:" .. port] = 403, ["localhost:" .. port] = 200,
      ["127.0.0.1:" .. port] = 200, ["[::1]:" .. port] = 200, ["10.0.0.1"] = 403, ["127.0.0.1.evil.example"] = 403 }) do
      assert.equal(wanted, (curl("GET", "/api/status", { bearer(), "Host: " .. name })), name)
    end
    assert.equal(403, (curl("GET", "/api/status", { bearer(), "Origin: http://evil.example" })))
    assert.equal(200, (curl("GET", "/api/status", { bearer(), "Origin: " .. address })))
  end)

  it("takes actions with the header alone, and only as a POST", function()
    local cookie = "Cookie: other=1; perilune-" .. address:match("%d+$") .. "=" .. token
    assert.equal(200, (curl("GET", "/api/status", { cookie })))
    local status, body = curl("POST", "/api/reload", { cookie }, "{}")
    assert.equal(403, status)
    assert(body:find("Authorization: Bearer TOKEN", 1, true), body)
    assert.equal(405, (curl("GET", "/api/reload", { bearer() })))
    assert.equal(405, (curl("POST", "/api/status", { bearer() }, "{}")))
    status, body = curl("POST", "/api/reload", { bearer() }, "{}")
    assert.equal(200, status)
    assert.equal("unchanged", cjson.decode(body).result.result)
    assert.equal(400, (curl("POST", "/api/pause", { bearer() }, "nonsense")))
    status, body = curl("POST", "/api/pause", { bearer() }, '{"kind":"v1/Nothing","key":"a/b"}')
    assert.equal(422, status)
    assert(cjson.decode(body).error:find("no controller is For"), body)
  end)

  it("says what the terminal says of status, queue and a key", function()
    assert.equal("copies", get("/api/status").controllers[1].name)
    assert.equal("table", type(get("/api/queue?controller=copies")))
    local why = get("/api/why?kind=v1%2FConfigMap&key=" .. namespace .. "%2Fbad")
    assert(why.keys[1].last_error:find("it must not be"), cjson.encode(why))
  end)

  it("shows objects with what they own, a hundred at a time", function()
    local objects
    e2e.eventually("the first owns its Secret", function()
      objects = get("/api/objects?controller=copies").objects
      return objects[2] and objects[2].children and #objects[2].children == 1
    end)
    assert.equal(namespace .. "/bad", objects[1].key)
    assert(objects[1].failures > 0)
    assert.same({ "v1/Secret", namespace .. "/first" }, { objects[2].children[1].kind, objects[2].children[1].key })
    for i = 1, 120 do
      add(("many-%03d"):format(i), { text = "b" })
    end
    e2e.eventually("all are there", function()
      return get("/api/objects?controller=copies").total == 122
    end)
    local page = get("/api/objects?controller=copies&filter=many-")
    assert.same({ 120, 100, namespace .. "/many-100" }, { page.matching, #page.objects, page.objects[100].key })
    page = get("/api/objects?controller=copies&filter=many-&after=" .. namespace .. "%2Fmany-100")
    assert.same({ 20, namespace .. "/many-101" }, { #page.objects, page.objects[1].key })
    assert.equal(404, (curl("GET", "/api/objects?controller=nobody", { bearer() })))
  end)

  it("remembers the log and each reload", function()
    local log = get("/api/log")
    assert(cjson.encode(log.items):find("controller started"), cjson.encode(log))
    assert.equal(0, #get("/api/log?from=" .. log.next).items)
    local text = e2e.read_file(file)
    e2e.write_file(file, "this is no Lua\n")
    e2e.eventually("the refusal is told", function()
      local items = get("/api/reloads").items
      return items[1] and items[1].what == "refused" and items[1].text:find("page.lua:1", 1, true)
    end)
    e2e.write_file(file, text .. "-- another one\n")
    e2e.eventually("the next generation is told", function()
      for _, item in ipairs(get("/api/reloads").items) do
        if item.what == "applied" and item.generation == 2 and item.text:find("copies", 1, true) then
          return true
        end
      end
    end)
  end)

  it("warns when other machines can reach it, and says why it can't be had", function()
    local other, url = start("--ui-bind-address", ":0")
    assert(other:logged("^the page is open to the network"))
    assert(url:match("^http://127%.0%.0%.1:%d+/#token=%x+$"), url)
    other:stop()
    local code, _, err = e2e.run("run", file, "--kubeconfig", server.kubeconfig, "--metrics-bind-address=0",
      "--health-probe-bind-address=0", "--admin-socket=0", "--ui-bind-address", address:match("[%d.]+:%d+$"))
    assert.equal(1, code)
    assert(err:find("--ui-bind-address", 1, true), err)
    code, _, err = e2e.run("run", file, "--ui-bind-address", "8080")
    assert.equal(2, code)
    assert(err:find("--ui-bind-address: \"8080\" is not an address", 1, true), err)
  end)

  it("is used in a browser, by keyboard alone", function()
    if not browsers.is_there() then
      pending("there is no chromium on this machine")
      return
    end
    browser = browsers.start()
    browser:open(address .. "/#token=" .. token)
    browser:until_text("#controller-rows", "copies")
    assert.equal("/", browser:js("location.pathname + location.hash"))
    browser:press("2")
    browser:until_text("#tree", namespace .. "/bad")
    browser:press("/")
    for letter in ("first"):gmatch(".") do
      browser:press(letter)
    end
    browser:until_true("the filter leaves one object",
      "document.querySelectorAll('#tree > [role=treeitem]').length === 1")
    browser:js("document.querySelector('#tree [role=treeitem]').focus()")
    browser:press("ArrowDown", "ArrowUp", "Enter")
    browser:until_text("#timelines", "started")
    assert.equal("#objects/copies/v1%2FConfigMap/" .. namespace .. "/first", browser:js("location.hash"))
    browser:js("document.getElementById('pause').focus()")
    browser:press("Enter")
    browser:until_text("#notice", "is paused")
    e2e.eventually("the object is paused", function()
      return (server:get(path("first")).metadata.annotations or {})["perilune.dev/paused"] ~= nil
    end)
    browser:js("document.getElementById('resume').focus()")
    browser:press("Enter")
    browser:until_text("#notice", "goes on")
    browser:js("location.hash = '#objects/copies/v1%2FConfigMap/" .. namespace .. "/bad'")
    browser:until_text("#timelines", "it must not be <b>so</b>") -- as text, not as markup
    browser:js("document.getElementById('reload').focus()")
    browser:press("Enter")
    browser:until_text("#notice", "Reload: unchanged")
    browser:js("document.activeElement.blur()")
    browser:press("3")
    browser:until_text("#scripts", "Generation")
    browser:press("4")
    browser:until_text("#no-shadow", "No shadow has run")
    browser:press("5")
    browser:until_text("#log-lines", "controller started")
    local colors = {}
    for _, scheme in ipairs({ "light", "dark" }) do
      browser:act({ ["do"] = "scheme", name = scheme })
      colors[scheme] = browser:js("getComputedStyle(document.body).backgroundColor")
    end
    assert.are_not.equal(colors.light, colors.dark)
    local seen = browser:act({ ["do"] = "seen" })
    for _, url in ipairs(seen.requests) do
      assert.equal(address .. "/", url:sub(1, #address + 1))
      assert.is_nil(url:gsub("#.*", ""):find(token, 1, true))
    end
    for _, complaint in ipairs(seen.errors) do
      assert(complaint:find("401", 1, true), complaint) -- the page before it had the token
    end
  end)
end)
