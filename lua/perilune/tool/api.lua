-- The Lua API as LuaLS definitions, for `perilune types` and `perilune new`. A specification compares
-- the names with those of the module that scripts see. "@CLIENT@" and "@CONTROLLER@" are where the
-- kinds of CRDs come in.

return [==[
---@meta perilune
-- What the language server knows of Perilune. `perilune types` writes this file; do not edit it.

---A kind: "v1/Pod", "apps/v1/Deployment", "example.com/v1/Website"
---@alias perilune.Kind string
---Seconds, or text such as "1m30s"
---@alias perilune.Duration number|string
---A request, a table with name (and namespace), a key such as "default/blog", or an object
---@alias perilune.Ref string|table
---"app=web,tier!=db", {app = "web"}, or a LabelSelector
---@alias perilune.Selector string|table
---@alias perilune.Verb "get"|"list"|"watch"|"create"|"update"|"patch"|"delete"|"deletecollection"

---@class perilune.OwnerReference
---@field apiVersion string
---@field kind string
---@field name string
---@field uid string
---@field controller? boolean
---@field blockOwnerDeletion? boolean

---@class perilune.Metadata
---@field name? string
---@field generateName? string
---@field namespace? string
---@field uid? string
---@field resourceVersion? string
---@field generation? integer
---@field creationTimestamp? string
---@field deletionTimestamp? string
---@field deletionGracePeriodSeconds? integer
---@field labels? table<string, string>
---@field annotations? table<string, string>
---@field finalizers? string[]
---@field ownerReferences? perilune.OwnerReference[]

---@class perilune.Condition
---@field type string
---@field status string
---@field reason string
---@field message string
---@field lastTransitionTime string
---@field observedGeneration? integer

---@class perilune.Request
---@field namespace? string
---@field name string
---@field key string

---@class perilune.Cause
---@field kind? perilune.Kind
---@field key? string
---@field type "ADDED"|"MODIFIED"|"DELETED"|"RESYNC"|"REQUEUE"|"RETRY"|"RELOAD"
---@field changed? string[]

---@class perilune.Log
local Log = {}
---@param message string
---@param fields? table<string, any>
function Log:debug(message, fields) end
---@param message string
---@param fields? table<string, any>
function Log:info(message, fields) end
---@param message string
---@param fields? table<string, any>
function Log:warn(message, fields) end
---@param message string
---@param fields? table<string, any>
function Log:error(message, fields) end

---@class perilune.Context
---@field log perilune.Log
---@field attempt integer
---@field reconcile_id string
---@field causes perilune.Cause[]
---@field causes_dropped integer
---@field deadline? number

---@class perilune.TaskContext
---@field log perilune.Log
---@field deadline? number
---@field scheduled? number the time that cron began it for
local TaskContext = {}
---@return boolean
function TaskContext:stopping() end

---@class perilune.Event
---@field type "ADDED"|"MODIFIED"|"DELETED"|"GENERIC"
---@field object table
---@field old? table
---@field stale? boolean

---@class perilune.Result
---@field requeue? boolean
---@field requeue_after? perilune.Duration

---@class perilune.Predicate

---@class perilune.Shard
---@field count integer
---@field mine integer[]
---@field owns fun(self: perilune.Shard, object: perilune.Ref): boolean

---@class perilune.SourceOptions
---@field predicates? (perilune.Predicate|fun(event: perilune.Event): boolean?)[]
---@field namespaces? string[]
---@field labels? perilune.Selector
---@field fields? string
---@field metadata_only? boolean
---@field managed_fields? boolean
---@field cluster? string
---@field shared? boolean
---@field writes? perilune.Verb[]
---@field finalizers? string[] of For: the names that this controller may add
---@field match_every_owner? boolean of Owns: not only the controller reference

---@class perilune.RateLimiter
---@field base? perilune.Duration
---@field max? perilune.Duration
---@field fast? perilune.Duration
---@field slow? perilune.Duration
---@field fast_attempts? integer
---@field qps? number
---@field burst? integer
---@field max_wait? perilune.Duration

---@class perilune.ControllerOptions
---@field max_concurrent_reconciles? integer
---@field reconcile_timeout? perilune.Duration
---@field rate_limiter? perilune.RateLimiter
---@field max_retries? integer
---@field resync_period? perilune.Duration
---@field leader_election? boolean
---@field on_reload? "enqueue"|"none"
---@field cache_sync_timeout? perilune.Duration

---@class perilune.ListOptions
---@field namespace? string
---@field labels? perilune.Selector
---@field fields? string
---@field owner? table
---@field index? {name: string, value: string|number|boolean}
---@field select? string[]
---@field limit? integer
---@field continue? string
---@field metadata_only? boolean

---@class perilune.ListInfo
---@field resource_version? string
---@field continue? string
---@field remaining? integer

---@class perilune.WriteOptions
---@field owner? table
---@field adopt? boolean
---@field force_write? boolean
---@field dry_run? boolean
---@field field_manager? string
---@field field_validation? "Strict"|"Warn"|"Ignore"

---@class perilune.PatchOptions: perilune.WriteOptions
---@field type? "merge"|"json"|"strategic"

---@class perilune.ApplyOptions: perilune.WriteOptions
---@field force? boolean

---@class perilune.DeleteOptions: perilune.WriteOptions
---@field propagation? "Background"|"Foreground"|"Orphan"
---@field grace_period? integer
---@field uid? string
---@field resource_version? string

---@class perilune.DeleteAllOptions
---@field namespace? string
---@field labels? perilune.Selector
---@field fields? string
---@field all? boolean
---@field dry_run? boolean

---@class perilune.Client
local Client = {}
@GET@
---@param kind perilune.Kind
---@param ref perilune.Ref
---@param options? {metadata_only?: boolean}
---@return table? object nil: there is none
function Client:get(kind, ref, options) end
@LIST@
---@param kind perilune.Kind
---@param options? perilune.ListOptions
---@return table[] objects
---@return perilune.ListInfo info
function Client:list(kind, options) end
@EACH@
---@param kind perilune.Kind
---@param options? perilune.ListOptions
---@return fun(): table?
function Client:each(kind, options) end
---@generic T: table
---@param object T
---@param options? perilune.WriteOptions
---@return T stored
function Client:create(object, options) end
---@generic T: table
---@param object T
---@param options? perilune.WriteOptions
---@return T stored
function Client:update(object, options) end
---@generic T: table
---@param object T
---@param options? perilune.WriteOptions
---@return T stored
function Client:update_status(object, options) end
---@overload fun(self: perilune.Client, kind: perilune.Kind, ref: perilune.Ref, patch: table, options?: perilune.PatchOptions): table
---@param object table
---@param patch table
---@param options? perilune.PatchOptions
---@return table stored
function Client:patch(object, patch, options) end
---@overload fun(self: perilune.Client, kind: perilune.Kind, ref: perilune.Ref, patch: table, options?: perilune.PatchOptions): table
---@param object table
---@param patch table
---@param options? perilune.PatchOptions
---@return table stored
function Client:patch_status(object, patch, options) end
---@generic T: table
---@param object T
---@param options? perilune.ApplyOptions
---@return T stored
function Client:apply(object, options) end
---@generic T: table
---@param object T
---@param options? perilune.ApplyOptions
---@return T stored
function Client:apply_status(object, options) end
---@overload fun(self: perilune.Client, kind: perilune.Kind, ref: perilune.Ref, options?: perilune.DeleteOptions): boolean
---@param object table
---@param options? perilune.DeleteOptions
---@return boolean deleted false: it was gone already
function Client:delete(object, options) end
---@param kind perilune.Kind
---@param options perilune.DeleteAllOptions
---@return integer? count
function Client:delete_all_of(kind, options) end
---@param kind perilune.Kind
---@param ref perilune.Ref
---@param name string "scale", "eviction", "log", ...
---@param verb "get"|"update"|"patch"|"create"
---@param body? table
---@param options? table
---@return any answer
function Client:subresource(kind, ref, name, verb, body, options) end
---@generic T: table
---@param object T
---@param change fun(current: T)
---@param options? perilune.WriteOptions
---@return T stored
---@return "created"|"updated"|"unchanged" what
function Client:create_or_update(object, change, options) end
---@param kind perilune.Kind
---@param ref perilune.Ref
---@param predicate fun(object: table?): boolean?
---@param timeout perilune.Duration
---@return table object
function Client:wait(kind, ref, predicate, timeout) end
---@param pod perilune.Ref
---@param options? {container?: string, tail?: integer, since?: perilune.Duration, previous?: boolean, timestamps?: boolean, limit_bytes?: integer, follow?: fun(line: string): boolean?}
---@return string? text
function Client:logs(pod, options) end
---@param pod perilune.Ref
---@param options {command: string[], container?: string, stdin?: string, timeout?: perilune.Duration, limit_bytes?: integer, dry_run?: boolean}
---@return {stdout: string, stderr: string, code: integer, skipped?: boolean} result
function Client:exec(pod, options) end
---@param pod perilune.Ref
---@param options? {grace_period?: integer, uid?: string, resource_version?: string, dry_run?: boolean}
---@return boolean evicted false: there is no such pod
function Client:evict(pod, options) end
---@param method "GET"|"POST"|"PUT"|"PATCH"|"DELETE"
---@param path string
---@param options? {query?: table, body?: table, headers?: table<string, string>, dry_run?: boolean}
---@return any answer
function Client:raw(method, path, options) end
---@param who {user: string, groups?: string[], uid?: string, extra?: table<string, string[]>}
---@return perilune.Client
function Client:as(who) end

---@class perilune.ApiError
---@field type "api"|"network"|"timeout"|"refused"
---@field code? integer
---@field reason? string
---@field message string
---@field retry_after? number
---@field kind? perilune.Kind
---@field key? string
---@field verb? string
---@field subresource? string
---@field causes? table[]
---@field gone? boolean
---@field rule? string

---@class perilune.TaskOptions
---@field name? string
---@field leader_election? boolean
---@field reads? perilune.Kind[]
---@field writes? perilune.Kind[]|table<perilune.Kind, perilune.Verb[]>

---@class perilune.EveryOptions: perilune.TaskOptions
---@field immediate? boolean

---@class perilune.CronOptions: perilune.TaskOptions
---@field zone? string

---@class perilune.WebhookOptions
---@field operations? ("CREATE"|"UPDATE"|"DELETE"|"CONNECT"|"*")[]
---@field subresources? string[]
---@field object_selector? perilune.Selector
---@field namespace_selector? perilune.Selector
---@field match_conditions? {name: string, expression: string}[]
---@field match_policy? "Equivalent"|"Exact"
---@field failure_policy? "Fail"|"Ignore"
---@field timeout? perilune.Duration whole seconds, 1 to 30
---@field side_effects? "None"|"NoneOnDryRun"
---@field max_concurrent? integer
---@field name? string
---@field reads? perilune.Kind[]
---@field writes? perilune.Kind[]|table<perilune.Kind, perilune.Verb[]>

---@class perilune.MutateOptions: perilune.WebhookOptions
---@field reinvocation? "Never"|"IfNeeded"

---@class perilune.AdmissionRequest
---@field uid string
---@field operation "CREATE"|"UPDATE"|"DELETE"|"CONNECT"
---@field kind perilune.Kind
---@field resource string
---@field subresource? string
---@field namespace? string
---@field name? string
---@field user {username: string, uid?: string, groups?: string[], extra?: table}
---@field dry_run? boolean
---@field options? table
---@field audit_annotations table<string, string>

---@class perilune.Regex
local Regex = {}
---@param text string
---@return boolean
function Regex:test(text) end
---@param text string
---@param from? integer
---@return string? ...
function Regex:match(text, from) end
---@param text string
---@param from? integer
---@return integer? first
---@return integer? last
---@return string? ...
function Regex:find(text, from) end
---@param text string
---@param replacement string|table|function
---@param count? integer
---@return string text
---@return integer replaced
function Regex:gsub(text, replacement, count) end

---@class perilune.Counter
local Counter = {}
---@param labels? table<string, string>
---@param n? number
function Counter:inc(labels, n) end
---@param labels? table<string, string>
---@return boolean
function Counter:remove(labels) end

---@class perilune.Gauge
local Gauge = {}
---@param value number
---@param labels? table<string, string>
function Gauge:set(value, labels) end
---@param labels? table<string, string>
---@return boolean
function Gauge:remove(labels) end

---@class perilune.Histogram
local Histogram = {}
---@param value number
---@param labels? table<string, string>
function Histogram:observe(value, labels) end
---@param labels? table<string, string>
---@return boolean
function Histogram:remove(labels) end

---@class perilune.Channel
local Channel = {}
---@param request perilune.Ref
function Channel:send(request) end

---@class perilune.DigestOptions
---@field algorithm? "sha256"|"sha384"|"sha512"|"weak_sha1"|"weak_md5"
---@field encoding? "hex"|"base64"|"bytes"

---@class perilune.CertificateNames
---@field subject? string|table<string, string|string[]>
---@field dns? string|string[]
---@field ips? string|string[]
---@field uris? string|string[]
---@field emails? string|string[]

---@class perilune.CertificateOptions: perilune.CertificateNames
---@field duration? perilune.Duration
---@field not_before? number
---@field ca? boolean
---@field usages? "server"|"client"|("server"|"client")[]

---@class perilune.SignOptions: perilune.CertificateOptions
---@field ca_cert string
---@field ca_key string

---@class perilune.Certificate
---@field kind "certificate"|"request"
---@field subject table<string, string|string[]>
---@field issuer? table<string, string|string[]>
---@field dns string[]
---@field ips string[]
---@field uris string[]
---@field emails string[]
---@field usages? ("server"|"client")[]
---@field not_before? number
---@field not_after? number
---@field ca? boolean
---@field self_signed? boolean
---@field serial? string
---@field fingerprint? string
---@field key string
---@field signature string

---@class perilune.UrlParts
---@field scheme string
---@field user? string
---@field password? string
---@field host? string
---@field port? integer
---@field path? string
---@field query? table<string, string|string[]>
---@field fragment? string

---@class perilune.HttpRequest
---@field url string
---@field query? table<string, string|number|boolean|string[]>
---@field method? string
---@field headers? table<string, string>
---@field body? string
---@field json? any
---@field timeout? perilune.Duration
---@field max_response? integer
---@field tls? {ca?: string, cert?: string, key?: string, server_name?: string, insecure?: boolean}

---@class perilune.HttpResponse
---@field status integer
---@field ok boolean
---@field headers table<string, string>
---@field body string
---@field json? any

]==] .. require("perilune.tool.api_controller")
  .. require("perilune.tool.api_module")
