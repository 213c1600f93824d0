-- A task that runs on the leader from the beginning, beside a controller; two replicas.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.run("leader", { writes = { ["v1/ConfigMap"] = { "create", "patch" } } }, function(context)
  while not context:stopping() do
    client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { namespace = "default", name = "leader" },
      data = { up = "yes" } })
    perilune.sleep("45s")
  end
end)

perilune.controller("elected"):For(KIND):Owns("v1/Service")
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster then return end
    client:apply({ apiVersion = "v1", kind = "Service", metadata = { namespace = request.namespace,
      name = request.name }, spec = { type = "NodePort", selector = { app = request.name },
        ports = { { port = 80 + cluster.spec.size } } } }, { owner = cluster })
  end)
