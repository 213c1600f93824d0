/* The reflector's life: its states, pauses and turns. Only pl_reflector_go decides the next
 * request; the files reflector_list, reflector_watch and reflector_stream make it. At any time at
 * most one call, one pause or one turn is under way, so that stopping has one thing to end. */
#include "sync/reflector_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"

#include <string.h>

#define GONE_PAUSE (5 * PL_SECOND)
/* The longest wait for a turn that is not suspicious: hundreds of lists, one in 200 ms, or a server
 * that is away. */
#define TURN_WITHIN (10 * 60 * PL_SECOND)

/* ---- state, waits, trouble ---- */

static const char *state_name(enum pl_reflector_state state)
{
    static const char names[][12] = {"idle", "list", "open watch", "watch", "backoff", "stopped"};
    return names[state];
}

/* timeout_ns: the maximal time in this state; 0: unlimited. */
void pl_reflector_set_state(struct pl_reflector *r, enum pl_reflector_state state,
                            int64_t timeout_ns)
{
    r->state = state;
    pl_wait_end(&r->wait);
    const char *name = state_name(state);
    bool waits = r->o.waits != NULL && state != PL_REFLECTOR_STOPPED;
    if (waits && timeout_ns > 0)
        pl_wait_begin(r->o.waits, &r->wait, name, r->o.listing.owner, timeout_ns);
    else if (waits)
        pl_wait_begin_open(r->o.waits, &r->wait, name, r->o.listing.owner,
                           "the client limits each request");
    if (r->o.changed != NULL && !r->stopped)
        r->o.changed(r->o.arg);
}

void pl_reflector_note(struct pl_reflector *r, const char *message, const struct pl_err *err)
{
    struct pl_field owner = pl_str("source", r->o.listing.owner);
    pl_trouble_note(&r->trouble, err, pl_reflector_now(r), message, &owner, 1);
}

void pl_reflector_works(struct pl_reflector *r)
{
    if (!pl_trouble_is_on(&r->trouble))
        return;
    struct pl_field owner = pl_str("source", r->o.listing.owner);
    pl_trouble_end(&r->trouble, pl_reflector_now(r), "source works again", &owner, 1);
    if (r->o.changed != NULL)
        r->o.changed(r->o.arg);
}

/* ---- lifetime ---- */

struct pl_reflector *pl_reflector_create(const struct pl_reflector_options *options)
{
    struct pl_reflector *r = PL_NEW(struct pl_reflector);
    r->o = *options;
    r->o.listing.owner = pl_strdup(options->listing.owner);
    r->o.listing.ns = pl_strdup_or_null(options->listing.ns);
    r->o.listing.labels = pl_strdup_or_null(options->listing.labels);
    r->o.listing.fields = pl_strdup_or_null(options->listing.fields);
    r->page_limit = PL_LIST_PAGE;
    pl_backoff_init(&r->backoff, pl_reflector_now(r));
    return r;
}

static void free_reflector(struct pl_timer *timer)
{
    struct pl_reflector *r = PL_CONTAINER_OF(timer, struct pl_reflector, pause);
    void (*ended)(void *arg) = r->ended;
    void *arg = r->ended_arg;
    PL_REQUIRE(r->list == NULL && r->watch == NULL);
    pl_docs_deinit(&r->items);
    pl_map_deinit(&r->by_key);
    pl_buf_deinit(&r->rv);
    pl_buf_deinit(&r->asked_rv);
    pl_buf_deinit(&r->page_rv);
    pl_buf_deinit(&r->token);
    pl_buf_deinit(&r->shards);
    pl_buf_deinit(&r->watch_shards);
    pl_doc_unref(r->witness.object);
    pl_buf_deinit(&r->witness.rv);
    pl_free((char *)r->o.listing.owner);
    pl_free((char *)r->o.listing.ns);
    pl_free((char *)r->o.listing.labels);
    pl_free((char *)r->o.listing.fields);
    pl_free(r);
    ended(arg);
}

void pl_reflector_end_soon(struct pl_reflector *r)
{
    pl_timer_start(r->o.listing.timers, &r->pause, 0, free_reflector);
}

void pl_reflector_stop(struct pl_reflector *r, void (*ended)(void *arg), void *arg)
{
    PL_REQUIRE(!r->stopped);
    r->stopped = true;
    r->ended = ended;
    r->ended_arg = arg;
    pl_timer_stop(r->o.listing.timers, &r->pause);
    if (r->o.reconnects != NULL) {
        pl_reconnect_forget(r->o.reconnects, &r->turn);
        pl_reconnect_leave(&r->turn);
    }
    pl_timer_stop(r->o.listing.timers, &r->more);
    pl_timer_stop(r->o.listing.timers, &r->guard);
    pl_timer_stop(r->o.listing.timers, &r->at_most);
    pl_reflector_set_state(r, PL_REFLECTOR_STOPPED, 0);
    if (r->list != NULL)
        pl_op_cancel(r->list);
    else if (r->watch != NULL)
        pl_watch_cancel(r->watch);
    else
        pl_reflector_end_soon(r);
}

/* Another source has found that the server's data was restored. A reflector without a watch checks
 * before its next one. */
static void on_restored(struct pl_reconnect *turn)
{
    struct pl_reflector *r = PL_CONTAINER_OF(turn, struct pl_reflector, turn);
    if (r->watch != NULL && !r->streaming)
        pl_reflector_end_watch(r, END_BY_OLD_RV);
}

