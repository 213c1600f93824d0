/* Leader election as a state machine over a lock: campaigning, renewing, losing, releasing. It
 * never uses the wall clock of another machine: its own clock decides when a lease has expired. The
 * candidate (candidate.c) makes attempts; this file decides on their results. */
#include "lead/election.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "lead/candidate.h"
#include "sync/trouble.h"
#include "kube/status.h"

#include <stdio.h>

#define SETTLED_AFTER PL_SECOND /* a watch that ends sooner is not opened again at once */
#define REFUSED_PAUSE (60 * PL_SECOND)

enum state {
    IDLE,        /* not begun, lost, or stopped */
    CAMPAIGNING, /* an attempt is under way, or `next` will begin one */
    LEADING,     /* the same, for renewals */
    STOPPING,    /* the request under way ends, then the release, then `next` reports the end */
};

struct pl_election {
    struct pl_election_options o; /* owner and identity are owned */
    struct pl_candidate candidate;
    enum state state;
    struct pl_timer next; /* the next attempt, or the end of stopping */
    struct pl_timer
        limit; /* time limit of an attempt, of a round of renewals (rule 114), or of a release */
    struct pl_timer closing; /* when writes must end; only while leading and not closed */
    struct pl_wait wait;
    struct pl_trouble trouble, watch_trouble;
    bool hurry;             /* try again as soon as the current request has ended */
    int64_t tried_ns;       /* mono: start of the last attempt */
    int64_t write_until_ns; /* boot: valid while leading */
    int64_t transitions;    /* the number of our term */
    bool closed;

    bool watching, watch_open; /* on_end is still to come; the stream is open */
    int64_t opened_ns;         /* mono */
    int64_t watch_after_ns;    /* mono: earliest time of the next attempt */

    bool release;          /* while stopping: the release is still to be done */
    int64_t stop_until_ns; /* mono */
    void (*on_stopped)(void *arg);
    void *stopped_arg;
};

static void on_next(struct pl_timer *timer);
static void on_election_limit(struct pl_timer *timer);
static void on_closing(struct pl_timer *timer);
static void continue_stop(struct pl_election *e);
static void schedule_standby(struct pl_election *e);

static int64_t election_mono(const struct pl_election *e)
{
    return pl_clock_mono(e->o.clock);
}

/* ---- options ---- */

static bool is_above_jittered(int64_t deadline_ns, int64_t retry_ns)
{
    return deadline_ns - retry_ns > retry_ns / 5; /* deadline > retry x 1.2, without overflow */
}

int pl_election_check(const struct pl_election_options *o, struct pl_err *err)
{
    int64_t lease = o->lease_duration_ns, deadline = o->renew_deadline_ns;
    if (o->identity == NULL || o->identity[0] == '\0')
        return pl_err_set(err, PL_EINVAL, "leader election needs an identity");
    if (strlen(o->identity) >= PL_LEASE_HOLDER)
        return pl_err_set(err, PL_EINVAL, "the identity is too long: at most %d bytes",
                          PL_LEASE_HOLDER - 1);
    if (o->ops == NULL || o->ops->on_started == NULL || o->ops->on_lost == NULL)
        return pl_err_set(err, PL_EINVAL,
                          "leader election needs callbacks for the start and the end of a lead");
    if (lease <= 0 || deadline <= 0 || o->retry_period_ns <= 0)
        return pl_err_set(err, PL_EINVAL,
                          "lease duration, renew deadline and retry period must be positive");
    if (lease / PL_SECOND > INT32_MAX)
        return pl_err_set(err, PL_EINVAL, "the lease duration is too long");
    if (lease <= deadline)
        return pl_err_set(err, PL_EINVAL,
                          "the lease duration must be longer than the renew deadline");
    if (!is_above_jittered(deadline, o->retry_period_ns))
        return pl_err_set(err, PL_EINVAL,
                          "the renew deadline must be longer than 1.2 retry periods");
    if (lease / PL_SECOND * PL_SECOND < deadline)
        return pl_err_set(err, PL_EINVAL,
                          "a Lease holds whole seconds: the lease duration cut to %lld s is "
                          "shorter than the renew deadline",
                          (long long)(lease / PL_SECOND));
    return 0;
}

