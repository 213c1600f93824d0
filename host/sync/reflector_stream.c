/* Lists that come as the beginning of a watch (rules 75-79, 81). */
#include "sync/reflector_impl.h"

#define BOOKMARK_LIMIT (30 * PL_SECOND)     /* F21 */
#define STREAM_LIMIT   (5 * 60 * PL_SECOND) /* however many objects still come */
#define ENOUGH         1000 /* objects in BOOKMARK_LIMIT: then it is long, not stuck */
#define CUTS           2    /* then the cycle goes on with a list */

bool pl_reflector_may_stream(const struct pl_reflector *r)
{
    return r->o.stream && pl_reflector_now(r) >= r->no_stream_until_ns &&
           (r->o.reconnects == NULL || pl_reconnects_may_stream(r->o.reconnects));
}

static void reflector_stream_drop(struct pl_reflector *r)
{
    pl_map_deinit(&r->by_key);
    r->keyed = false;
    pl_reflector_drop_pages(r);
}

static void open_stream(struct pl_reflector *r)
{
    reflector_stream_drop(r);
    pl_reflector_begin_list(r);
    if (r->rv_unavailable)
        pl_buf_clear(&r->asked_rv);
    else
        pl_buf_set(&r->asked_rv, pl_buf_slice(&r->rv));
    r->streaming = true;
    pl_reflector_open(r, pl_buf_slice(&r->asked_rv));
}

void pl_reflector_stream(struct pl_reflector *r)
{
    r->retried = false;
    open_stream(r);
}

/* ---- until the bookmark ---- */

static void on_late(struct pl_timer *timer)
{
    struct pl_reflector *r = PL_CONTAINER_OF(timer, struct pl_reflector, guard);
    if (r->came - r->counted >= ENOUGH && pl_reflector_now(r) - r->began_ns < STREAM_LIMIT) {
        r->counted = r->came;
        pl_timer_start(r->o.listing.timers, &r->guard, BOOKMARK_LIMIT, on_late);
        pl_log(PL_LOG_DEBUG, "a streamed list is long", pl_str("source", r->o.listing.owner),
               pl_int("objects", (int64_t)r->came));
        return;
    }
    pl_reflector_end_watch(r, END_BY_LATE_BOOKMARK);
}

void pl_reflector_stream_opened(struct pl_reflector *r)
{
    r->came = r->counted = 0;
    r->began_ns = pl_reflector_now(r);
    pl_timer_start(r->o.listing.timers, &r->guard, BOOKMARK_LIMIT, on_late);
    pl_reflector_set_state(r, PL_REFLECTOR_LISTING, STREAM_LIMIT);
}

/* ---- objects that the sink takes as they arrive ---- */

/* False: the stream does not continue. */
static bool check_stored(struct pl_reflector *r, int code, const struct pl_err *err)
{
    if (r->stopped || code == 0)
        return !r->stopped;
    pl_reflector_note(r, "cannot store what was listed", err);
    pl_reflector_end_watch(r, END_BY_SINK);
    return false;
}

/* Delivers the gathered objects, in the order of their arrival. False: the stream does not
 * continue. */
static bool reflector_stream_show(struct pl_reflector *r)
{
    struct pl_err err = {0};
    if (!pl_reflector_may_show(r) || r->items.count == 0)
        return true;
    return check_stored(r, pl_reflector_show(r, r->items.count, &err), &err);
}

static void remove_stored(struct pl_reflector *r, struct pl_doc *object)
{
    struct pl_err err = {0};
    pl_reflector_saw(r, PL_WATCH_DELETED, object);
    check_stored(r, r->o.sink->remove(r->o.arg, object, &err), &err);
}

/* ---- gathering: usually each object comes once, so keys are compared only after a change ---- */

static void key_all(struct pl_reflector *r)
{
    struct pl_buf key = PL_BUF_INIT;
    for (size_t i = 0; i < r->items.count; i++) {
        pl_buf_clear(&key);
        if (pl_meta_key(pl_doc_root(r->items.items[i]), &key, NULL) == 0)
            pl_map_put(&r->by_key, pl_buf_slice(&key), (void *)(uintptr_t)(i + 1));
    }
    pl_buf_deinit(&key);
    r->keyed = true;
}

