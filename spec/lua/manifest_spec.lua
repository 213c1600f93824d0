-- perilune.manifest and manifests.
local spec = require("spec.support.host")
local perilune = require("perilune")

local folder

local function write(name, text)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  file:write(text)
  file:close()
end

local function manifest(text, values)
  return perilune.manifest(text .. "\n", values)
end

describe("perilune.manifest", function()
  it("fills a placeholder with the value and its type", function()
    assert.same({ replicas = 3, yes_or_no = true, name = "a", labels = { x = "y" } },
      manifest("replicas: ${n}\nyes_or_no: ${flag}\nname: ${name}\nlabels: ${labels}",
        { n = 3, flag = true, name = "a", labels = { x = "y" } }))
    assert.equal(false, manifest("a: ${x}", { x = false }).a)
    assert.equal(perilune.null, manifest("a: ${x}", { x = perilune.null }).a)
    assert.equal("true", manifest('a: "${x}"', { x = "true" }).a)
  end)

  it("keeps the digits of integers that no double holds", function()
    local big = perilune.json.decode("9007199254740993")
    assert.equal('{"a":9007199254740993,"b":"n9007199254740993"}',
      perilune.json.encode(manifest("a: ${big}\nb: n${big}", { big = big })))
  end)

  it("puts values into text", function()
    assert.equal("web-3.5-true/a", manifest("a: web-${n}-${flag}/${x.y}",
      { n = 3.5, flag = true, x = { y = "a" } }).a)
    assert.equal("image:3", manifest("a: image:${n}", { n = 3 }).a)
  end)

  it("takes values by their path", function()
    assert.equal("v", manifest("a: ${x.y.z}", { x = { y = { z = "v" } } }).a)
  end)

  it("keeps $${ as a literal ${", function()
    assert.equal("${HOME}/x", manifest("a: $${HOME}/${x}", { x = "x" }).a)
    assert.equal("${HOME}", manifest("a: $${HOME}").a)
    assert.equal("x${a}${b}", manifest("a: ${x}$${a}$${b}", { x = "x" }).a)
    assert.equal("costs $5 {a}", manifest("a: costs $5 {a}").a)
  end)

  it("never fills keys, nor what a value brought", function()
    assert.same({ ["${x}"] = "${y}" }, manifest('"${x}": ${x}', { x = "${y}" }))
  end)

  it("can't be broken by a value with line breaks or YAML in it", function()
    local evil = 'x\nkind: Secret\n---\n"\': [}{'
    assert.same({ a = evil, b = "v: " .. evil .. "!" },
      manifest("a: ${evil}\nb: 'v: ${evil}!'", { evil = evil }))
  end)

  it("does not share tables with the values", function()
    local values = { labels = { x = "y" } }
    manifest("a: ${labels}", values).a.x = "z"
    assert.equal("y", values.labels.x)
  end)

  it("names the line of a missing value, and the nearest", function()
    assert.equal("manifest: line 3 of the text: there is no value for ${nmae}; did you mean \"name\"?",
      spec.message_of(manifest, "a: 1\nb:\n  c: ${nmae}", { name = "x" }))
    assert.equal("manifest: line 1 of the text: there is no value for ${a.b}",
      spec.message_of(manifest, "a: x${a.b}", { a = {} }))
    assert.equal("manifest: line 1 of the text: there is no value for ${a.b}",
      spec.message_of(manifest, "a: ${a.b}", { a = "text" }))
    assert.equal("manifest: line 1 of the text: there is no value for ${a}", spec.message_of(manifest, "a: ${a}"))
  end)

  it("refuses a table in the middle of text", function()
    assert.equal("manifest: line 1 of the text: ${x} is a table and cannot be part of a text",
      spec.message_of(manifest, "a: b${x}", { x = {} }))
    assert.truthy(spec.message_of(manifest, "a: b${x}", { x = perilune.null }):find("perilune.null", 1, true))
  end)

  it("refuses what looks like a placeholder and is none", function()
    assert.equal('manifest: line 2 of the text: "${a b}" is not a placeholder such as ${name} or ${a.b}; '
      .. "$${ is a literal ${", spec.message_of(manifest, "x: 1\na: ${a b}", { a = 1 }))
    assert.truthy(spec.message_of(manifest, "a: x${y", {}):find("is not a placeholder", 1, true))
    assert.truthy(spec.message_of(manifest, "a: ${}${y}", { y = 1 }):find("is not a placeholder", 1, true))
  end)

  it("names the line of what is no YAML", function()
    local message = spec.message_of(manifest, "a: 1\nb: [")
    assert.truthy(message:find("^manifest: the text: line %d"), message)
  end)

  it("says how many documents there are when it is not one", function()
    assert.equal("manifest: the text has 2 documents, not one; perilune.manifests takes any number",
      spec.message_of(manifest, "a: 1\n---\nb: 2"))
  end)

  it("refuses arguments that make no sense", function()
    assert.equal("manifest: the first argument must be a string, not nil", spec.message_of(perilune.manifest))
    assert.equal("manifest: the file must not contain a NUL byte",
      spec.message_of(perilune.manifest, "a.yaml\0b"))
    assert.equal('manifest: the values must be a table, not the string "x"',
      spec.message_of(perilune.manifest, "a: 1\n", "x"))
    assert.equal("manifest got more arguments than it takes", spec.message_of(perilune.manifest, "a: 1\n", {}, 1))
  end)

  it("begins messages with the script's line", function()
    spec.assert_positioned("manifest_spec", function()
      local document = perilune.manifest("a: ${x}\n")
      return document
    end)
  end)
end)

describe("perilune.manifests", function()
  it("gives every document, empty ones left out", function()
    local all = perilune.manifests("a: ${x}\n---\n---\nb: ${x}\n", { x = 5 })
    assert.equal('[{"a":5},{"b":5}]', perilune.json.encode(all))
    assert.equal("[]", perilune.json.encode(perilune.manifests("# nothing\n")))
  end)

  it("names the line in the document where a value is missing", function()
    assert.equal("manifests: line 5 of the text: there is no value for ${y}",
      spec.message_of(perilune.manifests, "a: 1\n# ${y} is missing\n---\nb:\n  c: ${y}\n"))
  end)
end)

describe("a manifest in a file", function()
  setup(function()
    local pipe = io.popen("mktemp -d -p spec/lua")
    folder = pipe:read("*l")
    pipe:close()
    write("web.yaml", "a: ${x}\n\nb: ${y}\n")
    spec.host.add_folder("spec/lua")
  end)
  teardown(function()
    os.execute("rm -rf '" .. folder .. "'")
  end)

  it("is read from beside the script", function()
    local name = folder:match("[^/]+$") .. "/web.yaml"
    assert.same({ a = 1, b = 2 }, (perilune.manifest(name, { x = 1, y = 2 })))
    local message = spec.message_of(function()
      local document = perilune.manifest(name, { x = 1 })
      return document
    end)
    assert.equal("manifest: line 3 of " .. name .. ": there is no value for ${y}; did you mean \"x\"?", message)
  end)

  it("must be there, and beside the script", function()
    local function load(name)
      local document = perilune.manifest(name)
      return document
    end
    assert.truthy(spec.message_of(load, "nowhere.yaml"):find("nowhere.yaml", 1, true))
    assert.truthy(spec.message_of(load, "../secret.yaml"):find("beside the script", 1, true))
    assert.truthy(spec.message_of(load, "/etc/passwd"):find("beside the script", 1, true))
  end)
end)
