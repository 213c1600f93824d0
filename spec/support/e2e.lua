-- End-to-end specs: the built binary against an API server, embedded or real.
--
-- PL_BUILD names the build folder (default build), PL_SERVER "embedded" (default) or "kube",
-- PL_KUBECONFIG the kubeconfig of a running kube-apiserver for the latter.

local cjson = require("cjson")
local log_lines = require("spec.support.log_lines")
local process = require("spec.support.process")

cjson.encode_sparse_array(true)

local M = { null = cjson.null, now = process.now, process = process }

local build = os.getenv("PL_BUILD") or "build"
M.binary = build .. "/perilune"
M.server_kind = os.getenv("PL_SERVER") or "embedded"
M.is_kube = M.server_kind == "kube"

-- Sanitizer builds and busy machines are slow, so specs wait for conditions and never assert times.
M.patience = tonumber(os.getenv("PL_PATIENCE") or "30")

local folder -- of this spec file's files; removed at its end, unless PL_KEEP is set

local function run(command)
  local pipe = assert(io.popen(command, "r"))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

function M.folder()
  folder = folder or run("mktemp -d"):gsub("%s+$", "")
  return folder
end

local counter = 0
function M.unique(prefix)
  counter = counter + 1
  return string.format("%s-%d-%x%x", prefix or "spec", counter, os.time() % 65536, math.random(65535))
end
math.randomseed(os.time() + math.floor(process.now() * 1e6) % 1000003)

