-- Checks of values that scripts pass in. Nothing is silently ignored: an unknown name, a wrong type
-- or an impossible value is an error at the script's own line, with the nearest valid name.
--
-- A checker is a function(what, value). It returns the value in the form that the core takes, or
-- raises an error with fail(). `what` names the value in messages.

local host = require("perilune.host")

local format, match = string.format, string.match
local type, tostring, pairs, ipairs = type, tostring, pairs, ipairs
local M = {}

local INT_MAX = 2147483647
local KIND_MAX = 512 -- bytes; a group has 253 at most, a version and a name 63 each
local LONGEST = 1000000000 -- seconds; the core counts nanoseconds in 64 bits

-- The script's function whose results are being checked. It has returned, so no line of the script
-- is running; a mistake in its results is reported at the line where the function begins.
local blamed

function M.blame(f)
  blamed = f
end

local MESSAGE_MAX = 2000 -- bytes; what a script passes in may be as large as its memory

-- Raises "file:line: message" for the line of the script that called Perilune. A message may have
-- that place already.
function M.fail(message, ...)
  local text = select("#", ...) > 0 and format(message, ...) or message
  if #text > MESSAGE_MAX then
    text = text:sub(1, MESSAGE_MAX) .. "..."
  end
  local file, line = host.where()
  if not file and blamed then
    file, line = host.where(blamed)
  end
  local place = file and format("%s:%d: ", file, line) or ""
  error(text:sub(1, #place) == place and text or place .. text, 0)
end

local fail = M.fail

-- A text for messages. Of a long text only the beginning is shown.
function M.quote(text)
  text = #text > 60 and host.without_secrets(text) or text
  return format("%q", #text > 60 and text:sub(1, 57) .. "..." or text)
end

-- A value for messages, as a person would recognise it.
function M.describe(value)
  local kind = type(value)
  if kind == "string" then
    return "the string " .. M.quote(value)
  elseif kind == "number" or kind == "boolean" then
    return format("the %s %s", kind, tostring(value))
  elseif value == host.null then
    return "perilune.null"
  end
  return kind == "nil" and "nil" or "a " .. kind
end

local describe = M.describe

-- Returns a result of the host, or raises its message: the host returns nil and a message on
-- failure.
function M.must(what, value, message)
  if value == nil then
    fail("%s: %s", what, message)
  end
  return value
end

local function of_type(want, article)
  return function(what, value)
    if type(value) ~= want then
      fail("%s must be %s %s, not %s", what, article, want, describe(value))
    end
    return value
  end
end

M.boolean = of_type("boolean", "a")
M.table = of_type("table", "a")
M.func = of_type("function", "a")

-- A merge patch of a status: the server ignores members besides status and metadata in silence.
function M.status_patch(what, body)
  if next(body) ~= nil and #body == 0 and body.status == nil and body.metadata == nil then
    fail("%s: the patch has no status, so the server would ignore it; write {status = {...}}", what)
  end
end

function M.string(what, value)
  if type(value) ~= "string" then
    fail("%s must be a string, not %s", what, describe(value))
  elseif value == "" then
    fail("%s must not be empty", what)
  end
  return value
end

-- A string that C code reads up to its first NUL byte.
function M.c_string(what, value)
  if M.string(what, value):find("\0", 1, true) then
    fail("%s must not contain a NUL byte", what)
  end
  return value
end

-- A key with such a namespace would be that of another object.
function M.namespace(what, value)
  if not host.are_names(M.string(what, value)) then
    fail("%s: %s cannot be a namespace", what, M.quote(value))
  end
  return value
end

-- A text that may be empty.
M.text = of_type("string", "a")

-- A text of 1 to `most` bytes. The length is checked before a pattern is applied, since texts can
-- be up to 1 MiB long.
function M.short(most)
  return function(what, value)
    if #M.string(what, value) > most then
      fail("%s has %d bytes; it may have %d", what, #value, most)
    end
    return value
  end
end

-- A finite number of at least `least`; nil: any finite number.
function M.number(least)
  return function(what, value)
    if type(value) ~= "number" or value ~= value or value == math.huge or value == -math.huge then
      fail("%s must be a number, not %s", what, describe(value))
    elseif least and value < least then
      fail("%s must be a number of at least %s, not %s", what, least, describe(value))
    end
    return value
  end
end

-- A whole number of at least `least` that fits into a C int.
function M.integer(least)
  return function(what, value)
    if type(value) ~= "number" or value % 1 ~= 0 or value < least then
      fail("%s must be a whole number of at least %d, not %s", what, least, describe(value))
    elseif value > INT_MAX then
      fail("%s must be at most %d, not %s", what, INT_MAX, describe(value))
    end
    return value
  end
end

-- A number of seconds, or text such as "1m30s". Returns seconds, which may be negative or very
-- large.
function M.seconds(what, value)
  local seconds, too_long = value, false
  if type(value) == "string" then
    seconds, too_long = host.duration(value)
  end
  if too_long then
    fail("%s is out of range: a text says at most 292 years, not %s", what, describe(value))
  end
  if type(seconds) ~= "number" or seconds ~= seconds or math.abs(seconds) == math.huge then
    fail('%s must be seconds or text such as "1m30s", not %s', what, describe(value))
  end
  return seconds
end

-- A duration that the core can wait for; may be negative.
function M.duration(what, value)
  local seconds = M.seconds(what, value)
  if seconds > LONGEST then
    fail("%s must be at most %d seconds, not %s", what, LONGEST, describe(value))
  end
  return seconds
end

-- A duration of zero or more.
function M.delay(what, value)
  local seconds = M.duration(what, value)
  if seconds < 0 then
    fail("%s must be zero or longer, not %s", what, describe(value))
  end
  return seconds
end

-- A duration of at least one nanosecond, the core's unit; for the core, zero means "none".
function M.positive_duration(what, value)
  local seconds = M.duration(what, value)
  if seconds < 1e-9 then
    fail("%s must be longer than zero, not %s", what, describe(value))
  end
  return seconds
end

function M.one_of(...)
  local allowed = { ... }
  return function(what, value)
    for _, one in ipairs(allowed) do
      if one == value then
        return value
      end
    end
    local names = {}
    for i, one in ipairs(allowed) do
      names[i] = format("%q", one)
    end
    fail("%s must be one of %s, not %s", what, table.concat(names, ", "), describe(value))
  end
end

-- What may be done to objects, by the names that the API server has.
M.verb = M.one_of("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")

function M.array_of(checker)
  return function(what, value)
    if type(value) ~= "table" then
      fail("%s must be an array, not %s", what, describe(value))
    elseif next(value) ~= nil and not host.is_array(value) then
      fail('%s must be an array such as {"a", "b"}, not a table with names or holes', what)
    end
    local out = {}
    for i, item in ipairs(value) do
      out[i] = checker(format("%s[%d]", what, i), item)
    end
    return out
  end
end

-- The same, but a single string stands for an array with it.
function M.one_or_more(checker)
  local many = M.array_of(checker)
  return function(what, value)
    if type(value) == "string" then
      return { checker(what, value) }
    elseif type(value) ~= "table" then
      fail("%s must be a string or an array of strings, not %s", what, describe(value))
    end
    return many(what, value)
  end
end

-- Keeps results of make(key, what) for each key. Forgets all of them when there are more than
-- MOST_KEPT keys.
local MOST_KEPT = 500
local function kept(make)
  local values, count = {}, 0
  return function(key, what)
    local value = values[key]
    if value == nil then
      value = make(key, what)
      if count == MOST_KEPT then
        values, count = {}, 0
      end
      values[key], count = value, count + 1
    end
    return value
  end
end

-- Keeps results of join(a, b) of two texts. Texts for messages are needed in every call but rarely
-- shown. There are few different b.
local function kept_text(join)
  local texts_of = kept(function()
    return {}
  end)
  return function(a, b)
    local texts = texts_of(a)
    local text = texts[b]
    if not text then
      text = join(a, b)
      texts[b] = text
    end
    return text
  end
end

-- "get apps/v1/Deployment"
M.verb_text = kept_text(function(kind, verb)
  return verb .. " " .. kind
end)

-- "get apps/v1/Deployment: metadata"
M.member_text = kept_text(function(what, name)
  return what .. ": " .. name
end)

local good_kind = kept(function(value, what)
  if type(value) ~= "string" then
    fail('%s: the kind must be a text such as "apps/v1/Deployment", not %s', what,
      describe(value))
  elseif #value > KIND_MAX then
    fail("%s: a kind of %d bytes; it may have %d", what, #value, KIND_MAX)
  end
  M.must(what, host.kind(value))
  return value
end)

-- "apps/v1/Deployment"
function M.kind(what, value)
  return good_kind(value, what)
end

-- Canonical text of a label selector.
function M.selector(what, value)
  return M.must(what, host.selector(value))
end

-- Canonical text of a field selector.
function M.fields(what, value)
  return M.must(what, host.fields(M.string(what, value)))
end

function M.path(what, value)
  M.must(what, host.path(M.string(what, value)))
  return value
end

-- A hint for an unknown name: the nearest name in a table of known ones, or all of them.
function M.nearest(word, known)
  local names = {}
  for name in pairs(known) do
    names[#names + 1] = name
  end
  table.sort(names)
  local best = type(word) == "string" and host.nearest(word, names)
  if best then
    return format("did you mean %q?", best)
  end
  return "there are: " .. table.concat(names, ", ")
end

-- The checkers of both tables, for options that have more names than others.
function M.with(base, more)
  local out = {}
  for name, checker in pairs(base) do
    out[name] = checker
  end
  for name, checker in pairs(more) do
    out[name] = checker
  end
  return out
end

-- Checks a table of options with {name = checker}. Returns a table of the checked values; {} for
-- nil.
function M.options(what, options, checkers)
  local out = {}
  if options == nil then
    return out
  end
  if type(options) ~= "table" then
    fail("%s: options must be a table, not %s", what, describe(options))
  end
  for name, value in pairs(options) do
    local checker = checkers[name]
    if not checker then
      fail("%s: unknown option %s; %s", what, type(name) == "string" and format("%q", name)
        or describe(name), M.nearest(name, checkers))
    end
    out[name] = checker(M.member_text(what, name), value)
  end
  return out
end

local function all_names(content, later)
  local out = {}
  for key in pairs(content) do
    out[key] = true
  end
  for key in pairs(later or {}) do
    out[key] = true
  end
  return out
end

-- Loads a module, or takes its field ("perilune.cron.cron"). A table is frozen, with its name as
-- scripts see it.
local function load_later(name, content, key, later)
  local module, field = match(later[key], "^(%w+%.%w+)%.?(.*)$")
  local value = require(module)
  if field ~= "" then
    value = value[field]
  end
  if type(value) == "table" then
    value = M.frozen(name .. "." .. key, value)
  end
  content[key] = value
  return value
end

-- A table that scripts cannot change and in which unknown names are errors. later: modules, or
-- fields of modules, that are loaded at their first use, so unused ones cost nothing. elsewhere:
-- for names that scripts seek here, what to write instead.
function M.frozen(name, content, later, elsewhere)
  return setmetatable({}, {
    __index = function(_, key)
      local value = content[key]
      if value == nil and later and later[key] then
        value = load_later(name, content, key, later)
      end
      if value == nil then
        fail("%s has no %s; %s", name,
          type(key) == "string" and format("%q", key) or describe(key),
          elsewhere and elsewhere[key] or M.nearest(key, all_names(content, later)))
      end
      return value
    end,
    __newindex = function(_, key)
      fail("%s.%s can't be assigned: the module is shared by all scripts", name, tostring(key))
    end,
    __metatable = name,
  })
end

-- Additional arguments are mistakes, too: a dot instead of a colon, or an option outside of the
-- table.
function M.no_more(what, ...)
  if select("#", ...) > 0 then
    fail("%s got more arguments than it takes", what)
  end
end

-- f, which takes one to `most` arguments.
function M.bounded(what, most, f)
  return function(...)
    local count = select("#", ...)
    if count > most then
      M.no_more(what, ...)
    elseif count == 0 then
      fail("%s needs a value", what)
    end
    return f(...)
  end
end

-- For a call that knows only the host's own cluster: refuses {cluster =} in its options and ignores
-- everything else. instead: a hint for the message, or nil.
function M.no_cluster(what, options, instead)
  if type(options) == "table" and rawget(options, "cluster") ~= nil then
    fail("%s takes no cluster: it knows the host's own alone%s", what,
      instead and "; " .. instead or "")
  end
end

return M
