/* Watches, and the consequences of their ends (rules 61-71, 73). */
#include "sync/reflector_impl.h"

#define OPEN_LIMIT    (30 * PL_SECOND)
#define SETTLED_AFTER PL_SECOND
/* kube-apiserver sends a bookmark each minute. */
#define SILENCE_LIMIT  (150 * PL_SECOND)
#define DEADLINE_GRACE (30 * PL_SECOND)
#define WATCH_SECONDS  300

void pl_reflector_end_watch(struct pl_reflector *r, enum watch_ending why)
{
    if (r->ending != END_BY_SERVER)
        return;
    r->ending = why;
    pl_watch_cancel(r->watch);
}

static void on_at_most(struct pl_timer *timer)
{
    pl_reflector_end_watch(PL_CONTAINER_OF(timer, struct pl_reflector, at_most), END_BY_DEADLINE);
}

static void on_reflector_watch_silence(struct pl_timer *timer)
{
    struct pl_reflector *r = PL_CONTAINER_OF(timer, struct pl_reflector, guard);
    int64_t silent = pl_reflector_now(r) - r->heard_ns;
    if (silent < SILENCE_LIMIT)
        pl_timer_start(r->o.listing.timers, &r->guard, SILENCE_LIMIT - silent,
                       on_reflector_watch_silence);
    else
        pl_reflector_end_watch(r, END_BY_SILENCE);
}

/* A watch that still exists after a second counts as working (rule 68). */
static void on_settled(struct pl_timer *timer)
{
    struct pl_reflector *r = PL_CONTAINER_OF(timer, struct pl_reflector, guard);
    pl_timer_start(r->o.listing.timers, &r->guard, SILENCE_LIMIT - SETTLED_AFTER,
                   on_reflector_watch_silence);
    pl_reflector_works(r);
}

static void on_not_opened(struct pl_timer *timer)
{
    pl_reflector_end_watch(PL_CONTAINER_OF(timer, struct pl_reflector, guard), END_BY_SILENCE);
}

void pl_reflector_expect_to_settle(struct pl_reflector *r)
{
    int64_t now = pl_reflector_now(r);
    pl_timer_start(r->o.listing.timers, &r->guard, SETTLED_AFTER, on_settled);
    pl_reflector_set_state(r, PL_REFLECTOR_WATCHING, r->at_most.due_ns - now);
}

static void on_reflector_watch_open(void *arg)
{
    struct pl_reflector *r = arg;
    if (r->stopped || r->ending != END_BY_SERVER)
        return;
    r->opened_ns = r->heard_ns = pl_reflector_now(r);
    pl_reflector_heard(r);
    if (r->streaming)
        pl_reflector_stream_opened(r);
    else
        pl_reflector_expect_to_settle(r);
}

static void on_reflector_watch_event(void *arg, enum pl_watch_type type, struct pl_doc *object);
static void on_reflector_watch_end(void *arg, const struct pl_err *err);
static const struct pl_watch_ops watch_ops = {on_reflector_watch_open, on_reflector_watch_event,
                                              on_reflector_watch_end};

void pl_reflector_watch(struct pl_reflector *r)
{
    r->streaming = false;
    if (r->o.reconnects != NULL && !pl_reconnect_is_current(r->o.reconnects, &r->turn))
        pl_reflector_went_back(r);
    else if (r->doubtful && !pl_rv_is_zero(pl_buf_slice(&r->rv)))
        pl_reflector_ask_version(r);
    else
        pl_reflector_open(r, pl_buf_slice(&r->rv));
}

void pl_reflector_open(struct pl_reflector *r, struct pl_slice rv)
{
    int64_t seconds =
        WATCH_SECONDS + (int64_t)(pl_rand_unit(r->o.listing.rand) * (WATCH_SECONDS + 1));
    pl_buf_clear(&r->watch_shards);
    if (r->streaming)
        pl_buf_add_slice(&r->watch_shards, pl_buf_slice(&r->shards));
    else if (r->o.sink->watch != NULL)
        r->o.sink->watch(r->o.arg, &r->watch_shards);
    struct pl_watch_call call = {
        .resource = r->o.listing.resource,
        .ns = pl_slice_z(r->o.listing.ns),
        .labels = pl_slice_z(r->o.listing.labels),
        .fields = pl_slice_z(r->o.listing.fields),
        .shards = pl_buf_slice(&r->watch_shards),
        .rv = rv,
        .metadata_only = r->o.listing.metadata_only,
        .keep_managed_fields = r->o.listing.keep_managed_fields,
        .initial_events = r->streaming,
        .timeout_seconds = seconds,
    };
    r->synthetic = !r->streaming && pl_rv_is_zero(rv);
    r->progress = r->complained = false;
    r->ending = END_BY_SERVER;
    r->opened_ns = 0;
    r->asked_ns = r->heard_ns = pl_reflector_now(r);
    r->watch = pl_client_watch(r->o.listing.client, &call, &watch_ops, r);
    if (r->o.watches != NULL)
        pl_series_add(r->o.watches, 1);
    pl_timer_start(r->o.listing.timers, &r->guard, OPEN_LIMIT, on_not_opened);
    pl_timer_start(r->o.listing.timers, &r->at_most, seconds * PL_SECOND + DEADLINE_GRACE,
                   on_at_most);
    pl_reflector_set_state(r, r->streaming ? PL_REFLECTOR_LISTING : PL_REFLECTOR_OPENING,
                           OPEN_LIMIT);
}

