-- A status that says done before it is. buggy.lua must
-- fail; mended.lua must pass.
local test = require("perilune.test")
local scenario = dofile("spec/explore/scenarios.lua").status_early

for _, variant in ipairs({ "buggy", "mended" }) do
  test.explore(variant, { scripts = variant .. ".lua", manifests = "../manifests" }, scenario)
end
