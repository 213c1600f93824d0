-- Circles among the built objects: files that cannot do without each other. Each that is one object
-- in several files, with one private header, is listed here with that header; any other is a fault,
-- and so is a line here that is no circle any more.
--
--   luajit scripts/circles.lua BUILD-FOLDER

local build = arg[1]

-- header -> the files, as folder/name
local known = {
  ["value/share.h"] = "value/encode value/share",
  ["value/pool.h"] = "value/doc value/pool value/pool_node",
  ["net/loop_work.h"] = "net/loop net/work",
  ["net/http_call.h"] = "net/http_call net/http_describe net/http_error",
  ["net/http_conn.h"] = "net/http_conn net/http_exchange net/http_parse net/http_server",
}

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("*a")
  pipe:close()
  return text:gmatch("[^\n]+")
end

-- Who defines what, and who needs what.
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
for header, members in pairs(known) do
  left[members] = header
end
for _, members in ipairs(circles(edges())) do
  if left[members] then
    left[members] = nil
  else
    broken = true
    io.stderr:write("  a circle that is no one object: " .. members .. "\n")
  end
end
for members, header in pairs(left) do
  broken = true
  io.stderr:write(("  no circle any more, or another one (%s): %s\n"):format(header, members))
end
os.exit(broken and 1 or 0)
