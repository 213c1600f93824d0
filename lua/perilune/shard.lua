-- perilune.shard(): the shards of this replica, and whether an object belongs to one of them.

local host = require("perilune.host")
local check = require("perilune.check")
local ref = require("perilune.ref")

local Shard = { __metatable = "perilune.shard" }

local function owns(self, what, ...)
  if getmetatable(self) ~= "perilune.shard" then
    check.fail("call it with a colon: shard:owns(object)")
  end
  check.no_more("owns", ...)
  local ns, name = ref.parse("owns: the object", what)
  local uid
  if type(what) == "table" then
    local holder = what.metadata or what
    uid = holder.uid
    if uid ~= nil and type(uid) ~= "string" then
      check.fail("owns: uid must be a string, not %s", check.describe(uid))
    end
  end
  return host.owns_shard(ns, name, uid)
end

Shard.__index = { owns = owns }

return function(...)
  check.no_more("shard", ...)
  local count, mine = host.shards()
  return setmetatable({ count = count, mine = mine }, Shard)
end
