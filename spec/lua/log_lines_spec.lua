-- The reader of a host's log that end-to-end specs use.

local log_lines = require("spec.support.log_lines")

describe("A growing log", function()
  local path, reader

  local function put(text, mode)
    local file = assert(io.open(path, mode or "a"))
    file:write(text)
    file:close()
  end

  local function names()
    local out = {}
    local is_other = reader:each(function(line)
      out[#out + 1] = line.name or line.raw
    end)
    return table.concat(out, " "), is_other
  end

  before_each(function()
    path = os.tmpname()
    reader = log_lines.open(path)
  end)
  after_each(function()
    os.remove(path)
  end)

  it("tells each line once, and reads none again", function()
    put('{"name":"a"}\n{"name":"b"}\n' .. ("x"):rep(300) .. "\n")
    assert.equal("a b " .. ("x"):rep(300), names())
    local file = assert(io.open(path, "r+")) -- bytes that were read may change, since they are not read again
    file:write('{"name":"?"}')
    file:close()
    put('{"name":"c"}\n')
    assert.equal("c", names())
    assert.equal("", names())
  end)

  it("has a half line when its other half is there", function()
    put('{"name":"a"}\n{"name"')
    assert.equal("a", names())
    assert.equal("", names())
    put(':"b"}\n\n{')
    assert.equal("b", names())
  end)

  it("may have lines that are no objects", function()
    put('[ nothing\n1\n"text"\n{"name":"a"}\n')
    assert.equal('[ nothing 1 "text" a', names())
  end)

  it("may have lines longer than what is read at once", function()
    local long = ("y"):rep(3 * 2 ^ 20)
    put('{"name":"a"}\n' .. long)
    assert.equal("a", names())
    put('z\n{"name":"b"}\n')
    assert.equal(long .. "z b", names())
  end)

  it("is another one when it was emptied or replaced", function()
    put('{"name":"a"}\n{"name":"b"}\n')
    local seen, is_other = names()
    assert.equal("a b", seen)
    assert.is_false(is_other)
    put('{"name":"c"}\n', "w")
    seen, is_other = names()
    assert.equal("c", seen)
    assert.is_true(is_other)
    put('{"name":"of another file, and longer"}\n{"name":"d"}\n', "w")
    seen, is_other = names()
    assert.equal("of another file, and longer d", seen)
    assert.is_true(is_other)
  end)

  it("may not be there yet", function()
    os.remove(path)
    assert.equal("", names())
    put('{"name":"a"}\n', "w")
    assert.equal("a", names())
  end)
end)
