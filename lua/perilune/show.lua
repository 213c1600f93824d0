-- Shows a value to a person, for answers of `perilune repl` and `perilune replay --break`:
-- documents as YAML.

local host = require("perilune.host")

local concat, format = table.concat, string.format

local function show(value)
  local kind = type(value)
  if kind == "string" then
    return format("%q", value)
  elseif kind ~= "table" then
    return tostring(value)
  end
  local ok, text = pcall(host.yaml_encode, value)
  if ok then
    return (text:gsub("\n$", ""))
  end
  local names = {} -- a table with functions, such as a module: lists its names
  for name, member in pairs(value) do
    names[#names + 1] = format("%s: %s", tostring(name), type(member))
  end
  table.sort(names)
  return #names > 0 and concat(names, "\n") or tostring(value)
end

return show
