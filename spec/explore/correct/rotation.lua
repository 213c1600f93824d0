-- A token that is replaced every twenty minutes.
local perilune = require("perilune")
local client = perilune.client

local function new_secret(request)
  return { apiVersion = "v1", kind = "Secret", metadata = { namespace = request.namespace, name = request.name,
    annotations = { made = tostring(math.floor(perilune.time.now())) } },
    stringData = { token = perilune.base64.encode(perilune.random(12)) } }
end

perilune.controller("rotation", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/Secret")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local secret = perilune.live:get("v1/Secret", request)
    if not secret then
      secret = client:create(new_secret(request), { owner = cluster })
    end
    local left = tonumber(secret.metadata.annotations.made) + 1200 - perilune.time.now()
    if left <= 0 then
      client:apply(new_secret(request), { owner = cluster })
      left = 1200
    end
    return { requeue_after = left }
  end)
