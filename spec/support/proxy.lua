-- The fault proxy of spec/support/proxy.py, controlled by specs. It stands between a host and an
-- API server, causes faults in chosen requests, and reports the requests that it has seen.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")
local held_ports = require("spec.support.held_ports")

local M = {}

-- The mirror's own lists (spec/support/mirror.lua) have pages of this size, and rules do not match
-- them unless they say so.
M.page = 41

local Proxy = {}
Proxy.__index = Proxy

local function run(command)
  local pipe = assert(io.popen(command, "r"))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- The server's own address and credentials, for the kubeconfig of a proxied server.
local function credentials_of(server)
  local text = e2e.read_file(server.kubeconfig)
  return text:match('certificate%-authority: "([^"]+)"'), text:match('token: "([^"]+)"')
end

local kubeconfig = [[
apiVersion: v1
kind: Config
current-context: spec
contexts:
- {name: spec, context: {cluster: spec, user: spec}}
clusters:
- {name: spec, cluster: {server: "http://127.0.0.1:%s"}}
users:
- {name: spec, user: {%s}}
]]

function M.start(server, seed)
  local base = e2e.folder() .. "/" .. e2e.unique("proxy")
  local ca, token = credentials_of(server)
  local argv = { "python3", "spec/support/proxy.py", server.url, "--port", held_ports.port(), "--seed",
    tostring(seed or 1) }
  if ca then
    argv[#argv + 1] = "--ca"
    argv[#argv + 1] = ca
  end
  local child = e2e.process.start(argv, { stdout = base, stderr = base .. ".err" })
  local port, control
  e2e.eventually("the proxy listens", function()
    port, control = e2e.read_file(base):match("^(%d+) (%d+)\n")
    if not child:is_running() then
      error("the proxy ended: " .. e2e.read_file(base .. ".err"))
    end
    return port
  end)
  local user = token and 'token: "' .. token .. '"' or ""
  return setmetatable({ child = child, control = control, names = 0,
    kubeconfig = e2e.write_file(base .. ".kubeconfig", kubeconfig:format(port, user)) }, Proxy)
end

function Proxy:command(method, path, body)
  local command = "curl -sS --max-time 60 -X " .. method
  local file
  if body then
    file = e2e.write_file(os.tmpname(), body)
    command = command .. " --data-binary @" .. file
  end
  local text = run(command .. " " .. quote("http://127.0.0.1:" .. self.control .. path) .. " 2>&1")
  if file then
    os.remove(file)
  end
  local ok, answer = pcall(cjson.decode, text)
  assert(ok and type(answer) == "table" and not answer.error, "proxy: " .. text)
  return answer
end

-- rules: an array of rules, see proxy.py.
function Proxy:add(rules)
  for _, rule in ipairs(rules) do
    rule.not_query = rule.not_query or "limit=" .. M.page
  end
  return self:command("POST", "/rules", cjson.encode(rules))
end

function Proxy:clear(name)
  return self:command("DELETE", "/rules" .. (name and "?name=" .. name or ""))
end

function Proxy:hits()
  local out = {}
  for _, rule in ipairs(self:command("GET", "/rules")) do
    out[rule.name] = (out[rule.name] or 0) + rule.hits
  end
  return out
end

-- The number of requests so far, as a position for later reads of the log.
function Proxy:mark()
  return self:command("GET", "/state").requests
end

function Proxy:down()
  return self:command("POST", "/down")
end

function Proxy:up()
  return self:command("POST", "/up")
end

function Proxy:cut()
  return self:command("POST", "/cut")
end

-- Ends the effect of a rule's `hold`.
function Proxy:release()
  return self:command("POST", "/release")
end

-- Ends answers under way, like a server at its timeout.
function Proxy:finish(path)
  return self:command("POST", "/end?path=" .. path)
end

-- The type of a source's request: "watch", "stream" (a watch that begins with the existing
-- objects), "probe" (a check of the server's version), "list"; other requests have their method as
-- their type.
local function verb_of(entry)
  if entry.method ~= "GET" then
    return entry.method
  elseif entry.query:find("sendInitialEvents=true", 1, true) then
    return "stream"
  elseif entry.query:find("watch=true", 1, true) or entry.query:find("watch=1", 1, true) then
    return "watch"
  elseif entry.query:find("limit=1&", 1, true) or entry.query:find("limit=1$") then
    return "probe"
  end
  return "list"
end

local function number_after(query, name)
  return query:match("^" .. name .. "=([^&]*)") or query:match("&" .. name .. "=([^&]*)")
end

-- The requests since `mark` for exactly this path, without those of the mirror; with verb, rv,
-- limit, token.
function Proxy:requests(path, mark)
  local out = {}
  for _, entry in ipairs(self:command("GET", "/log?from=" .. (mark or 0))) do
    if (not path or entry.path == path) and number_after(entry.query, "limit") ~= tostring(M.page) then
      entry.verb = verb_of(entry)
      entry.rv = number_after(entry.query, "resourceVersion")
      entry.limit = number_after(entry.query, "limit")
      entry.token = number_after(entry.query, "continue")
      out[#out + 1] = entry
    end
  end
  return out
end

function Proxy:stop()
  if self.child:is_running() then
    self.child:signal("KILL")
  end
  self.child:wait()
end

-- ---- answers ----

function M.status(code, reason, message, extra)
  local status = { kind = "Status", apiVersion = "v1", metadata = {}, status = "Failure",
    message = message or reason, reason = reason, code = code }
  for key, value in pairs(extra or {}) do
    status[key] = value
  end
  return (cjson.encode(status):gsub('"metadata":%[%]', '"metadata":{}'))
end

function M.error_event(status)
  return '{"type":"ERROR","object":' .. status .. "}"
end

return M
