-- Keeps the records of a DNS service with its own API equal to DnsRecord objects: creates, updates
-- and, through a finalizer, deletes them. A change by others at the service is found within ten
-- minutes and undone.
--
--     perilune run examples/dns-record --config config.yaml      # api: https://dns.example.com/v1
local perilune = require("perilune")
local client = perilune.client

local FINALIZER = "example.com/dns-record"
local API = perilune.config.api or "http://127.0.0.1:8053"

-- Sends one request. An answer other than success raises an error, so the key is retried.
local function ask(method, name, body)
  local answer = perilune.http.request({ method = method, timeout = "10s", json = body,
    url = API .. "/records/" .. perilune.url.escape(name) })
  if answer.status == 404 and method ~= "PUT" then
    return nil
  elseif not answer.ok then
    error(("%s %s: %d %s"):format(method, name, answer.status, answer.body:sub(1, 200)))
  end
  return answer.json
end

-- The status names the host before its record is there: whatever happens next, it is deleted later.
local function claim_host(record)
  record.status = record.status or {}
  local old = record.status.host
  if old == record.spec.host then
    return record
  elseif old then
    ask("DELETE", old)
  end
  record.status.host = record.spec.host
  return client:update_status(record)
end

local function bring_about(record, context)
  local wanted = { address = record.spec.address, ttl = record.spec.ttl or 300 }
  record = claim_host(record)
  local there = ask("GET", record.spec.host)
  if not there or there.address ~= wanted.address or there.ttl ~= wanted.ttl then
    ask("PUT", record.spec.host, wanted)
    context.log:info("record written", { host = record.spec.host, address = wanted.address })
  end
  perilune.conditions.set(record, { type = "Ready", status = true, reason = "Published",
    message = record.spec.host .. " is " .. wanted.address })
  client:update_status(record)
  return { requeue_after = perilune.config.every or "10m" }
end

perilune.controller("dns-record", { max_concurrent_reconciles = 8 })
  :For("example.com/v1/DnsRecord", { finalizers = { FINALIZER } })
  :Reconcile(function(request, context)
    -- Not from the cache: after a restart on an API server that lags it may have an older host,
    -- whose record would be written again and stay.
    local record = perilune.live:get("example.com/v1/DnsRecord", request)
    return perilune.finalizer.handle(record, FINALIZER, {
      apply = function(object)
        return bring_about(object, context)
      end,
      cleanup = function(object)
        local old = perilune.dig(object, "status", "host")
        if old and old ~= object.spec.host then -- the record has not been renamed yet
          ask("DELETE", old)
        end
        ask("DELETE", object.spec.host)
        context.log:info("record deleted", { host = object.spec.host })
      end,
    })
  end)
