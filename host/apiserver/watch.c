/* Watches: the state or the history first, then what happens.
 *
 * Whatever `rv` a watch has reached, it gets each later event of its kind once and in order. An
 * object that begins or ceases to match the selector is shown as added or deleted. Texts of an
 * event are made once for all watches that want the same form.
 *
 * The client may leave while something is written to it: then the watch is only marked, and whoever
 * writes destroys it. A version that is forgotten, or ahead of the storage, gets an ERROR event. */
#include "apiserver/watch.h"

#include "apiserver/select.h"
#include "apiserver/table.h"
#include "base/alloc.h"
#include "object/meta.h"
#include "value/write.h"

#include <inttypes.h>
#include <stdio.h>

#define MIN_SECONDS 1800 /* without timeoutSeconds a watch lasts this long up to twice as long */

struct watch {
    struct pl_link link; /* in its type's table.watches */
    struct pl_api *api;  /* back-pointer */
    struct pl_api_type *type;
    size_t version;
    enum pl_api_form form;
    struct pl_api_select select;
    struct pl_api_responder responder;
    struct pl_timer timeout, bookmark;
    uint64_t rv; /* events up to here were sent or are not wanted */
    bool bookmarks, had_columns;
    bool busy, closed; /* the client may leave while we write */
};

static const char *const change_names[] = {
    [PL_API_ADDED] = "ADDED", [PL_API_MODIFIED] = "MODIFIED", [PL_API_DELETED] = "DELETED"};

static void watch_destroy(struct watch *watch)
{
    pl_link_unlink(&watch->link);
    pl_timer_stop(watch->api->timers, &watch->timeout);
    pl_timer_stop(watch->api->timers, &watch->bookmark);
    pl_api_select_deinit(&watch->select);
    pl_free(watch);
}

static void on_close(void *arg)
{
    struct watch *watch = arg;
    watch->closed = true;
    if (!watch->busy)
        watch_destroy(watch);
}

static void end(struct watch *watch)
{
    watch->responder.ops->end(watch->responder.self);
    watch_destroy(watch);
}

static void on_timeout(struct pl_timer *timer)
{
    end(PL_CONTAINER_OF(timer, struct watch, timeout));
}

/* ---- events out ---- */

/* False when the client left. The watch is not destroyed here. */
static bool send(struct watch *watch, struct pl_slice piece)
{
    watch->busy = true;
    if (!watch->closed)
        watch->responder.ops->write(watch->responder.self, piece);
    watch->busy = false;
    return !watch->closed;
}

static void write_object(struct watch *watch, struct pl_node object, struct pl_buf *out)
{
    if (watch->form == PL_API_PARTIAL) {
        pl_api_partial_write(out, object);
    } else if (watch->form == PL_API_TABLE) {
        struct pl_api_table_options options = {
            .now_ns = pl_clock_wall(watch->api->timers->clock),
            .with_columns = !watch->had_columns,
        };
        watch->had_columns = true;
        pl_api_table_write(out, watch->type, watch->version, &object, 1, &options);
    } else {
        pl_api_object_write(out, watch->type, watch->version, object, false);
    }
}

static bool send_event(struct watch *watch, const char *name, struct pl_node object)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_buf_add_f(&out, "{\"type\":\"%s\",\"object\":", name);
    write_object(watch, object, &out);
    pl_buf_add_z(&out, "}\n");
    bool there = send(watch, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return there;
}

