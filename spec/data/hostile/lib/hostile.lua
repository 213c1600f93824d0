-- Helpers of the scripts in spec/data/hostile, and the calls of public functions with odd values.
local M = {}

function M.loop()
  while true do end
end

function M.with(name, f)
  return setmetatable({}, { [name] = f })
end

-- A value that is small in memory but enormous when it is walked.
function M.doubled(levels)
  local t = { leaf = "leaf" }
  for _ = 1, levels do
    t = { a = t, b = t }
  end
  return t
end

function M.nested(levels)
  local t = {}
  for _ = 1, levels do
    t = { t }
  end
  return t
end

-- Public functions, by their names below require("perilune"), and the arguments for each.
M.functions = [[
  controller index every run channel enqueue memo event manifest manifests hash random key deepcopy
  equal merge dig array number quantity duration selector try terminal spawn join rolled_out
  set_controller_reference set_owner_reference is_controlled_by controller_of
  client.get client.list client.each client.create client.update client.update_status client.patch
  client.patch_status client.apply client.apply_status client.delete client.delete_all_of
  client.subresource client.create_or_update client.wait
  live.get live.list live.each live.create live.update live.patch live.apply live.delete
  live.delete_all_of live.subresource live.wait
  predicate.label_selector predicate.fields_changed predicate.all predicate.any predicate.none
  predicate.funcs errors.is_not_found errors.is_conflict errors.is_already_exists
  errors.is_forbidden errors.is_invalid errors.is_too_many_requests errors.is_timeout
  errors.is_network errors.is_refused finalizer.add finalizer.remove finalizer.has finalizer.handle
  conditions.set conditions.get conditions.is_true base64.encode base64.decode json.encode
  json.decode yaml.encode yaml.decode yaml.decode_all time.parse time.now time.format
  metrics.counter metrics.gauge metrics.histogram http.request
  log.debug log.info log.warn log.error
]]

function M.odd_values()
  local cycle = {}
  cycle.cycle = cycle
  return {
    false, true, 0, -1, 0 / 0, 1 / 0, -1 / 0, 2 ^ 53, 1e300, 1.5, "", "x", "\0\255", "a/b/c", "v1/Pod",
    ("x"):rep(1000), 1LL, {}, { 1, 2 }, { a = 1 }, { [1.5] = 2 }, { nil, 2 }, cycle, print, M.loop,
    coroutine.create(print), require("perilune").null, require("perilune"), require("cjson").null,
    M.with("__index", error), M.with("__tostring", error), M.with("__call", error),
    { name = {} }, { apiVersion = 1, kind = {}, metadata = "x" }, { metadata = { name = "../.." } },
    { apiVersion = "v1", kind = "Pod", metadata = { name = "x", namespace = "y/z" } },
  }
end
-- The number of arguments, including a nil at the end.
M.odd_count = 37

-- Calls one public function with each odd value, and with pairs of some; any error is right.
-- Returns the number of calls.
function M.misuse(name)
  local perilune, values, calls = require("perilune"), M.odd_values(), 0
  local owner, field = name:match("^(%w+)%.([%w_]+)$")
  local self = owner and perilune[owner] or nil
  local f = owner and self[field] or perilune[name]
  local is_method = owner == "client" or owner == "live" or owner == "log"
  local function call(...)
    calls = calls + 1
    if is_method then
      return pcall(f, self, ...)
    end
    return pcall(f, ...)
  end
  call()
  for i = 1, M.odd_count do
    call(values[i])
    call(nil, values[i])
    call(values[i], values[i], values[i], values[i])
    for j = i % 5 + 1, M.odd_count, 5 do
      call(values[i], values[j], values[i])
    end
  end
  return calls
end

return M
