-- perilune.webhook.validate, mutate and convert: admission and conversion handlers, and their
-- results. Registrations are collected while the scripts load, because names depend on the other
-- registrations. The host gets them when all main chunks have run.

local host = require("perilune.host")
local check = require("perilune.check")
local controller = require("perilune.controller")
local tasks = require("perilune.task")

local format, concat, type, ipairs = string.format, table.concat, type, ipairs
local fail, describe = check.fail, check.describe
local M = {}

local registrations = {} -- in the order of their registration
local claims = {} -- path (convert: "group/Kind") -> {kind = its text, self = its registration}

-- ---- options ----

local DEFAULT_TIMEOUT, LONGEST_TIMEOUT = 10, 30

local function timeout(what, value)
  local seconds = check.seconds(what, value)
  if seconds % 1 ~= 0 or seconds < 1 or seconds > LONGEST_TIMEOUT then
    fail("%s must be whole seconds from 1 to %d, not %s", what, LONGEST_TIMEOUT, describe(value))
  end
  return seconds
end

local function not_empty(checker)
  return function(what, value)
    local list = checker(what, value)
    if #list == 0 then
      fail("%s must not be empty", what)
    end
    return list
  end
end

local function subresource(what, value)
  check.string(what, value)
  if not host.is_name(value, "dns-label") then
    fail('%s must be the name of a subresource such as "status", not %s', what, describe(value))
  end
  return value
end

local function name_of_three(what, value)
  check.string(what, value)
  if not host.is_name(value, "dns-subdomain") then
    fail("%s: %q is not a name: lower-case letters, digits, '-' and '.'", what, value)
  elseif not value:find("^[^.]+%.[^.]+%.[^.]") then
    fail('%s: %q must have at least three parts, as in "websites.example.com"', what, value)
  end
  return value
end

local condition_options = { name = check.string, expression = check.string }
local MOST_CONDITIONS = 64

local function conditions(what, value)
  local seen = {}
  local list = check.array_of(function(item, one)
    local condition = check.options(item, check.table(item, one), condition_options)
    check.string(item .. ": name", condition.name)
    check.string(item .. ": expression", condition.expression)
    if not condition.expression:find("%S") then
      fail("%s: expression must not be empty", item)
    elseif not host.is_name(condition.name, "qualified") then
      fail("%s: name: %q is not a qualified name", item, condition.name)
    elseif seen[condition.name] then
      fail("%s: the name %q is given twice", item, condition.name)
    end
    seen[condition.name] = true
    return condition
  end)(what, value)
  if #list > MOST_CONDITIONS then
    fail("%s: at most %d", what, MOST_CONDITIONS)
  end
  return list
end

local some_operations = not_empty(check.array_of(check.one_of("CREATE", "UPDATE", "DELETE",
  "CONNECT", "*")))

local function operations(what, value)
  local list = some_operations(what, value)
  for _, operation in ipairs(list) do
    if operation == "*" and #list > 1 then
      fail('%s: "*" is all of them and stands alone', what)
    end
  end
  return list
end

-- The LabelSelector of a webhook can't compare numbers, as a list's parameter can.
local function label_selector(what, value)
  local text = check.selector(what, value)
  local term = text:match("[^,]*[<>][^,]*")
  if term then
    fail("%s: %q: webhooks select by equality, set and existence, not by < and >", what, term)
  end
  return text
end

local validate_options = {
  operations = operations,
  subresources = check.array_of(subresource),
  object_selector = label_selector,
  namespace_selector = label_selector,
  match_conditions = conditions,
  match_policy = check.one_of("Equivalent", "Exact"),
  failure_policy = check.one_of("Fail", "Ignore"),
  timeout = timeout,
  side_effects = check.one_of("None", "NoneOnDryRun"),
  max_concurrent = check.integer(1),
  name = name_of_three,
  reads = tasks.run_options.reads,
  writes = tasks.run_options.writes,
}
local mutate_options = { reinvocation = check.one_of("Never", "IfNeeded") }
for name, checker in pairs(validate_options) do
  mutate_options[name] = checker
end

-- ---- answers ----

local Invalid = {} -- the mark of results of perilune.webhook.invalid

local function cause(what, value)
  local one = check.options(what, check.table(what, value), { field = check.string,
    message = check.string })
  check.string(what .. ": field", one.field)
  check.string(what .. ": message", one.message)
  return one
end

-- A denial: 422 Invalid with these causes.
function M.invalid(causes, ...)
  check.no_more("perilune.webhook.invalid", ...)
  local list = check.array_of(cause)("perilune.webhook.invalid", causes)
  if #list == 0 then
    fail("perilune.webhook.invalid needs at least one {field =, message =}")
  end
  return setmetatable({ causes = list }, Invalid)
end

local allowed_results = "nothing (allowed), a string (denied), perilune.webhook.invalid{...}, and "
  .. "an array of warnings as a second value"

-- Replaces control characters by spaces, also U+0080 to U+009F, which HTTP headers do not allow.
local function one_line(text)
  return (text:gsub("%c", " "):gsub("\194[\128-\159]", " "))
