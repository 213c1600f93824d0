-- URLs, and the query of http.request.
local spec = require("spec.support.host")
local perilune = require("perilune")

local url = perilune.url

describe("url.parse", function()
  it("gives the parts, decoded but for the path", function()
    assert.same({ scheme = "https", user = "a b", password = "p:w", host = "example.com", port = 8443,
      path = "/a%2Fb", query = { x = "1 2", y = { "a", "b" }, z = "" }, fragment = "f g" },
      url.parse("HTTPS://a%20b:p%3Aw@Example.com:8443/a%2Fb?x=1+2&y=a&y=b&z#f%20g"))
    assert.same({ scheme = "http", host = "fd00::1", path = "" }, url.parse("http://[fd00::1]"))
  end)

  it("gives nil and why for what is none", function()
    for _, wrong in ipairs({ "", "example.com", "http://a b", "http://h:99999", "http://a@b@c" }) do
      local parsed, message = url.parse(wrong)
      assert.is_nil(parsed)
      assert.equal("string", type(message))
    end
    assert.truthy(spec.message_of(url.parse, nil):find("url.parse: the text must be a string"))
  end)
end)

describe("url.build", function()
  it("is the reverse of parse", function()
    for _, text in ipairs({ "https://example.com", "https://u:p%40@h:8443/a/b?x=1&y=a&y=b#f",
      "http://[fd00::1]:80/", "mailto:a@example.com", "file:///etc/hosts" }) do
      assert.equal(text, url.build(url.parse(text)))
    end
  end)

  it("escapes what must be", function()
    assert.equal("https://h/a%20b/%C3%A4%41?q=%26%3D#x%20y", url.build({ scheme = "https", host = "h",
      path = "a b/ä%41", query = { q = "&=" }, fragment = "x y" }))
  end)

  it("takes a name or an address for a host, and nothing else", function()
    for _, wrong in ipairs({ "evil/@x", "a b", "a\0b", "a%20b", "a\nb", "u@h", "h?q", "h#f", "[::1]", "a\\b" }) do
      local message = spec.message_of(url.build, { scheme = "https", host = wrong })
      assert.truthy(message:find("url.build: host must be a name or an address, not", 1, true), message)
      assert.is_nil((url.parse("https://" .. url.escape(wrong))))
    end
    assert.equal("https://xn--bcher-kva.example", url.build({ scheme = "https", host = "xn--bcher-kva.example" }))
    assert.equal("https://b%C3%BCcher", url.build(url.parse("https://b%c3%bccher")))
  end)

  it("lets no part say more than it is", function()
    assert.equal("https://h/%3Fa%23b", url.build({ scheme = "https", host = "h", path = "/?a#b" }))
  end)

  it("refuses what makes no URL", function()
    local wrong = {
      ["needs a scheme"] = { host = "h" },
      ["needs a host"] = { scheme = "http", port = 80 },
      ["needs a user"] = { scheme = "http", host = "h", password = "p" },
      ["unknown option"] = { scheme = "http", hosts = "h" },
      ["path has 70000 bytes; a URL may have 65536"] = { scheme = "http", host = "h", path = ("/"):rep(70000) },
      ["more than 64 KiB"] = { scheme = "http", host = "h", query = { a = ("b"):rep(70000) } },
      ["must be a number up to"] = { scheme = "http", host = "h", port = 70000 },
      ["must begin with a scheme"] = { scheme = "1x", host = "h" },
      ["must be a string"] = { scheme = "http", host = "h", query = { a = {} } },
    }
    for part, parts in pairs(wrong) do
      local message = spec.message_of(url.build, parts)
      assert.truthy(message:find(part, 1, true), message)
    end
  end)
end)

describe("url.escape", function()
  it("and unescape are each other's reverse", function()
    local all = {}
    for i = 0, 255 do
      all[#all + 1] = string.char(i)
    end
    local text = table.concat(all)
    assert.equal(text, url.unescape(url.escape(text)))
    assert.equal("a%20%2F%2B-._~", url.escape("a /+-._~"))
    assert.truthy(spec.message_of(url.escape, 5):find("must be a string"))
  end)

  it("is not undone where it is none", function()
    for text, byte in pairs({ ["%zz"] = 1, ["a%2"] = 2, ["ab%"] = 3, ["%41%4g"] = 4, ["%%41"] = 1 }) do
      assert.equal(("url.unescape: byte %d: %% must be followed by two hexadecimal digits"):format(byte),
        spec.message_of(url.unescape, text))
    end
    assert.equal(2000000, #url.unescape(("x"):rep(2000000)))
  end)
end)

describe("http.request", function()
  local sent
  before_each(function()
    spec.host.http = function(options)
      sent = options
      return { status = 200, headers = {}, body = "" }
    end
  end)
  after_each(spec.reset)

  it("adds its query to the URL's", function()
    for given, wanted in pairs({ ["http://h/a"] = "http://h/a?n=1&s=x%20y&t=a&t=b",
      ["http://h/a?z=1#f"] = "http://h/a?z=1&n=1&s=x%20y&t=a&t=b#f",
      ["http://h/a?"] = "http://h/a?n=1&s=x%20y&t=a&t=b" }) do
      perilune.http.request({ url = given, query = { n = 1, s = "x y", t = { "a", "b" } } })
      assert.equal(wanted, sent.url)
      assert.is_nil(sent.query)
    end
    perilune.http.request({ url = "http://h", query = {} })
    assert.equal("http://h", sent.url)
  end)

  it("refuses what is no query", function()
    for _, wrong in ipairs({ "a=b", { 5 }, { a = {} }, { [""] = "x" }, { a = print }, { a = 0 / 0 } }) do
      assert.truthy(spec.message_of(perilune.http.request, { url = "http://h", query = wrong })
        :find("http.request: query", 1, true))
    end
  end)
end)
