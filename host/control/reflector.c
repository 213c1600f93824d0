#include "control/reflector.h"

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/check.h"
#include "kube/status.h"
#include "value/meta.h"

#define PAGE          500
#define OPEN_LIMIT    (30 * PL_SECOND)
#define SETTLED_AFTER PL_SECOND
/* kube-apiserver sends a bookmark each minute. */
#define SILENCE_LIMIT  (150 * PL_SECOND)
#define DEADLINE_GRACE (30 * PL_SECOND)
#define WATCH_SECONDS  300

/* Why a watch that we cancelled had to end. */
enum ending { END_BY_SERVER, END_BY_ERROR_EVENT, END_BY_SILENCE, END_BY_DEADLINE, END_BY_OLD_RV };

struct pl_reflector {
    struct pl_reflector_options o; /* its texts are owned */
    enum pl_reflector_state state;
    bool stopped;
    void (*ended)(void *arg);
    void *ended_arg;
    struct pl_timer pause;
    bool pause_leads_to_watch;
    struct pl_backoff backoff;
    struct pl_trouble trouble;
    struct pl_wait wait;

    struct pl_buf rv;    /* of the last list, event or bookmark */
    bool rv_unavailable; /* the server could not list by it */
    bool doubtful;       /* does the server still know it? To be asked before a watch */
    bool paginated;      /* the server has no watch cache (53) */
    int expired_in_row;  /* watches that expired without any progress between */

    struct pl_op *list;   /* under way, or NULL */
    struct pl_docs items; /* of the pages so far */
    struct pl_buf asked_rv, page_rv, token;
    int page;
    bool whole;   /* asked for without a limit, as a page had expired (55) */
    bool retried; /* asked for without a version (51) */

    struct pl_watch *watch;  /* under way, or NULL */
    struct pl_timer guard;   /* opening, settling, silence */
    struct pl_timer at_most; /* our own end of a watch */
    int64_t opened_ns, heard_ns;
    bool synthetic; /* begun at "" or "0": what comes first is in no order (62) */
    bool progress;  /* rv moved */
    bool complained, silence_said;
    enum ending ending;
    struct pl_err event_err;
};

static void start_list(struct pl_reflector *r);
static void start_watch(struct pl_reflector *r);
static void ask_version(struct pl_reflector *r);

static int64_t now_ns(const struct pl_reflector *r)
{
    return pl_clock_mono(r->o.timers->clock);
}

static bool is_zero(struct pl_slice rv)
{
    return rv.len == 0 || pl_slice_eqz(rv, "0");
}

static void set_buf(struct pl_buf *buf, struct pl_slice text)
{
    pl_buf_clear(buf);
    pl_buf_add_slice(buf, text);
}

/* ---- state, waits, trouble ---- */

const char *pl_reflector_state_name(enum pl_reflector_state state)
{
    static const char *const names[] = {"idle",  "list",    "open watch",
                                        "watch", "backoff", "stopped"};
    return names[state];
}

/* timeout_ns: until something else happens; 0: not ours to say. */
static void set_state(struct pl_reflector *r, enum pl_reflector_state state, int64_t timeout_ns)
{
    r->state = state;
    pl_wait_end(&r->wait);
    const char *name = pl_reflector_state_name(state);
    if (r->o.waits == NULL || state == PL_REFLECTOR_STOPPED)
        ;
    else if (timeout_ns > 0)
        pl_wait_begin(r->o.waits, &r->wait, name, r->o.owner, timeout_ns);
    else
        pl_wait_begin_open(r->o.waits, &r->wait, name, r->o.owner,
                           "the client limits each request");
    if (r->o.changed != NULL && !r->stopped)
        r->o.changed(r->o.arg);
}

static void note_trouble(struct pl_reflector *r, const char *message, const struct pl_err *err)
{
    struct pl_field owner = pl_str("source", r->o.owner);
    pl_trouble_note(&r->trouble, err, now_ns(r), message, &owner, 1);
}

static void end_trouble(struct pl_reflector *r)
{
    if (!pl_trouble_is_on(&r->trouble))
        return;
    struct pl_field owner = pl_str("source", r->o.owner);
    pl_trouble_end(&r->trouble, now_ns(r), "source works again", &owner, 1);
    if (r->o.changed != NULL)
        r->o.changed(r->o.arg);
}

