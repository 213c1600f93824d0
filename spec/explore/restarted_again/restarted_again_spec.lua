-- A restart of the controller that restarts all Deployments. buggy.lua must fail; mended.lua must pass.
local test = require("perilune.test")
local scenario = dofile("spec/explore/scenarios.lua").restarted_again

for _, variant in ipairs({ "buggy", "mended" }) do
  test.explore(variant, { scripts = variant .. ".lua" }, scenario)
end