end

local function warnings_of(what, value)
  if value == nil then
    return nil
  elseif type(value) ~= "table" or (next(value) ~= nil and not host.is_array(value)) then
    fail("%s returned %s as its second value; it may return %s", what, describe(value),
      allowed_results)
  end
  local out = {}
  for i, text in ipairs(value) do
    if type(text) ~= "string" then
      fail("%s: warning %d must be a string, not %s", what, i, describe(text))
    end
    out[i] = one_line(text)
  end
  return #out > 0 and out or nil
end

local function audit_of(what, request)
  local annotations = request and request.audit_annotations
  if annotations == nil then
    return nil
  elseif type(annotations) ~= "table" then
    fail("%s: request.audit_annotations must be a table, not %s", what, describe(annotations))
  end
  local out
  for name, value in pairs(annotations) do
    if type(name) ~= "string" or type(value) ~= "string" then
      fail("%s: request.audit_annotations[%s] must be a string, not %s", what, tostring(name),
        describe(value))
    end
    out = out or {}
    out[name] = value
  end
  return out
end

local function webhook_text(name)
  return format("webhook %q", name)
end

local function said_of(what, first)
  if first == nil then
    return { allowed = true }
  elseif type(first) == "string" then
    return { allowed = false, message = first }
  elseif type(first) == "table" and getmetatable(first) == Invalid then
    local texts = {}
    for i, one in ipairs(first.causes) do
      texts[i] = one.field .. ": " .. one.message
    end
    return { allowed = false, message = concat(texts, "; "), causes = host.array(first.causes) }
  end
  fail("%s returned %s; it may return %s", what, describe(first), allowed_results)
end

-- `first_name` is said in messages if the host does not name the webhook that was asked.
local function admission(first_name, f, mutates)
  local function finish(object, request, asked, first, warnings, ...)
    local what = webhook_text(asked or first_name)
    check.blame(f)
    if select("#", ...) > 0 then
      fail("%s returned more than two values; it may return %s", what, allowed_results)
    end
    local said = said_of(what, first)
    said.warnings = warnings_of(what, warnings)
    said.audit = audit_of(what, request)
    local message = host.hook_answer(mutates and said.allowed and object or nil, said)
    if message then
      fail("%s: %s", what, message)
    end
    return "done"
  end
  return function(object, old, request, asked)
    return finish(object, request, asked, f(object, old, request))
  end
end

local function conversion(what, f)
  local function finish(result, ...)
    check.blame(f)
    if select("#", ...) > 0 then
      fail("%s returned more than one value; it returns the object", what)
    elseif type(result) ~= "table" then
      fail("%s returned %s; it must return the object in the other version", what,
        describe(result))
    end
    local message = host.hook_converted(result)
    if message then
      fail("%s: %s", what, message)
    end
  end
  return function(version)
    local object = host.hook_next()
    while object do
      finish(f(object, version))
      object = host.hook_next()
    end
    return "done"
  end
end

-- ---- registering ----

local function text_of(kind)
  return kind.version and format("%s/%s/%s", kind.group, kind.version, kind.kind)
    or format("%s/%s", kind.group, kind.kind)
end

-- Of a path, "." and "-" of the group are one, and so are upper and lower case of the kind.
local function path_of(sort, kind)
  if sort == "convert" then
    return "/convert"
  end
  return format("/%s-%s-%s-%s", sort, (kind.group:gsub("%.", "-")), kind.version,
    kind.kind:lower())
end

local function claim(what, sort, kind, self)
  local text = text_of(kind):gsub("^/", "")
  local at = sort == "convert" and text or path_of(sort, kind)
  local other = claims[at]
  if other and other.kind == text then
    fail("%s is called twice for one kind; first at %s:%d", what, other.self.file, other.self.line)
  elseif other then
    fail("%s: its path %s is also that of %s at %s:%d, and requests could not be told apart", what,
      at, other.kind, other.self.file, other.self.line)
  end
  claims[at] = { kind = text, self = self }
end

