-- Port of Orange-OpenSource/nifikop#49. The controller writes the configuration, and restarts the
-- pod if the configuration has changed. If it crashes between the two, the next run finds no
-- change, and the pod keeps the old configuration.
local perilune = require("perilune")
local client = perilune.client

perilune.controller("cluster", {})
  :For("example.com/v1/Cluster")
  :Owns("v1/ConfigMap")
  :Owns("v1/Pod")
  :Reconcile(function(request)
    local cluster = client:get("example.com/v1/Cluster", request)
    if not cluster then return end
    local config = client:get("v1/ConfigMap", request)
    local pod = client:get("v1/Pod", request)
    if not config or config.data.text ~= cluster.spec.config then
      client:apply({ apiVersion = "v1", kind = "ConfigMap",
        metadata = { namespace = request.namespace, name = request.name },
        data = { text = cluster.spec.config } }, { owner = cluster })
      if pod then
        client:delete(pod)
        pod = nil
      end
    end
    if not pod then
      client:create({ apiVersion = "v1", kind = "Pod", metadata = { namespace = request.namespace,
        name = request.name, annotations = { config = cluster.spec.config } },
        spec = { containers = { { name = "nifi", image = "nifi" } } } }, { owner = cluster })
    end
  end)