void pl_election_identity(struct pl_rand *rand, const char *hostname, char out[PL_LEASE_HOLDER])
{
    char uuid[37];
    pl_rand_uuid(rand, uuid);
    snprintf(out, PL_LEASE_HOLDER, "%.*s_%s", PL_LEASE_HOLDER - 1 - 1 - 36, hostname, uuid);
}

/* ---- lifetime and questions ---- */

struct pl_election *pl_election_create(const struct pl_election_options *options)
{
    PL_REQUIRE(pl_election_check(options, NULL) == 0);
    struct pl_election *e = PL_NEW(struct pl_election);
    e->o = *options;
    e->o.owner = pl_strdup(options->owner);
    e->o.identity = pl_strdup(options->identity);
    pl_candidate_init(&e->candidate, &e->o.lock, e->o.clock, e->o.identity, e->o.lease_duration_ns);
    return e;
}

void pl_election_destroy(struct pl_election *e)
{
    if (e == NULL)
        return;
    PL_REQUIRE(e->state == IDLE && !e->candidate.busy && !e->watching);
    pl_free((char *)e->o.owner);
    pl_free((char *)e->o.identity);
    pl_free(e);
}

bool pl_election_is_leading(const struct pl_election *e)
{
    return e->state == LEADING;
}

bool pl_election_may_write(const struct pl_election *e)
{
    return e->state == LEADING && pl_clock_boot(e->o.clock) < e->write_until_ns;
}

const char *pl_election_holder(const struct pl_election *e)
{
    return pl_candidate_holder(&e->candidate);
}

const char *pl_election_identity_of(const struct pl_election *e)
{
    return e->o.identity;
}

bool pl_election_is_healthy(const struct pl_election *e)
{
    int64_t limit = e->o.lease_duration_ns + e->o.health_tolerance_ns;
    return e->state != LEADING || !pl_candidate_is_overdue(&e->candidate, limit);
}

/* ---- texts, waits ---- */

static struct pl_field who(const struct pl_election *e)
{
    return pl_str("lease", e->o.owner);
}

static void wait_for(struct pl_election *e, const char *name, int64_t timeout_ns)
{
    if (e->o.waits == NULL)
        return;
    if (!pl_wait_is_waiting(&e->wait) || strcmp(e->wait.name, name) != 0)
        pl_wait_begin(e->o.waits, &e->wait, name, e->o.owner, timeout_ns);
    else
        pl_wait_extend(&e->wait, timeout_ns);
}

static const char *wait_name(const struct pl_election *e)
{
    return e->state == LEADING ? "lease renewal" : "lease";
}

/* Reports a new leader once (rule 120): after each attempt to get the lead, and after each round of
 * renewals. */
static void tell_leader(struct pl_election *e)
{
    const char *holder = pl_candidate_news(&e->candidate);
    if (holder == NULL)
        return;
    if (holder[0] == '\0')
        pl_log(PL_LOG_INFO, "no replica holds the lease", who(e));
    else if (pl_candidate_is_other(&e->candidate))
        pl_log(PL_LOG_INFO, "another replica holds the lease", who(e), pl_str("holder", holder));
    if (e->o.ops->on_leader != NULL)
        e->o.ops->on_leader(e->o.arg, holder);
}

static void note_failure(struct pl_election *e, const struct pl_err *err)
{
    const char *message = e->state == LEADING ? "cannot renew the lease" : "cannot get the lease";
    struct pl_field field = who(e);
    pl_trouble_note(&e->trouble, err, election_mono(e), message, &field, 1);
}

static void end_trouble(struct pl_election *e)
{
    struct pl_field field = who(e);
    pl_trouble_end(&e->trouble, election_mono(e), "the lease can be reached again", &field, 1);
}

/* ---- tries ---- */

static void on_tried(void *arg, const struct pl_candidate_result *result);

static void try_after(struct pl_election *e, int64_t delay_ns)
{
    pl_timer_start(e->o.timers, &e->next, delay_ns, on_next);
    wait_for(e, wait_name(e), delay_ns > 0 ? delay_ns : 0);
}

static int64_t jittered(const struct pl_election *e)
{
    double retry = (double)e->o.retry_period_ns;
    return (int64_t)(retry + retry * 1.2 * pl_rand_unit(e->o.rand));
}

