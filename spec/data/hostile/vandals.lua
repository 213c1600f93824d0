-- What a script can take away from all scripts that share its state. How such a script ends is its
-- own business; the host goes on, and so do those on other lanes.
return {
  { "a global by rawset", "rawset(_G, 'pcall', nil) rawset(_G, 'error', print) local s = nil return s.x", "any" },
  { "no globals at all", "for k in pairs(_G) do rawset(_G, k, nil) end local s = nil return s.x", "any" },
  { "other string functions", "for k in pairs(string) do string[k] = loop end local s = nil return s.x", "any" },
  { "other table functions", "for k in pairs(table) do table[k] = loop end local s = nil return s.x", "any" },
  { "other math functions", "math.floor, math.huge = loop, 'x' local s = nil return s.x", "any" },
  { "other coroutine functions", "coroutine.resume, coroutine.yield, coroutine.wrap = loop, loop, loop perilune.sleep(0.001) error('after')", "any" },
  { "other base functions", "for _, k in ipairs({ 'type', 'tostring', 'next', 'pairs', 'select', 'pcall', 'error' }) do rawset(_G, k, loop) end perilune.sleep(0.001) local s = nil return s.x", "any" },
  { "another perilune", "perilune.client = nil", "any" },
  { "another client", "client.get = loop", "any" },
  { "another predicate", "perilune.predicate.all = loop", "any" },
  { "another json", "require('cjson').encode = loop perilune.json.encode({}) error('after')", "any" },
}
