-- Scripts of one file each, for the worlds of a `describe`. Specs of `perilune test` load this with
-- dofile:
--
--     local files = dofile("spec/support/one_file_scripts.lua").new()
--     after_each(files.remove)

local M = {}

function M.new()
  local files, paths = {}, {}

  -- Returns the path of a new script, in which `perilune` and `client` are known.
  function files.script(text)
    local path = os.tmpname()
    os.remove(path)
    path = path .. ".lua"
    local file = assert(io.open(path, "w"))
    file:write('local perilune = require("perilune")\nlocal client = perilune.client\n', text)
    file:close()
    paths[#paths + 1] = path
    return path
  end

  function files.remove()
    for _, path in ipairs(paths) do
      os.remove(path)
    end
    paths = {}
  end

  return files
end

return M
