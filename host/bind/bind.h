/* perilune.host: the C functions under Perilune's own Lua (lua/perilune/). Scripts never see it.
 *
 * The Lua half checks arguments, words errors for people and is pleasant to use; the C half does
 * what must be right. Calls marked (waits) yield the running coroutine. Where that is impossible
 * they raise "cannot wait here" with the reason. Failures of the API raise an error table
 * {type=, code=, ...} whose metatable is host.error_mt, which lua/perilune/errors.lua fills.
 *
 * Values
 *   host.null                         lightuserdata, the same as cjson.null
 *   host.array(t) -> t                marks a table as an array
 *   host.is_array(t) -> bool          marked, or a non-empty sequence
 *   host.equal(a, b), host.deepcopy(v), host.merge(a, b)
 *   host.number(text) -> the number in its best form (lua/number.h); raises for another text
 *   host.json_encode(v [, pretty])    members sorted
 *   host.json_decode(text) -> v | nil, message
 *   host.yaml_encode(v)
 *   host.yaml_decode(text) -> array of values, array of the lines that they start at
 *                             | nil, message
 *   host.digest, hmac, bytes_equal, x509_*, ip, ip_contains, url, url_escape, url_unescape: see
 *       bytes.c
 *   host.sha256(text) -> hex, host.base64_encode(s), host.base64_decode(s) -> s | nil
 *   host.without_secrets(text) -> text    without the values of Secrets that the run has met
 *   host.random(n) -> n bytes
 *   host.quantity(text) -> number | nil
 *   host.duration(text) -> seconds | nil, whether it is too long
 *   host.time_parse(text) -> seconds | nil, host.time_format(seconds [, digits]) -> text
 *   host.now() -> seconds
 *   host.zone_file(name) -> bytes | nil, message           of the system's time zone database
 *   host.last_time(task [, seconds]) -> seconds | nil      the last check of a schedule
 *   host.selector(v) -> canonical text | nil, message      v: text, map or LabelSelector
 *   host.selects(selector, labels) -> bool | nil, message
 *   host.fields(text) -> canonical text | nil, message
 *   host.path(text) -> {"spec", 0, ...} | nil, message     numbers are elements, from 0
 *   host.jsonpath(text) -> true | nil, message
 *   host.jsonpath(text, v) -> array of the path's values | nil, message
 *   host.pointer(text) -> array of words | nil, message, host.pointer_word(word) -> "/word"
 *   host.regex_compile, host.regex_search: see regex.c
 *   host.kind(text) -> {group=, version=, kind=} | nil, message
 *   host.is_cluster_scoped(api_version, kind) -> bool      as far as synced caches know; else false
 *   host.owner_uid(object) -> uid | nil                    nil: not a complete owner
 *   host.nearest(word, array) -> closest word | nil        for "did you mean"
 *   host.is_name(text, form) -> bool      form: "dns-label", "dns-subdomain", "qualified"
 *   host.read_file(path) -> text | nil, message
 *       only files beside the calling script and below; noted for reloads
 *
 * Where am I
 *   host.where(level) -> "file.lua", line   of the script's frame that called into Perilune. If a
 *       tail call has left no such frame: where the function begins that the host has called
 *   host.where(f) -> "file.lua", line       where the script's function f begins
 *   host.remember(e)    e is caught and raised again: keeps the current traceback for it
 *   host.phase() -> "load" | "run" | "map"
 *       run: a reconcile or task; map: predicates, maps, indexes
 *   host.controller_name() -> name of the running controller | nil
 *   host.config: the decoded --config; host.version; host.generation
 *
 * Declarations (phase "load"; raise elsewhere). Seconds throughout.
 *   host.controller(spec)     raises a message without position for what pl_controller_spec_check
 *       refuses
 *       spec = {name=, file=, line=, max_concurrent_reconciles=, reconcile_timeout=,
 *           rate_limiter={base=, max=, fast=, slow=, fast_attempts=, qps=, burst=, max_wait=},
 *           max_retries=, resync_period=, cache_sync_timeout=, leader_election=, on_reload=,
 *           channels={names}, task={form="every"|"run", period=, immediate=, when_changed=,
 *               schedule=for people},
 *           sources={{role="for"|"owns"|"watches"|"reads", kind=, cluster=, namespaces=, labels=,
 *               fields=, metadata_only=, managed_fields=, shared=, match_every_owner=, writes=,
 *               finalizers=, predicate=P,
 *               map="self" | function(object, event) -> {ns|false, name, ns|false, name, ...},
 *               blame=the script's function behind map}},
 *           writes={{kind=, verbs=}},
 *           hook={sort="validate"|"mutate"|"convert",
 *               kinds={{group=, version=, kind=, name=, path=, exact=}}, operations=,
 *               subresources=, object_selector=, namespace_selector=,
 *               match_conditions={{name=, expression=}}, ignore=, on_dry_run=, if_needed=,
 *               timeout=},
 *           reconcile=function(request, context) -> outcome [, seconds | reason],
 *           blame=the script's function behind reconcile}
 *       P = {type="generation_changed"|"resource_version_changed"|"label_changed"
 *               |"annotation_changed"|"finalizers_changed"}
 *         | {type="label_selector", selector=text} | {type="fields_changed", paths={...}}
 *         | {type="all"|"any", of={P...}} | {type="none", of=P}
 *         | {type="funcs", create=f, update=f, delete=f, generic=f}
 *         | {type="script", f=function(event) -> bool}
 *       outcome = "done" | "requeue" | "requeue_after" (seconds) | "waiting" (reason)
 *       context = {reconcile_id=, attempt=, causes=, causes_dropped=, deadline=}
 *   With hook, reconcile is called with (object, old, request) or (version), and ends with "done"
 *   when it has called:
 *   host.hook_answer(object | nil, said) -> nil | message
 *       said = {allowed=, message=, causes={{field=, message=}}, warnings=, audit=}; object: of
 *       mutate, as it is now
 *   host.hook_next() -> the next object to convert | nil
 *   host.hook_converted(object) -> nil | message
 *   host.index(kind, name, path_text | function(object) -> value | {values})
 *   host.cluster{name=, kubeconfig=, context=, secret_namespace=, secret_name=, secret_key=}
 *       `cluster` of sources, reads and writes is such a name
 *   After the last main chunk the lane calls require("perilune.controller").finish(), which
 *   raises for a controller that was begun and never completed.
 *
 * Reading (waits when a source has not synced or the server must be asked)
 *   host.get(kind, ns|nil, name, {live=, metadata_only=} | nil, called) -> object | nil
 *       called: the client's function, for errors; nil: get
 *   host.list(kind, o) -> array, {resource_version=, continue=, remaining=}
 *       o = {live=, namespace=, labels=text, fields=text, owner_uid=, index={name=, value=text},
 *            select={paths}, limit=, continue=, metadata_only=, cluster=}
 *   host.each(kind, o) -> iterator
 *   host.key_changed(kind, ns|nil, name, seconds, cluster|nil) -> bool (waits)
 *       false when the time has passed. For a kind that is not cached true after a second, so that
 *       the caller looks again
 *   host.is_unchanged(object) -> bool   the object was read, and would be written as it was read
 *
 * Writing (waits): the write gate
 *   host.write{verb="create"|"update"|"patch"|"apply"|"delete"|"deletecollection"|"get",
 *              called=the client's function, for errors (without: verb),
 *              patch_type="merge"|"json"|"strategic", kind=, namespace=, name=, subresource=,
 *              body=, object=, owner=, adopt=, live=, force_write=, dry_run=, force=,
 *              field_manager=, field_validation=, propagation=, grace_period=, uid=,
 *              resource_version=, labels=, fields=}
 *       -> object | nil, {skipped=, gone=, count=}
 *       body: what is sent. object: the table that the script read and names as target (its UID
 *       and version are carried; partial ones are recognised). "get" reads a subresource, with
 *       query= "a=b&c=d" (escaped); an answer that is text is a string.
 *
 * Tasks (waits)
 *   host.sleep(seconds), host.spawn(f, ...) -> task, host.join(task) -> results | raises
 *   host.http{url=, method=, headers=, body=, timeout=, ...} -> {status=, headers=, body=}
 *   host.enqueue(controller, ns|nil, name, seconds, priority)
 *   host.send(channel, ns|nil, name)
 *   host.select_kinds(controller, source, kinds, unknown)
 *       source: from 0; kinds: "apps/v1/Deployment", unknown: "apps/v1" that could not be asked;
 *       one a line each
 *
 * Dialogs: for Perilune's own script that `perilune repl` loads
 *   host.compile(text, name, env) -> function with that environment | nil, message
 *   host.say(text, failed) (waits) -> what the other side says next
 *
 * Saying
 *   host.log(level, message, fields | nil)   bound to the running controller, key, reconcile id
 *   host.stopping() -> bool   the running task was asked to end
 *   host.shards() -> count, array of those that are ours    not while loading
 *   host.owns_shard(ns|nil, name, uid|nil) -> bool
 *   host.memo(ns|nil, name) -> table   of the running key; kept when the run ends
 *   host.event(warning, api_version, kind, ns|nil, name, uid|nil, version|nil, reason, note)
 *   host.metric("counter"|"gauge"|"histogram", name, help, {label names}) -> metric | nil, message
 *       an equal declaration, from any script, gives the same metric
 *   host.metric_add(metric, n, per_object, value...): a counter or gauge; host.metric_set(...): a
 *   gauge; host.metric_observe(...): a histogram
 *       per_object: the series ends with the run's object if the labels name it. value...: one for
 *       each label, in the order of the declaration; at most 256 bytes of each are kept
 *   host.metric_remove(metric, value...) -> bool   there was such a series
 */
#pragma once

#include <stdbool.h>

struct lua_State;
struct pl_state;
struct pl_state_hooks;

/* perilune.host in a plain Lua state, for specs: functions that wait raise, as there is no cluster.
 */
int luaopen_perilune_host(struct lua_State *L);
/* Registry key of the module's struct pl_state, which outlives the closed Lua state: the owner of
 * that may free it then. */
#define PL_SPEC_STATE "perilune.spec_state"

/* The hooks of lanes' states. */
extern const struct pl_state_hooks pl_bind_state_hooks;

/* Pushes a table name -> C function of the functions that may wait: they return "failed?" and their
 * results. The prelude turns them into the functions of the host table. */
void pl_bind_push_waits(struct lua_State *L, struct pl_state *s);
/* The same for reads, which may also ask to be called again. */
void pl_bind_push_reads(struct lua_State *L, struct pl_state *s);
/* True for functions that ask no server, and whose calls a tape records nevertheless: random
 * values, certificates, files, digests. */
bool pl_bind_is_local(const char *name);
/* Returns the next object of a batch, for host.each. */
int pl_bind_batch_next(struct lua_State *L);
/* The same as a function without arguments. */
int pl_bind_batch_iterator(struct lua_State *L);