/* ---- lifetime ---- */

static char *dup_or_null(const char *text)
{
    return text != NULL ? pl_strdup(text) : NULL;
}

struct pl_reflector *pl_reflector_create(const struct pl_reflector_options *options)
{
    struct pl_reflector *r = PL_NEW(struct pl_reflector);
    r->o = *options;
    r->o.owner = pl_strdup(options->owner);
    r->o.ns = dup_or_null(options->ns);
    r->o.labels = dup_or_null(options->labels);
    r->o.fields = dup_or_null(options->fields);
    pl_backoff_init(&r->backoff, now_ns(r));
    return r;
}

static void free_reflector(struct pl_timer *timer)
{
    struct pl_reflector *r = PL_CONTAINER_OF(timer, struct pl_reflector, pause);
    void (*ended)(void *arg) = r->ended;
    void *arg = r->ended_arg;
    PL_REQUIRE(r->list == NULL && r->watch == NULL);
    pl_docs_deinit(&r->items);
    pl_buf_deinit(&r->rv);
    pl_buf_deinit(&r->asked_rv);
    pl_buf_deinit(&r->page_rv);
    pl_buf_deinit(&r->token);
    pl_free((char *)r->o.owner);
    pl_free((char *)r->o.ns);
    pl_free((char *)r->o.labels);
    pl_free((char *)r->o.fields);
    pl_free(r);
    ended(arg);
}

/* Whatever was under way has ended: nobody points at us any more. */
static void end_soon(struct pl_reflector *r)
{
    pl_timer_start(r->o.timers, &r->pause, 0, free_reflector);
}

void pl_reflector_stop(struct pl_reflector *r, void (*ended)(void *arg), void *arg)
{
    PL_REQUIRE(!r->stopped);
    r->stopped = true;
    r->ended = ended;
    r->ended_arg = arg;
    pl_timer_stop(r->o.timers, &r->pause);
    pl_timer_stop(r->o.timers, &r->guard);
    pl_timer_stop(r->o.timers, &r->at_most);
    set_state(r, PL_REFLECTOR_STOPPED, 0);
    if (r->list != NULL)
        pl_op_cancel(r->list);
    else if (r->watch != NULL)
        pl_watch_cancel(r->watch);
    else
        end_soon(r);
}

void pl_reflector_start(struct pl_reflector *r)
{
    PL_REQUIRE(r->state == PL_REFLECTOR_IDLE);
    start_list(r);
}

enum pl_reflector_state pl_reflector_state(const struct pl_reflector *r)
{
    return r->state;
}

const struct pl_trouble *pl_reflector_trouble(const struct pl_reflector *r)
{
    return pl_trouble_is_on(&r->trouble) ? &r->trouble : NULL;
}

struct pl_slice pl_reflector_rv(const struct pl_reflector *r)
{
    return pl_buf_slice(&r->rv);
}

/* ---- pauses ---- */

static void on_pause_over(struct pl_timer *timer)
{
    struct pl_reflector *r = PL_CONTAINER_OF(timer, struct pl_reflector, pause);
    if (r->pause_leads_to_watch)
        start_watch(r);
    else
        start_list(r);
}

/* One backoff for both loops (83-85). */
static void pause_then(struct pl_reflector *r, bool watch, int64_t at_least_ns)
{
    if (r->stopped)
        return;
    int64_t delay = pl_backoff_next(&r->backoff, now_ns(r), r->o.rand);
    delay = delay > at_least_ns ? delay : at_least_ns;
    r->pause_leads_to_watch = watch;
    pl_timer_start(r->o.timers, &r->pause, delay, on_pause_over);
    set_state(r, PL_REFLECTOR_PAUSING, delay);
}

void pl_reflector_hurry(struct pl_reflector *r)
{
    if (r->state == PL_REFLECTOR_PAUSING)
        pl_timer_start(r->o.timers, &r->pause, 0, on_pause_over);
}

/* ---- list ---- */

static void on_list(void *arg, const struct pl_answer *answer);