local function begin(sort, f, options)
  local file, line = host.where()
  local self = { sort = sort, f = f, options = options, kinds = {}, file = file or "?",
    line = line or 0 }
  registrations[#registrations + 1] = self
  return self
end

local function check_call(what, f, ...)
  check.no_more(what, ...)
  if host.phase() ~= "load" then
    fail("%s can only be called while the script is loaded", what)
  elseif type(f) ~= "function" then
    fail("%s needs a function as its second argument, not %s", what, describe(f))
  end
end

local function kinds_of(what, value)
  if type(value) ~= "table" then
    return { check.kind(what, value) }
  end
  return not_empty(check.array_of(check.kind))(what .. ": the kinds", value)
end

local function register(sort, checkers)
  local name = "perilune.webhook." .. sort
  return function(kind, f, options, ...)
    check_call(name, f, ...)
    local kinds = kinds_of(name, kind)
    local what = format("%s(%q)", name, kinds[1])
    local o = check.options(what, options, checkers)
    if o.name and #kinds > 1 then
      fail("%s: name: a registration of several kinds has a webhook for each, which need names of "
        .. "their own; leave it out, or register them one by one", what)
    elseif o.writes and #o.writes > 0 and o.side_effects ~= "NoneOnDryRun" then
      fail('%s: writes need side_effects = "NoneOnDryRun": what is written for a dry run is sent '
        .. "as a dry run", what)
    end
    local self = begin(sort, f, o)
    for i, text in ipairs(kinds) do
      self.kinds[i] = host.kind(text)
      claim(format("%s(%q)", name, text), sort, self.kinds[i], self)
    end
  end
end

M.validate = register("validate", validate_options)
M.mutate = register("mutate", mutate_options)

function M.convert(group_kind, f, ...)
  local name = "perilune.webhook.convert"
  check_call(name, f, ...)
  local group, kind = tostring(group_kind):match("^([^/]+)/([^/]+)$")
  if type(group_kind) ~= "string" or not group or not group:find(".", 1, true)
    or not host.is_name(group, "dns-subdomain") or not host.kind(group .. "/v1/" .. kind) then
    fail('%s needs a group and kind without a version, such as "example.com/Website", not %s',
      name, describe(group_kind))
  end
  local self = begin("convert", f, {})
  self.kinds[1] = { group = group, kind = kind }
  claim(format("%s(%q)", name, group_kind), "convert", self.kinds[1], self)
end

-- ---- when all main chunks have run ----

local function complain(self, message, ...)
  error(format("%s:%d: %s", self.file, self.line, format(message, ...)), 0)
end

-- The number of versions of a kind that have a handler of that sort.
local function count_versions()
  local counts = {}
  for _, self in ipairs(registrations) do
    for _, kind in ipairs(self.kinds) do
      local key = format("%s %s/%s", self.sort, kind.group, kind.kind)
      counts[key] = (counts[key] or 0) + 1
    end
  end
  return function(self, kind)
    return counts[format("%s %s/%s", self.sort, kind.group, kind.kind)]
  end
end

local function default_name(self, kind, many)
  local version = many and kind.version .. "." or ""
  return format("%s.%s.%s%s", self.sort, kind.kind:lower(), version,
    kind.group ~= "" and kind.group or "core")
end

local function hook_of(self, versions, named)
  local o, kinds = self.options, {}
  for i, kind in ipairs(self.kinds) do
    local many = self.sort ~= "convert" and versions(self, kind) > 1
    local name = o.name or default_name(self, kind, many)
    if named[name] then
      complain(self, "two webhooks are called %q; first at %s:%d", name, named[name].file,
        named[name].line)
    end
    named[name] = self
    kinds[i] = { group = kind.group, version = kind.version, kind = kind.kind, name = name,
      path = path_of(self.sort, kind), exact = (o.match_policy or many and "Exact") == "Exact" }
  end
  return { sort = self.sort, kinds = kinds, operations = o.operations or { "CREATE", "UPDATE" },
    subresources = o.subresources, object_selector = o.object_selector,
    namespace_selector = o.namespace_selector, match_conditions = o.match_conditions,
    ignore = o.failure_policy == "Ignore", on_dry_run = o.side_effects == "NoneOnDryRun",
    if_needed = o.reinvocation == "IfNeeded", timeout = o.timeout or DEFAULT_TIMEOUT }
end

local MOST_AT_ONCE = { validate = 50, mutate = 50, convert = 200 }

-- Names in use. A mutating webhook may have the name of a validating one.
local used = {}

local function declare(self, hook)
  if host.leaving then
    return
  end
  local sources, what = {}, webhook_text(hook.kinds[1].name)
  for i, kind in ipairs(self.options.reads or {}) do
    sources[i] = { role = "reads", kind = kind }
  end
  local name = hook.kinds[1].name
  if used[name] then
    name = self.sort .. "." .. name
  end
  used[name] = true
  controller.note_hook({ name = name, file = self.file, line = self.line, sources = sources,
    writes = self.options.writes, hook = hook })
  local run = self.sort == "convert" and conversion(what, self.f)
    or admission(hook.kinds[1].name, self.f, self.sort == "mutate")
  local ok, message = pcall(host.controller, {
    name = name, file = self.file, line = self.line, sources = sources,
    writes = self.options.writes or {}, leader_election = false, on_reload = "none",
    max_concurrent_reconciles = self.options.max_concurrent or MOST_AT_ONCE[self.sort],
    hook = hook, blame = self.f, reconcile = run,
  })
  if not ok then
    complain(self, "%s: %s", what, tostring(message))
  end
end

-- Assigns names, and passes the registrations to the host.
function M.finish()
  local versions, named = count_versions(), { validate = {}, mutate = {}, convert = {} }
  for _, self in ipairs(registrations) do
    declare(self, hook_of(self, versions, named[self.sort]))
  end
  registrations = {}
end

controller.at_end(M.finish)

-- What scripts see.
M.api = { validate = M.validate, mutate = M.mutate, convert = M.convert, invalid = M.invalid }

return M