void pl_reflector_start(struct pl_reflector *r)
{
    PL_REQUIRE(r->state == PL_REFLECTOR_IDLE);
    if (r->o.reconnects != NULL)
        pl_reconnect_join(r->o.reconnects, &r->turn, on_restored);
    pl_reflector_go(r, NEXT_SYNC);
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

static void proceed(struct pl_reflector *r)
{
    switch (r->next) {
    case NEXT_SYNC:
        if (r->o.reconnects != NULL)
            pl_reconnect_lists(r->o.reconnects, &r->turn);
        if (pl_reflector_may_stream(r))
            pl_reflector_stream(r);
        else
            pl_reflector_list(r);
        break;
    case NEXT_LIST:
        pl_reflector_list(r);
        break;
    case NEXT_PAGE:
        pl_reflector_list_on(r);
        break;
    case NEXT_WATCH:
        pl_reflector_watch(r);
        break;
    }
}

static void on_reflector_turn(struct pl_reconnect *turn)
{
    proceed(PL_CONTAINER_OF(turn, struct pl_reflector, turn));
}

void pl_reflector_go(struct pl_reflector *r, enum reflector_next next)
{
    enum pl_reconnect_kind kind = next == NEXT_WATCH ? PL_RECONNECT_WATCH
                                  : r->rv.len > 0    ? PL_RECONNECT_LIST
                                                     : PL_RECONNECT_FIRST;
    r->next = next;
    if (r->o.reconnects == NULL ||
        pl_reconnect_ask(r->o.reconnects, &r->turn, kind, on_reflector_turn))
        proceed(r);
    else
        pl_reflector_set_state(r, PL_REFLECTOR_PAUSING, TURN_WITHIN);
}

static void on_reflector_pause_over(struct pl_timer *timer)
{
    struct pl_reflector *r = PL_CONTAINER_OF(timer, struct pl_reflector, pause);
    pl_reflector_go(r, r->next);
}

static void pause_for(struct pl_reflector *r, enum reflector_next next, int64_t delay)
{
    r->next = next;
    if (r->o.reconnects != NULL)
        pl_reconnect_forget(r->o.reconnects, &r->turn); /* others may try meanwhile */
    pl_timer_start(r->o.listing.timers, &r->pause, delay, on_reflector_pause_over);
    pl_reflector_set_state(r, PL_REFLECTOR_PAUSING, delay);
}

void pl_reflector_pause(struct pl_reflector *r, enum reflector_next next, int64_t at_least_ns)
{
    if (r->stopped)
        return;
    int64_t delay = pl_backoff_next(&r->backoff, pl_reflector_now(r), r->o.listing.rand);
    pause_for(r, next, delay > at_least_ns ? delay : at_least_ns);
}

void pl_reflector_gone(struct pl_reflector *r, const struct pl_err *err)
{
    int64_t delay = pl_backoff_next(&r->backoff, pl_reflector_now(r), r->o.listing.rand);
    if (delay > 2 * GONE_PAUSE)
        delay = GONE_PAUSE + (int64_t)(pl_rand_unit(r->o.listing.rand) * (double)GONE_PAUSE);
    int64_t at_least = err->retry_after_ms * PL_MS;
    pause_for(r, NEXT_SYNC, delay > at_least ? delay : at_least);
    if (r->o.gone != NULL)
        r->o.gone(r->o.arg);
}

void pl_reflector_unanswered(struct pl_reflector *r, enum reflector_next next, const char *message,
                             const struct pl_err *err)
{
    if (r->o.reconnects != NULL && pl_reconnect_failed(r->o.reconnects, &r->turn, err)) {
        pl_trouble_count(&r->trouble, err, pl_reflector_now(r));
        pl_reflector_go(r, next);
    } else {
        pl_reflector_note(r, message, err);
        pl_reflector_pause(r, next, 0);
    }
}

void pl_reflector_heard(struct pl_reflector *r)
{
    if (r->o.reconnects != NULL)
        pl_reconnect_heard(r->o.reconnects, &r->turn);
}

/* ---- shards ---- */

void pl_reflector_begin_list(struct pl_reflector *r)
{
    pl_buf_clear(&r->shards);
    if (r->o.sink->begin != NULL)
        r->o.sink->begin(r->o.arg, &r->shards);
}

bool pl_reflector_is_no_shards(struct pl_reflector *r, const struct pl_buf *asked,
                               const struct pl_err *err)
{
    if (asked->len == 0 || !pl_err_is_no_shard_selector(err))
        return false;
    r->o.sink->no_shards(r->o.arg, err);
    return true;
}

void pl_reflector_rewatch(struct pl_reflector *r)
{
    if (r->watch != NULL && !r->streaming)
        pl_reflector_end_watch(r, END_BY_SHARDS);
}

bool pl_reflector_will_list(const struct pl_reflector *r)
{
    return r->state == PL_REFLECTOR_IDLE || r->streaming || r->state == PL_REFLECTOR_LISTING ||
           (r->state == PL_REFLECTOR_PAUSING && r->next != NEXT_WATCH);
}

struct pl_doc *pl_reflector_share(void *reflector, struct pl_doc *object)
{
    const struct pl_reflector *r = reflector;
    if (!r->stopped && !pl_reflector_keeps(r, object, true)) {
        pl_doc_unref(object);
        return NULL;
    }
    return r->o.sink->share != NULL && !r->stopped ? r->o.sink->share(r->o.arg, object) : object;
}
