-- Writes files: all of them or none. They are created in a temporary folder beside the target and
-- get their names when all are complete: a new folder by one rename, files in an existing folder by
-- links that never replace a file. After a failure everything is removed again.

local crds = require("perilune.tool.crds")

local M = {}

local function folders_of(files)
  local out, seen = {}, {}
  for _, file in ipairs(files) do
    local folder = file.name:match("^(.*)/")
    if folder and not seen[folder] then
      seen[folder] = true
      out[#out + 1] = folder
    end
  end
  return out
end

local function take_back(tool, made)
  for i = #made, 1, -1 do
    tool.remove(made[i])
  end
end

-- Creates the files in the folder and adds all paths to `made`. On failure they are removed in
-- reverse order, files before their folders.
local function stage(tool, folder, files, made)
  local ok, message = tool.make_folder(folder)
  if not ok then
    return nil, message
  end
  made[#made + 1] = folder
  for _, name in ipairs(folders_of(files)) do
    ok, message = tool.make_folder(folder .. "/" .. name)
    if not ok then
      return nil, message
    end
    made[#made + 1] = folder .. "/" .. name
  end
  for _, file in ipairs(files) do
    ok, message = tool.put(folder .. "/" .. file.name, file.text)
    if not ok then
      return nil, message
    end
    made[#made + 1] = folder .. "/" .. file.name
  end
  return true
end

local function give_names(tool, staged, folder, files, made)
  for _, name in ipairs(folders_of(files)) do
    local path = crds.join(folder, name)
    if tool.kind(path, true) ~= "folder" then
      local ok, message = tool.make_folder(path)
      if not ok then
        return nil, message
      end
      made[#made + 1] = path
    end
  end
  for _, file in ipairs(files) do
    local path = crds.join(folder, file.name)
    local ok, message = tool.link(staged .. "/" .. file.name, path)
    if not ok then
      return nil, message
    end
    made[#made + 1] = path
  end
  return true
end

-- The first of the files whose path exists already.
local function first_there(tool, folder, files)
  for _, file in ipairs(files) do
    local path = crds.join(folder, file.name)
    local what, message = tool.kind(path)
    if what or message then
      return path, message
    end
    local above = file.name:match("^(.*)/")
    if above and tool.kind(crds.join(folder, above)) then
      local kind = tool.kind(crds.join(folder, above))
      if kind ~= "folder" then
        return crds.join(folder, above)
      end
    end
  end
end

-- Another file in the folder. Hidden files such as .git do not count.
local function first_other(tool, folder)
  for _, name in ipairs(tool.names(folder) or {}) do
    if name:sub(1, 1) ~= "." then
      return crds.join(folder, name)
    end
  end
end

-- files: {{name=, text=}, ...}; a name may have one folder. Returns true, or nil and a message.
function M.all(tool, folder, files)
  local there = tool.kind(folder, true)
  if there == nil and tool.kind(folder) then
    return nil, folder .. ": a link that leads nowhere; nothing was written"
  elseif there and there ~= "folder" then
    return nil, folder .. ": it exists and is not a folder; nothing was written"
  end
  local conflict, message = first_there(tool, folder, files)
  if conflict then
    return nil, (message or conflict .. ": it is there already") .. "; nothing was written"
  end
  conflict = there and first_other(tool, folder)
  if conflict then
    return nil, conflict .. ": the folder is not empty; nothing was written"
  end
  local parent = there and folder or crds.folder_of(folder)
  if not there and tool.kind(parent, true) ~= "folder" then
    return nil, parent .. ": there is no such folder; nothing was written"
  end
  local unique = tostring(os.time()) .. tostring({}):match("0x(%x+)")
  local staged = (parent == "." and "" or parent .. (parent:match("/$") and "" or "/"))
    .. ".perilune-" .. unique
  local made, named = {}, {}
  local ok
  ok, message = stage(tool, staged, files, made)
  if ok and not there then
    ok, message = tool.rename(staged, folder)
    if ok then
      return true
    end
  elseif ok then
    ok, message = give_names(tool, staged, folder, files, named)
  end
  take_back(tool, made)
  if not ok then
    take_back(tool, named)
    message = message:gsub(staged:gsub("%p", "%%%0"), (folder:gsub("%%", "%%%%")))
    return nil, message .. "; nothing was written"
  end
  return true
end

return M
