-- A field that is copied only when the child is created. buggy.lua must
-- fail; mended.lua must pass.
local test = require("perilune.test")
local scenario = dofile("spec/explore/scenarios.lua").copied_once

for _, variant in ipairs({ "buggy", "mended" }) do
  test.explore(variant, { scripts = variant .. ".lua", manifests = "../manifests" }, scenario)
end
