/* Each watch has a position in the kind's history and sends as much as its client reads. All
 * watches share one limit of unread bytes; the watch that is furthest behind is cut first. Nothing
 * is copied for a watch. */
#include "apiserver/watch_stream.h"

#include "apicall/ask.h"
#include "apicall/convert.h"
#include "apicall/protobuf.h"
#include "apiserver/watch.h"
#include "base/alloc.h"
#include "columns/table.h"

#include <inttypes.h>
#include <stdio.h>

/* Unread bytes of one watch at which it waits; one event more may be sent. */
#define MOST_UNREAD ((size_t)256 << 10)

static const char change_names[][12] = {
    [PL_API_ADDED] = "ADDED", [PL_API_MODIFIED] = "MODIFIED", [PL_API_DELETED] = "DELETED"};

/* ---- the end ---- */

void pl_api_watch_destroy(struct pl_api_watch *watch)
{
    watch->api->watch_unread -= watch->unread;
    pl_link_unlink(&watch->link);
    pl_timer_stop(watch->api->timers, &watch->timeout);
    pl_timer_stop(watch->api->timers, &watch->bookmark);
    pl_api_select_deinit(&watch->select);
    pl_buf_deinit(&watch->next);
    pl_api_job_drop(watch->job);
    pl_free(watch);
}

void pl_api_watch_end(struct pl_api_watch *watch)
{
    watch->responder.ops->end(watch->responder.self);
    pl_api_watch_destroy(watch);
}

/* ---- room ---- */

static void look_at_unread(struct pl_api_watch *watch)
{
    size_t unread = watch->responder.ops->unread(watch->responder.self);
    watch->api->watch_unread += unread - watch->unread;
    watch->unread = unread;
}

/* The watch that is furthest behind and has unread bytes. Measures all watches again. */
static struct pl_api_watch *furthest_behind(struct pl_api *api)
{
    struct pl_api_watch *found = NULL;
    for (struct pl_api_type *type = pl_api_registry_first(api->registry); type != NULL;
         type = type->next)
        PL_LIST_FOR (link, &type->table->watches) {
            struct pl_api_watch *watch = PL_CONTAINER_OF(link, struct pl_api_watch, link);
            look_at_unread(watch);
            if (watch->unread > 0 && (found == NULL || watch->rv < found->rv))
                found = watch;
        }
    return found;
}

/* All watches share one limit: those furthest behind are cut. */
static void watch_stream_make_room(struct pl_api *api)
{
    while (api->watch_unread > api->watch_bytes) {
        struct pl_api_watch *last = furthest_behind(api);
        if (last == NULL || api->watch_unread <= api->watch_bytes)
            return;
        last->responder.ops->abort(last->responder.self);
        pl_api_watch_destroy(last);
    }
}

/* ---- events out ---- */

static void on_watch_stream_drained(void *arg)
{
    struct pl_api_watch *watch = arg;
    watch->waits = false;
    look_at_unread(watch);
    pl_api_watch_run(watch);
}

/* False if the client has left. The watch is not destroyed here. */
static bool watch_stream_send(struct pl_api_watch *watch, struct pl_slice piece)
{
    watch->busy = true;
    if (!watch->closed)
        watch->responder.ops->write(watch->responder.self, piece);
    watch->busy = false;
    if (watch->closed)
        return false;
    look_at_unread(watch);
    if (watch->unread > MOST_UNREAD && !watch->waits) {
        watch->waits = true;
        watch->responder.ops->on_drained(watch->responder.self, on_watch_stream_drained);
    }
    return true;
}

static void write_object(struct pl_api_watch *watch, struct pl_node object, struct pl_buf *out)
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

/* An event whose object is JSON already. */
static void write_event_json(const struct pl_api_watch *watch, const char *name,
                             struct pl_slice json, struct pl_buf *out)
{
    if (watch->in_proto) {
        struct pl_api_frame frame = pl_api_frame_begin(out, name);
        pl_api_proto_write_json(out, json);
        pl_api_frame_end(out, frame);
        return;
    }
    pl_buf_add_f(out, "{\"type\":\"%s\",\"object\":", name);
    pl_buf_add_slice(out, json);
    pl_buf_add_z(out, "}\n");
}