static bool send_bookmark(struct watch *watch, bool initial_end)
{
    const struct pl_api_version *v = &watch->type->versions[watch->version];
    struct pl_buf out = PL_BUF_INIT;
    char text[PL_KIND_TEXT];
    bool partial = watch->form == PL_API_PARTIAL;
    pl_buf_add_f(&out,
                 "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%.*s\","
                 "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"",
                 partial ? "PartialObjectMetadata" : watch->type->kind,
                 PL_FMT(partial ? pl_slice_z("meta.k8s.io/v1") : pl_api_version_text(v, text)),
                 watch->rv);
    if (initial_end)
        pl_buf_add_z(&out, ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
    pl_buf_add_z(&out, "}}}\n");
    bool there = send(watch, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return there;
}

static void on_bookmark(struct pl_timer *timer)
{
    struct watch *watch = PL_CONTAINER_OF(timer, struct watch, bookmark);
    uint64_t now = pl_api_storage_rv(watch->api->storage);
    if (watch->rv < now)
        watch->rv = now;
    if (!send_bookmark(watch, false)) {
        watch_destroy(watch);
        return;
    }
    pl_timer_start(watch->api->timers, &watch->bookmark, watch->api->bookmark_ns, on_bookmark);
}

/* The last state that was selected, with the version at which it stopped being so. */
static bool send_left(struct watch *watch, const struct pl_api_event *event)
{
    struct pl_arena arena = {0};
    char rv[24];
    struct pl_tree *tree = pl_tree_from_node(&arena, pl_doc_root(event->old));
    snprintf(rv, sizeof(rv), "%" PRIu64, event->rv);
    pl_tree_set_strz(&arena, pl_tree_child(&arena, tree, "metadata"), "resourceVersion", rv);
    struct pl_doc *doc = pl_tree_doc(tree, NULL);
    bool there = send_event(watch, "DELETED", pl_doc_root(doc));
    pl_doc_unref(doc);
    pl_arena_deinit(&arena);
    return there;
}

/* Texts of an event that several watches get, made once. */
struct shared {
    struct pl_buf text;
    size_t version;
    const char *name;
};

static bool send_shared(struct watch *watch, const char *name, struct pl_node object,
                        struct shared *shared)
{
    if (watch->form != PL_API_PLAIN)
        return send_event(watch, name, object);
    if (shared->text.len == 0 || shared->version != watch->version || shared->name != name) {
        pl_buf_clear(&shared->text);
        pl_buf_add_f(&shared->text, "{\"type\":\"%s\",\"object\":", name);
        pl_api_object_write(&shared->text, watch->type, watch->version, object, false);
        pl_buf_add_z(&shared->text, "}\n");
        shared->version = watch->version;
        shared->name = name;
    }
    return send(watch, pl_buf_slice(&shared->text));
}

static bool deliver(struct watch *watch, const struct pl_api_event *event, struct shared *shared)
{
    if (event->rv <= watch->rv)
        return true;
    watch->rv = event->rv;
    struct pl_node object = pl_doc_root(event->doc);
    bool is = pl_api_select_matches(&watch->select, object);
    bool was = event->old != NULL &&
               (event->change == PL_API_DELETED
                    ? is
                    : pl_api_select_matches(&watch->select, pl_doc_root(event->old)));
    if (event->change == PL_API_DELETED)
        return is ? send_shared(watch, change_names[PL_API_DELETED], object, shared) : true;
    if (is)
        return send_shared(watch, change_names[was ? PL_API_MODIFIED : PL_API_ADDED], object,
                           shared);
    return was ? send_left(watch, event) : true;
}

void pl_api_watch_deliver(struct pl_api *api, const struct pl_api_event *event)
{
    PL_UNUSED(api);
    struct shared shared = {.text = PL_BUF_INIT};
    PL_LIST_FOR (link, &event->type->table.watches) {
        struct watch *watch = PL_CONTAINER_OF(link, struct watch, link);
        if (!deliver(watch, event, &shared))
            watch_destroy(watch);
    }
    pl_buf_deinit(&shared.text);
}

void pl_api_watch_end_all(struct pl_api_type *type)
{
    PL_LIST_FOR (link, &type->table.watches) {
        end(PL_CONTAINER_OF(link, struct watch, link));
    }
}

/* ---- starting ---- */

static int forbid(struct pl_api_ctx *ctx, struct pl_api_faults *faults)
{
    return pl_api_fail_faults(&ctx->status, faults, pl_slice_z("meta.k8s.io"),
                              pl_slice_z("ListOptions"), pl_slice_z(""));
}

static int check_options(struct pl_api_ctx *ctx)
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
    if (match.len > 0 && request->next.len > 0)
        pl_api_fault(&faults, "FieldValueForbidden", field,
                     "Forbidden: resourceVersionMatch is forbidden when continue is provided");
    return forbid(ctx, &faults);
}

static int parse_rv(struct pl_api_ctx *ctx, uint64_t *rv)
{
    struct pl_slice text = ctx->request.resource_version;
    *rv = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || i > 18)
            return pl_api_fail(&ctx->status, 500, "",
                               "resourceVersion: Invalid value: \"%.*s\": strconv.ParseUint: "
                               "parsing \"%.*s\": invalid syntax",
                               PL_FMT(text), PL_FMT(text));
        *rv = *rv * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    return 0;
}

