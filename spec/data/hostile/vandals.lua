-- Scripts that damage the Lua state which they share with other scripts. Any end of such a script
-- is right; the host and the scripts on other lanes must continue.
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
