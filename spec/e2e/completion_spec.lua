-- `perilune completion` in a real bash: it knows every command and flag of --help, and names that a
-- running host knows.

local e2e = require("spec.support.e2e")

-- The completions of bash for the last of these words, sorted.
local function complete(words, env)
  local script = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("complete"), ([[
source <("%s" completion bash)
COMP_WORDS=(%s)
COMP_WORDS[0]="%s"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_perilune
printf '%%s\n' "${COMPREPLY[@]}" | sort
]]):format(e2e.binary, words, e2e.binary))
  local pipe = io.popen((env or "") .. " bash --norc " .. script .. " 2>&1")
  local text = pipe:read("*a")
  pipe:close()
  return text
end

local function has(text, word)
  return ("\n" .. text):find("\n" .. word .. "\n", 1, true)
end

describe("perilune completion", function()
  local server, host

  setup(function() server = e2e.server() end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  it("offers every command and each of its flags", function()
    local _, help = e2e.run("--help")
    local all = complete('perilune ""')
    for name in help:gmatch("\n  (%l+) +%l") do
      assert(has(all, name), name)
      local _, of = e2e.run(name, "--help")
      local offered = complete("perilune " .. name .. " --")
      for flag in of:gmatch("\n  [^\n]-%-%-([%l-]+)") do
        assert(has(offered, "--" .. flag), name .. " --" .. flag)
      end
    end
    assert.equal("reload\nrepl\nreplay\nresume\n", complete('perilune re'))
    assert.equal("json\ntext\n", complete('perilune run --log-format ""'))
    assert.equal("bash\nfish\nman\nzsh\n", complete('perilune completion ""'))
    assert.equal("reload\nrepl\nreplay\nresume\n", complete('perilune help re'))
  end)

  it("prints what zsh and fish read", function()
    for _, shell in ipairs({ "zsh", "fish" }) do
      local code, out = e2e.run("completion", shell)
      assert.equal(0, code)
      assert(out:find("log-format", 1, true), out)
      local file = e2e.write_file(e2e.folder() .. "/completion." .. shell, out)
      if os.execute("command -v " .. shell .. " >/dev/null") == 0 then
        assert.equal(0, os.execute(shell .. " -n " .. file))
      end
    end
  end)

  it("refuses other shells", function()
    for _, words in ipairs({ { "completion" }, { "completion", "tcsh" }, { "completion", "bash", "zsh" } }) do
      local code, out, err = e2e.run(unpack(words))
      assert.equal(2, code)
      assert.equal("", out)
      assert(err:find("bash|zsh|fish", 1, true), err)
    end
  end)

  it("offers controllers and keys of the running host", function()
    local socket = e2e.folder() .. "/complete.sock"
    local namespace = server:new_namespace()
    host = e2e.start_host(server, [[
require("perilune").controller("my-maps"):For("v1/ConfigMap"):Reconcile(function() end)
]], { "--admin-socket", socket, "--namespace", namespace })
    server:create("/api/v1/namespaces/" .. namespace .. "/configmaps", { metadata = { name = "blog" } })
    local env = "PERILUNE_ADMIN_SOCKET=" .. socket
    e2e.eventually("the key is known", function()
      return has(complete('perilune why my-maps ""', env), namespace .. "/blog")
    end)
    assert(has(complete('perilune why ""', env), "my-maps"))
    assert(has(complete('perilune why ""', env), "ConfigMap"))
    assert.equal(namespace .. "/blog\n",
      complete("perilune why --admin-socket " .. socket .. " configmap " .. namespace .. "/b"))
    assert(has(complete('perilune queue ""', env), "requeue"))
    assert(has(complete('perilune queue requeue ""', env), "my-maps"))
    assert(has(complete('perilune queue requeue my-maps ""', env), namespace .. "/blog"))
    local code, out = e2e.run("why", "my-maps", namespace .. "/blog", "--admin-socket", socket)
    assert.equal(0, code) -- the completion is inserted
    assert(out:find("controller my-maps, key " .. namespace .. "/blog", 1, true), out)
    host.child:signal("STOP") -- a host that does not answer delays it only briefly
    assert.equal("\n", complete('perilune why ""', env))
    host.child:signal("CONT")
    host:stop()
    assert.equal("\n", complete('perilune why ""', env))
    local quiet = { e2e.run("completion", "keys", "--admin-socket", socket, "why") }
    assert.same({ 0, "", "" }, quiet)
  end)

  it("prints a manual page of every command, with each of its flags and their help", function()
    local _, help = e2e.run("--help")
    local count = 0
    for name in help:gmatch("\n  (%l+) +%l") do
      local code, page = e2e.run("completion", "man", name)
      assert.equal(0, code)
      assert.equal('.TH PERILUNE\\-' .. name:upper(), page:match("^%S+ %S+"))
      local _, of = e2e.run(name, "--help")
      local plain = page:gsub("\\%-", "-"):gsub("\\f[BIR]", ""):gsub("\\e", "\\")
      for flag, rest in of:gmatch("\n  [^\n]-(%-%-[%l%d-]+)([^\n]*)") do
        count = count + 1
        assert(plain:find(flag, 1, true), name .. " " .. flag)
        local words = rest:match("   +([^(;]+)") or rest:match("^%s+%S+%s%s+([^(;]+)")
        words = words and words:gsub("%s+$", "")
        assert(not words or plain:find(words, 1, true), name .. ": " .. tostring(words))
      end
      -- Only valid lines are requests.
      for line in page:gmatch("[^\n]+") do
        assert(not line:find("^'") and (not line:find("^%.") or line:find("^%.%u")), line)
      end
    end
    assert.is_true(count > 100)
    local code, _, err = e2e.run("completion", "man", "nothing")
    assert.equal(2, code)
    assert.truthy(err:find('no command "nothing"', 1, true), err)
    assert.equal(2, (e2e.run("completion", "man")))
  end)
end)
