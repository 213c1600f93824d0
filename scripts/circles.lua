-- Finds dependency cycles among the built object files. A cycle is allowed if its files implement
-- one struct with one private header; it is listed here with that header. Any other cycle is a
-- fault, and so is a line here that describes no cycle any more.
--
--   luajit scripts/circles.lua BUILD-FOLDER

local build = arg[1]

-- {the private header, the files}. All files are in the header's folder.
local known = {
  { "cel/value.h", "budget compare finder value" },
  { "apicall/user.h", "token user" },
  { "cel/eval.h", "eval loop" },
  { "control/controller_impl.h",
    "asking controller controller_history edition key_shards members parked prefetch run"
    .. " subscription task write_loop_report" },
  { "kube/client_impl.h", "client op op_exec probe watch" },
  { "lane/lane.h", "ask_again co exec lane lanes lanes_index lanes_load lanes_stuck op_cache"
    .. " op_enqueue op_http op_io op_select question" },
  { "lua/script.h", "origin script" },
  { "net/http_call.h", "http_call http_describe http_error http_upgrade" },
  { "net/http_conn.h", "http_conn http_exchange http_parse http_server" },
  { "net/loop_work.h", "blocking_work loop" },
  { "object/patch_strategic.h", "patch_strategic patch_strategic_list" },
  { "reload/reload_impl.h", "reload reload_disk reload_switch" },
  { "shard/membership_impl.h", "handover main_lease membership roster" },
  { "store/impl.h", "indexing read store walk" },
  { "sync/informer_impl.h", "feed feed_sink informer informer_apply informer_resource"
    .. " informer_write" },
  { "sync/reflector_impl.h",
    "reflector reflector_list reflector_stream reflector_version reflector_watch" },
  { "value/pool_node.h", "doc pool pool_node" },
  { "value/share.h", "encode share" },
  { "webhook/hooks_impl.h", "hooks request" },
  { "webhook/registrar_impl.h", "registrar registrar_lists" },
  { "world/binding_impl.h", "binding binding_disturb" },
  { "write/recorder_impl.h", "recorder recorder_send" },
}

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("*a")
  pipe:close()
  return text:gmatch("[^\n]+")
end

-- Which file defines each symbol, and which files need it.
local defined, needed = {}, {}

local function read_symbols()
  for line in lines_of("nm -A " .. build .. "/host/*/libpl_*.a 2>/dev/null") do
    local folder, name, rest = line:match("/host/([%w_]+)/libpl_[%w_]+%.a:([%w_]+)%.c%.o:(.*)")
    local kind, symbol = (rest or ""):match("(%a) ([%w_.]+)$")
    local object = folder and folder .. "/" .. name
    if object then
      needed[object] = needed[object] or {}
    end
    if kind and kind:find("[TDBRV]") then
      defined[symbol] = object
    elseif kind == "U" then
      needed[object][symbol] = true
    end
  end
end

local function edges()
  local graph = {}
  for object, symbols in pairs(needed) do
    graph[object] = {}
    for symbol in pairs(symbols) do
      local other = defined[symbol]
      if other and other ~= object then
        graph[object][other] = true
      end
    end
  end
  return graph
end

-- Tarjan's strongly connected components of more than one object, each sorted.
local function circles(graph)
  local index, low, stack, on_stack, count, found = {}, {}, {}, {}, 0, {}
  local function visit(object)
    count = count + 1
    index[object], low[object] = count, count
    stack[#stack + 1], on_stack[object] = object, true
    for other in pairs(graph[object] or {}) do
      if not index[other] then
        visit(other)
        low[object] = math.min(low[object], low[other])
      elseif on_stack[other] then
        low[object] = math.min(low[object], index[other])
      end
    end
    if low[object] ~= index[object] then
      return
    end
    local members = {}
    repeat
      local member = table.remove(stack)
      on_stack[member] = nil
      members[#members + 1] = member
    until member == object
    if #members > 1 then
      table.sort(members)
      found[#found + 1] = table.concat(members, " ")
    end
  end
  for object in pairs(graph) do
    if not index[object] then
      visit(object)
    end
  end
  table.sort(found)
  return found
end

read_symbols()
if not next(needed) then
  io.stderr:write("circles: no libraries below " .. tostring(build) .. "/host: build first\n")
  os.exit(1)
end
local broken, left = false, {}

local function complain(...)
  broken = true
  io.stderr:write("  ", string.format(...), "\n")
end

-- Whether the file includes the header, directly or through another header.
local function includes(file, header, seen)
  local handle = not seen[file] and io.open("host/" .. file)
  seen[file] = true
  if not handle then
    return false
  end
  local text = handle:read("*a")
  handle:close()
  for include in text:gmatch('#include "([^"]+)"') do
    if include == header or includes(include, header, seen) then
      return true
    end
  end
  return false
end

-- Each file of a listed cycle must include the private header.
local function check_header(header, folder, names)
  for name in names:gmatch("%S+") do
    if not includes(folder .. "/" .. name .. ".c", header, {}) then
      complain("%s/%s is in the cycle of %s but does not include it", folder, name, header)
    end
  end
end

for _, circle in ipairs(known) do
  local folder = circle[1]:match("^[^/]+")
  check_header(circle[1], folder, circle[2])
  left[circle[2]:gsub("(%S+)", folder .. "/%1")] = circle[1]
end
for _, members in ipairs(circles(edges())) do
  if not left[members] then
    complain("a dependency cycle that is not listed: %s", members)
  end
  left[members] = nil
end
for members, header in pairs(left) do
  complain("listed, but no longer a cycle of exactly these files (%s): %s", header, members)
end
os.exit(broken and 1 or 0)