static void try_now(struct pl_election *e)
{
    if (e->candidate.busy) { /* a request of an earlier round */
        e->hurry = true;
        wait_for(e, wait_name(e), e->o.renew_deadline_ns);
        return;
    }
    e->hurry = false;
    e->tried_ns = election_mono(e);
    pl_timer_stop(e->o.timers, &e->next);
    /* A round of renewals has one limit from its first failing attempt on (rule 114). */
    if (!pl_timer_is_active(&e->limit))
        pl_timer_start(e->o.timers, &e->limit, e->o.renew_deadline_ns, on_election_limit);
    wait_for(e, wait_name(e), e->limit.due_ns - election_mono(e));
    pl_candidate_try(&e->candidate, on_tried, e);
}

static void on_watch_due(struct pl_election *e);

static void on_next(struct pl_timer *timer)
{
    struct pl_election *e = PL_CONTAINER_OF(timer, struct pl_election, next);
    if (e->state == STOPPING) {
        tell_leader(e); /* an attempt of a round that was aborted */
        continue_stop(e);
        return;
    }
    on_watch_due(e);
    try_now(e);
}

/* ---- the lead ---- */

static void end_work(struct pl_election *e)
{
    pl_timer_stop(e->o.timers, &e->next);
    pl_timer_stop(e->o.timers, &e->limit);
    pl_timer_stop(e->o.timers, &e->closing);
    pl_wait_end(&e->wait);
    e->hurry = false;
    e->write_until_ns = 0;
    pl_candidate_cancel(&e->candidate);
}

static void unwatch(struct pl_election *e)
{
    if (e->watching)
        e->o.lock.ops->unwatch(e->o.lock.self);
    e->watch_open = false;
}

static void election_lose(struct pl_election *e, const char *why)
{
    char text[PL_LEASE_HOLDER + 64];
    snprintf(text, sizeof text, "%s", why);
    e->state = IDLE;
    end_work(e);
    pl_log(PL_LOG_ERROR, "lease lost", who(e), pl_str("why", text),
           pl_str("error", e->trouble.err.message));
    e->trouble = (struct pl_trouble){0};
    e->o.ops->on_lost(e->o.arg, text);
}

/* Closing differs from losing: a renewal may still succeed. True when the state has changed
 * afterwards. */
static bool close_if_due(struct pl_election *e)
{
    if (e->state != LEADING || e->closed || pl_election_may_write(e))
        return false;
    e->closed = true;
    pl_timer_stop(e->o.timers, &e->closing);
    pl_log(PL_LOG_WARN, "writes of the leader are stopped: the lease was not renewed in time",
           who(e));
    if (e->o.ops->on_closed != NULL)
        e->o.ops->on_closed(e->o.arg);
    return e->state != LEADING;
}

static void arm_closing(struct pl_election *e)
{
    pl_timer_start(e->o.timers, &e->closing, e->write_until_ns - pl_clock_boot(e->o.clock),
                   on_closing);
}

static void on_closing(struct pl_timer *timer)
{
    struct pl_election *e = PL_CONTAINER_OF(timer, struct pl_election, closing);
    if (pl_election_may_write(e))
        arm_closing(e);
    else
        close_if_due(e);
}

static void on_election_limit(struct pl_timer *timer)
{
    struct pl_election *e = PL_CONTAINER_OF(timer, struct pl_election, limit);
    if (e->state != LEADING) {
        pl_candidate_cancel(&e->candidate); /* its end comes as a failure */
        return;
    }
    char text[48];
    snprintf(text, sizeof text, "it could not be renewed for %.1f s",
             (double)e->o.renew_deadline_ns / (double)PL_SECOND);
    election_lose(e, text);
    tell_leader(e);
}

static int64_t write_until(const struct pl_election *e, const struct pl_candidate_result *result)
{
    int64_t limit = e->o.renew_deadline_ns;
    return result->sent_ns + (result->duration_ns < limit ? result->duration_ns : limit);
}

