-- Not from a public issue. A rotation writes a new key over the current one, and then the old one into its place. If
-- it crashes between the two, the next run takes the new key for the old one, which is lost.
local perilune = require("perilune")
local client, base64 = perilune.client, perilune.base64
local KIND = "example.com/v1/Cluster"

local function new_key()
  return base64.encode(perilune.random(16))
end

perilune.controller("cluster"):For(KIND):Owns("v1/Secret")
  :Reconcile(function(request)
    local cluster = perilune.live:get(KIND, request)
    if not cluster then return end
    local rotation = base64.encode(tostring(cluster.spec.rotation))
    local secret = perilune.live:get("v1/Secret", request)
    if not secret then
      client:create({ apiVersion = "v1", kind = "Secret", metadata = { namespace = request.namespace,
        name = request.name }, data = { current = new_key(), rotation = rotation } }, { owner = cluster })
    elseif secret.data.rotation ~= rotation then
      client:patch(secret, { data = { current = new_key() } })
      client:patch(secret, { data = { previous = secret.data.current, rotation = rotation } })
    end
  end)
