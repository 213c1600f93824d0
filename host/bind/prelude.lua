-- The part of the sandbox that is written in Lua. Wrappers end in tail calls, so that the stock
-- functions blame the script's line.

local c, cjson, host = ...

local type, error, select = type, error, select
local fill, digits, nest = c.fill, c.digits, c.nest

-- Raises the message at the script's line.
local function fail(message)
  local file, line = host.where()
  error(file and file .. ":" .. line .. ": " .. message or message, 0)
end

-- ---- what a reconcile is called with ----

-- The tables are constructed with all their fields, because a table that grows field by field needs
-- three times the memory. The fields are constants there: the bytecode of the build reserves no
-- room for other values. controller.lua sets `log`. The metatable makes causes and reconcile_id
-- from the unread text when a script reads one of them.
local setmetatable, unread_meta = setmetatable, c.unread_meta
function c.new_arguments(namespace, name, key, attempt, unread, dropped, deadline)
  local request = { namespace = 0, name = 0, key = 0 }
  request.namespace, request.name, request.key = namespace, name, key
  local context = { attempt = 0, unread = 0, causes_dropped = 0, deadline = 0, log = 0 }
  context.attempt, context.unread = attempt, unread
  context.causes_dropped, context.deadline = dropped, deadline
  return request, setmetatable(context, unread_meta)
end

-- ---- waiting ----

