-- A list whose order is taken for that of the names: the wrong pod is deleted. buggy.lua must
-- fail; mended.lua must pass.
local test = require("perilune.test")
local scenario = dofile("spec/explore/scenarios.lua").list_order

for _, variant in ipairs({ "buggy", "mended" }) do
  test.explore(variant, { scripts = variant .. ".lua", manifests = "../manifests" }, scenario)
end
