-- A thing outside of the cluster that is made twice after a crash. buggy.lua must fail; mended.lua
-- must pass.
local test = require("perilune.test")
local scenario = dofile("spec/explore/scenarios.lua").outside_twice

for _, variant in ipairs({ "buggy", "mended" }) do
  test.explore(variant, { scripts = variant .. ".lua", manifests = "../manifests" }, scenario)
end