static void lead(struct pl_election *e, const struct pl_candidate_result *result)
{
    e->write_until_ns = write_until(e, result);
    if (pl_clock_boot(e->o.clock) >= e->write_until_ns) {
        try_now(e); /* the answer was late, or we were frozen: the holder is unknown */
        return;
    }
    e->state = LEADING;
    e->closed = false;
    e->transitions = e->candidate.seen.transitions;
    unwatch(e);
    arm_closing(e);
    try_after(e, 0); /* the first round begins at once (rule 114) */
    pl_log(PL_LOG_INFO, "lease acquired", who(e), pl_str("identity", e->o.identity));
    tell_leader(e);
    if (e->state == LEADING)
        e->o.ops->on_started(e->o.arg);
}

static void renewed(struct pl_election *e, const struct pl_candidate_result *result)
{
    if (e->candidate.seen.transitions != e->transitions) {
        election_lose(e, "it has changed hands in the meantime");
        return;
    }
    e->write_until_ns = write_until(e, result);
    if (!pl_election_may_write(e)) {
        try_after(e, 0); /* too late to say anything about now */
        return;
    }
    arm_closing(e);
    try_after(e, e->tried_ns + e->o.retry_period_ns - election_mono(e));
    if (!e->closed)
        return;
    e->closed = false;
    pl_log(PL_LOG_INFO, "writes of the leader go on: the lease was renewed", who(e));
    if (e->o.ops->on_reopened != NULL)
        e->o.ops->on_reopened(e->o.arg);
}

static void tried_renewing(struct pl_election *e, const struct pl_candidate_result *result)
{
    if (close_if_due(e))
        return;
    if (result->done) {
        end_trouble(e);
        pl_timer_stop(e->o.timers, &e->limit);
        renewed(e, result);
    } else if (result->err != NULL) {
        note_failure(e, result->err);
        try_after(e, e->tried_ns + e->o.retry_period_ns - election_mono(e));
        /* the round continues: a later attempt of it may find the Lease free, and take it */
        return;
    } else {
        char text[PL_LEASE_HOLDER + 32];
        snprintf(text, sizeof text, "%s holds it", pl_candidate_holder(&e->candidate));
        election_lose(e, text);
    }
    tell_leader(e);
}

/* ---- standing by ---- */

static void tried_acquiring(struct pl_election *e, const struct pl_candidate_result *result)
{
    pl_timer_stop(e->o.timers, &e->limit);
    if (result->done) {
        end_trouble(e);
        lead(e, result);
        return;
    }
    if (result->err == NULL)
        end_trouble(e);
    else if (!e->hurry && !pl_err_is_conflict(result->err) &&
             !pl_err_is_already_exists(result->err)) /* being second is not an error */
        note_failure(e, result->err);
    if (e->hurry)
        try_now(e);
    else if (result->err != NULL)
        try_after(e, jittered(e));
    else
        schedule_standby(e);
    tell_leader(e);
}

static void on_tried(void *arg, const struct pl_candidate_result *result)
{
    struct pl_election *e = arg;
    if (e->state == CAMPAIGNING)
        tried_acquiring(e, result);
    else if (e->state == LEADING)
        tried_renewing(e, result);
    else if (e->state == STOPPING) {
        tell_leader(e);
        continue_stop(e);
    }
}

/* With a watch, the next event without a message is the end of the holder's time. */
static void schedule_standby(struct pl_election *e)
{
    on_watch_due(e);
    if (e->watch_open && pl_candidate_is_other(&e->candidate))
        try_after(e, pl_candidate_valid_for(&e->candidate));
    else
        try_after(e, jittered(e));
}

static void on_watch_open(void *arg)
{
    struct pl_election *e = arg;
    e->opened_ns = election_mono(e);
    if (e->state != CAMPAIGNING)
        return;
    e->watch_open = true;
    struct pl_field field = who(e);
    pl_trouble_end(&e->watch_trouble, election_mono(e), "the lease can be watched again", &field,
                   1);
}

static void on_watch_change(void *arg, const struct pl_lease_record *record)
{
    struct pl_election *e = arg;
    if (e->state != CAMPAIGNING || !e->watch_open)
        return;
    if (record != NULL)
        pl_candidate_see(&e->candidate, record);
    if (record == NULL || !pl_candidate_is_other(&e->candidate)) {
        try_now(e); /* released, deleted, or ours unnoticed */
        return;
    }
    if (!e->candidate.busy)
        schedule_standby(e);
    tell_leader(e);
}

