/* Writing Events: their order, their rate, and the reactions to answers. */
#include "write/recorder_impl.h"

#include "base/alloc.h"
#include "base/log.h"
#include "kube/status.h"

#define REQUEST_TIMEOUT (5 * PL_SECOND)
#define CLOSED_FOR      (60 * PL_SECOND) /* pause for a namespace where Events are forbidden */
#define CLOSED_MAX      256
#define TRIES           12 /* attempts of one write that the server answers with an error */

/* Every server since 1.19 has it; so a failing discovery costs no Event. */
static const struct pl_resource events = {
    .kind = {.group = "events.k8s.io", .version = "v1", .kind = "Event"},
    .plural = "events",
    .namespaced = true,
    .can_watch = true,
};

struct closed {
    int64_t until_ns; /* monotonic; kept longer, so that it is logged once */
};

/* ---- waiting and resting ---- */

void pl_recorder_wait_for_turn(struct pl_event_series *s, bool first)
{
    struct pl_recorder *r = s->recorder;
    struct pl_list *list = s->warning ? &r->warnings : &r->normals;
    pl_recorder_set_state(s, PL_SERIES_WAITING);
    if (first)
        pl_list_push_front(list, &s->link);
    else
        pl_list_push(list, &s->link);
}

static void on_rested(struct pl_timer *timer)
{
    struct pl_event_series *s = PL_CONTAINER_OF(timer, struct pl_event_series, timer);
    struct pl_recorder *r = s->recorder;
    if (s->count == s->written) {
        pl_recorder_forget(s);
        return;
    }
    pl_recorder_wait_for_turn(s, false);
    pl_recorder_pump(r);
}

void pl_recorder_rest(struct pl_event_series *s)
{
    struct pl_recorder *r = s->recorder;
    if (s->count > s->written && r->draining) {
        pl_recorder_wait_for_turn(s, false);
        return;
    }
    pl_recorder_set_state(s, PL_SERIES_RESTING);
    pl_list_push(&r->resting, &s->link);
    int64_t delay = s->count > s->written ? s->next_ns - pl_recorder_now(r) : PL_EVENT_FORGET;
    pl_timer_start(r->timers, &s->timer, delay, on_rested);
}

/* ---- sending ---- */

static void on_pace(struct pl_timer *timer)
{
    struct pl_recorder *r = PL_CONTAINER_OF(timer, struct pl_recorder, pace);
    r->backing_off = false;
    pl_wait_end(&r->wait);
    pl_recorder_pump(r);
}

/* The server is away: all series wait, and the first one tries again. */
static void back_off(struct pl_recorder *r)
{
    if (r->backing_off)
        return;
    r->backing_off = true;
    int64_t delay = pl_backoff_next(&r->backoff, pl_recorder_now(r), pl_site_rand(r->site));
    pl_timer_start(r->timers, &r->pace, delay, on_pace);
    if (pl_site_waits(r->site) != NULL)
        pl_wait_begin(pl_site_waits(r->site), &r->wait, "backoff", "Events", delay);
}

void pl_recorder_drop_waiting(struct pl_recorder *r, const char *why)
{
    struct pl_list *lists[] = {&r->warnings, &r->normals};
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        PL_LIST_FOR (link, lists[i])
            pl_recorder_drop(PL_CONTAINER_OF(link, struct pl_event_series, link), why);
}

static void recorder_send_try_again(struct pl_event_series *s, const struct pl_err *err)
{
    struct pl_recorder *r = s->recorder;
    pl_trouble_note(&r->away, err, pl_recorder_now(r), "Events can't be written; trying again",
                    NULL, 0);
    bool answered = err->code == PL_EAPI;
    if (r->draining || (answered && ++s->tries >= TRIES)) {
        pl_recorder_drop(s, r->draining ? "stopping" : "refused");
        if (r->draining && !answered)
            pl_recorder_drop_waiting(r, "stopping");
        return;
    }
    pl_recorder_wait_for_turn(s, !answered);
    back_off(r);
}

static void close_namespace(struct pl_recorder *r, const char *ns, const struct pl_err *err)
{
    struct closed *closed = pl_map_get(&r->closed, pl_slice_z(ns));
    if (closed == NULL && r->closed.count < CLOSED_MAX) {
        pl_log(PL_LOG_WARN, "Events are forbidden; they are dropped", pl_str("namespace", ns),
               pl_str("error", err->message));
        closed = PL_NEW(struct closed);
        pl_map_put(&r->closed, pl_slice_z(ns), closed);
    }
    if (closed != NULL)
        closed->until_ns = pl_recorder_now(r) + CLOSED_FOR;
}

static void open_namespace(struct pl_recorder *r, const char *ns)
{
    pl_free(pl_map_remove(&r->closed, pl_slice_z(ns)));
}

bool pl_recorder_is_closed(const struct pl_recorder *r, struct pl_slice ns)
{
    const struct closed *closed = pl_map_get(&r->closed, ns.len > 0 ? ns : pl_slice_z("default"));
    return closed != NULL && pl_recorder_now(r) < closed->until_ns;
}