static void put_at(struct pl_reflector *r, struct pl_slice key, struct pl_doc *object)
{
    uintptr_t place = (uintptr_t)pl_map_get(&r->by_key, key);
    if (place == 0) {
        pl_docs_add(&r->items, object);
        pl_map_put(&r->by_key, key, (void *)(uintptr_t)r->items.count);
        return;
    }
    pl_doc_unref(r->items.items[place - 1]);
    r->items.items[place - 1] = object;
}

/* The last item replaces it. */
static void remove_at(struct pl_reflector *r, struct pl_slice key)
{
    uintptr_t place = (uintptr_t)pl_map_remove(&r->by_key, key);
    if (place == 0)
        return;
    struct pl_doc *last = r->items.items[--r->items.count];
    pl_doc_unref(r->items.items[place - 1]);
    if (place - 1 == r->items.count)
        return;
    r->items.items[place - 1] = last;
    struct pl_buf last_key = PL_BUF_INIT;
    if (pl_meta_key(pl_doc_root(last), &last_key, NULL) == 0)
        pl_map_put(&r->by_key, pl_buf_slice(&last_key), (void *)place);
    pl_buf_deinit(&last_key);
}

static void put_in_place(struct pl_reflector *r, enum pl_watch_type type, struct pl_doc *object)
{
    if (!r->keyed)
        key_all(r);
    struct pl_buf key = PL_BUF_INIT;
    if (pl_meta_key(pl_doc_root(object), &key, NULL) == 0) {
        if (type == PL_WATCH_DELETED)
            remove_at(r, pl_buf_slice(&key));
        else
            put_at(r, pl_buf_slice(&key), pl_reflector_share(r, pl_doc_ref(object)));
    }
    pl_buf_deinit(&key);
}

static void reflector_stream_collect(struct pl_reflector *r, enum pl_watch_type type,
                                     struct pl_doc *object)
{
    r->came++;
    if (!pl_reflector_keeps(r, object, true)) {
        if (type == PL_WATCH_ADDED && !r->keyed)
            return;
        type = PL_WATCH_DELETED; /* it may have been ours when it first came */
    }
    if (type != PL_WATCH_ADDED && !r->keyed && !reflector_stream_show(r))
        return;
    if (type == PL_WATCH_DELETED && r->begun) {
        remove_stored(r, object);
    } else if (r->keyed || (type != PL_WATCH_ADDED && !r->begun)) {
        put_in_place(r, type, object);
    } else {
        pl_docs_add(&r->items, pl_reflector_share(r, pl_doc_ref(object)));
        if (r->items.count >= PL_LIST_SOME)
            reflector_stream_show(r);
    }
}

/* The same stream continues as the watch (rule 77). */
static void take_over(struct pl_reflector *r, struct pl_slice rv)
{
    struct pl_err err = {0};
    pl_buf_set(&r->page_rv, rv);
    r->streaming = false;
    pl_log(PL_LOG_DEBUG, "a list was streamed", pl_str("source", r->o.listing.owner),
           pl_int("objects", (int64_t)r->came));
    pl_reflector_saw_list(r, &r->items, r->begun);
    int code = r->o.sink->replace(r->o.arg, &r->items, r->begun, pl_buf_slice(&r->page_rv),
                                  r->rv_unavailable, &err);
    if (check_stored(r, code, &err)) {
        pl_buf_set(&r->rv, pl_buf_slice(&r->page_rv));
        r->rv_unavailable = r->doubtful = r->synthetic = false;
        r->progress = true;
        r->streams_cut = r->expired_in_row = 0;
        pl_reflector_expect_to_settle(r);
    }
    if (!r->stopped)
        reflector_stream_drop(r);
}

static bool is_end(struct pl_node bookmark)
{
    static const char *const path[] = {"metadata", "annotations", "k8s.io/initial-events-end"};
    return pl_node_str_eq(pl_node_dig_n(bookmark, path, 3), pl_slice_z("true"));
}

static bool went_back(const struct pl_reflector *r, struct pl_slice rv)
{
    struct pl_slice asked = pl_buf_slice(&r->asked_rv);
    return pl_rv_is_valid(asked) && pl_rv_compare(rv, asked) < 0;
}

