-- perilune new NAME: writes a small working controller to begin with: a custom resource whose objects
-- each own a ConfigMap, with its CRD, a sample, a specification and editor support.

local host = require("perilune.host")
local crds = require("perilune.tool.crds")
local templates = require("perilune.tool.template")
local typing = require("perilune.tool.typing")
local writing = require("perilune.tool.writing")
local yaml = require("perilune.tool.yaml")

local function camel_case(name)
  local out = name:gsub("%-*(%l)([%l%d]*)", function(first, rest) return first:upper() .. rest end)
  return (out:gsub("%-", ""))
end

local function plural_of(word)
  if word:match("[^aeiou]y$") then
    return word:sub(1, -2) .. "ies"
  elseif word:match("s$") or word:match("x$") or word:match("z$") or word:match("ch$")
    or word:match("sh$") then
    return word .. "es"
  end
  return word .. "s"
end

local function check_name(tool, paths)
  if #paths ~= 1 then
    tool.usage("%s; usage: perilune new [FLAGS] NAME",
      #paths == 0 and "no name given" or ("one name, not %d"):format(#paths))
  end
  local name = paths[1]
  if not host.is_name(name, "dns-label") or not name:match("^%l") then
    tool.usage("%q is not a controller name: it must begin with a letter, and have lower-case "
      .. "letters, digits and '-', at most 63, and must not end with '-'", name)
  end
  return name
end

local function check_group(tool, group)
  if not host.is_name(group, "dns-subdomain") or not group:find(".", 1, true) then
    tool.usage("--group: %q is not an API group: it must be a domain with a dot, such as example.com",
      group)
  end
  for _, own in ipairs({ "k8s.io", "kubernetes.io" }) do
    if group == own or group:sub(-#own - 1) == "." .. own then
      tool.usage("--group: %s belongs to Kubernetes itself; take a domain of your own", group)
    end
  end
end

local function check_kind(tool, kind)
  if not kind:match("^%u[%w]*$") or #kind > 63 then
    tool.usage("--kind: %q is not a kind: it must begin with a capital letter and have letters and "
      .. "digits, at most 63, such as Website", kind)
  elseif kind:find("List$") then
    tool.usage("the kind %s would end in List, as in Kubernetes the name of a list of objects does; take "
      .. "another --kind", kind)
  end
end

local WEBHOOK = [==[
-- Asked before an object is stored: what a schema cannot say.
perilune.webhook.validate(KIND, function(object)
  if object.spec.message:find("^%s") or object.spec.message:find("%s$") then
    return "spec.message: it must not begin or end with white space"
  end
end)

]==]

local WEBHOOK_SPEC = [==[
  it("refuses a message with white space around it", function()
    local ok, problem = pcall(world.patch, world, KIND, "default/sample",
      { spec = { message = " hello " } })
    assert.is_false(ok)
    assert.truthy(problem.message:find("must not begin or end with white space", 1, true))
    assert.equal("hello, world", world:get(KIND, "default/sample").spec.message)
  end)

]==]

-- The values of the templates' placeholders.
local function values_of(tool, input)
  local name = check_name(tool, input.paths)
  local group = input.flags.group
  check_group(tool, group)
  local kind = input.flags.kind or camel_case(name)
  check_kind(tool, kind)
  local singular = kind:lower()
  local plural = plural_of(singular)
  if #plural > 63 or #plural + 1 + #group > 253 then
    tool.usage("%s.%s is too long for the name of a CustomResourceDefinition", plural, group)
  end
  return {
    NAME = name, GROUP = group, KIND = kind, SINGULAR = singular, PLURAL = plural,
    FOLDER = input.flags.dir or name,
    WEBHOOK = input.flags.webhook and WEBHOOK or "", WEBHOOKSPEC = input.flags.webhook and WEBHOOK_SPEC or "",
  }
end

local function fill(text, values)
  return (text:gsub("@(%u+)@", values))
end

-- A value with placeholders is one scalar, the rest of its line.
local function fill_yaml(text, values)
  return (text:gsub("(: )([^\n]*@%u+@[^\n]*)", function(head, value)
    return head .. yaml.scalar(fill(value, values))
  end))
end

local function files_of(values)
  local out = {}
  for _, template in ipairs(templates) do
    local filled = template.name:match("%.yaml$") and fill_yaml or fill
    out[#out + 1] = { name = template.name, text = filled(template.text, values) }
  end
  local kinds = {}
  for _, file in ipairs(out) do
    if file.name == "manifests/crd.yaml" then
      crds.add(kinds, host.yaml_decode(file.text)[1], file.name)
    end
  end
  out[#out + 1] = { name = "types/perilune.lua", text = typing.write(kinds) }
  return out
end

return function(tool, input)
  local values = values_of(tool, input)
  local folder = values.FOLDER:gsub("(.)/+$", "%1")
  local files = files_of(values)
  local ok, message = writing.all(tool, folder, files)
  if not ok then
    tool.fail("%s", message)
  end
  for _, file in ipairs(files) do
    tool.say(crds.join(folder, file.name))
  end
  tool.say(("\n%s (%s/v1) is ready:\n\n    cd %s\n    perilune dev .        "
    .. "runs it without a cluster, and prints a kubeconfig for kubectl\n"):format(values.KIND,
    values.GROUP, folder))
  return 0
end
