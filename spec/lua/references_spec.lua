-- scripts/references.lua on small repositories: each kind of broken reference is reported with its
-- file and line, and valid references are not.

local RULES = [[
| rule | what holds | source | tests |
|---|---|---|---|
| <a id="rule-7"></a>7 | Seven holds. | there | `seven_test.c` |
| <a id="rule-8"></a>8 | Eight holds. | there | - |
]]
-- The headings of a folder's page.
local HEADINGS = "## Data\n## Files, in reading order\n## Invariants\n## Where to add a thing\n"
local FAULTS = "| F1 | it breaks | 7, 8 | tests | broken |\n"

local folder

local function write(file, text)
  assert(os.execute(("mkdir -p '%s/%s'"):format(folder, file:match("^(.*)/") or ".")) == 0)
  local handle = assert(io.open(folder .. "/" .. file, "wb"))
  handle:write(text)
  handle:close()
end

-- The faults of a repository that has `files` in addition to the usual ones, as sorted lines.
local function check(files)
  local all = {
    ["host/RULES.md"] = RULES,
    ["host/net/README.md"] = "`a`, `b`\n" .. HEADINGS,
    ["spec/README.md"] = FAULTS,
    ["spec/unit/seven_test.c"] = "TEST(rule_7_holds)\n{\n}\n",
  }
  for file, text in pairs(files) do
    all[file] = text
  end
  local names = {}
  for file, text in pairs(all) do
    write(file, text)
    table.insert(names, file)
  end
  write("list", table.concat(names, "\n") .. "\n")
  local run = assert(io.popen(("luajit scripts/references.lua '%s' <'%s/list' 2>&1; echo $?")
    :format(folder, folder)))
  local lines = {}
  for line in run:lines() do
    table.insert(lines, line)
  end
  run:close()
  local code = table.remove(lines)
  assert.equal(#lines == 0 and "0" or "1", code)
  table.sort(lines)
  return lines
end

describe("scripts/references.lua", function()
  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir '" .. folder .. "'") == 0)
  end)

  after_each(function()
    os.execute("rm -rf '" .. folder .. "'")
  end)

  it("is content when everything resolves", function()
    assert.same({}, check({
      ["host/net/a.c"] = '/* Rule 7, F1, net/b.h and net/*.h; shutdown(2). */\nchar *s = "/* rule 9 */";\n',
      ["host/net/b.h"] = "/* rules 7-8 */\nint x; // rules 7 and 8, in 9 words\n",
      ["host/README.md"] = "See [a](net/a.c), [rules](RULES.md#rule-7), [web](https://x.org/y.md) and `net/a`.\n",
    }))
  end)

  it("tells of rules and faults that are not there", function()
    assert.same({
      "host/a.c:1: host/RULES.md has no rule 9",
      "host/a.c:3: host/RULES.md has no rule 10",
      "host/a.c:3: host/RULES.md has no rule 9",
      "host/a.c:3: spec/README.md has no fault F2",
      "host/a.lua:1: host/RULES.md has no rule 6",
      "spec/b_test.c:1: host/RULES.md has no rule 11",
    }, check({
      ["host/a.c"] = "int a; /* rules 7, 8 and 9 */\n/* more\n * rules 8-10, F2 */\n",
      ["host/a.lua"] = 'local a = "-- rule 5" -- rule 6\nlocal b = [[\n-- rule 5\n]]\n',
      ["spec/b_test.c"] = "TEST(it_and_rule" .. "_11_hold)\n",
    }))
  end)

  it("wants numbers to say that they are rules", function()
    assert.same({
      "host/a.c:1: (7-8): write rule 7-8, or say what it is",
      "host/a.c:2: 8: write rule 8, or say what it is",
    }, check({ ["host/a.c"] = "/* it holds (7-8), status (404) */\n/* 8 */\n" }))
  end)

  it("tells of pages, paths and links that are not there", function()
    assert.same({
      "host/README.md:1: the link to gone.md leads nowhere",
      "host/README.md:1: there is no net/gone",
      "host/net/a.c:1: there is no design.md",
      "host/net/a.c:1: there is no gone.h",
      "host/net/a.c:2: there is no net/gone.c",
      "scripts/run:2: there is no spec/gone",
    }, check({
      ["host/net/a.c"] = "/* design.md, gone.h */\n/* net/gone.c, <sys/gone.h>, /etc/gone.h */\n",
      ["host/README.md"] = "[one](gone.md), `net/gone`\n",
      ["scripts/run"] = "#!/bin/sh\n# spec/gone says how\n",
    }))
  end)

  it("tells of names that the code lacks", function()
    assert.same({
      "host/README.md:1: no code names pl_gone",
      "host/README.md:1: there is no gone.c",
      "host/net/a.c:1: no code names pl_gone",
      "lua/README.md:2: there is no lua/gone.lua",
    }, check({
      ["host/net/a.c"] = "/* pl_here, pl_he_*, pl_gone */\nint pl_here;\n",
      ["host/README.md"] = "`pl_gone`, `struct pl_here`, `gone.c`, `a.c`, pl_gone\n",
      ["lua/README.md"] = "`my/gone.lua`\n`lua/gone.lua`\n",
    }))
  end)

  it("wants each C file of a folder in the folder's page", function()
    assert.same({ "host/net/README.md:1: the page does not name c_one.h" }, check({
      ["host/net/README.md"] = "`a`: one. `b_*`: others.\n" .. HEADINGS,
      ["host/net/a.c"] = "",
      ["host/net/a_impl.h"] = "",
      ["host/net/b_one.c"] = "",
      ["host/net/c_one.h"] = "",
    }))
  end)

  it("wants the headings of a folder's page in their order", function()
    assert.same({ "host/net/README.md:1: the page has no heading \"Invariants\" in its place" }, check({
      ["host/net/README.md"] = "`a`, `b`\n"
        .. "## Data\n## Invariants\n## Files, in reading order\n## Where to add a thing\n",
    }))
  end)

  it("wants each rule whole, once, cited and with tests that are there", function()
    assert.same({
      "host/RULES.md:1: rule 7 names a test that is not there: gone_test.c",
      "host/RULES.md:2: rule 7 is there twice",
      "host/RULES.md:3: nothing cites rule 9",
      "host/RULES.md:3: rule 9: want | number | what holds | source | tests |",
    }, check({
      ["host/RULES.md"] = '| <a id="rule-7"></a>7 | it holds | there | `gone_test.c` |\n'
        .. '| <a id="rule-7"></a>7 | it holds | there | - |\n'
        .. '| <a id="rule-9"></a>9 | it holds | | - |\n',
      ["spec/README.md"] = "| F1 | it breaks | 7 | tests | broken |\n",
    }))
  end)
end)
