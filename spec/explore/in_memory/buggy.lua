-- Not from a public issue. The controller keeps in memory which ConfigMaps it has made, to delete them with their
-- cluster. After a crash it does not know them.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"
local made = {} -- key -> name -> the object

perilune.controller("cluster"):For(KIND):Writes("v1/ConfigMap", { "create", "patch", "delete" })
  :Reconcile(function(request)
    local key = request.namespace .. "/" .. request.name
    local cluster = client:get(KIND, request)
    if not cluster then
      for name, map in pairs(made[key] or {}) do
        client:delete(map)
        made[key][name] = nil
      end
      return
    end
    made[key] = made[key] or {}
    for i = 1, cluster.spec.size do
      local name = ("%s-%d"):format(request.name, i)
      made[key][name] = client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = name,
        namespace = request.namespace }, data = { number = tostring(i) } })
    end
  end)