static void send_list(struct pl_reflector *r, struct pl_call *call, pl_answer_fn done)
{
    call->verb = PL_VERB_LIST;
    call->resource = r->o.resource;
    call->ns = pl_slice_z(r->o.ns);
    call->labels = pl_slice_z(r->o.labels);
    call->fields = pl_slice_z(r->o.fields);
    call->grace_period = -1;
    r->list = pl_client_start(r->o.client, call, done, r);
    if (r->o.lists != NULL)
        pl_series_add(r->o.lists, 1);
}

static void send_page(struct pl_reflector *r)
{
    struct pl_slice rv = pl_buf_slice(&r->asked_rv);
    struct pl_call call = {
        .metadata_only = r->o.metadata_only,
        .keep_managed_fields = r->o.keep_managed_fields,
        .continue_token = pl_buf_slice(&r->token),
    };
    /* Later pages carry the version in their token (55). */
    if (r->token.len == 0)
        call.rv = rv;
    if (!r->whole && (r->token.len > 0 || is_zero(rv) || r->paginated))
        call.limit = PAGE;
    if (r->token.len == 0 && call.limit > 0 && !is_zero(rv))
        call.rv_match = pl_slice_z("NotOlderThan");
    send_list(r, &call, on_list);
}

static void drop_pages(struct pl_reflector *r)
{
    pl_docs_deinit(&r->items);
    r->items = (struct pl_docs){0};
    pl_buf_clear(&r->token);
    pl_buf_clear(&r->page_rv);
    r->page = 0;
}

static void start_list(struct pl_reflector *r)
{
    drop_pages(r);
    r->whole = r->retried = false;
    if (r->rv_unavailable)
        pl_buf_clear(&r->asked_rv);
    else
        set_buf(&r->asked_rv, r->rv.len > 0 ? pl_buf_slice(&r->rv) : pl_slice_z("0"));
    send_page(r);
    set_state(r, PL_REFLECTOR_LISTING, 0);
}

static void list_failed(struct pl_reflector *r, const struct pl_err *err)
{
    bool first_page = r->page == 0;
    if (!first_page && !r->whole && pl_err_is_expired(err)) {
        drop_pages(r);
        r->whole = true;
        send_page(r);
        return;
    }
    if (first_page && !r->retried && (pl_err_is_expired(err) || pl_err_is_too_large_rv(err))) {
        drop_pages(r);
        r->rv_unavailable = r->retried = true;
        pl_buf_clear(&r->asked_rv);
        send_page(r);
        return;
    }
    drop_pages(r);
    note_trouble(r, "cannot list source", err);
    bool gone = pl_err_is_not_found(err);
    pause_then(r, false, err->retry_after_ms * PL_MS);
    if (gone && r->o.gone != NULL)
        r->o.gone(r->o.arg);
}

static void finish_list(struct pl_reflector *r)
{
    struct pl_err err = {0};
    struct pl_slice rv = pl_buf_slice(&r->page_rv);
    if (r->o.sink->replace(r->o.arg, &r->items, rv, r->asked_rv.len == 0, &err) != 0) {
        if (r->stopped)
            return;
        drop_pages(r);
        note_trouble(r, "cannot store what was listed", &err);
        pause_then(r, false, 0);
        return;
    }
    if (r->stopped)
        return;
    set_buf(&r->rv, rv);
    r->rv_unavailable = r->doubtful = false;
    drop_pages(r);
    start_watch(r);
}

static int check_list(const struct pl_reflector *r, const struct pl_answer *answer,
                      struct pl_err *err)
{
    struct pl_node root = pl_doc_root(answer->doc);
    struct pl_scratch scratch;
    struct pl_slice kind = pl_node_str(pl_node_getz(root, "kind"), &scratch);
    /* Also what the server prints as a table for people (56). */
    if (kind.len < 4 || memcmp(kind.ptr + kind.len - 4, "List", 4) != 0)
        return pl_err_set(err, PL_ESYNTAX, "the server answered a list of %s with a \"%.*s\"",
                          r->o.owner, PL_FMT(kind));
    struct pl_slice token = pl_node_str(pl_node_dig(root, "metadata", "continue"), &scratch);
    if (token.len > 0 && pl_slice_eq(token, pl_buf_slice(&r->token)))
        return pl_err_set(err, PL_ESYNTAX, "the server repeats the continue token of its list");
    return 0;
}

