/* The API without sockets: its creation and end, and the steps of a request: authorisation, debug
 * paths, discovery, the kind, the check that the kind allows the verb, the verb.
 *
 * Every request is answered exactly once. A verb returns 0 if it has answered or has begun a
 * stream, or -1 with the status filled in; the failure is then written here. The memory of a
 * request is in its arena and is freed with it. One callback of the storage tells the garbage
 * collector and the watches of each write, before the answer. */
#include "apiserver/api.h"

#include "apicall/ask.h"
#include "apicall/caller.h"
#include "apicall/core.h"
#include "apicall/protobuf.h"
#include "apicall/rbac.h"
#include "apiserver/actors.h"
#include "apiserver/api_impl.h"
#include "apiserver/crd_life.h"
#include "apiinfo/debug.h"
#include "apiinfo/discovery.h"
#include "apiserver/gc.h"
#include "apiserver/persist.h"
#include "apiserver/eviction.h"
#include "apiserver/pods.h"
#include "apiserver/quotas.h"
#include "apiserver/review.h"
#include "apiserver/steps.h"
#include "apiserver/storage_protection.h"
#include "apiserver/verbs.h"
#include "apiserver/watch.h"
#include "apistore/disk.h"
#include "base/alloc.h"
#include "base/check.h"

#define DEFAULT_HISTORY       100000
#define DEFAULT_BOOKMARK      (60 * PL_SECOND)
#define DEFAULT_HISTORY_BYTES ((size_t)256 << 20)
#define DEFAULT_WATCH_BYTES   ((size_t)64 << 20)
#define MAX_BODY              ((size_t)3 << 20)

/* ---- creation and end ---- */

static void on_api_event(void *arg, const struct pl_api_event *event)
{
    struct pl_api_server *server = arg;
    pl_api_persist_event(&server->api, event);
    pl_api_gc_note(server->gc, event);
    pl_api_protection_note(server->protect, event);
    pl_api_quotas_note(server->quotas, event);
    pl_api_actors_note(server->actors, event);
    pl_api_watch_deliver(&server->api, event);
}

static bool run_call(struct pl_api *api, const struct pl_api_call *call,
                     struct pl_api_responder out, struct pl_api_job *job);

static const struct pl_api_storage_ops storage_ops = {.on_event = on_api_event};

struct pl_api *pl_api_create(struct pl_timers *timers, const struct pl_api_options *options)
{
    struct pl_api_server *server = PL_NEW(struct pl_api_server);
    struct pl_api *api = &server->api;
    api->timers = timers;
    api->transport = options->transport;
    api->services = options->services;
    api->commands = options->commands;
    api->token = pl_strdup_or_null(options->token);
    api->watch_bytes = options->watch_bytes > 0 ? options->watch_bytes : DEFAULT_WATCH_BYTES;
    api->host = pl_strdup_or_null(options->host);
    api->bookmark_ns = options->bookmark_ns > 0 ? options->bookmark_ns : DEFAULT_BOOKMARK;
    api->made_seed = options->rand_seed;
    if (options->rand_seed != 0)
        pl_rand_seed(&api->rand, options->rand_seed);
    else
        pl_rand_init(&api->rand);
    api->next_ip = options->first_ip, api->next_port = options->first_port;
    api->pool = options->unshared ? NULL : pl_pool_create();
    api->stored = pl_api_crd_changed;
    api->run = run_call;
    api->registry = pl_api_registry_create();
    struct pl_api_storage_options storage = {
        .history = options->history > 0 ? options->history : DEFAULT_HISTORY,
        .history_bytes =
            options->history_bytes > 0 ? options->history_bytes : DEFAULT_HISTORY_BYTES,
        .first = options->first_version > 0 ? options->first_version : 1,
    };
    api->storage = pl_api_storage_create(api->pool, &storage, &storage_ops, server);
    server->gc = pl_api_gc_create(api);
    server->protect = pl_api_protection_create(api);
    server->quotas = pl_api_quotas_create(api);
    server->actors = options->simulate ? pl_api_actors_create(api) : NULL;
    server->debug = pl_api_debug_create();
    PL_REQUIRE(pl_rand_bytes(api->token_key, sizeof(api->token_key)) == 0);
    api->bare = options->bare;
    api->no_shard_selector = options->no_shard_selector;
    api->unprotected = options->unprotected;
    if (!options->empty)
        pl_api_make_first(api);
    return api;
}

