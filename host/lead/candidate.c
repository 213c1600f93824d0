/* One attempt at a time to get or keep the lock, and the known holder. The candidate remembers by
 * its own clock when a record was seen to change; only that decides when the record has expired. */
#include "lead/candidate.h"

#include "base/base.h"
#include "base/check.h"
#include "kube/status.h"

#include <stdio.h>

#define CONFLICTS_MAX 8       /* conflicts in one release */
#define CLOCK_SLACK   1000000 /* microseconds for which a wall clock may stand still or step back */
#define RELEASED_FOR  1       /* seconds: a record must have a duration (rule 119) */

void pl_candidate_init(struct pl_candidate *c, const struct pl_lease_lock *lock,
                       const struct pl_clock *clock, const char *identity, int64_t duration_ns)
{
    *c = (struct pl_candidate){
        .lock = *lock,
        .clock = clock,
        .identity = identity,
        .duration_s = duration_ns / PL_SECOND,
    };
}

/* ---- what is known ---- */

bool pl_candidate_is_holder(const struct pl_candidate *c)
{
    return c->has_seen && strcmp(c->seen.holder, c->identity) == 0;
}

const char *pl_candidate_holder(const struct pl_candidate *c)
{
    return c->has_seen ? c->seen.holder : "";
}

bool pl_candidate_is_other(const struct pl_candidate *c)
{
    return c->has_seen && c->seen.holder[0] != '\0' && !pl_candidate_is_holder(c);
}

int64_t pl_candidate_valid_for(const struct pl_candidate *c)
{
    if (!c->has_seen)
        return 0;
    return c->seen_ns + c->seen.duration_s * PL_SECOND - pl_clock_boot(c->clock);
}

bool pl_candidate_is_overdue(const struct pl_candidate *c, int64_t limit_ns)
{
    return pl_candidate_is_holder(c) && pl_clock_boot(c->clock) - c->seen_ns > limit_ns;
}

const char *pl_candidate_news(struct pl_candidate *c)
{
    const char *holder = pl_candidate_holder(c);
    if (strcmp(holder, c->reported) == 0)
        return NULL;
    memcpy(c->reported, c->seen.holder, sizeof c->reported);
    return c->reported;
}

static void candidate_remember(struct pl_candidate *c, const struct pl_lease_record *record,
                               int64_t at_ns)
{
    c->has_seen = true;
    c->seen = *record;
    c->seen_ns = at_ns;
    c->is_told = false;
}

/* Any change is a sign of life; wall clocks are not compared (rule 116). */
static bool candidate_is_news(const struct pl_candidate *c, const struct pl_lease_record *record)
{
    return !c->has_seen || !pl_lease_record_equal(&c->seen, record);
}

void pl_candidate_see(struct pl_candidate *c, const struct pl_lease_record *record)
{
    if (!candidate_is_news(c, record))
        return;
    candidate_remember(c, record, pl_clock_boot(c->clock));
    c->is_told = true;
}

static void was_given(struct pl_candidate *c, const struct pl_lease_record *record)
{
    if (candidate_is_news(c, record))
        candidate_remember(c, record, pl_clock_boot(c->clock));
    c->is_told = false;
}

/* ---- requests ---- */

static void on_candidate_answer(void *arg, const struct pl_err *err,
                                const struct pl_lease_record *record);

static void candidate_finish(struct pl_candidate *c, const struct pl_candidate_result *result)
{
    c->busy = false;
    c->on_done(c->arg, result); /* the callback may start the next one */
}

static void candidate_fail(struct pl_candidate *c, const struct pl_err *err)
{
    candidate_finish(c, &(struct pl_candidate_result){.err = err});
}

static void candidate_send(struct pl_candidate *c, enum pl_lease_verb verb, bool fast)
{
    c->verb = verb;
    c->fast = fast;
    c->sent_ns = pl_clock_boot(c->clock);
    if (verb != PL_LEASE_GET)
        c->doubtful = true;
    c->lock.ops->start(c->lock.self, verb, verb != PL_LEASE_GET ? &c->mine : NULL,
                       on_candidate_answer, c);
}

/* Others see a renewal only as a change: a wall clock that stands still must not hide it. */
static int64_t renew_time(struct pl_candidate *c)
{
    int64_t us = pl_clock_wall(c->clock) / PL_US, now = pl_clock_boot(c->clock);
    if (c->has_written && now != c->written_ns && us <= c->written_us &&
        c->written_us - us < CLOCK_SLACK)
        us = c->written_us + 1;
    c->has_written = true;
    c->written_us = us;
    c->written_ns = now;
    return us;
}

