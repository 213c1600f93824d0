-- The ConfigMaps have an owner, and the garbage collector deletes them.
local perilune = require("perilune")
local client = perilune.client
local KIND = "example.com/v1/Cluster"

perilune.controller("cluster"):For(KIND):Owns("v1/ConfigMap")
  :Reconcile(function(request)
    local cluster = client:get(KIND, request)
    if not cluster then return end
    local wanted = {}
    for i = 1, cluster.spec.size do
      wanted[("%s-%d"):format(request.name, i)] = tostring(i)
    end
    for name, number in pairs(wanted) do
      client:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = name,
        namespace = request.namespace }, data = { number = number } }, { owner = cluster })
    end
  end)
