-- Notes in memory that are out of date when a standby replica takes over. buggy.lua must fail;
-- mended.lua must pass.
local test = require("perilune.test")
local scenario = dofile("spec/explore/scenarios.lua").takeover

for _, variant in ipairs({ "buggy", "mended" }) do
  test.explore(variant, { scripts = variant .. ".lua", manifests = "../manifests", replicas = 2 }, scenario)
end