void pl_reflector_stream_event(struct pl_reflector *r, enum pl_watch_type type,
                               struct pl_doc *object)
{
    struct pl_node root = pl_doc_root(object);
    struct pl_scratch scratch;
    if (type == PL_WATCH_UNKNOWN) {
        pl_reflector_complain(r, "an event of an unknown type was skipped", "unknown event type");
    } else if (type != PL_WATCH_BOOKMARK) {
        if (pl_reflector_is_expected(r, root))
            reflector_stream_collect(r, type, object);
        else
            pl_reflector_complain(r, "an event of another kind was skipped", "unexpected kind");
    } else if (is_end(root)) {
        struct pl_slice rv = pl_meta_rv(root, &scratch);
        if (went_back(r, rv))
            pl_reflector_end_watch(r, END_BY_OLD_RV);
        else
            take_over(r, rv);
    }
}

/* ---- it ended before the bookmark ---- */

static void list_instead(struct pl_reflector *r)
{
    r->streams_cut = 0;
    reflector_stream_drop(r);
    pl_reflector_list(r);
}

/* The server understands the request and refuses it. */
static bool is_refusal(const struct pl_err *err)
{
    return err->code == PL_EAPI && (err->status == 400 || err->status == 405 ||
                                    err->status == 406 || err->status == 422 || err->status == 501);
}

static void refused(struct pl_reflector *r, const struct pl_err *err)
{
    pl_log(PL_LOG_INFO, "the server does not stream lists: using ordinary lists",
           pl_str("source", r->o.listing.owner), pl_str("error", err->message));
    r->no_stream_until_ns = pl_reflector_now(r) + PL_STREAM_REFUSED_NS;
    if (r->o.reconnects != NULL)
        pl_reconnects_refuse_streams(r->o.reconnects);
    list_instead(r);
}

static void was_late(struct pl_reflector *r)
{
    pl_log(PL_LOG_WARN, "a streamed list did not end: using an ordinary list",
           pl_str("source", r->o.listing.owner), pl_int("objects", (int64_t)r->came));
    r->no_stream_until_ns = pl_reflector_now(r) + PL_STREAM_REFUSED_NS;
    list_instead(r);
}

static void reflector_stream_was_cut(struct pl_reflector *r)
{
    if (++r->streams_cut >= CUTS) {
        list_instead(r);
        return;
    }
    reflector_stream_drop(r);
    pl_reflector_pause(r, NEXT_SYNC, 0);
}

static void reflector_stream_failed(struct pl_reflector *r, const struct pl_err *err)
{
    if (pl_err_is_expired(err) || pl_err_is_too_large_rv(err)) {
        bool again = !r->retried && !r->rv_unavailable;
        r->rv_unavailable = true;
        if (again) {
            r->retried = true;
            open_stream(r);
        } else {
            list_instead(r);
        }
    } else if (err->code == PL_ENETWORK || err->code == PL_ETIMEOUT) {
        reflector_stream_drop(r);
        pl_reflector_unanswered(r, NEXT_SYNC, "cannot list source", err);
    } else if (pl_err_is_too_many_requests(err)) {
        reflector_stream_drop(r);
        pl_reflector_note(r, "cannot list source", err);
        pl_reflector_pause(r, NEXT_SYNC, err->retry_after_ms * PL_MS);
    } else if (pl_reflector_is_no_shards(r, &r->shards, err)) {
        reflector_stream_drop(r);
        pl_reflector_pause(r, NEXT_SYNC, 0);
    } else if (is_refusal(err)) {
        refused(r, err);
    } else {
        list_instead(r);
    }
}

void pl_reflector_stream_ended(struct pl_reflector *r, const struct pl_err *err)
{
    struct pl_err silent = {0};
    bool open = r->opened_ns != 0;
    r->streaming = false;
    switch (r->ending) {
    case END_BY_ERROR_EVENT:
        reflector_stream_failed(r, &r->event_err);
        return;
    case END_BY_LATE_BOOKMARK:
    case END_BY_DEADLINE:
        was_late(r);
        return;
    case END_BY_OLD_RV:
        reflector_stream_drop(r);
        pl_reflector_went_back(r);
        return;
    case END_BY_SINK:
        reflector_stream_drop(r);
        pl_reflector_pause(r, NEXT_SYNC, 0);
        return;
    case END_BY_SILENCE: /* it did not open */
        pl_err_set(&silent, PL_ETIMEOUT, "no answer within 30 s");
        reflector_stream_failed(r, &silent);
        return;
    default:
        break;
    }
    if (open && (err == NULL || err->code == PL_ENETWORK || err->code == PL_ETIMEOUT))
        reflector_stream_was_cut(r);
    else if (err == NULL) /* it ended without an answer */
        reflector_stream_was_cut(r);
    else
        reflector_stream_failed(r, err);
}
