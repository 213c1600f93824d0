-- A deletion outside of the cluster that fails when it is repeated. buggy.lua must fail; mended.lua
-- must pass.
local test = require("perilune.test")
local scenario = dofile("spec/explore/scenarios.lua").outside_stuck

for _, variant in ipairs({ "buggy", "mended" }) do
  test.explore(variant, { scripts = variant .. ".lua", manifests = "../manifests" }, scenario)
end