-- Functions of the core that may wait return "failed?" and their results, or yield the mark WAIT
-- and get the same when the host resumes them. The host resumes with errors that have no line. The
-- script's line is put in front of a text, and into `at` of an error object, so that the log can
-- show it later.
local sub = string.sub
local function raise(e)
  local file, line = host.where()
  local place = file and file .. ":" .. line
  if not file then
    error(e, 0)
  elseif type(e) == "table" then
    e.at = e.at or place
  elseif type(e) == "string" and sub(e, 1, #place) ~= place then
    e = place .. ": " .. e
  end
  error(e, 0)
end

local function settle(failed, ...)
  if failed then
    raise((...))
  end
  return ...
end

-- An error that a task has raised is not changed.
local function settle_task(failed, ...)
  if failed then
    error((...), 0)
  end
  return ...
end

-- Tracebacks leave out what is called host_call.
for name, host_call in next, c.waits do
  local settle = name == "join" and settle_task or settle
  host[name] = function(...)
    return settle(host_call(...))
  end
end

-- A read that had to wait until the cache had synced returns WAIT and is called again.
local WAIT = c.wait
local pair = { list = true, batch = true }
for name, host_call in next, c.reads do
  local both = pair[name]
  host[name] = function(kind, a, b, d, e)
    local failed, first, second = host_call(kind, a, b, d, e)
    while not failed and first == WAIT do
      failed, first, second = host_call(kind, a, b, d, e)
    end
    if failed then
      raise(first)
    elseif both then
      return first, second
    end
    return first
  end
end

-- Decodes one object at a time; asks the server for the next page when it has to.
local batch, batch_next, batch_iterator = host.batch, c.batch_next, c.batch_iterator
host.batch = nil
function host.each(kind, options)
  local page, continue = batch(kind, options)
  if not continue then
    return batch_iterator(page)
  end
  return function()
    while true do
      local object = batch_next(page)
      if object ~= nil or not continue then
        return object
      end
      options.continue = continue
      local before, next_page, token = page, batch(kind, options)
      if page == before then -- otherwise another task has read the next page meanwhile
        page, continue = next_page, token
      end
    end
  end
end

-- ---- coroutines of scripts ----

-- A wait inside a script's own coroutine must reach the host, not the script. So resume yields the
-- mark further and passes the host's answer down.
local why_not, note = c.why_not, c.note
local resume, yield = coroutine.resume, coroutine.yield
local create, status = coroutine.create, coroutine.status
local run_threads, ended = c.run_threads, c.ended

-- Coroutines whose wait the host has not answered. For other tasks they are not suspended: whoever
-- resumed them would end the wait without its answer.
local waiting = setmetatable({}, { __mode = "k" })

local function answer(co, ...)
  waiting[co] = nil
  return resume(co, ...)
end

local function forward(co, ok, mark, ...)
  if ok and mark == WAIT and status(co) == "suspended" then
    local why = why_not()
    if why then
      return forward(co, resume(co, true, why))
    end
    waiting[co] = true
    return forward(co, answer(co, yield(WAIT)))
  end
  return ok, mark, ...
end

-- No results: there is no mark among them.
local function first(co, ok, ...)
  if select("#", ...) == 0 then
    return ok
  end
  return forward(co, ok, ...)
end

-- A script cannot resume the coroutine of a run, which coroutine.running() returns: only the host
-- knows what it waits for, and another run uses it when this one has ended. Nor can it resume a
-- coroutine that a limit has ended, or that waits in another task.
local ENDED = "a coroutine that a limit has ended can't be resumed"
local WAITS = "a coroutine that waits in another task can't be resumed"

function coroutine.resume(co, ...)
  if run_threads[co] then
    return false, "the coroutine of a run can't be resumed by a script"
  elseif ended[co] then
    return false, ENDED
  elseif waiting[co] then
    return false, WAITS
  elseif type(co) ~= "thread" then
    return resume(co, ...) -- raises
  end
  nest()
  return first(co, resume(co, ...))
end

local function unwrap(co, ok, ...)
  if ok then
    return ...
  end
  note(co, (...))
  error((...), 0)
end

function coroutine.status(co)
  return ended[co] and "dead" or waiting[co] and "normal" or status(co)
end

function coroutine.wrap(f)
  local co = create(f)
  return function(...)
    if ended[co] or waiting[co] then
      fail(ended[co] and ENDED or WAITS)
    end
    nest()
    return unwrap(co, first(co, resume(co, ...)))
  end
end

local xpcall, guard = xpcall, c.guard
function _G.xpcall(f, handler, ...)
  return xpcall(f, guard(handler), ...)
end

-- ---- base functions and tables that are not filled yet ----

local rawget, rawset, tonumber = rawget, rawset, tonumber

function _G.rawget(t, k)
  fill(t)
  return rawget(t, k)
end

function _G.rawset(t, k, v)
  fill(t)
  return rawset(t, k, v)
end

function _G.setmetatable(t, meta)
  fill(t)
  return setmetatable(t, meta)
end

function _G.tonumber(value, base)
  if type(value) == "userdata" then
    value = digits(value) or value
  end
  return tonumber(value, base)
end

local foreach = table.foreach
function table.foreach(t, f)
  fill(t)
  return foreach(t, f)
end

local memory_limit = c.memory_limit

-- lua-cjson writes into its own memory, which no limit counts, and in one call, which no limit can
-- end. So the memory that it needs is computed first: it reserves 6 bytes for each byte of a text,
-- and writes a null for each hole of an array. fill_deep has checked cycles and depth.
local next, floor, fill_deep = next, math.floor, c.fill_deep

-- What is left of the room after the value; negative if the text could need more.
local function room_after(value, room)
  local kind = type(value)
  if kind == "string" then
    return room - 6 * #value - 4
  elseif kind ~= "table" then
    return room - 32
  end
  local last = 0
  for k, v in next, value do
    if type(k) == "number" and k > last and k == floor(k) then
      last = k
    end
    room = room_after(v, room_after(k, room))
    if room - 5 * last < 0 then
      return -1
    end
  end
  return room - 5 * last
end

local function limit_cjson(json)
  local encode, decode, new = json.encode, json.decode, json.new
  json.encode_keep_buffer(false)
  json.encode_keep_buffer = nil

  function json.encode(value)
    value = fill_deep(value)
    if room_after(value, memory_limit / 2) < 0 then
      fail("cjson.encode: the text could take more than half of the script memory limit")
    end
    return encode(value)
  end

  -- One call makes tables of up to 20 times the size of the text. It is refused where that could
  -- exceed the memory limit, since the state could not continue then.
  function json.decode(text)
    if type(text) == "string" and #text > memory_limit / 8 then
      fail("cjson.decode: the text is larger than an eighth of the script memory limit")
    end
    return decode(text)
  end

  function json.new()
    return limit_cjson(new())
  end
  return json
end

limit_cjson(cjson)

-- ---- text only ----

if not c.unsafe then
  local load, loadstring, concat, pcall = load, loadstring, table.concat, pcall

  -- The pieces are collected here, because LuaJIT leaves hooks off when a reader function raises an
  -- error: no limit could end the code after that.
  local function read_all(reader)
    local pieces = {}
    for piece in reader do
      if type(piece) ~= "string" then
        error("reader function must return a string", 0)
      elseif piece == "" then
        break
      end
      pieces[#pieces + 1] = piece
    end
    return concat(pieces)
  end

  -- The parser allocates up to 30 times the size of the text in one call. It is refused where that
  -- could exceed the memory limit, since the state could not continue then.
  local function check_text(text, name)
    if type(text) == "string" and #text > memory_limit / 16 then
      fail(name .. ": the text is larger than a sixteenth of the script memory limit")
    end
  end

  -- Errors hide the frames of Perilune's own chunks, which they know by this beginning of their
  -- names. So no chunk of a script may have it.
  local sub = string.sub
  local function check_name(name)
    if type(name) == "string" and sub(name, 1, 10) == "=perilune:" then
      fail("load: names that begin with =perilune: are Perilune's own")
    end
  end

  function _G.load(chunk, name, _, env)
    check_name(name)
    if type(chunk) == "function" then
      local ok, text = pcall(read_all, chunk)
      if not ok then
        return nil, text
      end
      chunk, name = text, name or "=(load)"
    end
    check_text(chunk, "load")
    return load(chunk, name, "t", env)
  end

  function _G.loadstring(text, name)
    if type(text) ~= "string" then
      return loadstring(text, name)
    end
    check_name(name or text)
    check_text(text, "loadstring")
    return load(text, name or text, "t")
  end
end

-- ---- what can't wait ----

-- Names for "cannot wait here": calls through pcall and tail calls leave none on the stack.
local blocking = c.blocking
blocking[table.sort] = "table.sort"
blocking[string.gsub] = "string.gsub"
blocking[foreach] = "table.foreach"
blocking[table.foreachi] = "table.foreachi"
blocking[require] = "require"

local sort = table.sort
function table.sort(t, comparator)
  nest() -- also for __lt
  return sort(t, comparator)
end

-- ---- strings ----

local format = string.format
function string.format(...)
  nest() -- for __tostring
  return format(...)
end

-- One call of a pattern function can't be interrupted, so its input is limited.
local PATTERN_LIMIT = c.trusted and math.huge or 1048576
local find, match, gmatch, gsub = string.find, string.match, string.gmatch, string.gsub
local rep = string.rep

local function check_size(text, name)
  if type(text) == "string" and #text > PATTERN_LIMIT then
    fail("string." .. name .. ": patterns work on strings of at most 1 MiB")
  end
end

function string.find(text, pattern, init, plain)
  if not plain then
    check_size(text, "find")
  end
  return find(text, pattern, init, plain)
end

function string.match(text, pattern, init)
  check_size(text, "match")
  return match(text, pattern, init)
end

function string.gmatch(text, pattern)
  check_size(text, "gmatch")
  return gmatch(text, pattern)
end

function string.gsub(text, pattern, replacement, count)
  check_size(text, "gsub")
  if type(replacement) ~= "string" then
    nest()
  elseif type(text) == "string" and #text * #replacement > memory_limit then
    local _, matches = gsub(text, pattern, "", count)
    if matches * #replacement > memory_limit then
      fail("string.gsub: the result would exceed the script memory limit")
    end
  end
  return gsub(text, pattern, replacement, count)
end

function string.rep(text, count, separator)
  if type(text) == "string" and type(count) == "number" then
    local each = #text + (type(separator) == "string" and #separator or 0)
    if each * count > memory_limit then
      fail("string.rep: the result would exceed the script memory limit")
    end
  end
  return rep(text, count, separator)
end