static void take_items(struct pl_reflector *r, struct pl_docs *items)
{
    if (r->items.count == 0) {
        pl_docs_deinit(&r->items);
        r->items = *items;
        *items = (struct pl_docs){0};
        return;
    }
    for (size_t i = 0; i < items->count; i++)
        pl_docs_add(&r->items, items->items[i]);
    items->count = 0;
}

static void on_list(void *arg, const struct pl_answer *answer)
{
    struct pl_reflector *r = arg;
    r->list = NULL;
    if (r->stopped) {
        end_soon(r);
        return;
    }
    struct pl_err err = {0};
    if (answer->err != NULL || check_list(r, answer, &err) != 0) {
        list_failed(r, answer->err != NULL ? answer->err : &err);
        return;
    }
    struct pl_node meta = pl_node_getz(pl_doc_root(answer->doc), "metadata");
    struct pl_scratch scratch;
    if (r->page == 0)
        set_buf(&r->page_rv, pl_node_str(pl_node_getz(meta, "resourceVersion"), &scratch));
    if (answer->items != NULL)
        take_items(r, answer->items);
    set_buf(&r->token, pl_node_str(pl_node_getz(meta, "continue"), &scratch));
    if (r->token.len == 0) {
        finish_list(r);
        return;
    }
    if (pl_slice_eqz(pl_buf_slice(&r->asked_rv), "0"))
        r->paginated = true;
    r->page++;
    send_page(r);
}

/* ---- watch ---- */

static void end_watch(struct pl_reflector *r, enum ending why)
{
    if (r->ending != END_BY_SERVER)
        return;
    r->ending = why;
    pl_watch_cancel(r->watch);
}

static void on_at_most(struct pl_timer *timer)
{
    end_watch(PL_CONTAINER_OF(timer, struct pl_reflector, at_most), END_BY_DEADLINE);
}

static void on_silence(struct pl_timer *timer)
{
    struct pl_reflector *r = PL_CONTAINER_OF(timer, struct pl_reflector, guard);
    int64_t silent = now_ns(r) - r->heard_ns;
    if (silent < SILENCE_LIMIT)
        pl_timer_start(r->o.timers, &r->guard, SILENCE_LIMIT - silent, on_silence);
    else
        end_watch(r, END_BY_SILENCE);
}

/* A watch that is still there after a second is taken to work (68). */
static void on_settled(struct pl_timer *timer)
{
    struct pl_reflector *r = PL_CONTAINER_OF(timer, struct pl_reflector, guard);
    pl_timer_start(r->o.timers, &r->guard, SILENCE_LIMIT - SETTLED_AFTER, on_silence);
    end_trouble(r);
}

static void on_not_opened(struct pl_timer *timer)
{
    end_watch(PL_CONTAINER_OF(timer, struct pl_reflector, guard), END_BY_SILENCE);
}

static void on_open(void *arg)
{
    struct pl_reflector *r = arg;
    if (r->stopped || r->ending != END_BY_SERVER)
        return;
    r->opened_ns = r->heard_ns = now_ns(r);
    pl_timer_start(r->o.timers, &r->guard, SETTLED_AFTER, on_settled);
    set_state(r, PL_REFLECTOR_WATCHING, r->at_most.due_ns - r->opened_ns);
}

static void on_event(void *arg, enum pl_watch_type type, struct pl_doc *object);
static void on_end(void *arg, const struct pl_err *err);
static const struct pl_watch_ops watch_ops = {on_open, on_event, on_end};

static void start_watch(struct pl_reflector *r)
{
    if (r->doubtful && !is_zero(pl_buf_slice(&r->rv))) {
        ask_version(r);
        return;
    }
    int64_t seconds = WATCH_SECONDS + (int64_t)(pl_rand_unit(r->o.rand) * (WATCH_SECONDS + 1));
    struct pl_watch_call call = {
        .resource = r->o.resource,
        .ns = pl_slice_z(r->o.ns),
        .labels = pl_slice_z(r->o.labels),
        .fields = pl_slice_z(r->o.fields),
        .rv = pl_buf_slice(&r->rv),
        .metadata_only = r->o.metadata_only,
        .keep_managed_fields = r->o.keep_managed_fields,
        .timeout_seconds = seconds,
    };
    r->synthetic = is_zero(call.rv);
    r->progress = r->complained = false;
    r->ending = END_BY_SERVER;
    r->opened_ns = 0;
    r->heard_ns = now_ns(r);
    r->watch = pl_client_watch(r->o.client, &call, &watch_ops, r);
    if (r->o.watches != NULL)
        pl_series_add(r->o.watches, 1);
    pl_timer_start(r->o.timers, &r->guard, OPEN_LIMIT, on_not_opened);
    pl_timer_start(r->o.timers, &r->at_most, seconds * PL_SECOND + DEADLINE_GRACE, on_at_most);
    set_state(r, PL_REFLECTOR_OPENING, OPEN_LIMIT);
}