static void watch_begin(struct watch *watch, struct pl_api_ctx *ctx)
{
    struct pl_api *api = ctx->api;
    int64_t seconds = ctx->request.timeout_s > 0
                          ? ctx->request.timeout_s
                          : MIN_SECONDS + (int64_t)(pl_rand_unit(&api->rand) * MIN_SECONDS);
    pl_list_push(&ctx->type->table.watches, &watch->link);
    pl_timer_start(api->timers, &watch->timeout, seconds * PL_SECOND, on_timeout);
    if (watch->bookmarks)
        pl_timer_start(api->timers, &watch->bookmark, api->bookmark_ns, on_bookmark);
    watch->responder.ops->begin(watch->responder.self, 200, "application/json", on_close, watch);
}

/* A version ahead of the storage is of a server that was here before and lost its memory: its
 * client would wait in silence for events that it takes for old ones. */
static bool is_expired(const struct pl_api_storage *storage, uint64_t rv)
{
    return rv > 0 && (rv < pl_api_storage_floor(storage) || rv > pl_api_storage_rv(storage));
}

/* 200 and an ERROR event: how a watch says that its version is of no use. */
static void end_with_error(struct watch *watch, const struct pl_api_status *status)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_buf_add_z(&out, "{\"type\":\"ERROR\",\"object\":");
    pl_api_status_write(status, &out);
    pl_buf_add_z(&out, "}\n");
    bool there = send(watch, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    if (there)
        end(watch);
    else
        watch_destroy(watch);
}

static void send_expired(struct watch *watch, struct pl_api_ctx *ctx, uint64_t rv)
{
    const struct pl_api_storage *storage = ctx->api->storage;
    bool ahead = rv > pl_api_storage_rv(storage);
    pl_api_fail(&ctx->status, 410, "Expired", "too %s resource version: %" PRIu64 " (%" PRIu64 ")",
                ahead ? "large" : "old", rv,
                ahead ? pl_api_storage_rv(storage) : pl_api_storage_floor(storage));
    end_with_error(watch, &ctx->status);
}

/* Not older than a version that there is not yet; kube-apiserver waits 3 s for it first. */
static void send_too_large(struct watch *watch, struct pl_api_ctx *ctx, uint64_t rv)
{
    pl_api_fail_too_large(ctx, rv);
    end_with_error(watch, &ctx->status);
}

static bool send_state(struct watch *watch)
{
    const struct pl_api_table *table = &watch->type->table;
    for (size_t i = 0; i < table->count; i++) {
        struct pl_node object = pl_doc_root(table->entries[i]->doc);
        if (pl_api_select_matches(&watch->select, object) && !send_event(watch, "ADDED", object))
            return false;
    }
    watch->rv = pl_api_storage_rv(watch->api->storage);
    return true;
}

static bool send_history(struct watch *watch)
{
    struct pl_api_storage *storage = watch->api->storage;
    size_t at = pl_api_storage_after(storage, watch->rv);
    const struct pl_api_event *event;
    bool there = true;
    while (there && (event = pl_api_storage_next(storage, watch->type, &at)) != NULL) {
        struct shared shared = {.text = PL_BUF_INIT};
        there = deliver(watch, event, &shared);
        pl_buf_deinit(&shared.text);
    }
    return there;
}

int pl_api_watch(struct pl_api_ctx *ctx)
{
    const struct pl_api_request *request = &ctx->request;
    struct pl_api_select select;
    uint64_t rv;
    if (check_options(ctx) != 0 || parse_rv(ctx, &rv) != 0 || pl_api_select_init(&select, ctx) != 0)
        return -1;
    struct watch *watch = PL_NEW(struct watch);
    watch->api = ctx->api;
    watch->type = ctx->type;
    watch->version = ctx->version;
    watch->form = request->form;
    watch->select = select;
    watch->responder = ctx->responder;
    watch->rv = rv;
    watch->bookmarks = request->bookmarks;
    watch_begin(watch, ctx);
    bool state = request->has_send_initial ? request->send_initial : rv == 0;
    if (!state && is_expired(ctx->api->storage, rv)) {
        send_expired(watch, ctx, rv);
        return 0;
    }
    if (request->send_initial && rv > pl_api_storage_rv(ctx->api->storage)) {
        send_too_large(watch, ctx, rv);
        return 0;
    }
    if (!state && rv == 0)
        watch->rv = pl_api_storage_rv(ctx->api->storage);
    bool there = state ? send_state(watch) : send_history(watch);
    if (there && state && request->send_initial && request->bookmarks)
        there = send_bookmark(watch, true);
    if (!there)
        watch_destroy(watch);
    return 0;
}