/* If the record already names us, time and count stay; a new holder begins a term (rule 118). */
static void write_claim(struct pl_candidate *c, enum pl_lease_verb verb, bool fast)
{
    bool keeps = pl_candidate_is_holder(c);
    c->mine = (struct pl_lease_record){
        .duration_s = c->duration_s,
        .renew_us = renew_time(c),
        .transitions = 0,
    };
    snprintf(c->mine.holder, sizeof c->mine.holder, "%s", c->identity);
    c->mine.acquire_us = c->mine.renew_us;
    if (keeps) {
        c->mine.acquire_us = c->seen.acquire_us;
        c->mine.transitions = c->seen.transitions;
    } else if (verb == PL_LEASE_UPDATE) {
        c->mine.transitions = c->seen.transitions + 1;
    }
    candidate_send(c, verb, fast);
}

static void write_release(struct pl_candidate *c)
{
    c->mine = (struct pl_lease_record){
        .duration_s = RELEASED_FOR,
        .renew_us = renew_time(c),
        .transitions = c->seen.transitions,
    };
    c->mine.acquire_us = c->mine.renew_us;
    candidate_send(c, PL_LEASE_UPDATE, false);
}

static void candidate_begin(struct pl_candidate *c, bool releasing, pl_candidate_fn on_done,
                            void *arg)
{
    PL_REQUIRE(!c->busy);
    c->busy = true;
    c->canceled = false;
    c->releasing = releasing;
    c->conflicts = 0;
    c->on_done = on_done;
    c->arg = arg;
}

void pl_candidate_try(struct pl_candidate *c, pl_candidate_fn on_done, void *arg)
{
    candidate_begin(c, false, on_done, arg);
    if (pl_candidate_is_holder(c) && pl_candidate_valid_for(c) > 0 && !c->is_told)
        write_claim(c, PL_LEASE_UPDATE, true); /* the fast path (rule 115) */
    else
        candidate_send(c, PL_LEASE_GET, false);
}

void pl_candidate_release(struct pl_candidate *c, pl_candidate_fn on_done, void *arg)
{
    candidate_begin(c, true, on_done, arg);
    candidate_send(c, PL_LEASE_GET, false);
}

void pl_candidate_cancel(struct pl_candidate *c)
{
    if (!c->busy || c->canceled)
        return;
    c->canceled = true;
    c->lock.ops->cancel(c->lock.self);
}

/* ---- answers ---- */

/* Errors that leave open whether the server carried out the request. */
static bool is_unclear(const struct pl_err *err)
{
    return err->code != PL_EAPI || err->status >= 500;
}

static void got_record(struct pl_candidate *c, const struct pl_lease_record *record)
{
    was_given(c, record);
    c->doubtful = false;
    if (c->releasing && !pl_candidate_is_holder(c))
        candidate_finish(c, &(struct pl_candidate_result){
                                .done = true}); /* never wipe another holder's record */
    else if (c->releasing)
        write_release(c);
    else if (pl_candidate_is_other(c) && pl_candidate_valid_for(c) > 0)
        candidate_finish(c, &(struct pl_candidate_result){0});
    else
        write_claim(c, PL_LEASE_UPDATE, false);
}

static void wrote_record(struct pl_candidate *c, const struct pl_lease_record *record)
{
    struct pl_err err = {0};
    c->doubtful = false;
    candidate_remember(c, record, c->sent_ns);
    if (c->releasing) {
        candidate_finish(c, &(struct pl_candidate_result){.done = !pl_candidate_is_holder(c)});
        return;
    }
    if (record->duration_s <= 0) { /* such a lead would expire at once, however often we try */
        pl_err_set(&err, PL_ESYNTAX, "the server does not store the lease duration");
        candidate_fail(c, &err);
        return;
    }
    candidate_finish(c, &(struct pl_candidate_result){
                            .done = pl_candidate_is_holder(c),
                            .sent_ns = c->sent_ns,
                            .duration_ns = record->duration_s * PL_SECOND,
                        });
}

static void on_failure(struct pl_candidate *c, const struct pl_err *err)
{
    bool missing = pl_err_is_not_found(err);
    if (c->verb != PL_LEASE_GET && !is_unclear(err))
        c->doubtful = false;
    if (c->canceled)
        candidate_fail(c, err);
    else if (c->releasing && c->verb == PL_LEASE_UPDATE && pl_err_is_conflict(err) &&
             ++c->conflicts < CONFLICTS_MAX)
        candidate_send(c, PL_LEASE_GET, false);
    else if (!c->releasing && c->verb == PL_LEASE_GET && missing)
        write_claim(c, PL_LEASE_CREATE, false);
    else if (c->fast)
        candidate_send(c, PL_LEASE_GET, false); /* the slow path (rule 115) */
    else
        candidate_fail(c, err);
}

static void on_candidate_answer(void *arg, const struct pl_err *err,
                                const struct pl_lease_record *record)
{
    struct pl_candidate *c = arg;
    struct pl_err canceled = {0};
    if (err != NULL) {
        on_failure(c, err);
    } else if (c->verb != PL_LEASE_GET) {
        wrote_record(c, record);
    } else if (c->canceled) {
        was_given(c, record);
        pl_err_set(&canceled, PL_ECANCELED, "canceled");
        candidate_fail(c, &canceled);
    } else {
        got_record(c, record);
    }
}