void pl_recorder_free_closed(struct pl_recorder *r)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&r->closed, &at, &key, &value))
        pl_free(value);
    pl_map_deinit(&r->closed);
}

static bool is_passing(const struct pl_err *err)
{
    if (err->code != PL_EAPI)
        return err->code == PL_ENETWORK || err->code == PL_ETIMEOUT;
    return err->status >= 500 || err->status == 429 || pl_err_is_unauthorized(err) ||
           pl_err_is_conflict(err);
}

static void recorder_send_failed(struct pl_event_series *s, const struct pl_err *err)
{
    struct pl_recorder *r = s->recorder;
    bool answered = err->code == PL_EAPI;
    if (s->exists && answered && pl_err_is_not_found(err)) {
        /* It expired at the server, or was deleted: the next write contains everything. */
        s->exists = false;
        pl_free(s->event_name);
        s->event_name = NULL;
        pl_recorder_wait_for_turn(s, true);
    } else if (!s->exists && answered && pl_err_is_already_exists(err)) {
        /* An earlier attempt whose answer was lost. Its count is unknown. */
        s->exists = true;
        s->written = s->count > 1 ? 0 : 1;
        s->next_ns = pl_recorder_now(r);
        pl_recorder_rest(s);
    } else if (is_passing(err)) {
        recorder_send_try_again(s, err);
    } else if (answered && pl_err_is_forbidden(err)) {
        close_namespace(r, pl_event_namespace(s), err);
        pl_recorder_drop(s, "forbidden");
    } else {
        pl_trouble_note(&r->refused, err, pl_recorder_now(r), "an Event was refused; it is dropped",
                        NULL, 0);
        pl_recorder_drop(s, "refused");
    }
}

static void succeeded(struct pl_event_series *s)
{
    struct pl_recorder *r = s->recorder;
    int64_t now = pl_recorder_now(r);
    r->writes++;
    pl_trouble_end(&r->away, now, "Events are written again", NULL, 0);
    open_namespace(r, pl_event_namespace(s));
    pl_backoff_init_with(&r->backoff, PL_SECOND, 30 * PL_SECOND, 120 * PL_SECOND, now);
    s->interval_ns = !s->exists                              ? PL_EVENT_INTERVAL
                     : s->interval_ns * 2 < PL_EVENT_SLOWEST ? s->interval_ns * 2
                                                             : PL_EVENT_SLOWEST;
    s->exists = true;
    s->written = s->sent;
    s->next_ns = now + s->interval_ns;
    s->tries = 0;
    pl_recorder_rest(s);
}

static void on_recorder_send_answer(void *arg, const struct pl_answer *answer)
{
    struct pl_event_series *s = arg;
    struct pl_recorder *r = s->recorder;
    struct pl_site *site = r->site;
    r->in_flight--;
    if (answer->err == NULL)
        succeeded(s);
    else
        recorder_send_failed(s, answer->err);
    pl_recorder_pump(r);
    pl_site_release(site);
}

static void send_series(struct pl_event_series *s)
{
    struct pl_recorder *r = s->recorder;
    pl_recorder_set_state(s, PL_SERIES_FLYING);
    pl_list_push(&r->flying, &s->link);
    s->sent = s->count;
    if (s->event_name == NULL)
        s->event_name =
            pl_event_name(pl_slice_z(s->texts[PL_EVENT_NAME]), pl_rand_u64(pl_site_rand(r->site)));
    struct pl_doc *body = s->exists ? pl_event_patch(s) : pl_event_body(s);
    struct pl_call call = {
        .verb = s->exists ? PL_VERB_PATCH : PL_VERB_CREATE,
        .resource = &events,
        .ns = pl_slice_z(pl_event_namespace(s)),
        .name = pl_slice_z(s->exists ? s->event_name : ""),
        .body = body,
        .patch_type = PL_PATCH_MERGE,
        .field_manager = pl_slice_z(s->texts[PL_EVENT_CONTROLLER]),
        .grace_period = -1,
        .timeout_ns = REQUEST_TIMEOUT,
    };
    r->in_flight++;
    pl_site_hold(r->site);
    pl_client_start(pl_site_client(r->site), &call, on_recorder_send_answer, s);
    pl_doc_unref(body);
}

/* Sends at a rate that no script can raise, Warnings first. */
void pl_recorder_pump(struct pl_recorder *r)
{
    int64_t now = pl_recorder_now(r);
    pl_recorder_fill(&r->tokens, &r->filled_ns, now, PL_EVENT_RATE, PL_EVENT_BURST);
    while (r->waiting > 0 && r->in_flight < PL_EVENT_FLIGHT && (!r->backing_off || r->draining)) {
        if (r->tokens < 1 && !r->draining) {
            double seconds = (1 - r->tokens) / PL_EVENT_RATE;
            pl_timer_start(r->timers, &r->pace, (int64_t)(seconds * (double)PL_SECOND) + 1,
                           on_pace);
            return;
        }
        r->tokens -= r->tokens >= 1;
        struct pl_list *list = pl_list_empty(&r->warnings) ? &r->normals : &r->warnings;
        send_series(PL_CONTAINER_OF(pl_list_first(list), struct pl_event_series, link));
    }
}
