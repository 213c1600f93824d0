-- Keys, requests and certificates.
local spec = require("spec.support.host")
local perilune = require("perilune")

local x509 = perilune.x509

local ca_key = x509.key()
local ca = x509.self_signed(ca_key, { subject = { CN = "a CA", O = { "x", "y" } }, ca = true })
local key = x509.key("ecdsa-p384")

describe("x509.key", function()
  it("makes keys of each kind, and their public keys", function()
    for _, kind in ipairs({ "ecdsa-p256", "ecdsa-p384", "ed25519", "rsa-2048" }) do
      local one = x509.key(kind)
      assert.truthy(one:find("BEGIN PRIVATE KEY", 1, true))
      assert.truthy(x509.public_key(one):find("BEGIN PUBLIC KEY", 1, true))
      assert.equal(kind, x509.parse(x509.self_signed(one)).key)
    end
  end)

  it("refuses what is none", function()
    assert.truthy(spec.message_of(x509.key, "rsa-1024"):find('must be one of "ecdsa-p256"', 1, true))
    assert.truthy(spec.message_of(x509.key, false):find('must be one of "ecdsa-p256"', 1, true))
    assert.truthy(spec.message_of(x509.public_key, "x"):find("neither a PEM key nor a PEM certificate request"))
  end)
end)

