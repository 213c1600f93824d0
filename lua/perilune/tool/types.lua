-- perilune types PATH...: definitions for editors with lua-language-server, of the API and of the
-- kinds of the CRDs beside the scripts. It overwrites its own output and no other file.

local crds = require("perilune.tool.crds")
local typing = require("perilune.tool.typing")

local HEAD = "---@meta perilune"

local function folder_of(tool, input)
  if input.flags.out then
    return (input.flags.out:gsub("(.)/+$", "%1"))
  end
  local path = input.paths[1]
  return crds.join(tool.kind(path, true) == "folder" and path or crds.folder_of(path), "types")
end

return function(tool, input)
  if #input.paths == 0 then
    tool.usage("no script given; usage: perilune types [FLAGS] PATH...")
  end
  for _, path in ipairs(input.paths) do
    if not tool.kind(path, true) then
      tool.fail("%s: No such file or directory", path)
    end
  end
  local text = typing.write(crds.beside(tool, input.paths))
  local folder = folder_of(tool, input)
  local path, made = crds.join(folder, "perilune.lua"), false
  if not tool.kind(folder, true) then
    local ok, message = tool.make_folder(folder)
    if not ok then
      tool.fail("%s", message)
    end
    made = true
  end
  local what = tool.kind(path)
  if what and (what ~= "file" or crds.read(tool, path):sub(1, #HEAD) ~= HEAD) then
    tool.fail("%s is not a file that `perilune types` has written; nothing was written: move it, or choose "
      .. "a folder with --out", path)
  end
  local staged = crds.join(folder, ".perilune-" .. tostring({}):match("0x(%x+)"))
  local ok, message = tool.put(staged, text)
  if ok then
    ok, message = tool.rename(staged, path)
  end
  if not ok then
    tool.remove(staged)
    if made then
      tool.remove(folder)
    end
    tool.fail("%s; nothing was written", message)
  end
  tool.say(path)
  return 0
end
