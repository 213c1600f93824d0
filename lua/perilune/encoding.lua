-- perilune.json, perilune.yaml, perilune.base64.

local host = require("perilune.host")
local check = require("perilune.check")

local fail = check.fail
local M = {}

local function decoder(what, decode)
  return function(text, ...)
    check.no_more(what, ...)
    if type(text) ~= "string" then
      fail("%s needs a string, not %s", what, check.describe(text))
    end
    return check.must(what, decode(text))
  end
end

M.json = {
  decode = decoder("json.decode", host.json_decode),
  encode = check.bounded("json.encode", 1, host.json_encode),
}

local decode_documents = decoder("yaml.decode", host.yaml_decode)

M.yaml = {
  decode_all = decoder("yaml.decode_all", host.yaml_decode),
  decode = function(...)
    local documents = decode_documents(...)
    if #documents ~= 1 then
      fail("yaml.decode: the text has %d documents, not one; decode_all takes any number",
        #documents)
    end
    return documents[1]
  end,
  encode = check.bounded("yaml.encode", 1, host.yaml_encode),
}

M.base64 = {
  encode = function(text, ...)
    check.no_more("base64.encode", ...)
    if type(text) ~= "string" then
      fail("base64.encode needs a string, not %s", check.describe(text))
    end
    return host.base64_encode(text)
  end,
  decode = function(text, ...)
    check.no_more("base64.decode", ...)
    local decoded = type(text) == "string" and host.base64_decode(text)
    if not decoded then
      fail("base64.decode: this is not base64: %s", check.describe(text))
    end
    return decoded
  end,
}

return M