function M.write_file(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end

function M.read_file(path)
  local file = io.open(path)
  if not file then
    return ""
  end
  local text = file:read("*a")
  file:close()
  return text
end

local hosts = {} -- that the spec has started, until clean_up

-- For the message of a failure, which may come from a host that is not there any more.
local function hosts_that_ended()
  local text = ""
  for _, host in ipairs(hosts) do
    if not host.child:is_running() and host.child.code ~= 0 then
      text = text .. "; " .. host:ending()
    end
  end
  return text
end

-- Calls f again and again and returns its first true result. Fails after M.patience seconds, with
-- `what`, f's second result, and hosts that ended with an error.
function M.eventually(what, f, seconds)
  local ends = process.now() + (seconds or M.patience)
  local step = 0.005
  while true do
    local value, detail = f()
    if value then
      return value
    elseif process.now() > ends then
      error(string.format("not within %g s: %s%s", seconds or M.patience, what,
        detail and " (" .. tostring(detail) .. ")" or "") .. hosts_that_ended(), 2)
    end
    process.pause(step)
    step = math.min(step * 1.5, 0.2)
  end
end

-- ---- the API server, as the specs reach it ----

local Server = {}
Server.__index = Server

local function shell_quote(text)
  return "'" .. tostring(text):gsub("'", "'\\''") .. "'"
end

-- Reads the few lines that our own servers write, without a YAML parser.
local function read_kubeconfig(path)
  local text = M.read_file(path)
  local server = setmetatable({ kubeconfig = path }, Server)
  server.url = text:match('server: "([^"]+)"')
  local ca, token = text:match('certificate%-authority: "([^"]+)"'), text:match('token: "([^"]+)"')
  server.curl = "curl -sS --max-time 60"
  if ca then
    server.curl = server.curl .. " --cacert " .. shell_quote(ca)
  end
  if token then
    server.curl = server.curl .. " -H " .. shell_quote("Authorization: Bearer " .. token)
  end
  assert(server.url, "no server in " .. path)
  return server
end
M.read_kubeconfig = read_kubeconfig

-- Starts the embedded API server as a separate process. before: an earlier server, whose kubeconfig
-- it takes over.
function M.start_embedded(flags, before)
  local base = M.folder() .. "/" .. M.unique("server")
  local kubeconfig = before and before.kubeconfig or base .. ".kubeconfig"
  local argv = { M.binary, "apiserver", "--kubeconfig-out", kubeconfig }
  for _, flag in ipairs(flags or {}) do
    argv[#argv + 1] = flag
  end
  local child = process.start(argv, { stdout = base .. ".out", stderr = base .. ".err" })
  M.eventually("the embedded API server listens", function()
    if not child:is_running() then
      error("perilune apiserver ended: " .. M.read_file(base .. ".err"))
    end
    return M.read_file(base .. ".out"):find("serving on", 1, true)
  end)
  local server = read_kubeconfig(kubeconfig)
  server.child = child
  return server
end

-- The path of kubectl, which comes with kube-apiserver (scripts/envtest).
function M.kubectl()
  return run("scripts/envtest --have"):gsub("%s+$", "") .. "/kubectl"
end

-- A separate kube-apiserver, for specs that kill it; see spec/support/kube-apiserver.
function M.start_kube(flags)
  local state = M.folder() .. "/" .. M.unique("kube")
  local command = "spec/support/kube-apiserver start --controllers " .. state .. " " .. (flags or "")
  local path = run(command .. " 2>" .. state .. ".err"):gsub("%s+$", "")
  assert(path ~= "", "kube-apiserver did not start: " .. M.read_file(state .. ".err"))
  local server = read_kubeconfig(path)
  server.state = state
  return server
end

-- The server of this run: for kube the shared one, for embedded a new one for each spec file, with
-- these flags.
function M.server(flags)
  if not M.current then
    M.current = M.is_kube and read_kubeconfig(assert(os.getenv("PL_KUBECONFIG"),
      "PL_SERVER=kube needs PL_KUBECONFIG")) or M.start_embedded(flags)
  end
  return M.current
end

function Server:stop()
  if self.child then
    self.child:signal("TERM")
    local code = self.child:wait(M.patience)
    assert(code == 0, "perilune apiserver ended with " .. tostring(code))
  elseif self.state then
    run("spec/support/kube-apiserver stop " .. self.state .. " 2>&1")
  end
end

function Server:kill()
  run("spec/support/kube-apiserver kill " .. self.state .. " 2>&1")
end

function Server:save()
  run("spec/support/kube-apiserver save " .. self.state .. " 2>&1")
end

function Server:restore()
  run("spec/support/kube-apiserver restore " .. self.state .. " 2>&1")
end

function Server:again(flags)
  run("spec/support/kube-apiserver again " .. self.state .. " " .. (flags or "") .. " 2>&1")
end

-- The path of an object of the group without a name; without a name, of all such objects.
function M.core_path(namespace, plural, name)
  return "/api/v1/namespaces/" .. namespace .. "/" .. plural .. (name and "/" .. name or "")
end

local function encode(body)
  return type(body) == "string" and body or cjson.encode(body)
end

-- Status and decoded answer of one request. body: table or JSON text.
function Server:request(method, path, body, content_type)
  local command = self.curl .. " -X " .. method .. " -w '\\n%{http_code}'"
  if body ~= nil then
    local file = M.write_file(os.tmpname(), encode(body))
    command = command .. " -H 'Content-Type: " .. (content_type or "application/json")
      .. "' --data-binary @" .. file
    command = "{ " .. command .. " " .. shell_quote(self.url .. path) .. "; }; rm -f " .. file
  else
    command = command .. " " .. shell_quote(self.url .. path)
  end
  local text = run(command .. " 2>&1")
  local answer, status = text:match("^(.*)\n(%d+)%s*$")
  local ok, decoded = pcall(cjson.decode, answer or "")
  return tonumber(status) or 0, ok and decoded or answer or text, answer
end

local function must(method, path, status, answer)
  if status < 200 or status > 299 then
    error(string.format("%s %s: %d %s", method, path, status,
      type(answer) == "table" and answer.message or tostring(answer)), 3)
  end
  return answer
end

function Server:get(path)
  local status, answer = self:request("GET", path)
  if status == 404 then
    return nil
  end
  return must("GET", path, status, answer)
end

function Server:create(path, body)
  return must("POST", path, self:request("POST", path, body))
end

function Server:update(path, body)
  return must("PUT", path, self:request("PUT", path, body))
end

function Server:patch(path, body, content_type)
  return must("PATCH", path,
    self:request("PATCH", path, body, content_type or "application/merge-patch+json"))
end

function Server:delete(path)
  local status, answer = self:request("DELETE", path)
  return status == 404 or must("DELETE", path, status, answer)
end

-- curl's arguments in a file for many requests: an array of {method, path, body, content type}.
local function bulk_config(server, requests, retry)
  local config = { "silent\nhttp1.1\n" }
  for i, one in ipairs(requests) do
    if i > 1 then
      config[#config + 1] = "next\nsilent\nhttp1.1\n"
    end
    local function add(name, value)
      config[#config + 1] = name .. ' = "' .. value:gsub("\\", "\\\\"):gsub('"', '\\"') .. '"\n'
    end
    add("url", server.url .. one[2])
    add("request", one[1])
    add("output", "/dev/null")
    add("write-out", "status=%{http_code}\\n")
    if retry then
      config[#config + 1] = "retry = 20\nretry-delay = 1\nretry-connrefused\n"
    end
    for header in server.curl:gmatch("%-H '([^']+)'") do
      add("header", header)
    end
    local ca = server.curl:match("%-%-cacert '([^']+)'")
    if ca then
      add("cacert", ca)
    end
    if one[3] then
      add("header", "Content-Type: " .. (one[4] or "application/json"))
      add("data-binary", encode(one[3]))
    end
  end
  return M.write_file(M.folder() .. "/" .. M.unique("bulk"), table.concat(config))
end

local function counts_of(text)
  local counts = {}
  for status in text:gmatch("status=(%d%d%d)\n") do
    counts[tonumber(status)] = (counts[tonumber(status)] or 0) + 1
  end
  return counts
end

-- Sends many requests over a few connections. Returns the number of answers by status. Other output
-- of curl is turned off, because it would appear in the middle of a line. Uses HTTP/1.1: a server
-- closes its connections between two requests, while curl fails when an HTTP/2 connection ends.
function Server:bulk(requests)
  local file = bulk_config(self, requests)
  return counts_of(run("curl --parallel --parallel-max 8 --config " .. file .. " 2>/dev/null; rm -f " .. file))
end

-- The same in the background, one after another, each until the server answers; at most `rate`
-- requests a second. Returns a function that waits for the end, and one that says whether it is
-- still running.
function Server:bulk_start(requests, rate)
  local file = bulk_config(self, requests, true)
  local child = process.start({ "curl", "--rate", (rate or 10000) .. "/s", "--config", file },
    { stdout = file .. ".out" })
  return function()
    child:wait(M.patience * 4)
    return counts_of(M.read_file(file .. ".out"))
  end, function()
    return child:is_running()
  end
end

-- Creates a namespace for the spec. It is deleted with the server, or never.
function Server:new_namespace()
  local name = M.unique("spec")
  self:create("/api/v1/namespaces", {
    apiVersion = "v1", kind = "Namespace", metadata = { name = name },
  })
  return name
end

-- Applies a YAML file with the binary's own embedded tools: through server-side apply, by document.
function Server:apply_yaml(text, namespace)
  for document in (text .. "\n---\n"):gmatch("(.-)\n%-%-%-\n") do
    if document:find("%S") then
      M.apply_document(self, document, namespace)
    end
  end
end

local plurals = { Namespace = "namespaces", CustomResourceDefinition = "customresourcedefinitions",
  ConfigMap = "configmaps", Secret = "secrets", Deployment = "deployments", StatefulSet = "statefulsets",
  Service = "services", Website = "websites", ResourceQuota = "resourcequotas" }
local cluster_scoped = { Namespace = true, CustomResourceDefinition = true }

-- The path of an object by apiVersion and plural. Without a name: of the collection. Without a
-- namespace: of all namespaces, or of a cluster-scoped kind.
function M.path(version, namespace, plural, name)
  return (version:find("/", 1, true) and "/apis/" or "/api/") .. version
    .. (namespace and "/namespaces/" .. namespace or "") .. "/" .. plural .. (name and "/" .. name or "")
end

function M.apply_document(server, yaml, namespace)
  local api_version = yaml:match("apiVersion:%s*(%S+)")
  local kind = yaml:match("\nkind:%s*(%S+)") or yaml:match("^kind:%s*(%S+)")
  local name = yaml:match("metadata:%s*\n%s+name:%s*(%S+)")
  local plural = assert(plurals[kind], "the spec helper does not know " .. tostring(kind))
  if not cluster_scoped[kind] then
    namespace = namespace or yaml:match("\n%s+namespace:%s*(%S+)") or "default"
    yaml = yaml:gsub("(\n%s+namespace:%s*)%S+", "%1" .. namespace)
  else
    namespace = nil
  end
  local path = M.path(api_version, namespace, plural, name) .. "?fieldManager=spec&force=true"
  M.eventually("apply of " .. kind .. " " .. name, function()
    local status, answer = server:request("PATCH", path, yaml, "application/apply-patch+yaml")
    -- A CRD that was applied a moment ago may not be served yet.
    if status == 404 then
      return false, answer.message
    end
    return must("PATCH", path, status, answer)
  end)
end

-- Applies a CRD and waits until its kind is served.
function Server:apply_crd(text)
  self:apply_yaml(text)
  local group, plural = text:match("group:%s*(%S+)"), text:match("plural:%s*([%w]+)")
  local version = text:match("\n    %- name:%s*(%S+)")
  M.eventually("the kind of the CRD is served", function()
    return self:get("/apis/" .. group .. "/" .. version .. "/" .. plural .. "?limit=1")
  end)
end

-- Starts a relay in front of the server whose connections can die (spec/support/deadlink.py).
-- Returns the child process, with its output in `out`, and a server for start_host.
function M.start_link(server)
  local target_host, target_port = server.url:match("//([^:]+):(%d+)")
  local out = M.folder() .. "/" .. M.unique("link")
  local child = process.start({ "python3", "spec/support/deadlink.py", target_host, target_port },
    { stdout = out, stderr = out .. ".err" })
  local port = M.eventually("the link is up", function()
    return M.read_file(out):match("^(%d+)\n")
  end)
  local kubeconfig = M.read_file(server.kubeconfig)
    :gsub("(server: \"%w+://127%.0%.0%.1:)%d+", "%1" .. port)
  return { child = child, out = out },
    { kubeconfig = M.write_file(out .. ".kubeconfig", kubeconfig) }
end

-- ---- the host ----

local Host = {}
Host.__index = Host

-- Starts `perilune run` on script text or a path. flags: array of words; options: env.
function M.start_host(server, script, flags, options)
  options = options or {}
  local base = M.folder() .. "/" .. M.unique("host")
  local path = script
  if script:find("\n", 1, true) then
    path = M.write_file(base .. ".lua", script)
  end
  local argv = { M.binary, options.command or "run", path }
  if not options.command then
    argv[#argv + 1] = "--kubeconfig"
    argv[#argv + 1] = server.kubeconfig
  end
  argv[#argv + 1] = "--log-format"
  argv[#argv + 1] = "json"
  local given = table.concat(flags or {}, " ") -- many hosts at once: each has ports of its own
  for _, name in ipairs({ "--metrics-bind-address", "--health-probe-bind-address" }) do
    if not given:find(name, 1, true) then
      argv[#argv + 1] = name .. "=127.0.0.1:0"
    end
  end
  for _, flag in ipairs(flags or {}) do
    argv[#argv + 1] = flag
  end
  local host = setmetatable({ log_file = base .. ".log", out_file = base .. ".out" }, Host)
  host.child = process.start(argv, {
    stdout = host.out_file, stderr = host.log_file, env = options.env,
  })
  hosts[#hosts + 1] = host
  return host
end

-- The environment of a process that loads spec/support/NAME.c before the C library. A sanitizer
-- requires to be the first library, which is not necessary here.
function M.preloaded(name, env)
  local asan = os.getenv("ASAN_OPTIONS")
  env.LD_PRELOAD = ("%s/spec/libspec_%s.so"):format(build, name)
  env.ASAN_OPTIONS = (asan and asan .. ":" or "") .. "verify_asan_link_order=0"
  return env
end

-- All decoded log lines so far, in one array that grows; see spec/support/log_lines.lua. For a host
-- that logs millions of lines, use host:follow():each(...), which keeps none.
function Host:log()
  if not self.reader then
    self.reader, self.lines = self:follow(), {}
  end
  local fresh = {}
  local is_other = self.reader:each(function(line)
    fresh[#fresh + 1] = line
  end)
  if is_other then
    self.lines = {}
  end
  for _, line in ipairs(fresh) do
    self.lines[#self.lines + 1] = line
  end
  return self.lines
end

function Host:follow()
  return log_lines.open(self.log_file)
end

-- Of one that has ended: how, and the last part of its log.
function Host:ending()
  return ("the host ended with code %s signal %s:\n%s"):format(tostring(self.child.code),
    tostring(self.child.died_of), self:text():sub(-6000))
end

function Host:must_run()
  if not self.child:is_running() then
    error(self:ending(), 0)
  end
end

-- Waits for a log line that `matches`: a pattern for msg, or a function of the line.
function Host:logged(matches, seconds)
  local lines, looked = nil, 0
  return M.eventually("a log line " .. tostring(matches), function()
    local now = self:log()
    lines, looked = now, now == lines and looked or 0
    while looked < #lines do
      looked = looked + 1
      local line = lines[looked]
      if type(matches) == "function" and matches(line) then
        return line
      elseif type(matches) == "string" and tostring(line.msg):find(matches) then
        return line
      end
    end
    self:must_run()
    return false, "last: " .. (M.read_file(self.log_file):match("([^\n]*)\n$") or "")
  end, seconds)
end

-- Status, body and headers (as text) of GET path at an endpoint: "metrics" or "health".
function Host:ask(endpoint, path, curl_options)
  local line = self:logged(endpoint == "metrics" and "^serving metrics$" or "^serving health probes$")
  local text = run(string.format("curl -sS --max-time 30 -D - -w '\n%%{http_code}' %s %s 2>&1",
    curl_options or "", shell_quote("http://" .. line.address .. path)))
  local headers, body, status = text:match("^(.-\r?\n)\r?\n(.*)\n(%d+)$")
  return tonumber(status) or 0, body or text, headers
end

-- The page /metrics, checked and parsed; see spec/support/prometheus.lua.
function Host:metrics()
  local status, body = self:ask("metrics", "/metrics")
  assert(status == 200, body)
  return require("spec.support.prometheus").parse(body)
end

-- Lines of warnings and errors.
function Host:complaints()
  local out = {}
  for _, line in ipairs(self:log()) do
    if line.level == "warn" or line.level == "error" then
      out[#out + 1] = line
    end
  end
  return out
end

function Host:count_logged(matches)
  local count = 0
  for _, line in ipairs(self:log()) do
    if tostring(line.msg):find(matches) then
      count = count + 1
    end
  end
  return count
end

-- Sends SIGTERM and expects a clean end.
function Host:stop(expected_code)
  self.child:signal("TERM")
  local code = self.child:wait(M.patience)
  if code ~= (expected_code or 0) then
    error(self:ending(), 2)
  end
end

function Host:text()
  return M.read_file(self.log_file)
end

-- For after_each: ends the processes that a failed spec left running and shows their logs.
function M.clean_up()
  for i, host in ipairs(hosts) do
    if host.child:is_running() then
      host.child:signal("KILL")
      host.child:wait(10)
      io.stderr:write("---- log of a host that was still running ----\n",
        host:text():sub(-6000), "\n")
    end
    hosts[i] = nil
  end
end

-- For teardown of the spec file.
function M.finish()
  M.clean_up()
  if M.current and not M.is_kube then
    M.current:stop()
    M.current = nil
  end
  if folder and not os.getenv("PL_KEEP") then
    run("rm -rf " .. shell_quote(folder))
    folder = nil
  end
end

-- Runs the binary to its end: exit code, stdout, stderr.
-- env: name -> value, or false for none.
function M.run_with(env, ...)
  local base = M.folder() .. "/" .. M.unique("run")
  local child = process.start({ M.binary, ... }, { stdout = base .. ".out", stderr = base .. ".err",
    env = env })
  local code, signal = child:wait(M.patience)
  return code or -signal, M.read_file(base .. ".out"), M.read_file(base .. ".err")
end

function M.run(...)
  return M.run_with({}, ...)
end

-- The same for a command that asks a running host through its admin socket.
function M.ask(socket, command, ...)
  return M.run(command, "--admin-socket", socket, ...)
end

return M
