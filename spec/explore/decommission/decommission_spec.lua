-- A removal in several writes that cannot go on after the first of them. buggy.lua must
-- fail; mended.lua must pass.
local test = require("perilune.test")
local scenario = dofile("spec/explore/scenarios.lua").decommission

for _, variant in ipairs({ "buggy", "mended" }) do
  test.explore(variant, { scripts = variant .. ".lua", manifests = "../manifests" }, scenario)
end
