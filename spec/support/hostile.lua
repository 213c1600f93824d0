-- What hostile scripts are made of, for spec/e2e/hostile_spec.lua.
local M = {}

M.pattern_bomb = '(("a"):rep(60)):find(("a*"):rep(30) .. "b")'

-- What scripts of the corpus may use.
M.head = [[
local perilune = require("perilune")
local client = perilune.client
local function loop() while true do end end
local function with(name, f) return setmetatable({}, { [name] = f }) end
-- A value that is small, and enormous for whoever walks over it.
local function doubled(levels)
  local t = { leaf = "leaf" }
  for _ = 1, levels do t = { a = t, b = t } end
  return t
end
local function nested(levels)
  local t = {}
  for _ = 1, levels do t = { t } end
  return t
end
]]

return M