void pl_reflector_complain(struct pl_reflector *r, const char *message, const char *text)
{
    if (r->complained)
        return;
    r->complained = true;
    pl_log(PL_LOG_WARN, message, pl_str("source", r->o.listing.owner), pl_str("reason", text));
}

bool pl_reflector_is_expected(const struct pl_reflector *r, struct pl_node object)
{
    struct pl_node api_version, kind;
    pl_meta_type(object, &api_version, &kind);
    if (r->o.listing.metadata_only && pl_node_str_eq(kind, pl_slice_z("PartialObjectMetadata")))
        return true;
    struct pl_scratch room[2];
    return pl_kind_is(&r->o.listing.resource->kind, pl_node_str(api_version, &room[0]),
                      pl_node_str(kind, &room[1]));
}

/* False when the version went back: the server lost history that we have seen. */
static bool reflector_watch_advance(struct pl_reflector *r, struct pl_slice rv)
{
    if (!pl_rv_is_valid(rv))
        return true;
    struct pl_slice last = pl_buf_slice(&r->rv);
    if (pl_rv_is_valid(last)) {
        int order = pl_rv_compare(rv, last);
        if (order < 0)
            return false;
        r->progress = r->progress || order > 0;
    } else {
        r->progress = true;
    }
    pl_buf_set(&r->rv, rv);
    return true;
}

static void reflector_watch_deliver(struct pl_reflector *r, enum pl_watch_type type,
                                    struct pl_doc *object)
{
    const struct pl_reflector_sink *sink = r->o.sink;
    struct pl_err err = {0};
    if (!pl_reflector_keeps(r, object, false)) {
        sink->pass(r->o.arg, object);
        return;
    }
    pl_reflector_saw(r, type, object);
    int code = type == PL_WATCH_ADDED      ? sink->add(r->o.arg, object, &err)
               : type == PL_WATCH_MODIFIED ? sink->update(r->o.arg, object, &err)
                                           : sink->remove(r->o.arg, object, &err);
    if (code != 0 && !r->stopped)
        pl_reflector_complain(r, "an event could not be stored", err.message);
}

/* True when the event's version counts (rules 62, 69, 70). */
static bool take_event(struct pl_reflector *r, enum pl_watch_type type, struct pl_doc *object)
{
    struct pl_node root = pl_doc_root(object);
    if (type == PL_WATCH_UNKNOWN) {
        pl_reflector_complain(r, "an event of an unknown type was skipped", "unknown event type");
        return true;
    }
    if (type == PL_WATCH_BOOKMARK)
        return true;
    if (!pl_reflector_is_expected(r, root)) {
        pl_reflector_complain(r, "an event of another kind was skipped", "unexpected kind");
        return false;
    }
    if (type != PL_WATCH_ADDED)
        r->synthetic = false;
    return true;
}

static void work_event(struct pl_reflector *r, enum pl_watch_type type, struct pl_doc *object)
{
    struct pl_node root = pl_doc_root(object);
    struct pl_scratch scratch;
    struct pl_slice rv = pl_meta_rv(root, &scratch);
    r->heard_ns = pl_reflector_now(r);
    pl_reflector_heard(r);
    if (type == PL_WATCH_ERROR) {
        pl_status_event_to_err(root, &r->event_err);
        pl_reflector_end_watch(r, END_BY_ERROR_EVENT);
        return;
    }
    if (r->streaming) {
        pl_reflector_stream_event(r, type, object);
        return;
    }
    if (!take_event(r, type, object))
        return;
    if (type == PL_WATCH_BOOKMARK)
        r->synthetic = false;
    if (!r->synthetic && !reflector_watch_advance(r, rv)) {
        pl_reflector_end_watch(r, END_BY_OLD_RV);
        return;
    }
    r->progress = r->progress || r->synthetic;
    pl_reflector_works(r);
    r->expired_in_row = 0;
    r->silence_said = false;
    if (type == PL_WATCH_BOOKMARK)
        r->o.sink->bookmark(r->o.arg, rv);
    else if (type != PL_WATCH_UNKNOWN)
        reflector_watch_deliver(r, type, object);
}