static void complain(struct pl_reflector *r, const char *message, const char *text)
{
    if (r->complained)
        return;
    r->complained = true;
    pl_log(PL_LOG_WARN, message, pl_str("source", r->o.owner), pl_str("reason", text));
}

static bool is_expected(const struct pl_reflector *r, struct pl_node object)
{
    struct pl_node api_version = pl_node_getz(object, "apiVersion");
    struct pl_node kind = pl_node_getz(object, "kind");
    if (r->o.metadata_only && pl_node_str_eq(kind, pl_slice_z("PartialObjectMetadata")))
        return true;
    char text[PL_KIND_TEXT];
    return pl_node_str_eq(kind, pl_slice_z(r->o.resource->kind.kind)) &&
           pl_node_str_eq(api_version, pl_slice_z(pl_kind_api_version(&r->o.resource->kind, text)));
}

/* False when the version went back: the server lost history that we have seen. */
static bool advance(struct pl_reflector *r, struct pl_slice rv)
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
    set_buf(&r->rv, rv);
    return true;
}

static void deliver(struct pl_reflector *r, enum pl_watch_type type, struct pl_doc *object)
{
    const struct pl_reflector_sink *sink = r->o.sink;
    struct pl_err err = {0};
    int code = type == PL_WATCH_ADDED      ? sink->add(r->o.arg, object, &err)
               : type == PL_WATCH_MODIFIED ? sink->update(r->o.arg, object, &err)
                                           : sink->remove(r->o.arg, object, &err);
    if (code != 0 && !r->stopped)
        complain(r, "an event could not be stored", err.message);
}

