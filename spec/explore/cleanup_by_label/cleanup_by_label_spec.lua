-- Children that are deleted by the name of their owner, which exists again. buggy.lua must
-- fail; mended.lua must pass.
local test = require("perilune.test")
local scenario = dofile("spec/explore/scenarios.lua").cleanup_by_label

for _, variant in ipairs({ "buggy", "mended" }) do
  test.explore(variant, { scripts = variant .. ".lua", manifests = "../manifests" }, scenario)
end