describe("x509.self_signed", function()
  it("says what it was told", function()
    local parsed = x509.parse(ca)
    assert.equal("certificate", parsed.kind)
    assert.same({ CN = "a CA", O = { "x", "y" } }, parsed.subject)
    assert.same(parsed.subject, parsed.issuer)
    assert.is_true(parsed.ca and parsed.self_signed)
    assert.near(perilune.time.now() + 90 * 86400, parsed.not_after, 60)
    assert.equal(64, #parsed.fingerprint)
    assert.is_true(math.abs(x509.expires_in(ca) - 90 * 86400) < 60)
    assert.is_true(x509.is_pair(ca, ca_key))
  end)

  it("takes times, names and usages", function()
    local parsed = x509.parse(x509.self_signed(key, { subject = "web", not_before = 1800000000,
      duration = "24h", dns = "a.example", ips = { "10.0.0.1", "fd00::1" },
      uris = "spiffe://a/b", emails = { "a@example.com" }, usages = { "client", "server" } }))
    assert.same({ "web", 1800000000, 1800086400 },
      { parsed.subject.CN, parsed.not_before, parsed.not_after })
    assert.same({ { "a.example" }, { "10.0.0.1", "fd00::1" }, { "spiffe://a/b" }, { "a@example.com" },
      { "server", "client" } },
      { parsed.dns, parsed.ips, parsed.uris, parsed.emails, parsed.usages })
    assert.is_false(parsed.ca)
  end)

  it("refuses what makes no certificate", function()
    local many = {}
    local more = {}
    for i = 1, 3000 do
      many[i], more[i] = i <= 1001 and "a" .. i or nil, "a" .. i
    end
    local wrong = {
      ["unknown option"] = { dnss = "a" },
      ["unknown name"] = { subject = { cn = "x" } },
      ["must be a string"] = { dns = { 5 } },
      ['ips: "10.0.0" is not an IP address'] = { ips = "10.0.0" },
      ["is not an IP address"] = { ips = "10.0.0.1\0x" },
      ['dns: "a b" is not a DNS name'] = { dns = "a b" },
      ['dns: "http://a" is not a DNS name'] = { dns = { "http://a" } },
      ['uris: "a b" is not a URI'] = { uris = "a b" },
      ['emails: "a b" is not an address'] = { emails = { "a b" } },
      ['emails: "a" is not an address'] = { emails = "a" },
      ['emails: "a@b@c" is not an address'] = { emails = "a@b@c" },
      ['uris: "a" is not a URI'] = { uris = "a" },
      ['uris: ":a" is not a URI'] = { uris = ":a" },
      ['dns: "a..b" is not a DNS name'] = { dns = "a..b" },
      ['dns: ".a" is not a DNS name'] = { dns = ".a" },
      ['dns: "a.*.b" is not a DNS name'] = { dns = "a.*.b" },
      ['dns: "*a.b" is not a DNS name'] = { dns = "*a.b" },
      ['dns: "*" is not a DNS name'] = { dns = "*" },
      ["subject: CN must be a text of one line"] = { subject = "good.example\0.bad.example" },
      ["subject: O must be a text of one line"] = { subject = { O = { "a", "b\nCN=c" } } },
      ["dns: more than 1000 names"] = { dns = many },
      ["there are more than 2048 names"] = { dns = more },
      ["ips must be a string or an array of strings, not the number 5"] = { ips = 5 },
      ['unknown option "ip"; did you mean "ips"?'] = { ip = "10.0.0.1" },
      ["longer than zero"] = { duration = "-1h" },
      ["must be one of"] = { usages = "servers" },
      ["subject: C can't be"] = { subject = { C = "Germany" } },
    }
    for part, options in pairs(wrong) do
      local message = spec.message_of(x509.self_signed, key, options)
      assert.truthy(message:find(part, 1, true), message)
    end
    assert.truthy(spec.message_of(x509.self_signed, "x"):find("not a PEM private key", 1, true))
    assert.truthy(spec.message_of(x509.self_signed, nil):find("the key must be a string"))
    spec.assert_positioned("x509_spec", function()
      local text = x509.self_signed("x")
      return text
    end)
    spec.assert_positioned("x509_spec", function()
      local text = x509.self_signed(key, { dns = more })
      return text
    end)
  end)
end)

describe("x509.sign", function()
  local request = x509.request(key, { subject = "web", dns = { "a.example", "b.example" } })

  it("takes the request's names, and nothing else from it", function()
    local parsed = x509.parse(x509.sign(request, { ca_cert = ca, ca_key = ca_key }))
    assert.same({ CN = "web" }, parsed.subject)
    assert.same({ "a.example", "b.example" }, parsed.dns)
    assert.same({ "server" }, parsed.usages)
    assert.is_false(parsed.ca or parsed.self_signed)
    assert.equal("ecdsa-p384", parsed.key)
    assert.equal("request", x509.parse(request).kind)
  end)

  it("takes the options' names alone where there are some", function()
    local parsed = x509.parse(x509.sign(request, { ca_cert = ca, ca_key = ca_key, dns = "c.example" }))
    assert.same({ "c.example" }, parsed.dns)
    assert.same({}, parsed.subject)
    parsed = x509.parse(x509.sign(x509.public_key(key), { ca_cert = ca, ca_key = ca_key, subject = "p" }))
    assert.equal("p", parsed.subject.CN)
  end)

  it("needs a CA that may sign", function()
    assert.truthy(spec.message_of(x509.sign, request, { ca_cert = ca }):find("needs ca_cert and ca_key"))
    assert.truthy(spec.message_of(x509.sign, request, { ca_cert = ca, ca_key = key })
      :find("the issuer's key is not its certificate's", 1, true))
    local leaf = x509.sign(request, { ca_cert = ca, ca_key = ca_key })
    assert.truthy(spec.message_of(x509.sign, request, { ca_cert = leaf, ca_key = key })
      :find("is not that of a CA", 1, true))
  end)
end)

describe("x509.verify", function()
  local leaf = x509.sign(key, { ca_cert = ca, ca_key = ca_key, dns = "a.example", duration = "1h" })

  it("is true for what holds", function()
    assert.is_true(x509.verify(leaf, { ca = ca }))
    assert.is_true(x509.verify(leaf, { ca = ca, host = "a.example", usage = "server" }))
  end)

  it("goes through intermediates", function()
    local middle_key = x509.key()
    local middle = x509.sign(middle_key, { ca_cert = ca, ca_key = ca_key, subject = "m", ca = true })
    local below = x509.sign(key, { ca_cert = middle, ca_key = middle_key, dns = "a.example" })
    assert.is_true(x509.verify(below, { ca = ca, intermediates = middle }))
    assert.is_true(x509.verify(below .. middle, { ca = ca }))
    assert.is_false((x509.verify(below, { ca = ca })))
    assert.equal(2, #x509.parse_all(below .. middle))
  end)

  it("is false and says why for what does not", function()
    local function why(options)
      options.ca = options.ca or ca
      local good, message = x509.verify(leaf, options)
      assert.is_false(good)
      return message
    end
    assert.equal("certificate has expired", why({ time = perilune.time.now() + 7200 }))
    assert.equal("hostname mismatch", why({ host = "b.example" }))
    assert.equal("unsuitable certificate purpose", why({ usage = "client" }))
    assert.truthy(why({ ca = x509.self_signed(x509.key(), { ca = true, subject = "b" }) })
      :find("unable to get local issuer", 1, true))
    local good, message = x509.verify("nonsense", { ca = ca })
    assert.is_false(good)
    assert.truthy(message:find("it has no PEM certificate", 1, true))
    assert.truthy(spec.message_of(x509.verify, leaf):find("needs ca"))
  end)
end)

describe("x509.parse", function()
  it("gives nil and why for what is none", function()
    for _, wrong in ipairs({ "", "hello", ca_key, "-----BEGIN CERTIFICATE-----\nAAAA" }) do
      local parsed, message = x509.parse(wrong)
      assert.is_nil(parsed)
      assert.equal("string", type(message))
      assert.is_nil((x509.expires_in(wrong)))
    end
    assert.is_nil((x509.expires_in(x509.request(key))))
    assert.truthy(spec.message_of(x509.parse, nil):find("must be a string"))
  end)
end)
