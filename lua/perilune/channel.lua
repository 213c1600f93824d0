-- perilune.channel(name): sends requests from tasks and webhooks to the controllers that watch it
-- with :WatchesChannel(name).

local host = require("perilune.host")
local check = require("perilune.check")
local ref = require("perilune.ref")

local format = string.format
local fail = check.fail
local M = {}

local watched = {} -- name -> true
local opened = {} -- channels opened while loading: {name=, file=, line=}

local Channel = { __metatable = "perilune.channel" }
Channel.__index = function(self, key)
  if key ~= "send" then
    fail("channel %q has no %s; it has send", self.name, type(key) == "string" and format("%q", key)
      or check.describe(key))
  end
  return Channel.send
end
Channel.__newindex = function(self, key)
  fail("channel %q: %s can't be assigned", self.name, tostring(key))
end

function Channel.send(self, request, ...)
  if getmetatable(self) ~= "perilune.channel" then
    fail("call it with a colon: channel:send(request)")
  end
  check.no_more("send", ...)
  local ns, name = ref.parse(format("channel %q: the request", self.name), request)
  host.send(self.name, ns, name)
end

function M.check_name(what, name)
  check.string(what, name)
  if not host.is_name(name, "dns-label") then
    fail("%s: %q is not a channel name: lower-case letters, digits and '-', at most 63", what,
      name)
  end
  return name
end

-- Called when a controller watches the channel.
function M.watch(name)
  watched[name] = true
end

local function advice(name)
  if next(watched) == nil then
    return "no controller has a :WatchesChannel"
  end
  return check.nearest(name, watched)
end

function M.channel(name, ...)
  check.no_more("perilune.channel", ...)
  M.check_name("perilune.channel", name)
  if host.phase() == "load" then
    local file, line = host.where()
    opened[#opened + 1] = { name = name, file = file or "?", line = line or 0 }
  elseif not watched[name] then
    fail("no controller watches the channel %q; %s", name, advice(name))
  end
  return setmetatable({ name = name }, Channel)
end

-- Called when all main chunks have run.
function M.finish()
  for _, channel in ipairs(opened) do
    if not watched[channel.name] then
      error(format("%s:%d: no controller watches the channel %q; %s", channel.file, channel.line,
        channel.name, advice(channel.name)), 0)
    end
  end
end

return M
