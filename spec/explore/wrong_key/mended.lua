-- The key is kept first, and the certificate is made for the key that is there.
local perilune = require("perilune")
local client, base64 = perilune.client, perilune.base64
local KIND = "example.com/v1/Cluster"

local function sign(name, key)
  local answer = perilune.http.request({ method = "POST", url = "https://ca.example.com/sign",
    json = { name = name, public = perilune.hash(key):sub(1, 32) } })
  if answer.status ~= 200 then error("the authority answers " .. answer.status) end
  return answer.json.certificate
end

perilune.controller("cluster"):For(KIND):Owns("v1/Secret"):Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster then return end
    local secret = perilune.live:get("v1/Secret", request) or client:create({ apiVersion = "v1", kind = "Secret",
      metadata = { namespace = request.namespace, name = request.name },
      stringData = { key = base64.encode(perilune.random(24)) } }, { owner = cluster })
    if not secret.data.certificate then
      secret = client:patch(secret, { data = {
        certificate = base64.encode(sign(request.name, base64.decode(secret.data.key))) } })
    end
    client:apply({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = request.namespace, name = request.name },
      data = { certificate = base64.decode(secret.data.certificate) } }, { owner = cluster })
  end)
