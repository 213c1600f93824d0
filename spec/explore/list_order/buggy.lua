-- Port of instaclustr/cassandra-operator#400. The last pod of the list is taken for the one with the highest
-- ordinal. A list has no order, so that another pod may be deleted and made anew.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("cluster"):For(KIND):Owns("v1/Pod")
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster then return end
    local pods, has = client:list("v1/Pod", { namespace = request.namespace, owner = cluster }), {}
    for _, pod in ipairs(pods) do
      has[pod.metadata.name] = true
    end
    for i = 0, cluster.spec.size - 1 do
      local name = request.name .. "-" .. i
      if not has[name] then
        client:create({ apiVersion = "v1", kind = "Pod", metadata = { namespace = request.namespace, name = name },
          spec = { containers = { { name = "c", image = "c" } } } }, { owner = cluster })
      end
    end
    local now = perilune.live:get(KIND, request)
    if not now or now.spec.size ~= cluster.spec.size then return { requeue_after = "1s" } end
    while #pods > cluster.spec.size do
      client:delete(table.remove(pods))
    end
  end)
