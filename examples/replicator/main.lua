-- Copies Secrets and ConfigMaps into namespaces. The annotation `replicate.example.com/to` of the
-- source has regular expressions of namespaces, separated by commas:
--
--     replicate.example.com/to: "team-[a-z]+, prod"
--
-- An expression must match the whole name. A copy follows its source: it is created for each
-- namespace that matches, updated with the source, and deleted when the namespace does not match
-- any more or the source is deleted. An object that has the name of a copy but is none is not
-- changed; an Event reports it.
local perilune = require("perilune")
local client = perilune.client

local TO, FROM = "replicate.example.com/to", "replicate.example.com/from"
local FINALIZER, COPY = "replicate.example.com/copies", "replicate.example.com/copy"

-- A function that says whether a namespace matches; nil and a message for an invalid text. Without
-- a text no namespace matches.
local function matcher(text)
  local expressions = {}
  for part in (text or ""):gmatch("[^,]+") do
    local expression = part:match("^%s*(.-)%s*$")
    if expression ~= "" then
      local ok, regex = pcall(perilune.regex, "^(?:" .. expression .. ")$")
      if not ok then
        return nil, tostring(regex)
      end
      expressions[#expressions + 1] = regex
    end
  end
  return function(namespace)
    for _, regex in ipairs(expressions) do
      if regex:test(namespace) then
        return true
      end
    end
    return false
  end
end

local function annotation(object, name)
  return perilune.dig(object, "metadata", "annotations", name)
end

local function wants_copies(object)
  return annotation(object, TO) ~= nil
end

local function is_terminating(object)
  return object.metadata.deletionTimestamp ~= nil
end

-- The key of the source that a copy names; nil if the object is no copy.
local function source_of(object)
  return perilune.dig(object, "metadata", "labels", COPY) and annotation(object, FROM) or nil
end

-- Each kind has its own controller, because keys of two kinds may be the same.
local function replicate(name, kind)
  local api_version, kind_name = kind:match("^(.*)/([^/]+)$")
  perilune.index(kind, "source", source_of)

  local function copies_of(key)
    return client:list(kind, { index = { name = "source", value = key } })
  end

  -- Reads the server when the source is being deleted: the cache may lag, and nobody deletes a copy
  -- that is missed now.
  local function all_copies_of(key)
    local copies = {}
    for _, object in ipairs(perilune.live:list(kind, { labels = COPY .. "=true" })) do
      copies[#copies + 1] = source_of(object) == key and object or nil
    end
    return copies
  end

  local function copy(source, namespace, context)
    local key = perilune.key(source)
    local target = { apiVersion = api_version, kind = kind_name,
      metadata = { name = source.metadata.name, namespace = namespace } }
    local there = client:get(kind, target)
    if there and source_of(there) ~= key then
      context.log:warn("left alone: it is there already, and no copy", { namespace = namespace })
      perilune.event(source, "Warning", "NotReplicated",
        namespace .. " has one of that name already")
      return
    end
    client:create_or_update(target, function(now)
      now.metadata.labels = perilune.merge(source.metadata.labels or {}, { [COPY] = "true" })
      now.metadata.annotations = { [FROM] = key }
      now.type = source.type
      now.data, now.binaryData = source.data, source.binaryData
    end)
  end

  local function drop(copies, is_meant)
    for _, one in ipairs(copies) do
      if not is_meant(one.metadata.namespace) then
        client:delete(one)
      end
    end
  end

  -- A host with a stale cache may create copies after the source was deleted. Their events lead to
  -- this function.
  local function drop_orphans(request)
    local copies = copies_of(request.key)
    if #copies > 0 and not perilune.live:get(kind, request) then
      drop(copies, function() return false end)
    end
  end

  perilune.controller(name, { max_concurrent_reconciles = 2 })
    :For(kind, { finalizers = { FINALIZER }, writes = { "create", "update", "patch", "delete" } })
    :Watches("v1/Namespace", function()
      local sources = {}
      for _, object in ipairs(client:list(kind)) do
        sources[#sources + 1] = wants_copies(object) and object or nil
      end
      return sources
    end, { metadata_only = true, predicates = { perilune.predicate.funcs{
      update = function() return false end } } })
    -- When a copy changes or is deleted, its source is reconciled.
    :Watches(kind, function(object) return source_of(object) end)
    :Reconcile(function(request, context)
      local source = client:get(kind, request)
      if not source then
        return drop_orphans(request)
      elseif source_of(source) then
        return -- copies are not copied
      end
      if not wants_copies(source) and not perilune.finalizer.has(source, FINALIZER) then return end
      local is_meant, mistake = matcher(annotation(source, TO))
      if not is_meant then
        perilune.event(source, "Warning", "BadExpression", mistake)
        context.log:warn("the annotation cannot be read", { error = mistake })
        return
      end
      return perilune.finalizer.handle(source, FINALIZER, {
        apply = function(object)
          for _, namespace in ipairs(client:list("v1/Namespace", { metadata_only = true })) do
            local other = namespace.metadata.name
            if other ~= object.metadata.namespace and not is_terminating(namespace)
              and is_meant(other) then
              copy(object, other, context)
            end
          end
          drop(copies_of(request.key), is_meant)
        end,
        cleanup = function()
          drop(all_copies_of(request.key), function() return false end)
        end,
      })
    end)
end

replicate("replicate-secrets", "v1/Secret")
replicate("replicate-configmaps", "v1/ConfigMap")