static void write_event(struct pl_api_watch *watch, const char *name, struct pl_node object,
                        struct pl_buf *out)
{
    if (watch->in_proto && watch->form == PL_API_PLAIN) {
        struct pl_api_frame frame = pl_api_frame_begin(out, name);
        pl_api_proto_object(out, watch->type, watch->version, object);
        pl_api_frame_end(out, frame);
    } else if (watch->in_proto) {
        struct pl_buf json = PL_BUF_INIT;
        write_object(watch, object, &json);
        write_event_json(watch, name, pl_buf_slice(&json), out);
        pl_buf_deinit(&json);
    } else {
        pl_buf_add_f(out, "{\"type\":\"%s\",\"object\":", name);
        write_object(watch, object, out);
        pl_buf_add_z(out, "}\n");
    }
}

static bool send_json(struct pl_api_watch *watch, const char *name, struct pl_slice json)
{
    struct pl_buf out = PL_BUF_INIT;
    write_event_json(watch, name, json, &out);
    bool there = watch_stream_send(watch, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return there;
}

static bool send_error(struct pl_api_watch *watch, const struct pl_api_status *status)
{
    struct pl_buf json = PL_BUF_INIT;
    pl_api_status_write(status, &json);
    bool there = send_json(watch, "ERROR", pl_buf_slice(&json));
    pl_buf_deinit(&json);
    return there;
}

static bool send_event(struct pl_api_watch *watch, const char *name, struct pl_node object)
{
    struct pl_buf out = PL_BUF_INIT;
    write_event(watch, name, object, &out);
    bool there = watch_stream_send(watch, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return there;
}

bool pl_api_watch_bookmark(struct pl_api_watch *watch, bool initial_end)
{
    const struct pl_api_version *v = &watch->type->versions[watch->version];
    struct pl_buf out = PL_BUF_INIT;
    char text[PL_KIND_TEXT];
    bool partial = watch->form == PL_API_PARTIAL;
    pl_buf_add_f(
        &out,
        "{\"kind\":\"%s\",\"apiVersion\":\"%.*s\",\"metadata\":{\"resourceVersion\":\"%" PRIu64
        "\"",
        partial ? "PartialObjectMetadata" : watch->type->kind,
        PL_FMT(partial ? pl_slice_z("meta.k8s.io/v1") : pl_api_version_text(v, text)), watch->rv);
    if (initial_end)
        pl_buf_add_z(&out, ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
    pl_buf_add_z(&out, "}}");
    bool there = send_json(watch, "BOOKMARK", pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return there;
}

void pl_api_watch_end_with(struct pl_api_watch *watch, const struct pl_api_status *status)
{
    if (send_error(watch, status))
        pl_api_watch_end(watch);
    else
        pl_api_watch_destroy(watch);
}

void pl_api_watch_expire(struct pl_api_watch *watch)
{
    const struct pl_api_storage *storage = watch->api->storage;
    struct pl_arena arena = {0};
    struct pl_api_status status = {.arena = &arena};
    bool ahead = watch->rv > pl_api_storage_rv(storage);
    pl_api_fail(&status, 410, "Expired", "too %s resource version: %" PRIu64 " (%" PRIu64 ")",
                ahead ? "large" : "old", watch->rv,
                ahead ? pl_api_storage_rv(storage) : pl_api_storage_floor(storage));
    pl_api_watch_end_with(watch, &status);
    pl_arena_deinit(&arena);
}

/* ---- other versions, by the webhook of the kind ---- */

#define CONVERT_MOST 100 /* objects per question */

static bool converts(const struct pl_api_watch *watch)
{
    if (watch->type->convert != NULL && watch->form != PL_API_PLAIN)
        return false; /* metadata and cells are those of the stored version */
    return watch->form != PL_API_PARTIAL && pl_api_reshapes(watch->type, watch->version);
}

static void on_converted(void *arg)
{
    struct pl_api_watch *watch = arg;
    watch->converting = false;
    pl_api_watch_run(watch);
}

enum converted { CONVERTED, CONVERTING, NOT_CONVERTED };

/* ctx holds the results until it ends. CONVERTING: the watch continues later by itself. */
static enum converted convert(struct pl_api_watch *watch, struct pl_api_ctx *ctx,
                              struct pl_node *objects, size_t count)
{
    pl_api_ctx_init(ctx, watch->api, watch->type);
    ctx->version = watch->version;
    ctx->outside.ops = &pl_api_no_client;
    ctx->job = watch->job;
    if (pl_api_convert_nodes(ctx, objects, count) == 0)
        return CONVERTED;
    watch->job = ctx->job;
    if (!ctx->is_waiting)
        return NOT_CONVERTED;
    pl_api_job_resume(watch->job, on_converted, watch);
    pl_api_job_wait(ctx);
    watch->converting = true;
    return CONVERTING;
}

/* The initial state was sent. */
static void forget_converted(struct pl_api_watch *watch, struct pl_api_ctx *ctx)
{
    pl_api_job_drop(watch->job);
    watch->job = NULL;
    pl_api_ctx_deinit(ctx);
}

/* Sends objects in the watch's version as events of type `name`. False: the watch is over, and the
 * caller destroys it. */
static bool send_converted(struct pl_api_watch *watch, const char *name, struct pl_node *objects,
                           size_t count)
{
    struct pl_api_ctx ctx;
    bool there = true;
    enum converted result = convert(watch, &ctx, objects, count);
    if (result == CONVERTING) {
        pl_api_ctx_deinit(&ctx);
        return true;
    }
    if (result == NOT_CONVERTED) {
        if (send_error(watch, &ctx.status))
            watch->responder.ops->end(watch->responder.self);
        there = false;
    }
    for (size_t i = 0; i < count && there; i++)
        there = send_event(watch, name, objects[i]);
    forget_converted(watch, &ctx);
    return there;
}

/* The last selected state, with the version at which the object left the selection. */
static bool send_left(struct pl_api_watch *watch, const struct pl_api_event *event)
{
    struct pl_arena arena = {0};
    char rv[24];
    struct pl_tree *tree = pl_tree_from_node(&arena, pl_doc_root(event->old));
    snprintf(rv, sizeof(rv), "%" PRIu64, event->rv);
    pl_tree_set_strz(&arena, pl_tree_child(&arena, tree, "metadata"), "resourceVersion", rv);
    struct pl_doc *doc = pl_tree_doc(tree, NULL);
    struct pl_node object = pl_doc_root(doc);
    bool there = converts(watch) ? send_converted(watch, "DELETED", &object, 1)
                                 : send_event(watch, "DELETED", object);
    pl_doc_unref(doc);
    pl_arena_deinit(&arena);
    return there;
}

/* The texts of an event, made once for all watches that want the same one. */
struct shared {
    struct shared_text {
        struct pl_buf text; /* empty: not made yet */
        const char *name;
        size_t version;
        enum pl_api_form form;
        bool in_proto;
    } texts[8]; /* JSON and protobuf, whole and metadata alone, in two versions or under two names
                 */
    size_t next;
};

static void forget_shared(struct shared *shared)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(shared->texts); i++)
        pl_buf_deinit(&shared->texts[i].text);
}

static struct pl_slice shared_text(struct shared *shared, struct pl_api_watch *watch,
                                   const char *name, struct pl_node object)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(shared->texts); i++) {
        const struct shared_text *is = &shared->texts[i];
        if (is->text.len > 0 && is->name == name && is->version == watch->version &&
            is->form == watch->form && is->in_proto == watch->in_proto)
            return pl_buf_slice(&is->text);
    }
    struct shared_text *made = &shared->texts[shared->next++ % PL_ARRAY_LEN(shared->texts)];
    pl_buf_clear(&made->text);
    made->name = name;
    made->version = watch->version;
    made->form = watch->form;
    made->in_proto = watch->in_proto;
    write_event(watch, name, object, &made->text);
    return pl_buf_slice(&made->text);
}

