-- The second half of the definitions in api.lua: the module itself.

return [==[
---@class perilune.JsonPath
local JsonPath = {}
---@param value any
---@return any[]
function JsonPath:all(value) end
---@param value any
---@return any
function JsonPath:first(value) end

---@class perilune.Schedule
local Schedule = {}
---@param time number
---@return number? next
function Schedule:next(time) end
---@param time number
---@return number? previous
function Schedule:previous(time) end

---@class perilune.ServedKind
---@field kind perilune.Kind
---@field group string
---@field version string
---@field name string
---@field plural string
---@field namespaced boolean
---@field scope "Namespaced"|"Cluster"
---@field verbs string[]
---@field subresources string[]

---@class perilune
---@field client perilune.Client cached reads, direct writes
---@field live perilune.Client reads from the server
---@field log perilune.Log
---@field null any
---@field version string
---@field config table what --config holds
---@field generation integer counts reloads
---@field conditions perilune.conditions
---@field finalizer perilune.finalizer
---@field predicate perilune.predicate
---@field errors perilune.errors
---@field metrics perilune.metrics
---@field base64 perilune.base64
---@field time perilune.time
---@field json perilune.json
---@field yaml perilune.yaml
---@field http perilune.http
---@field webhook perilune.webhook
---@field x509 perilune.x509
---@field url perilune.url
---@field ip perilune.ip
---@field pointer perilune.pointer
local perilune = {}

---@param name string
---@param options? perilune.ControllerOptions
---@return perilune.Controller
function perilune.controller(name, options) end
---@param kind perilune.Kind
---@param name string
---@param values string|fun(object: table): any
function perilune.index(kind, name, values) end
---@param period perilune.Duration
---@param options perilune.EveryOptions
---@param f fun(context: perilune.TaskContext)
function perilune.every(period, options, f) end
---@param schedule string
---@param options perilune.CronOptions
---@param f fun(context: perilune.TaskContext)
function perilune.cron(schedule, options, f) end
---@param name string
---@param options perilune.TaskOptions
---@param f fun(context: perilune.TaskContext)
function perilune.run(name, options, f) end
---@param options? {group?: string|string[], verb?: string|string[], namespaced?: boolean}
---@return perilune.ServedKind[] kinds
---@return string[] missing group versions that could not be asked
function perilune.kinds(options) end
---@param name string
---@param options perilune.ClusterOptions
---@return perilune.Cluster
function perilune.cluster(name, options) end
---@param text string
---@param zone? string
---@return perilune.Schedule
function perilune.schedule(text, zone) end
---@param name string
---@return perilune.Channel
function perilune.channel(name) end
---@param controller string
---@param request perilune.Ref
---@param options? {after?: perilune.Duration, priority?: integer}
function perilune.enqueue(controller, request, options) end
---@param request perilune.Ref
---@return table
function perilune.memo(request) end
---@return perilune.Shard
function perilune.shard() end
---@param reason string
---@return any
function perilune.waiting(reason) end
---@param why any
---@return any
function perilune.terminal(why) end
---@param f function
---@param ... any
---@return any ...
function perilune.try(f, ...) end
---@param object table
---@param type "Normal"|"Warning"
---@param reason string
---@param message string
function perilune.event(object, type, reason, message) end
---@param object table
---@return boolean done
---@return string message
function perilune.rolled_out(object) end
---@param owner table
---@param object table
function perilune.set_controller_reference(owner, object) end
---@param owner table
---@param object table
function perilune.set_owner_reference(owner, object) end
---@param object table
---@param owner table
---@return boolean
function perilune.is_controlled_by(object, owner) end
---@param object table
---@return {kind: string, namespace: string?, name: string, uid: string}?
function perilune.controller_of(object) end
---@param object perilune.Ref
---@return string
function perilune.key(object) end
---@param object table?
---@param ... string|integer
---@return any
function perilune.dig(object, ...) end
---@generic T
---@param value T
---@return T
function perilune.deepcopy(value) end
---@param a any
---@param b any
---@return boolean
function perilune.equal(a, b) end
---@param a table
---@param b table
---@return table
function perilune.merge(a, b) end
---@param list? any[]
---@return any[]
function perilune.array(list) end
---@param text string|number
---@return any
function perilune.number(text) end
---@param file string
---@param values? table
---@return table
function perilune.manifest(file, values) end
---@param file string
---@param values? table
---@return table[]
function perilune.manifests(file, values) end
---@param path string
---@return perilune.JsonPath
function perilune.jsonpath(path) end
---@param value any
---@param options? perilune.DigestOptions
---@return string
function perilune.hash(value, options) end
---@param key string
---@param text string
---@param options? perilune.DigestOptions
---@return string
function perilune.hmac(key, text, options) end
---@param a string
---@param b string
---@return boolean
function perilune.constant_time_equal(a, b) end
---@param count integer
---@return string
function perilune.random(count) end
---@param value string|number
---@return number
function perilune.quantity(value) end
---@param value perilune.Duration
---@return number seconds
function perilune.duration(value) end
---@param text perilune.Selector
---@return any selector nil: it is none
---@return string? message
function perilune.selector(text) end
---@param selector perilune.Selector?
---@param object table
---@return boolean
function perilune.selects(selector, object) end
---@param text string
---@return perilune.Regex
function perilune.regex(text) end
---@param duration perilune.Duration
function perilune.sleep(duration) end
---@param f function
---@param ... any
---@return any task
function perilune.spawn(f, ...) end
---@param task any
---@return any ...
function perilune.join(task) end

---@class perilune.conditions
local conditions = {}
---@param object table
---@param condition {type: string, status: boolean|string, reason: string, message?: string}
function conditions.set(object, condition) end
---@param object table
---@param type string
---@return perilune.Condition?
function conditions.get(object, type) end
---@param object table
---@param type string
---@return boolean
function conditions.is_true(object, type) end

---@class perilune.finalizer
local finalizer = {}
---@param object table
---@param name string
---@return boolean changed
function finalizer.add(object, name) end
---@param object table
---@param name string
---@return boolean changed
function finalizer.remove(object, name) end
---@param object table
---@param name string
---@return boolean
function finalizer.has(object, name) end
---@generic T: table
---@param object T?
---@param name string
---@param handlers {apply: (fun(object: T): any), cleanup: (fun(object: T): any), cluster?: string}
---@return any
function finalizer.handle(object, name, handlers) end

---@class perilune.predicate
---@field generation_changed perilune.Predicate
---@field resource_version_changed perilune.Predicate
---@field label_changed perilune.Predicate
---@field annotation_changed perilune.Predicate
---@field finalizers_changed perilune.Predicate
local predicate = {}
---@param selector perilune.Selector
---@return perilune.Predicate
function predicate.label_selector(selector) end
---@param ... string
---@return perilune.Predicate
function predicate.fields_changed(...) end
---@param ... perilune.Predicate|fun(event: perilune.Event): boolean?
---@return perilune.Predicate
function predicate.all(...) end
---@param ... perilune.Predicate|fun(event: perilune.Event): boolean?
---@return perilune.Predicate
function predicate.any(...) end
---@param one perilune.Predicate|fun(event: perilune.Event): boolean?
---@return perilune.Predicate
function predicate.none(one) end
---@param functions {create?: function, update?: function, delete?: function, generic?: function}
---@return perilune.Predicate
function predicate.funcs(functions) end

---@class perilune.errors
local errors = {}
---@param e any
---@return boolean
function errors.is_not_found(e) end
---@param e any
---@return boolean
function errors.is_conflict(e) end
---@param e any
---@return boolean
function errors.is_already_exists(e) end
---@param e any
---@return boolean
function errors.is_forbidden(e) end
---@param e any
---@return boolean
function errors.is_invalid(e) end
---@param e any
---@return boolean
function errors.is_too_many_requests(e) end
---@param e any
---@return boolean
function errors.is_timeout(e) end
---@param e any
---@return boolean
function errors.is_network(e) end
---@param e any
---@return boolean
function errors.is_refused(e) end

---@class perilune.metrics
local metrics = {}
---@param name string
---@param help string
---@param labels? string[]
---@param options? {per_object?: boolean}
---@return perilune.Counter
function metrics.counter(name, help, labels, options) end
---@param name string
---@param help string
---@param labels? string[]
---@param options? {per_object?: boolean}
---@return perilune.Gauge
function metrics.gauge(name, help, labels, options) end
---@param name string
---@param help string
---@param labels? string[]
---@param options? {per_object?: boolean}
---@return perilune.Histogram
function metrics.histogram(name, help, labels, options) end

---@class perilune.base64
local base64 = {}
---@param text string
---@return string
function base64.encode(text) end
---@param text string
---@return string
function base64.decode(text) end

---@class perilune.pointer
local pointer = {}
---@param text string
---@return string[]
function pointer.parse(text) end
---@param words (string|integer)[]
---@return string
function pointer.build(words) end
---@param value table
---@param text string
---@return any
function pointer.get(value, text) end

---@class perilune.x509
local x509 = {}
---@param kind? "ecdsa-p256"|"ecdsa-p384"|"ed25519"|"rsa-2048"|"rsa-3072"|"rsa-4096"
---@return string pem
function x509.key(kind) end
---@param pem string
---@return string pem
function x509.public_key(pem) end
---@param key string
---@param names? perilune.CertificateNames
---@return string pem
function x509.request(key, names) end
---@param key string
---@param options? perilune.CertificateOptions
---@return string pem
function x509.self_signed(key, options) end
---@param request string a request or a key
---@param options perilune.SignOptions
---@return string pem
function x509.sign(request, options) end
---@param pem string
---@return perilune.Certificate?
---@return string? message
function x509.parse(pem) end
---@param pem string
---@return perilune.Certificate[]?
---@return string? message
function x509.parse_all(pem) end
---@param pem string
---@return number? seconds
---@return string? message
function x509.expires_in(pem) end
---@param pem string
---@param options {ca: string, intermediates?: string, host?: string, usage?: "server"|"client", time?: number}
---@return boolean
---@return string? why
function x509.verify(pem, options) end
---@param certificate string
---@param key string
---@return boolean
---@return string? why
function x509.is_pair(certificate, key) end

---@class perilune.url
local url = {}
---@param text string
---@return perilune.UrlParts?
---@return string? message
function url.parse(text) end
---@param parts perilune.UrlParts
---@return string
function url.build(parts) end
---@param text string
---@return string
function url.escape(text) end
---@param text string
---@return string
function url.unescape(text) end

---@class perilune.ip
local ip = {}
---@param text string
---@return {version: 4|6, address: string, prefix?: integer, first?: string, last?: string}?
---@return string? message
function ip.parse(text) end
---@param network string
---@param address string
---@return boolean
function ip.contains(network, address) end

---@class perilune.time
local time = {}
---@param text string
---@return number
function time.parse(text) end
---@return number
function time.now() end
---@param seconds number
---@param fraction? "seconds"|"milliseconds"|"microseconds"
---@return string
function time.format(seconds, fraction) end

---@class perilune.json
local json = {}
---@param text string
---@return any
function json.decode(text) end
---@param value any
---@return string
function json.encode(value) end

---@class perilune.yaml
local yaml = {}
---@param text string
---@return any
function yaml.decode(text) end
---@param text string
---@return any[]
function yaml.decode_all(text) end
---@param value any
---@return string
function yaml.encode(value) end

---@class perilune.http
local http = {}
---@param request perilune.HttpRequest
---@return perilune.HttpResponse
function http.request(request) end

---@class perilune.webhook
local webhook = {}
---@param kind perilune.Kind|perilune.Kind[]
---@param f fun(object?: table, old?: table, request: perilune.AdmissionRequest): any, string[]?
---@param options? perilune.WebhookOptions
function webhook.validate(kind, f, options) end
---@param kind perilune.Kind|perilune.Kind[]
---@param f fun(object?: table, old?: table, request: perilune.AdmissionRequest): any, string[]?
---@param options? perilune.MutateOptions
function webhook.mutate(kind, f, options) end
---@param group_kind string "example.com/Website"
---@param f fun(object: table, version: string): table
function webhook.convert(group_kind, f) end
---@param causes {field: string, message: string}[]
---@return any
function webhook.invalid(causes) end

@KINDS@return perilune
]==]
