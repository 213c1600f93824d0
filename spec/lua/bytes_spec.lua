-- Digests, their comparison, and addresses.
local spec = require("spec.support.host")
local perilune = require("perilune")

describe("perilune.hash", function()
  it("is SHA-256 in hex of a text, or of a value's JSON", function()
    assert.equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      perilune.hash("abc"))
    assert.equal(perilune.hash('{"a":1,"b":2}'), perilune.hash({ b = 2, a = 1 }))
  end)

  it("takes other algorithms and encodings", function()
    assert.equal("a9993e364706816aba3e25717850c26c9cd0d89d",
      perilune.hash("abc", { algorithm = "weak_sha1" }))
    assert.equal("kAFQmDzST7DWlj99KOF/cg==",
      perilune.hash("abc", { algorithm = "weak_md5", encoding = "base64" }))
    assert.equal(64, #perilune.hash("abc", { algorithm = "sha512", encoding = "bytes" }))
    assert.equal(perilune.hash("abc"), perilune.hash("abc", {}))
  end)

  it("needs a value, and takes no more than options", function()
    assert.truthy(spec.message_of(perilune.hash):find("hash needs a value", 1, true))
    assert.truthy(spec.message_of(perilune.hash, nil):find("hash needs a value", 1, true))
    assert.truthy(spec.message_of(perilune.hash, "a", nil, 1):find("more arguments"))
    spec.assert_positioned("bytes_spec", function()
      local text = perilune.hash()
      return text
    end)
  end)

  it("wants the weak ones to be named so", function()
    assert.equal('hash: algorithm: md5 is broken; if an old protocol needs it, use "weak_md5"',
      spec.message_of(perilune.hash, "abc", { algorithm = "md5" }))
    assert.truthy(spec.message_of(perilune.hash, "abc", { algorithm = "sha3" })
      :find('not the string "sha3"; did you mean', 1, true))
    assert.truthy(spec.message_of(perilune.hash, "abc", { algoritm = "sha512" })
      :find('did you mean "algorithm"?', 1, true))
    spec.assert_positioned("bytes_spec", function()
      local text = perilune.hash("abc", { encoding = "hexa" })
      return text
    end)
  end)
end)

describe("perilune.hmac", function()
  it("is that of RFC 4231 and RFC 2202", function()
    assert.equal("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
      perilune.hmac("Jefe", "what do ya want for nothing?"))
    assert.equal("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
      perilune.hmac("Jefe", "what do ya want for nothing?", { algorithm = "weak_sha1" }))
  end)

  it("needs a key and a text", function()
    assert.truthy(spec.message_of(perilune.hmac, "", "text"):find("the key must not be empty"))
    assert.truthy(spec.message_of(perilune.hmac, "key", 5):find("the text must be a string"))
    assert.truthy(spec.message_of(perilune.hmac, "key", "text", {}, 1):find("more arguments"))
  end)
end)

describe("perilune.constant_time_equal", function()
  it("compares whole texts", function()
    assert.is_true(perilune.constant_time_equal("abc", "abc"))
    assert.is_false(perilune.constant_time_equal("abc", "abd"))
    assert.is_false(perilune.constant_time_equal("abc", "ab"))
    assert.is_true(perilune.constant_time_equal("", ""))
    assert.truthy(spec.message_of(perilune.constant_time_equal, "a"):find("second text must be"))
  end)
end)

describe("perilune.ip", function()
  it("reads addresses and networks", function()
    assert.same({ version = 6, address = "fd00::1" }, perilune.ip.parse("FD00:0::1"))
    assert.same({ version = 4, address = "10.1.2.3", prefix = 8, first = "10.0.0.0",
      last = "10.255.255.255" }, perilune.ip.parse("10.1.2.3/8"))
  end)

  it("says nil and why for what is none", function()
    local parsed, message = perilune.ip.parse("10.0.0.1/33")
    assert.is_nil(parsed)
    assert.equal("the slash must be followed by a number from 0 to 32", message)
    assert.is_nil(perilune.ip.parse(""))
    assert.truthy(spec.message_of(perilune.ip.parse, 10):find("must be a string"))
  end)

  it("knows what lies in a network", function()
    assert.is_true(perilune.ip.contains("10.0.0.0/8", "10.2.3.4"))
    assert.is_true(perilune.ip.contains("10.0.0.0/8", "10.2.0.0/16"))
    assert.is_false(perilune.ip.contains("10.0.0.0/8", "fd00::1"))
    assert.equal('ip.contains: "10.0.0": not an IP address such as 10.0.0.1 or fd00::1',
      spec.message_of(perilune.ip.contains, "10.0.0.0/8", "10.0.0"))
    assert.truthy(spec.message_of(perilune.ip.contains, "x", "10.0.0.1"):find('"x"', 1, true))
  end)

  it("is a module like others", function()
    assert.truthy(spec.message_of(function()
      return perilune.ip.contain
    end):find('perilune.ip has no "contain"; did you mean "contains"?', 1, true))
    assert.truthy(spec.message_of(function()
      return perilune.ipp
    end):find('did you mean "ip"?', 1, true))
  end)
end)