void pl_api_destroy(struct pl_api *api)
{
    if (api == NULL)
        return;
    for (struct pl_api_type *type = pl_api_registry_first(api->registry); type != NULL;
         type = type->next)
        pl_api_watch_end_all(type);
    struct pl_api_server *server = pl_api_server_of(api);
    pl_api_debug_destroy(server->debug);
    pl_api_actors_destroy(server->actors);
    pl_api_quotas_destroy(server->quotas);
    pl_api_protection_destroy(server->protect);
    pl_api_gc_destroy(server->gc);
    pl_api_storage_destroy(api->storage);
    pl_api_disk_close(api->disk);
    pl_api_registry_destroy(api->registry);
    pl_pool_collect(api->pool);
    pl_pool_destroy(api->pool);
    pl_regex_cache_deinit(&api->patterns);
    pl_map_deinit(&api->chosen);
    pl_api_discovery_forget(api);
    pl_free(api->token);
    pl_free(api->host);
    pl_free(server);
}

void pl_api_collect(struct pl_api *api)
{
    pl_pool_collect(api->pool);
}

int64_t pl_api_due(struct pl_api *api)
{
    return pl_api_quotas_due(pl_api_server_of(api)->quotas);
}

void pl_api_hold_garbage(struct pl_api *api, bool held)
{
    pl_api_gc_hold(pl_api_server_of(api)->gc, held);
}

/* ---- routing ---- */

static int run_main(struct pl_api_ctx *ctx, const char *verb)
{
    if (strcmp(verb, "get") == 0)
        return pl_api_get(ctx);
    if (strcmp(verb, "list") == 0)
        return pl_api_list(ctx);
    if (strcmp(verb, "watch") == 0)
        return pl_api_watch(ctx);
    if (strcmp(verb, "create") == 0 && !ctx->type->is_custom &&
        strcmp(ctx->type->kind, "Binding") == 0)
        return pl_api_pod_bind(ctx);
    if (strcmp(verb, "create") == 0)
        return ctx->type->flags & PL_API_REVIEW ? pl_api_review(ctx) : pl_api_create_object(ctx);
    if (strcmp(verb, "update") == 0)
        return pl_api_update(ctx);
    if (strcmp(verb, "patch") == 0)
        return pl_api_patch(ctx);
    if (strcmp(verb, "delete") == 0)
        return pl_api_delete(ctx);
    return pl_api_delete_collection(ctx);
}

/* Subresources whose body is not the object. */
static const struct {
    const char *plural, *sub, *verb;
    int (*run)(struct pl_api_ctx *ctx);
} own_subresources[] = {
    {"serviceaccounts", "token", "create", pl_api_account_token},
    {"pods", "binding", "create", pl_api_pod_bind},
    {"pods", "eviction", "create", pl_api_pod_evict},
    {"pods", "log", "get", pl_api_pod_log},
    {"pods", "exec", "get", pl_api_pod_connect},
    {"pods", "exec", "create", pl_api_pod_connect},
    {"pods", "attach", "get", pl_api_pod_connect},
    {"pods", "attach", "create", pl_api_pod_connect},
    {"pods", "portforward", "get", pl_api_pod_connect},
    {"pods", "portforward", "create", pl_api_pod_connect},
    {"namespaces", "finalize", "update", pl_api_namespace_finalize},
};

static int (*own_subresource(const struct pl_api_ctx *ctx, const char *verb))(struct pl_api_ctx *)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(own_subresources); i++)
        if (!ctx->type->is_custom && strcmp(ctx->type->plural, own_subresources[i].plural) == 0 &&
            pl_slice_eqz(ctx->request.subresource, own_subresources[i].sub) &&
            strcmp(verb, own_subresources[i].verb) == 0)
            return own_subresources[i].run;
    return NULL;
}

/* True if some method serves this subresource. */
static bool has_own_subresource(const struct pl_api_ctx *ctx)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(own_subresources); i++)
        if (!ctx->type->is_custom && strcmp(ctx->type->plural, own_subresources[i].plural) == 0 &&
            pl_slice_eqz(ctx->request.subresource, own_subresources[i].sub))
            return true;
    return false;
}

