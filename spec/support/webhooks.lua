-- Webhooks in specs: reviews that are posted to a host without an API server; a program of webhooks
-- for an API server.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")

local M = {}

M.flags = { "--webhook-bind-address", "127.0.0.1:0" }

-- A review of a Website with that spec; fields replaces members of the request.
function M.review(spec, fields)
  local request = {
    uid = "11111111-2222-3333-4444-555555555555",
    kind = { group = "example.com", version = "v1", kind = "Website" },
    resource = { group = "example.com", version = "v1", resource = "websites" },
    name = "blog", namespace = "default", operation = "CREATE",
    userInfo = { username = "jo", groups = { "people" } },
    object = { apiVersion = "example.com/v1", kind = "Website",
      metadata = { name = "blog", namespace = "default" }, spec = spec },
    oldObject = cjson.null, dryRun = false, options = cjson.null,
  }
  for name, value in pairs(fields or {}) do
    request[name] = value
  end
  return { apiVersion = "admission.k8s.io/v1", kind = "AdmissionReview", request = request }
end

function M.conversion(version, objects)
  return { apiVersion = "apiextensions.k8s.io/v1", kind = "ConversionReview",
    request = { uid = "c-1", desiredAPIVersion = version, objects = objects } }
end

-- Starts the webhooks of spec/support/hooks.py for a namespace: {folder=, child=, port= (a text), url=, ca=
-- (base64), stop()}.
function M.program(namespace)
  local folder = e2e.folder() .. "/" .. e2e.unique("hooks")
  assert(os.execute("mkdir -p " .. folder))
  local child = e2e.process.start({ "python3", "spec/support/hooks.py", folder, namespace },
    { stdout = folder .. "/out", stderr = folder .. "/err" })
  local port = e2e.eventually("webhooks are served", function()
    return e2e.read_file(folder .. "/out"):match("^(%d+)\n"), e2e.read_file(folder .. "/err")
  end)
  local pipe = io.popen("base64 -w0 " .. folder .. "/ca.pem")
  local ca = pipe:read("*a")
  pipe:close()
  return { folder = folder, port = port, url = "https://127.0.0.1:" .. port, ca = ca, stop = function()
    child:signal("TERM")
    child:wait(10)
  end }
end

function M.address(host)
  return host:logged("^serving webhooks$").address
end

-- Returns the status, the decoded answer (or its text) and the text. options: type, curl
-- (additional arguments), method.
function M.post(host, path, body, options)
  options = options or {}
  local text = type(body) == "string" and body or cjson.encode(body)
  local file = e2e.write_file(os.tmpname(), text)
  local pipe = io.popen(string.format(
    "curl -sS %s --max-time 60 -X %s -H 'Content-Type: %s' -w '\\n%%{http_code}' --data-binary @%s %s "
      .. "'https://%s%s' 2>&1; rm -f %s",
    options.trust or "-k", options.method or "POST", options.type or "application/json", file,
    options.curl or "", M.address(host), path, file))
  local out = pipe:read("*a")
  pipe:close()
  local answer, status = out:match("^(.*)\n(%d+)%s*$")
  local ok, decoded = pcall(cjson.decode, answer or "")
  return tonumber(status) or 0, ok and decoded or answer or out, answer or out
end

-- The response of a review that is answered with 200.
function M.answer(host, path, body, options)
  local status, answer = M.post(host, path, body, options)
  if status ~= 200 or type(answer) ~= "table" then
    error(("%s: %d %s"):format(path, status, tostring(answer)), 2)
  end
  return answer.response
end

local function decode_base64(text)
  local pipe = io.popen("printf %s '" .. text .. "' | base64 -d")
  local out = pipe:read("*a")
  pipe:close()
  return out
end

-- The operations of an answer's patch.
function M.patch(response)
  return response.patch and cjson.decode(decode_base64(response.patch)), response.patch and
    decode_base64(response.patch)
end

-- Sends a review again and again in the background. Returns a function that ends this and returns
-- the results.
function M.load(host, path, body, rate, connections)
  local file = e2e.write_file(e2e.folder() .. "/" .. e2e.unique("review"), cjson.encode(body))
  local out = file .. ".out"
  local child = e2e.process.start({ "python3", "spec/support/reviews.py", "load",
    "https://" .. M.address(host) .. path, file, tostring(rate), tostring(connections or 4) },
    { stdout = out, stderr = out .. ".err" })
  e2e.eventually("the client has begun", function()
    return e2e.read_file(out .. ".err"):find("begun", 1, true)
  end)
  return function()
    child:signal("TERM")
    child:wait(60)
    return cjson.decode(e2e.read_file(out))
  end
end

return M
