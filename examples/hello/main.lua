-- Greets every ConfigMap that asks for it.
local perilune = require("perilune")

perilune.controller("hello")
  :For("v1/ConfigMap", { labels = "greet=yes" })
  :Reconcile(function(request, context)
    local greeting = perilune.dig(perilune.client:get("v1/ConfigMap", request), "data", "greeting")
    if greeting then
      context.log:info(greeting .. ", " .. request.name .. "!", { namespace = request.namespace })
    end
  end)