/* 405 with the message that custom kinds have. */
static int fail_verb(struct pl_api_ctx *ctx, const char *verb)
{
    const char *group = pl_api_ctx_version(ctx)->group;
    pl_api_fail(&ctx->status, 405, "MethodNotAllowed",
                "%s is not supported on resources of kind \"%s.%s\"", verb, ctx->type->plural,
                group);
    pl_api_fail_about(&ctx->status, pl_slice_z(group), pl_slice_z(ctx->type->plural),
                      pl_slice("", 0));
    return -1;
}

static int run_sub(struct pl_api_ctx *ctx, const char *verb)
{
    const struct pl_api_version *v = pl_api_ctx_version(ctx);
    struct pl_slice sub = ctx->request.subresource;
    bool status = pl_slice_eqz(sub, "status") && v->has_status;
    bool scale = pl_slice_eqz(sub, "scale") && v->has_scale;
    /* Status and parts of Pods are read and written in the same way. */
    status = status || pl_api_is_pod_part(ctx) || pl_api_is_approval(ctx);
    int (*own)(struct pl_api_ctx * ctx) = own_subresource(ctx, verb);
    if (own != NULL)
        return own(ctx);
    if (!status && !scale && has_own_subresource(ctx))
        return pl_api_no_method(&ctx->status);
    if (!status && !scale)
        return ctx->type->is_custom ? pl_api_fail_not_found(ctx, ctx->request.name)
                                    : pl_api_no_resource(&ctx->status);
    if (strcmp(verb, "get") == 0)
        return status ? pl_api_get(ctx) : pl_api_get_scale(ctx);
    if (strcmp(verb, "update") == 0)
        return status ? pl_api_update(ctx) : pl_api_write_scale(ctx);
    if (strcmp(verb, "patch") == 0)
        return status ? pl_api_patch(ctx) : pl_api_write_scale(ctx);
    return ctx->type->is_custom && *verb != '\0' ? fail_verb(ctx, verb)
                                                 : pl_api_no_method(&ctx->status);
}

/* A namespaced kind can only be read across all namespaces. */
static bool is_allowed(const struct pl_api_ctx *ctx, const char *verb)
{
    bool namespaced = ctx->type->flags & PL_API_NAMESPACED;
    bool read = strcmp(verb, "list") == 0 || strcmp(verb, "watch") == 0;
    if (*verb == '\0' || (ctx->request.is_watch_path && strcmp(verb, "watch") != 0))
        return false;
    if (ctx->type->flags & PL_API_REVIEW && strcmp(verb, "create") != 0)
        return false;
    if (ctx->type->flags & PL_API_READ_ONLY && strcmp(verb, "get") != 0 &&
        strcmp(verb, "list") != 0)
        return false;
    if (strcmp(verb, "deletecollection") == 0 && (ctx->type->flags & PL_API_NO_COLLECTION))
        return false;
    return !namespaced || ctx->request.ns.len > 0 || read;
}

/* The newest version to use instead; empty: there is none. */
static struct pl_slice better_version(struct pl_api_ctx *ctx)
{
    const struct pl_api_version *best = NULL, *is = pl_api_ctx_version(ctx);
    for (size_t i = 0; i < ctx->type->version_count; i++) {
        const struct pl_api_version *v = &ctx->type->versions[i];
        if (v->served && !pl_node_flagz(v->node, "deprecated") &&
            pl_api_version_comes_before(v->name, is->name) &&
            (best == NULL || pl_api_version_comes_before(v->name, best->name)))
            best = v;
    }
    return best == NULL ? pl_slice("", 0)
                        : pl_arena_f(&ctx->arena, "; use %s/%s %s", best->group, best->name,
                                     ctx->type->kind);
}

/* Warns about deprecated versions. */
static void warn_of_version(struct pl_api_ctx *ctx)
{
    char text[PL_KIND_TEXT];
    if (pl_api_type_is_builtin(ctx->type, "Endpoints"))
        pl_api_warn(ctx, pl_slice_z("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 "
                                    "EndpointSlice"));
    if (pl_api_type_is_builtin(ctx->type, "ComponentStatus") && ctx->request.call.body.len == 0 &&
        strcmp(pl_api_verb(&ctx->request), "delete") != 0)
        pl_api_warn(ctx, pl_slice_z("v1 ComponentStatus is deprecated in v1.19+"));
    if (!ctx->type->is_custom)
        return;
    struct pl_node node = pl_api_ctx_version(ctx)->node;
    struct pl_scratch scratch;
    struct pl_slice own = pl_node_str(pl_node_getz(node, "deprecationWarning"), &scratch);
    struct pl_slice version = pl_api_version_text(pl_api_ctx_version(ctx), text);
    if (pl_node_flagz(node, "deprecated"))
        pl_api_warn(ctx, own.len > 0
                             ? own
                             : pl_arena_f(&ctx->arena, "%.*s %s is deprecated%.*s", PL_FMT(version),
                                          ctx->type->kind, PL_FMT(better_version(ctx))));
}