static bool send_shared(struct pl_api_watch *watch, const char *name, struct pl_node object,
                        struct shared *shared)
{
    if (converts(watch))
        return send_converted(watch, name, &object, 1);
    if (watch->form == PL_API_TABLE) /* the first one has columns */
        return send_event(watch, name, object);
    return watch_stream_send(watch, shared_text(shared, watch, name, object));
}

static bool watch_stream_tell(struct pl_api_watch *watch, const struct pl_api_event *event,
                              struct shared *shared)
{
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

static bool watch_stream_deliver(struct pl_api_watch *watch, const struct pl_api_event *event,
                                 struct shared *shared)
{
    uint64_t before = watch->rv;
    if (event->rv <= watch->rv)
        return true;
    watch->rv = event->rv;
    bool there = watch_stream_tell(watch, event, shared);
    if (there && watch->converting) /* not sent yet: it follows after the conversion */
        watch->rv = before;
    return there;
}

void pl_api_watch_deliver(struct pl_api *api, const struct pl_api_event *event)
{
    struct shared shared = {.next = 0};
    PL_LIST_FOR (link, &event->type->table->watches) {
        struct pl_api_watch *watch = PL_CONTAINER_OF(link, struct pl_api_watch, link);
        if (!watch->waits && !watch->converting && !watch_stream_deliver(watch, event, &shared))
            pl_api_watch_destroy(watch);
    }
    forget_shared(&shared);
    watch_stream_make_room(api);
}

void pl_api_watch_end_all(struct pl_api_type *type)
{
    PL_LIST_FOR (link, &type->table->watches) {
        pl_api_watch_end(PL_CONTAINER_OF(link, struct pl_api_watch, link));
    }
}

/* ---- the state and the history ---- */

static bool is_next(const struct pl_api_watch *watch, const struct pl_api_view *view, size_t i)
{
    return strcmp(view->keys[i], pl_buf_z(&watch->next)) >= 0 &&
           pl_api_select_matches(&watch->select, pl_doc_root(view->docs[i]));
}

static void stop_at(struct pl_api_watch *watch, const char *key)
{
    pl_buf_clear(&watch->next);
    pl_buf_add_z(&watch->next, key);
}

/* The same for objects that a webhook converts, a hundred at a time. */
static bool send_objects_converted(struct pl_api_watch *watch, const struct pl_api_view *view)
{
    struct pl_node batch[CONVERT_MOST];
    size_t i = 0;
    while (i < view->count) {
        size_t count = 0;
        const char *first = NULL;
        for (; i < view->count && count < CONVERT_MOST; i++) {
            if (!is_next(watch, view, i))
                continue;
            first = first != NULL ? first : view->keys[i];
            batch[count++] = pl_doc_root(view->docs[i]);
        }
        if (first != NULL && watch->waits) {
            stop_at(watch, first);
            return true;
        }
        if (count > 0 && !send_converted(watch, "ADDED", batch, count))
            return false;
        if (watch->converting) {
            stop_at(watch, first);
            return true;
        }
    }
    watch->in_state = false;
    return true;
}

static bool send_objects(struct pl_api_watch *watch, const struct pl_api_view *view)
{
    if (converts(watch))
        return send_objects_converted(watch, view);
    for (size_t i = 0; i < view->count; i++) {
        struct pl_node object = pl_doc_root(view->docs[i]);
        if (strcmp(view->keys[i], pl_buf_z(&watch->next)) < 0 ||
            !pl_api_select_matches(&watch->select, object))
            continue;
        if (watch->waits) {
            pl_buf_clear(&watch->next);
            pl_buf_add_z(&watch->next, view->keys[i]);
            return true;
        }
        if (!send_event(watch, "ADDED", object))
            return false;
    }
    watch->in_state = false;
    return true;
}

/* Sends the objects of the initial state, from the position where it stopped. */
static bool send_state(struct pl_api_watch *watch)
{
    struct pl_api_view view;
    pl_api_storage_view(watch->api->storage, watch->type, watch->rv, &view);
    bool there = send_objects(watch, &view);
    pl_api_view_deinit(&view);
    if (there && !watch->in_state && watch->marks_state)
        there = pl_api_watch_bookmark(watch, true);
    return there;
}

static bool send_history(struct pl_api_watch *watch)
{
    struct pl_api_storage *storage = watch->api->storage;
    size_t at = pl_api_storage_after(storage, watch->rv);
    const struct pl_api_event *event;
    bool there = true;
    while (there && !watch->waits && !watch->converting &&
           (event = pl_api_storage_next(storage, watch->type, &at)) != NULL) {
        struct shared shared = {.next = 0};
        there = watch_stream_deliver(watch, event, &shared);
        forget_shared(&shared);
    }
    return there;
}

void pl_api_watch_run(struct pl_api_watch *watch)
{
    struct pl_api *api = watch->api;
    if (watch->converting)
        return;
    if (watch->rv < pl_api_storage_floor(api->storage)) {
        pl_api_watch_expire(watch);
        return;
    }
    bool there = !watch->in_state || send_state(watch);
    if (there && !watch->waits && !watch->converting)
        there = send_history(watch);
    if (!there)
        pl_api_watch_destroy(watch);
    watch_stream_make_room(api);
}
