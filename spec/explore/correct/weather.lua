-- Two replicas, one of which leads: a task asks another system each hour, at once for the first time.
local perilune = require("perilune")

perilune.every("1h", { name = "weather", immediate = true, writes = { ["v1/ConfigMap"] = { "create", "patch" } } },
  function()
    local answer = perilune.http.request{ url = "https://weather.example.com/today" }
    if answer.status ~= 200 then
      error("the weather is not known", 0)
    end
    perilune.client:apply({ apiVersion = "v1", kind = "ConfigMap", data = { weather = answer.body },
      metadata = { name = "weather", namespace = "default" } })
  end)
