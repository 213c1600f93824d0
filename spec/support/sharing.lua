-- Replicas that share shards, for specs: hosts with one Lease name, and the state of their Leases.

local e2e = require("spec.support.e2e")

local M = { shards = 8 }

-- So long that no replica loses its Lease on a busy machine.
local LEASE, DEADLINE, RETRY = "9s", "7s", "1s"

local Group = {}
Group.__index = Group

-- Replicas whose Leases are in a new namespace of the server.
function M.group(server)
  return setmetatable({ server = server, home = server:new_namespace(),
    name = e2e.unique("share"):lower():gsub("[^%w]", "") }, Group)
end

function Group:times()
  return { "--leader-elect-resource-namespace", self.home, "--leader-elect-resource-name", self.name,
    "--leader-elect-lease-duration", LEASE, "--leader-elect-renew-deadline", DEADLINE,
    "--leader-elect-retry-period", RETRY }
end

-- options: flags (array), server (the API server of the host), env.
function Group:replica(who, script, options)
  options = options or {}
  local socket = e2e.folder() .. "/" .. e2e.unique(who) .. ".sock"
  local flags = self:times()
  for _, flag in ipairs({ "--shards", tostring(M.shards), "--admin-socket", socket }) do
    flags[#flags + 1] = flag
  end
  for _, flag in ipairs(options.flags or {}) do
    flags[#flags + 1] = flag
  end
  local host = e2e.start_host(options.server or self.server, script, flags, { env = options.env })
  host.socket, host.who = socket, who
  return host
end

function Group:path(lease)
  return "/apis/coordination.k8s.io/v1/namespaces/" .. self.home .. "/leases" .. (lease and "/" .. lease or "")
end

-- Holders by shard; Leases of members by id; the holder of the name.
function Group:leases()
  local out = { shards = {}, members = {} }
  for _, lease in ipairs(self.server:get(self:path()).items) do
    local holder = type(lease.spec.holderIdentity) == "string" and lease.spec.holderIdentity or ""
    local shard = tonumber(lease.metadata.name:match("%-shard%-(%d+)$"))
    if shard and shard < M.shards then
      out.shards[shard] = holder
    elseif lease.metadata.name == self.name then
      out.name = holder
    elseif lease.metadata.name:find("-member-", 1, true) then
      out.members[holder] = lease
    end
  end
  return out
end

-- How many shards each holder has, largest first: "3 3 2". Shards without a holder count as a
-- negative number. leases: as they are now, if nil.
function Group:shares(leases)
  local count, out = {}, {}
  for _, holder in pairs((leases or self:leases()).shards) do
    count[holder] = (count[holder] or 0) + 1
  end
  for holder, shards in pairs(count) do
    out[#out + 1] = holder == "" and -shards or shards
  end
  table.sort(out, function(a, b)
    return a > b
  end)
  return table.concat(out, " ")
end

-- hosts: the members, where it must stay so. Replicas that start together may show these shares for a
-- moment: one of them counts shards that it asks for and does not get, and gives one away. A replica
-- that is ready asks for none.
function Group:have_shares(expected, hosts)
  e2e.eventually("the shares are " .. expected, function()
    for _, host in ipairs(hosts or {}) do
      local code, body = host:ask("health", "/readyz")
      if code ~= 200 then
        return false, host.who .. ": " .. body
      end
    end
    local seen = self:shares()
    return seen == expected, seen
  end, math.max(90, e2e.patience))
end

-- The id under which the replica has joined; after a loss, the latest one.
function M.id_of(host)
  local id
  e2e.eventually("it has joined", function()
    host:must_run()
    for found in host:text():gmatch('"identity":"([^"]+)","shards"') do
      id = found
    end
    return id
  end)
  return id
end

-- For each shard, the number of log lines with this message.
function M.how_often(host, message)
  local count = {}
  for _, line in ipairs(host:log()) do
    for shard in (line.msg == message and line.shards or ""):gmatch("%d+") do
      count[tonumber(shard)] = (count[tonumber(shard)] or 0) + 1
    end
  end
  return count
end

return M
