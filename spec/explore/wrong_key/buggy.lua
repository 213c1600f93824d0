-- The kind of bug that issuers of certificates have had. A certificate is kept, and then its key. If it crashes
-- between the two, the next run makes another key, and puts it beside the certificate of the first one.
local perilune = require("perilune")
local client = perilune.client
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
    if not cluster or perilune.live:get("v1/Secret", request) then return end
    local key = perilune.base64.encode(perilune.random(24))
    local issued = perilune.live:get("v1/ConfigMap", request) or client:create({ apiVersion = "v1", kind = "ConfigMap",
      metadata = { namespace = request.namespace, name = request.name },
      data = { certificate = sign(request.name, key) } }, { owner = cluster })
    client:create({ apiVersion = "v1", kind = "Secret",
      metadata = { namespace = request.namespace, name = request.name },
      stringData = { key = key, certificate = issued.data.certificate } }, { owner = cluster })
  end)