/* A namespace "." or ".." makes no valid key in the storage. */
static int check_path_namespace(struct pl_api_ctx *ctx, const char *verb)
{
    struct pl_slice ns = ctx->request.ns, name = ctx->request.name;
    bool odd = pl_slice_eqz(ns, ".") || pl_slice_eqz(ns, "..");
    if (!odd || (strcmp(verb, "get") != 0 && strcmp(verb, "list") != 0) || ctx->type->is_custom)
        return 0;
    return pl_api_fail(&ctx->status, 500, "", "invalid key: \"/%s/%.*s%s%.*s\"", ctx->type->plural,
                       PL_FMT(ns), name.len > 0 ? "/" : "", PL_FMT(name));
}

/* "." and ".." would lead to another place, and '%' and '/' are signs of a broken path. */
static int check_path_name(struct pl_api_ctx *ctx)
{
    struct pl_slice name = ctx->request.name;
    if (ctx->request.subresource.len > 0)
        return 0;
    const char *why = pl_slice_eqz(name, ".")           ? "may not be '.'"
                      : pl_slice_eqz(name, "..")        ? "may not be '..'"
                      : pl_slice_chr(name, '%') != NULL ? "may not contain '%'"
                                                        : NULL;
    return why == NULL ? 0
                       : pl_api_bad_request(&ctx->status, "Name parameter invalid: \"%.*s\": %s",
                                            PL_FMT(name), why);
}

static int run_resource(struct pl_api_ctx *ctx, const char *verb)
{
    struct pl_api_request *request = &ctx->request;
    ctx->type = pl_api_registry_find(ctx->api->registry, request->group, request->version,
                                     request->resource, &ctx->version);
    if (ctx->type == NULL)
        return pl_api_registry_is_builtin(ctx->api->registry, request->group)
                   ? pl_api_no_resource(&ctx->status)
                   : pl_api_no_page(&ctx->status);
    if (pl_api_proto_choose(ctx) != 0)
        return -1;
    warn_of_version(ctx);
    bool namespaced = ctx->type->flags & PL_API_NAMESPACED;
    if (!namespaced && request->ns.len > 0)
        return ctx->type->is_custom ? pl_api_no_page(&ctx->status)
                                    : pl_api_no_resource(&ctx->status);
    if (namespaced && request->ns.len == 0 && request->name.len > 0)
        return pl_api_no_resource(&ctx->status);
    if (!is_allowed(ctx, verb))
        return pl_api_no_method(&ctx->status);
    if (check_path_name(ctx) != 0 || check_path_namespace(ctx, verb) != 0)
        return -1;
    if (request->call.body.len > MAX_BODY)
        return pl_api_fail(&ctx->status, 413, "RequestEntityTooLarge",
                           "Request entity too large: limit is %zu", MAX_BODY);
    return request->subresource.len > 0 ? run_sub(ctx, verb) : run_main(ctx, verb);
}

/* ---- counting, and auditing: the status code is known when the answer is sent ---- */

static struct pl_api_debug *debug_of(const struct pl_api_ctx *ctx)
{
    return pl_api_server_of(ctx->api)->debug;
}

struct tap {
    struct pl_api_responder inner;
    struct pl_api_ctx *ctx;
};

static void tap_reply(void *self, int status, const struct pl_http_header *headers, size_t count,
                      struct pl_slice body)
{
    struct tap *tap = self;
    if (pl_api_persist_check(tap->ctx) != 0) { /* a write that is not on disk is not acknowledged */
        tap->ctx->responder = tap->inner;
        pl_api_debug_audit(debug_of(tap->ctx), &tap->ctx->request, tap->ctx->status.code);
        pl_api_answer_failure(tap->ctx);
        return;
    }
    pl_api_debug_audit(debug_of(tap->ctx), &tap->ctx->request, status);
    tap->inner.ops->reply(tap->inner.self, status, headers, count, body);
}

static const struct pl_api_responder_ops tap_ops = {.reply = tap_reply};