/* True when the event's version counts (62, 69, 70). */
static bool take_event(struct pl_reflector *r, enum pl_watch_type type, struct pl_doc *object)
{
    struct pl_node root = pl_doc_root(object);
    if (type == PL_WATCH_UNKNOWN) {
        complain(r, "an event of an unknown type was skipped", "unknown event type");
        return true;
    }
    if (type == PL_WATCH_BOOKMARK)
        return true;
    if (!is_expected(r, root)) {
        complain(r, "an event of another kind was skipped", "unexpected kind");
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
    r->heard_ns = now_ns(r);
    if (type == PL_WATCH_ERROR) {
        pl_status_event_to_err(root, &r->event_err);
        end_watch(r, END_BY_ERROR_EVENT);
        return;
    }
    if (!take_event(r, type, object))
        return;
    if (type == PL_WATCH_BOOKMARK)
        r->synthetic = false;
    if (!r->synthetic && !advance(r, rv)) {
        end_watch(r, END_BY_OLD_RV);
        return;
    }
    r->progress = r->progress || r->synthetic;
    end_trouble(r);
    r->expired_in_row = 0;
    r->silence_said = false;
    if (type == PL_WATCH_BOOKMARK)
        r->o.sink->bookmark(r->o.arg, rv);
    else if (type != PL_WATCH_UNKNOWN)
        deliver(r, type, object);
}

static void on_event(void *arg, enum pl_watch_type type, struct pl_doc *object)
{
    struct pl_reflector *r = arg;
    if (!r->stopped && r->ending == END_BY_SERVER)
        work_event(r, type, object);
    pl_doc_unref(object);
}

/* Our version is too old for a watch: a list that is not older will do (65). Where that
 * does not help either, one without a version. */
static void watch_expired(struct pl_reflector *r, const struct pl_err *err)
{
    if (++r->expired_in_row > 1) {
        r->rv_unavailable = true;
        note_trouble(r, "watches of source expire at once", err);
    }
    pause_then(r, false, 0);
}

static void watch_failed(struct pl_reflector *r, const struct pl_err *err)
{
    if (pl_err_is_expired(err)) {
        watch_expired(r, err);
        return;
    }
    bool away = err->code == PL_ENETWORK || err->code == PL_ETIMEOUT;
    bool again = away || pl_err_is_too_many_requests(err);
    r->doubtful = r->doubtful || away;
    note_trouble(r, "cannot watch source", err);
    bool gone = pl_err_is_not_found(err);
    pause_then(r, again, err->retry_after_ms * PL_MS);
    if (gone && r->o.gone != NULL)
        r->o.gone(r->o.arg);
}

/* The stream was open and ended as streams do (67, 73). */
static void watch_ended(struct pl_reflector *r)
{
    if (r->progress || now_ns(r) - r->opened_ns >= SETTLED_AFTER) {
        start_watch(r);
        return;
    }
    struct pl_err err = {0};
    pl_err_set(&err, PL_ENETWORK, "the server ended the watch within a second");
    note_trouble(r, "cannot watch source", &err);
    pause_then(r, true, 0);
}

/* Ordinary where a server sends no bookmarks, so one line until it sends something. */
static void watch_was_silent(struct pl_reflector *r)
{
    if (r->opened_ns != 0) {
        if (!r->silence_said)
            pl_log(PL_LOG_INFO, "watch was silent and is opened again",
                   pl_str("source", r->o.owner), pl_int("seconds", SILENCE_LIMIT / PL_SECOND));
        r->silence_said = r->doubtful = true;
        start_watch(r);
        return;
    }
    struct pl_err err = {0};
    pl_err_set(&err, PL_ETIMEOUT, "no answer within %d s", (int)(OPEN_LIMIT / PL_SECOND));
    watch_failed(r, &err);
}

static void watch_went_back(struct pl_reflector *r)
{
    struct pl_err err = {0};
    pl_err_set(&err, PL_EAPI, "resourceVersions went back: was the server restored?");
    r->rv_unavailable = true;
    note_trouble(r, "source is listed anew", &err);
    pause_then(r, false, 0);
}

static void on_end(void *arg, const struct pl_err *err)
{
    struct pl_reflector *r = arg;
    r->watch = NULL;
    if (r->stopped) {
        end_soon(r);
        return;
    }
    pl_timer_stop(r->o.timers, &r->guard);
    pl_timer_stop(r->o.timers, &r->at_most);
    bool open = r->opened_ns != 0;
    if (r->ending == END_BY_ERROR_EVENT)
        watch_failed(r, &r->event_err);
    else if (r->ending == END_BY_SILENCE)
        watch_was_silent(r);
    else if (r->ending == END_BY_OLD_RV)
        watch_went_back(r);
    else if (r->ending == END_BY_DEADLINE)
        start_watch(r);
    else if (err == NULL || (open && (err->code == PL_ENETWORK || err->code == PL_ETIMEOUT)))
        watch_ended(r);
    else
        watch_failed(r, err);
}

/* ---- is our version still one of the server's? ---- */

/* A server whose data was restored takes a watch from a version that it has not reached yet, and
 * stays silent (F27). A list of one object at that version tells. */
static void on_version(void *arg, const struct pl_answer *answer)
{
    struct pl_reflector *r = arg;
    r->list = NULL;
    if (r->stopped) {
        end_soon(r);
        return;
    }
    if (answer->err != NULL && !pl_err_is_too_large_rv(answer->err)) {
        watch_failed(r, answer->err);
        return;
    }
    struct pl_scratch scratch;
    struct pl_slice ours = pl_buf_slice(&r->rv);
    struct pl_slice now = pl_meta_rv(pl_doc_root(answer->doc), &scratch);
    bool back = pl_rv_is_valid(now) && pl_rv_is_valid(ours) && pl_rv_compare(now, ours) < 0;
    r->doubtful = false;
    if (answer->err != NULL || back)
        watch_went_back(r);
    else
        start_watch(r);
}

static void ask_version(struct pl_reflector *r)
{
    struct pl_call call = {.metadata_only = true,
                           .limit = 1,
                           .rv = pl_buf_slice(&r->rv),
                           .rv_match = pl_slice_z("NotOlderThan")};
    send_list(r, &call, on_version);
    set_state(r, PL_REFLECTOR_OPENING, 0);
}
