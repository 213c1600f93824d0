-- Issues and renews certificates. A Secret with the annotation `example.com/certificate-for:
-- web.default.svc,web` gets a certificate for those names. The CA in the Secret `authority` of the
-- namespace signs it; if there is none, it is created. A certificate is renewed when two thirds of
-- its life are over, or when its names or its CA have changed.
local perilune = require("perilune")
local client, x509 = perilune.client, perilune.x509

local FOR = "example.com/certificate-for"
local LIFE = perilune.config.life or "90d"

local function decoded(secret, name)
  local text = perilune.dig(secret, "data", name)
  return text and perilune.base64.decode(text) or nil
end

local function names_of(secret)
  local names = {}
  for name in (perilune.dig(secret, "metadata", "annotations", FOR) or ""):gmatch("[^,%s]+") do
    names[#names + 1] = name
  end
  return names
end

-- The CA of the namespace: certificate and key. Creates it if there is none.
local function authority(namespace)
  local ref = { namespace = namespace, name = "authority" }
  local secret = client:get("v1/Secret", ref)
  if not secret then
    local key = x509.key()
    local certificate = x509.self_signed(key, {
      subject = "authority of " .. namespace, ca = true, duration = "3650d",
    })
    secret = client:create({
      apiVersion = "v1", kind = "Secret", metadata = ref, type = "kubernetes.io/tls",
      data = {
        ["tls.key"] = perilune.base64.encode(key),
        ["tls.crt"] = perilune.base64.encode(certificate),
      },
    })
  end
  return decoded(secret, "tls.crt"), decoded(secret, "tls.key")
end

-- Why the Secret needs a new certificate; or nil and the seconds until it needs one.
local function renewal(secret, names, ca)
  local certificate, key = decoded(secret, "tls.crt"), decoded(secret, "tls.key")
  local parsed = certificate and x509.parse(certificate)
  if not parsed or not key or not x509.is_pair(certificate, key) then
    return "there is none"
  elseif not x509.verify(certificate, { ca = ca, time = parsed.not_before }) then
    return "its authority is another one"
  elseif table.concat(parsed.dns or {}, ",") ~= table.concat(names, ",") then
    return "its names have changed"
  end
  local due = parsed.not_before + (parsed.not_after - parsed.not_before) * 2 / 3
  local left = due - perilune.time.now()
  if left <= 0 then
    return "two thirds of its life are over"
  end
  return nil, left
end

perilune.controller("certificates")
  :For("v1/Secret", { predicates = { function(event)
    return #names_of(event.object) > 0
  end } })
  -- When the CA changes, every Secret with a certificate is checked.
  :Watches("v1/Secret", function(object)
    local issued = {}
    for _, secret in ipairs(client:list("v1/Secret", { namespace = object.metadata.namespace })) do
      issued[#issued + 1] = #names_of(secret) > 0 and secret or nil
    end
    return issued
  end, { predicates = { function(event)
    return event.object.metadata.name == "authority"
  end } })
  :Writes("v1/Secret", { "create", "patch" })
  :Reconcile(function(request, context)
    local secret = client:get("v1/Secret", request)
    local names = secret and names_of(secret) or {}
    if #names == 0 then
      return
    end
    local ca, ca_key = authority(request.namespace)
    local why, left = renewal(secret, names, ca)
    if not why then
      return { requeue_after = math.ceil(left) }
    end
    local key = x509.key()
    local certificate = x509.sign(x509.request(key, { subject = names[1], dns = names }),
      { ca_cert = ca, ca_key = ca_key, duration = LIFE })
    client:patch(secret, {
      metadata = { resourceVersion = secret.metadata.resourceVersion },
      data = {
        ["tls.crt"] = perilune.base64.encode(certificate),
        ["tls.key"] = perilune.base64.encode(key),
        ["ca.crt"] = perilune.base64.encode(ca),
      },
    })
    perilune.event(secret, "Normal", "Issued",
      "a certificate for " .. table.concat(names, ", ") .. ", as " .. why)
    context.log:info("issued a certificate", { names = table.concat(names, ","), why = why })
  end)
