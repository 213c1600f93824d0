-- Lists by label of a large cache get an index automatically and return the same as before.

local e2e = require("spec.support.e2e")

local script = [[
local perilune = require("perilune")
local client = perilune.client

perilune.controller("lister")
  :Watches("v1/Secret", function(secret) return secret.metadata end, { labels = "asks=yes" })
  :Reads("v1/ConfigMap", { labels = "listed=yes" })
  :Reconcile(function(request, context)
    local secret = client:get("v1/Secret", request)
    if not secret then return end
    local names = {}
    for i, config in ipairs(client:list("v1/ConfigMap", { labels = secret.metadata.annotations.labels })) do
      names[i] = config.metadata.name
    end
    context.log:info("listed", { ask = request.name, names = table.concat(names, " ") })
  end)
]]

describe("lists by label", function()
  local server, namespace, host
  local count, teams = 1200, 400

  setup(function()
    server = e2e.server()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  local function path(plural, name)
    return e2e.core_path(namespace, plural, name)
  end

  local function config(i, team)
    return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = ("c%04d"):format(i),
      labels = { listed = "yes", team = team, half = i % 2 == 0 and "even" or "odd" } } }
  end

  local function fill()
    local requests = {}
    for i = 1, count do
      requests[i] = { "POST", path("configmaps"), config(i, "t" .. i % teams) }
    end
    assert.equal(count, server:bulk(requests)[201])
  end

  local function list(labels)
    local ask = e2e.unique("ask")
    server:create(path("secrets"), { apiVersion = "v1", kind = "Secret", metadata = { name = ask,
      labels = { asks = "yes" }, annotations = { labels = labels } } })
    local found
    host:logged(function(line)
      found = line.msg == "listed" and line.ask == ask and line.names
      return found
    end)
    return found
  end

  -- The cache follows the server step by step.
  local function comes_to(labels, names)
    e2e.eventually(labels .. " finds " .. names, function()
      local found = list(labels)
      return found == names, "it finds " .. found
    end)
  end

  it("look at what has the label alone, after the first", function()
    fill()
    host = e2e.start_host(server, script)
    host:logged("started")
    comes_to("team=t7", "c0007 c0407 c0807")
    host:logged(function(line)
      return line.msg == "an index was made for lists by a label" and line.label == "team"
        and line.objects == count
    end)
    comes_to("team=t7", "c0007 c0407 c0807")
    comes_to("team=t7,half=odd", "c0007 c0407 c0807")
    comes_to("team=t7,half=even", "")
    comes_to("team in (t7,t8),half=even", "c0008 c0408 c0808")

    server:update(path("configmaps", "c0100"), config(100, "t7"))
    server:update(path("configmaps", "c0407"), config(407, "t9"))
    server:delete(path("configmaps", "c0807"))
    server:create(path("configmaps"), config(9000, "t7"))
    comes_to("team=t7", "c0007 c0100 c9000")
    comes_to("team=t9", "c0009 c0407 c0409 c0809")
    assert.equal(1, host:count_logged("^an index was made for lists by a label"))
    host:stop()
  end)
end)
