/* Watches: first the current state or the history, then each new event.
 *
 * A watch that has reached version `rv` gets each later event of its kind once and in order. An
 * object that begins to match the selector is sent as added, and one that stops matching as
 * deleted. The text of an event is made once for all watches of the same form.
 *
 * The client may leave during a write to it. The watch is then only marked, and the writing code
 * destroys it. A version that is forgotten, or ahead of the storage, gets an ERROR event. */
#include "apiserver/watch.h"

#include "apiserver/steps.h"
#include "apiserver/verbs.h"
#include "apiserver/watch_stream.h"
#include "base/alloc.h"
#include "gotype/proto.h"

#define MIN_SECONDS 1800 /* without timeoutSeconds a watch lasts this long to twice as long */

/* ---- callbacks ---- */

static void on_close(void *arg)
{
    struct pl_api_watch *watch = arg;
    watch->closed = true;
    if (!watch->busy)
        pl_api_watch_destroy(watch);
}

static void on_watch_timeout(struct pl_timer *timer)
{
    pl_api_watch_end(PL_CONTAINER_OF(timer, struct pl_api_watch, timeout));
}

static void on_bookmark(struct pl_timer *timer)
{
    struct pl_api_watch *watch = PL_CONTAINER_OF(timer, struct pl_api_watch, bookmark);
    uint64_t now = pl_api_storage_rv(watch->api->storage);
    bool there = true;
    if (!watch->waits && !watch->converting) { /* else events are still unsent */
        if (watch->rv < now)
            watch->rv = now;
        there = pl_api_watch_bookmark(watch, false);
    }
    if (there)
        pl_timer_start(watch->api->timers, timer, watch->api->bookmark_ns, on_bookmark);
    else
        pl_api_watch_destroy(watch);
}

/* ---- starting ---- */

static int forbid(struct pl_api_ctx *ctx, struct pl_api_faults *faults)
{
    return pl_api_fail_faults(&ctx->status, faults, pl_slice_z("meta.k8s.io"),
                              pl_slice_z("ListOptions"), pl_slice_z(""));
}

static int watch_check_options(struct pl_api_ctx *ctx)
{
    const struct pl_api_request *request = &ctx->request;
    struct pl_api_faults faults = {.arena = &ctx->arena};
    struct pl_slice field = pl_slice_z("resourceVersionMatch");
    struct pl_slice match = request->version_match;
    bool fresh = pl_slice_eqz(match, "NotOlderThan");
    if (request->has_send_initial && !fresh)
        pl_api_fault(&faults, "FieldValueForbidden", field,
                     "Forbidden: sendInitialEvents requires setting resourceVersionMatch to "
                     "NotOlderThan");
    if (match.len > 0 && !request->has_send_initial)
        pl_api_fault(&faults, "FieldValueForbidden", field,
                     "Forbidden: resourceVersionMatch is forbidden for watch unless "
                     "sendInitialEvents is provided");
    if (match.len > 0 && !fresh)
        pl_api_fault(&faults, "FieldValueNotSupported", field,
                     "Unsupported value: \"%.*s\": supported values: \"NotOlderThan\"",
                     PL_FMT(match));
    /* kube-apiserver makes a watch without a version one that begins with a list. */
    bool begins = !request->has_send_initial && (request->resource_version.len == 0 ||
                                                 pl_slice_eqz(request->resource_version, "0"));
    if ((match.len > 0 || begins) && request->next.len > 0)
        pl_api_fault(&faults, "FieldValueForbidden", field,
                     "Forbidden: resourceVersionMatch is forbidden when continue is provided");
    return forbid(ctx, &faults);
}

static void watch_begin(struct pl_api_watch *watch, struct pl_api_ctx *ctx)
{
    struct pl_api *api = ctx->api;
    int64_t seconds = ctx->request.timeout_s > 0
                          ? ctx->request.timeout_s
                          : MIN_SECONDS + (int64_t)(pl_rand_unit(&api->rand) * MIN_SECONDS);
    pl_list_push(&ctx->type->table->watches, &watch->link);
    pl_timer_start(api->timers, &watch->timeout, seconds * PL_SECOND, on_watch_timeout);
    if (watch->bookmarks)
        pl_timer_start(api->timers, &watch->bookmark, api->bookmark_ns, on_bookmark);
    const char *form = watch->in_proto ? PL_PROTO_WATCH_TYPE : "application/json";
    watch->responder.ops->begin(watch->responder.self, 200, form, on_close, watch);
}

/* A version ahead of the storage comes from an earlier server that has lost its data. Without an
 * error its client would wait, and would take the next events for old ones. */
static bool is_expired(const struct pl_api_storage *storage, uint64_t rv)
{
    return rv > 0 && (rv < pl_api_storage_floor(storage) || rv > pl_api_storage_rv(storage));
}

static struct pl_api_watch *watch_create(struct pl_api_ctx *ctx, const struct pl_api_select *select)
{
    struct pl_api_watch *watch = PL_NEW(struct pl_api_watch);
    watch->api = ctx->api;
    watch->type = ctx->type;
    watch->version = ctx->version;
    watch->form = ctx->request.form;
    watch->in_proto = ctx->request.is_proto_answer;
    watch->select = *select;
    watch->responder = ctx->responder;
    watch->bookmarks = ctx->request.bookmarks;
    watch->marks_state = ctx->request.send_initial && ctx->request.bookmarks;
    return watch;
}

int pl_api_watch(struct pl_api_ctx *ctx)
{
    const struct pl_api_request *request = &ctx->request;
    const struct pl_api_storage *storage = ctx->api->storage;
    struct pl_api_select select;
    uint64_t rv;
    if (request->is_yaml_answer)
        return pl_api_fail(&ctx->status, 406, "NotAcceptable",
                           "only the following media types are accepted: "
                           "application/json;stream=watch, "
                           "application/vnd.kubernetes.protobuf;stream=watch");
    if (watch_check_options(ctx) != 0 || pl_api_asked_version(ctx, &rv) != 0 ||
        pl_api_select_init(&select, ctx) != 0)
        return -1;
    struct pl_api_watch *watch = watch_create(ctx, &select);
    watch->rv = rv;
    watch->in_state = request->has_send_initial ? request->send_initial : rv == 0;
    watch_begin(watch, ctx);
    if (!watch->in_state && is_expired(storage, rv)) {
        pl_api_watch_expire(watch);
        return 0;
    }
    if (request->send_initial && rv > pl_api_storage_rv(storage)) {
        /* A version that does not exist yet. kube-apiserver first waits 3 s for it. */
        pl_api_fail_too_large(ctx, rv);
        pl_api_watch_end_with(watch, &ctx->status);
        return 0;
    }
    if (watch->in_state || rv == 0)
        watch->rv = pl_api_storage_rv(storage);
    pl_api_watch_run(watch);
    return 0;
}