static void on_watch_end(void *arg, const struct pl_err *err)
{
    struct pl_election *e = arg;
    bool settled = e->watch_open && election_mono(e) - e->opened_ns >= SETTLED_AFTER;
    e->watching = e->watch_open = false;
    if (e->state == STOPPING) {
        continue_stop(e); /* and e may be gone */
        return;
    }
    if (e->state != CAMPAIGNING)
        return;
    bool canceled =
        err != NULL && err->code == PL_ECANCELED; /* cancelled by an earlier campaign's end */
    bool refused = err != NULL && err->code == PL_EAPI && err->status < 500 && err->status != 429 &&
                   !pl_err_is_expired(err);
    struct pl_field field = who(e);
    if (err != NULL && !canceled)
        pl_trouble_note(&e->watch_trouble, err, election_mono(e),
                        "cannot watch the lease, so it is polled", &field, 1);
    e->watch_after_ns = election_mono(e);
    if (refused)
        e->watch_after_ns += REFUSED_PAUSE;
    else if (!canceled && (err != NULL || !settled))
        e->watch_after_ns += e->o.retry_period_ns;
    if (!e->candidate.busy)
        schedule_standby(e);
}

static const struct pl_lease_watch_ops watch_ops = {on_watch_open, on_watch_change, on_watch_end};

static void on_watch_due(struct pl_election *e)
{
    if (e->state != CAMPAIGNING || e->o.lock.ops->watch == NULL || e->watching ||
        election_mono(e) < e->watch_after_ns)
        return;
    e->watching = true;
    e->o.lock.ops->watch(e->o.lock.self, &watch_ops, e);
}

void pl_election_campaign(struct pl_election *e)
{
    if (e->state != IDLE)
        return;
    e->state = CAMPAIGNING;
    e->watch_after_ns = election_mono(e);
    try_now(e);
}

/* ---- stopping ---- */

static void election_tell_stopped(struct pl_election *e)
{
    e->state = IDLE;
    pl_wait_end(&e->wait);
    if (e->on_stopped != NULL)
        e->on_stopped(e->stopped_arg);
}

static void on_released(void *arg, const struct pl_candidate_result *result)
{
    struct pl_election *e = arg;
    pl_timer_stop(e->o.timers, &e->limit);
    if (result->err != NULL && pl_err_is_conflict(result->err) &&
        election_mono(e) < e->stop_until_ns) {
        e->release = true; /* another client writes to it again and again */
        pl_timer_start(e->o.timers, &e->next, e->o.retry_period_ns / 4, on_next);
        return;
    }
    if (result->err != NULL)
        pl_log(PL_LOG_WARN, "the lease could not be released: other replicas wait until it expires",
               who(e), pl_str("error", result->err->message));
    else
        pl_log(PL_LOG_INFO, "lease released", who(e));
    continue_stop(e);
}

/* Called once for each thing that has ended. */
static void continue_stop(struct pl_election *e)
{
    if (e->candidate.busy || pl_timer_is_active(&e->next))
        return;
    const struct pl_candidate *c = &e->candidate;
    bool release = e->release && (pl_candidate_is_holder(c) || c->doubtful);
    e->release = false;
    if (release) {
        int64_t left = e->stop_until_ns - election_mono(e);
        pl_timer_start(e->o.timers, &e->limit, left, on_election_limit);
        pl_candidate_release(&e->candidate, on_released, e);
    } else if (!e->watching) {
        election_tell_stopped(e);
    }
}

void pl_election_stop(struct pl_election *e, bool release, void (*on_stopped)(void *arg), void *arg)
{
    e->on_stopped = on_stopped;
    e->stopped_arg = arg;
    e->release |= release && e->o.release_on_exit;
    if (e->state == STOPPING)
        return;
    e->state = STOPPING;
    end_work(e);
    unwatch(e);
    e->stop_until_ns = election_mono(e) + e->o.renew_deadline_ns;
    wait_for(e, "lease release", e->o.renew_deadline_ns);
    /* on_stopped is never called inside stop */
    pl_timer_start(e->o.timers, &e->next, 0, on_next);
}
