-- `perilune dev --as-serviceaccount`: applies a ServiceAccount and the roles of `perilune rbac` for the
-- scripts, and hands a token of the account to the command.

local host = require("perilune.host")
local rbac = require("perilune.tool.rbac")
local rights = require("perilune.tool.rights")

local YEAR = 365 * 24 * 3600 -- longer than any `dev` runs

local function ask(tool, question)
  local answer = tool.must_call("cluster", question)
  if answer.status >= 400 then
    tool.fail("--as-serviceaccount: %s %s: %s", question.kind, question.name, answer.message)
  end
  return answer.object
end

local function apply(tool, object)
  local group, version = object.apiVersion:match("^(.*)/(.*)$")
  ask(tool, { verb = "patch", patch = "apply", group = group or "", version = version or object.apiVersion,
    kind = object.kind, plural = object.kind:lower() .. "s", namespaced = object.metadata.namespace ~= nil,
    namespace = object.metadata.namespace, name = object.metadata.name, body = object })
end

return function(tool, input)
  input.flags.cluster = true -- plurals and scopes are those of the server
  local job = rbac.job(tool, input)
  local first = rights.first(job.controllers)
  local name = first and host.is_name(first.name, "dns-subdomain") and first.name or "perilune"
  local account = { name = name, namespace = "default" }
  apply(tool, { apiVersion = "v1", kind = "ServiceAccount", metadata = account })
  local text, roles = rights.write(rights.of(job):sorted(), "perilune-dev-" .. name)
  local documents = #roles > 0 and host.yaml_decode(text) or {}
  for _, role in ipairs(roles) do
    documents[#documents + 1] = host.yaml_decode(rights.binding(role, account))[1]
  end
  for _, document in ipairs(documents) do
    apply(tool, document)
  end
  local token = ask(tool, { verb = "create", version = "v1", group = "", kind = "ServiceAccount",
    plural = "serviceaccounts", namespaced = true, namespace = account.namespace, name = account.name,
    subresource = "token", body = { apiVersion = "authentication.k8s.io/v1", kind = "TokenRequest",
    spec = { expirationSeconds = YEAR } } })
  tool.must_call("token", { user = "system:serviceaccount:" .. account.namespace .. ":" .. account.name,
    token = token.status.token })
  return 0
end