static void on_reflector_watch_event(void *arg, enum pl_watch_type type, struct pl_doc *object)
{
    struct pl_reflector *r = arg;
    if (!r->stopped && r->ending == END_BY_SERVER)
        work_event(r, type, object);
    pl_doc_unref(object);
}

/* Our version is too old for a watch: a list that is not older is requested (rule 65), and if that
 * does not help, one without a version. */
static void watch_expired(struct pl_reflector *r, const struct pl_err *err)
{
    if (++r->expired_in_row > 1) {
        r->rv_unavailable = true;
        pl_reflector_note(r, "watches of source expire at once", err);
    }
    pl_reflector_pause(r, NEXT_SYNC, 0);
}

void pl_reflector_watch_failed(struct pl_reflector *r, const struct pl_err *err)
{
    if (pl_err_is_expired(err)) {
        watch_expired(r, err);
        return;
    }
    bool no_shards = pl_reflector_is_no_shards(r, &r->watch_shards, err);
    bool away = err->code == PL_ENETWORK || err->code == PL_ETIMEOUT;
    bool again = away || no_shards || pl_err_is_too_many_requests(err);
    r->doubtful = r->doubtful || away;
    if (away && r->opened_ns == 0) {
        pl_reflector_unanswered(r, NEXT_WATCH, "cannot watch source", err);
        return;
    }
    pl_reflector_note(r, "cannot watch source", err);
    if (pl_err_is_not_found(err))
        pl_reflector_gone(r, err);
    else
        pl_reflector_pause(r, again ? NEXT_WATCH : NEXT_SYNC, err->retry_after_ms * PL_MS);
}

/* The stream was open and ended normally (rules 67, 73). Its second begins with the request: the
 * answer may be held back by a proxy, or be read late by a host that waits for a processor. */
static void watch_ended(struct pl_reflector *r)
{
    if (r->progress || pl_reflector_now(r) - r->asked_ns >= SETTLED_AFTER) {
        pl_reflector_go(r, NEXT_WATCH);
        return;
    }
    struct pl_err err = {0};
    pl_err_set(&err, PL_ENETWORK, "the server ended the watch within a second");
    pl_reflector_note(r, "cannot watch source", &err);
    pl_reflector_pause(r, NEXT_WATCH, 0);
}

/* Normal if a server sends no bookmarks, so one line until it sends something. */
static void watch_was_silent(struct pl_reflector *r)
{
    if (r->opened_ns != 0) {
        if (!r->silence_said)
            pl_log(PL_LOG_INFO, "watch was silent and is opened again",
                   pl_str("source", r->o.listing.owner),
                   pl_int("seconds", SILENCE_LIMIT / PL_SECOND));
        r->silence_said = r->doubtful = true;
        pl_reflector_go(r, NEXT_WATCH);
        return;
    }
    struct pl_err err = {0};
    pl_err_set(&err, PL_ETIMEOUT, "no answer within %d s", (int)(OPEN_LIMIT / PL_SECOND));
    pl_reflector_watch_failed(r, &err);
}

void pl_reflector_is_another(struct pl_reflector *r, const char *reason)
{
    struct pl_err err = {0};
    if (r->o.reconnects != NULL)
        pl_reconnect_found_restored(r->o.reconnects, &r->turn);
    pl_err_set(&err, PL_EAPI, "%s", reason);
    r->rv_unavailable = true;
    pl_reflector_note(r, "source is listed again", &err);
    pl_reflector_pause(r, NEXT_SYNC, 0);
}

void pl_reflector_went_back(struct pl_reflector *r)
{
    pl_reflector_is_another(r, "resourceVersions went back: was the server restored?");
}

static void on_reflector_watch_end(void *arg, const struct pl_err *err)
{
    struct pl_reflector *r = arg;
    r->watch = NULL;
    if (r->stopped) {
        pl_reflector_end_soon(r);
        return;
    }
    pl_timer_stop(r->o.listing.timers, &r->guard);
    pl_timer_stop(r->o.listing.timers, &r->at_most);
    bool open = r->opened_ns != 0;
    if (r->streaming)
        pl_reflector_stream_ended(r, err);
    else if (r->ending == END_BY_SINK)
        pl_reflector_pause(r, NEXT_SYNC, 0);
    else if (r->ending == END_BY_ERROR_EVENT)
        pl_reflector_watch_failed(r, &r->event_err);
    else if (r->ending == END_BY_SILENCE)
        watch_was_silent(r);
    else if (r->ending == END_BY_OLD_RV)
        pl_reflector_went_back(r);
    else if (r->ending == END_BY_DEADLINE || r->ending == END_BY_SHARDS)
        pl_reflector_go(r, NEXT_WATCH);
    else if (err == NULL || (open && (err->code == PL_ENETWORK || err->code == PL_ETIMEOUT)))
        watch_ended(r);
    else
        pl_reflector_watch_failed(r, err);
}