static bool is_write(const char *verb)
{
    return *verb != '\0' && strcmp(verb, "get") != 0 && strcmp(verb, "list") != 0 &&
           strcmp(verb, "watch") != 0;
}

/* A list (or a watch that begins with one) is noted before it runs, since the request does not
 * exist any more after its answer. */
static int run_read(struct pl_api_ctx *ctx, const char *verb)
{
    const struct pl_api_request *request = &ctx->request;
    bool lists = strcmp(verb, "list") == 0 ||
                 (strcmp(verb, "watch") == 0 &&
                  (request->send_initial || request->resource_version.len == 0));
    int none, *code = &none;
    if (lists && ctx->job == NULL) /* otherwise the first run has noted it */
        code = pl_api_debug_list(debug_of(ctx), request);
    int result = run_resource(ctx, verb);
    if (!ctx->is_waiting)
        *code = result == 0 ? 200 : ctx->status.code;
    return result;
}

static int check_caller(struct pl_api_ctx *ctx)
{
    const struct pl_api *api = ctx->api;
    const struct pl_api_call *call = &ctx->request.call;
    if (api->host != NULL && !pl_api_caller_is_allowed(api->host, call->host, call->origin))
        return pl_api_fail(&ctx->status, 403, "Forbidden",
                           "this server answers for localhost and for what it listens on (%s), not "
                           "for Host \"%s\"%s%s%s",
                           api->host, call->host != NULL ? call->host : "",
                           call->origin != NULL ? " and Origin \"" : "",
                           call->origin != NULL ? call->origin : "",
                           call->origin != NULL ? "\"" : "");
    return pl_api_authenticate(ctx) == 0 ? pl_api_authorize(ctx) : -1;
}

static int dispatch(struct pl_api_ctx *ctx)
{
    if (check_caller(ctx) != 0)
        return -1;
    if (pl_api_debug_handle(ctx, debug_of(ctx)))
        return 0;
    if (!ctx->request.is_resource)
        return ctx->request.wants_whole ? pl_api_discover_whole(ctx) : pl_api_discover(ctx);
    const char *verb = pl_api_verb(&ctx->request);
    struct pl_slice resource = ctx->request.resource;
    if (ctx->request.subresource.len > 0)
        resource = pl_arena_f(&ctx->arena, "%.*s/%.*s", PL_FMT(resource),
                              PL_FMT(ctx->request.subresource));
    if (ctx->job == NULL) /* otherwise the first run has counted it */
        pl_api_debug_count(debug_of(ctx), verb, resource);
    if (!is_write(verb))
        return run_read(ctx, verb);
    if (pl_api_persist_check(ctx) != 0)
        return -1;
    struct tap tap = {.inner = ctx->responder, .ctx = ctx};
    ctx->responder = (struct pl_api_responder){&tap_ops, &tap};
    int code = run_resource(ctx, verb);
    ctx->responder = tap.inner;
    if (code != 0 && !ctx->is_waiting)
        pl_api_debug_audit(debug_of(ctx), &ctx->request, ctx->status.code);
    return code;
}

/* Runs a request. True if it waits for answers. */
static bool run_call(struct pl_api *api, const struct pl_api_call *call,
                     struct pl_api_responder out, struct pl_api_job *job)
{
    struct pl_api_ctx ctx;
    pl_api_ctx_init(&ctx, api, NULL);
    ctx.responder = ctx.outside = out;
    ctx.request.call = *call;
    ctx.job = job;
    if (job != NULL)
        pl_api_job_seed(job, &ctx);
    unsigned next_ip = api->next_ip, next_port = api->next_port;
    bool failed = pl_api_request_parse(&ctx.request, call, &ctx.status) != 0 || dispatch(&ctx) != 0;
    bool waits = failed && ctx.is_waiting;
    if (waits) {
        pl_api_job_wait(&ctx);
        api->next_ip = next_ip, api->next_port = next_port; /* webhooks see the same ones again */
    } else if (failed) {
        pl_api_answer_failure(&ctx);
    }
    if (!waits && job == NULL)
        pl_api_job_end(ctx.job);
    pl_api_ctx_deinit(&ctx);
    return waits;
}

void pl_api_handle(struct pl_api *api, const struct pl_api_call *call,
                   struct pl_api_responder responder)
{
    run_call(api, call, responder, NULL);
}

void pl_api_hang_up(struct pl_api *api)
{
    api->transport = (struct pl_transport){.ops = NULL};
}
