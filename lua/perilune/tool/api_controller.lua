-- The part of the definitions in api.lua that is about controllers.

return [==[
---@class perilune.ClusterOptions
---@field kubeconfig? string
---@field context? string
---@field secret? string|{namespace: string, name: string, key?: string}

---@class perilune.Cluster
---@field name string
---@field client perilune.Client
---@field live perilune.Client

---@class perilune.FamilyOptions: perilune.SourceOptions
---@field group? string|string[]
---@field namespaced? boolean
---@field verb? string|string[]
---@field every? perilune.Duration from one look at the kinds to the next

---@class perilune.Controller
local Controller = {}
---@param kind perilune.Kind
---@param options? perilune.SourceOptions
---@return perilune.Controller
function Controller:For(kind, options) end
---@param kind perilune.Kind
---@param options? perilune.SourceOptions
---@return perilune.Controller
function Controller:Owns(kind, options) end
---@param kind perilune.Kind
---@param map "self"|fun(object: table, event: perilune.Event): perilune.Ref|perilune.Ref[]|nil
---@param options? perilune.SourceOptions
---@return perilune.Controller
function Controller:Watches(kind, map, options) end
---@param selects fun(kind: perilune.ServedKind): boolean?
---@param map "self"|fun(object: table, event: perilune.Event): perilune.Ref|perilune.Ref[]|nil
---@param options? perilune.FamilyOptions
---@return perilune.Controller
function Controller:WatchesKinds(selects, map, options) end
---@param kind perilune.Kind
---@param options? perilune.SourceOptions
---@return perilune.Controller
function Controller:Reads(kind, options) end
---@param kind perilune.Kind
---@param verbs perilune.Verb[]
---@param options? {cluster?: string}
---@return perilune.Controller
function Controller:Writes(kind, verbs, options) end
---@param name string
---@return perilune.Controller
function Controller:WatchesChannel(name) end
---@param ... perilune.Predicate|fun(event: perilune.Event): boolean?
---@return perilune.Controller
function Controller:WithEventFilter(...) end
---@param reconcile fun(request: perilune.Request, context: perilune.Context): perilune.Result?, any
---@return perilune.Controller
function Controller:Reconcile(reconcile) end

]==]
